"""Buckets on a cluster of this machine: thousands of objects, a worker killed, a storm of refusals, each object once.

The gateway (versitygw) and the proxy that makes the storm are those of the store tests; both listen on loopback only.
``CIPHERLOOM_SCALE_OBJECTS`` says how many objects; 20,000 unless it is set.
"""

import os
import random
import urllib.parse
from pathlib import Path
from typing import Any, Literal

import cipherloom as cl
import pytest
import stores  # type: ignore[import-not-found]
from cipherloom import _native
from cipherloom._options import Request
from cipherloom import ray as scale
from cipherloom._report import Failure, IndexReport
from cipherloom.ray._index import Index
from conftest import Sky, a_worker_killed, indexed, write

OBJECTS = int(os.environ.get("CIPHERLOOM_SCALE_OBJECTS", "20000"))
STORM = min(3000, OBJECTS)
"""Requests that the storm lasts."""


class Weather:
    """Refuses a third of the requests for a while, and counts all that reach the store."""

    def __init__(self) -> None:
        self.chance, self.left, self.refused, self.is_due = random.Random(7), STORM, 0, False

    def __call__(self, request: Any) -> Any:
        # Somewhere in the first half.
        self.is_due = self.is_due or (request.method == "PUT" and self.chance.random() < 8 / OBJECTS)
        if not self.is_due or self.left == 0:
            return None
        self.left -= 1
        if self.chance.random() < 0.3:
            self.refused += 1
            return stores.refuse(503, "SlowDown")
        return None


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small files in a hundred folders; no two alike."""
    root = tmp_path_factory.mktemp("plain")
    noise = random.Random(11).randbytes(1 << 16)
    for number in range(OBJECTS):
        folder = root / f"{number % 100:02}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number:06}").write_bytes(number.to_bytes(8, "big") + noise[: number * 7 % 4000])
    return root


def age(s3: Any, bucket: str) -> None:
    """Has all objects of a bucket be an hour old, for the store itself."""
    for path in (s3.data / bucket).rglob("*"):
        if path.is_file():
            os.utime(path, (path.stat().st_mtime - 3600,) * 2)


def process(
    operation: Any, source: str, destination: str, key: cl.Keyset | None, if_exists: Literal["fail", "overwrite"] = "fail"
) -> int:  # fmt: skip
    """With the package's own client, in this process; gives how many files."""
    options = cl.Options(threads=2, if_exists=if_exists)
    request = Request(operation=operation, source=source, destination=destination, key=key, options=options)
    report, failures = _native.process(request)
    assert failures == []
    return int(report["files"])


@pytest.mark.usefixtures("cluster")
def test_each_object_exactly_once(
    s3: Any, sky: Sky, plain: Path, tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, weather = s3.bucket(), Weather()
    source, sealed = f"s3://{bucket}/plain", f"s3://{bucket}/sealed"
    # This process goes past what stands between the cluster and the store.
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{s3.port}")
    assert process("copy", os.fspath(plain), source, None) == OBJECTS
    age(s3, bucket)
    monkeypatch.setattr(sky, "weather", weather)
    with a_worker_killed("encrypt", after=0.3) as killed:
        report = scale.encrypt(source, sealed, key_file, chunk_bytes=OBJECTS * (64 << 10) // 10, threads=1)
    monkeypatch.setattr(sky, "weather", None)
    assert len(killed) == 1, "a worker was at work and was killed"
    assert weather.left < STORM, "there was a storm"
    assert weather.refused > 0 and report.failed == 0
    assert report.files + report.skipped == OBJECTS

    # The index lists each object, and no object is there twice or half.
    expected = {f"{number % 100:02}/{number:06}" for number in range(OBJECTS)}
    assert indexed(sealed, key).keys() == expected
    assert {name for name in s3.objects(bucket, "sealed") if not name.startswith(".cipherloom/")} == expected
    assert not any("/journals/" in name for name in s3.objects(bucket, "sealed"))

    # A second run does nothing, in seconds.
    before = s3.objects(bucket, "sealed")
    again = scale.encrypt(source, sealed, key_file)
    assert (again.recorded, again.tasks, again.files) == (OBJECTS, 0, 0)
    assert s3.objects(bucket, "sealed") == before

    # All of it decrypts to what it was, by this package from the bucket.
    assert process("decrypt", sealed, os.fspath(tmp_path / "back"), key) == OBJECTS
    for name in expected:
        assert (tmp_path / "back" / name).read_bytes() == (plain / name).read_bytes()
    print(f"{OBJECTS} objects: {report}, second run {again.seconds:.2f} s")


@pytest.mark.usefixtures("cluster")
def test_a_whole_bucket_and_a_folder(s3: Any, tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile) -> None:
    bucket = s3.bucket()
    write(tmp_path / "in", {"a": 1, "b/c": 2})
    assert scale.encrypt(tmp_path / "in", f"s3://{bucket}", key_file).files == 2
    assert scale.encrypt(tmp_path / "in", f"s3://{bucket}", key_file).recorded == 2
    assert scale.verify(f"s3://{bucket}/", key_file).files == 2
    # From a bucket to a folder.
    plain = s3.bucket()
    assert process("copy", os.fspath(tmp_path / "in"), f"s3://{plain}", None) == 2
    age(s3, plain)
    assert scale.encrypt(f"s3://{plain}", tmp_path / "out", key_file).files == 2
    assert scale.encrypt(f"s3://{plain}", tmp_path / "out", key_file).recorded == 2
    assert indexed(tmp_path / "out", key) == {"a": 1, "b/c": 2}
    assert scale.verify(f"file://{tmp_path / 'out'}", key_file).files == 2
    (s3.data / bucket / "a").unlink()
    with pytest.raises(cl.TreeFailed, match="1 of 2 failed: a: missing"):
        scale.verify(f"s3://{bucket}", key_file)


@pytest.mark.usefixtures("cluster")
def test_an_object_that_is_replaced_in_the_same_second(
    s3: Any, tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile
) -> None:
    bucket = s3.bucket()
    source, out = f"s3://{bucket}/in", f"s3://{bucket}/out"
    write(tmp_path / "first", {"a": 100, "b": 100})
    assert process("copy", os.fspath(tmp_path / "first"), source, None) == 2
    age(s3, bucket)
    placed = s3.data / bucket / "in" / "a"
    os.utime(placed)
    written = placed.stat().st_mtime_ns
    assert scale.encrypt(source, out, key_file).files == 2
    assert scale.encrypt(source, out, key_file).recorded == 1, "of the other one, another version may have the same time"
    # Another version of the same length and time.
    write(tmp_path / "second", {"a": 100})
    assert process("copy", os.fspath(tmp_path / "second"), source, None, "overwrite") == 1
    os.utime(placed, ns=(written, written))
    report = scale.encrypt(source, out, key_file, check=False)
    assert report.recorded == 1
    assert [(str(failure.path), failure.error) for failure in report.failures] == [("a", "FileExistsError")]


@pytest.mark.usefixtures("cluster")
def test_of_two_runs_at_once_one_is_overtaken(
    s3: Any, tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = f"s3://{s3.bucket()}/out"
    one, other = write(tmp_path / "one", {"a": 100}), write(tmp_path / "other", {"b": 100})
    finish = Index.finish

    def meanwhile(self: Index, found: list[Failure], missing: int) -> IndexReport | None:
        monkeypatch.setattr(Index, "finish", finish)
        assert scale.encrypt(other, out, key_file).files == 1
        return finish(self, found, missing)

    monkeypatch.setattr(Index, "finish", meanwhile)
    report = scale.encrypt(one, out, key_file, check=False)
    assert (report.files, report.index, len(report.failures)) == (1, None, 1)
    assert "another run has written" in report.failures[0].reason and report.failures[0].hint is not None
    # The other run has listed what the journals said.
    assert indexed(out, key).keys() == {"a", "b"}
    assert scale.encrypt(one, out, key_file).recorded == 1


@pytest.mark.usefixtures("cluster")
def test_no_object_is_left_out_for_its_name(s3: Any, tmp_path: Path, key_file: scale.KeyFile) -> None:
    bucket = s3.bucket()
    write(s3.data / bucket, {"all/one": 1, "all/old/.cipherloom/index/root": 1})
    with pytest.raises(cl.InvalidRequest, match="reserved for indexes"):
        scale.encrypt(f"s3://{bucket}/all", tmp_path / "out", key_file)
    assert not (tmp_path / "out").exists()
    assert scale.encrypt(f"s3://{bucket}/all", tmp_path / "out", key_file, exclude=".cipherloom").files == 1


def lists_below(request: Any, prefix: str) -> bool:
    return bool(request.is_listing) and urllib.parse.parse_qs(request.query).get("prefix", [""])[0].startswith(prefix)


@pytest.mark.usefixtures("cluster")
def test_verification_where_some_may_not_be_listed(
    s3: Any, sky: Sky, tmp_path: Path, key_file: scale.KeyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = s3.bucket()
    sealed = f"s3://{bucket}/sealed"
    write(tmp_path / "in", {"a": 1, "b/c": 2, "b/d/e": 3, "bc": 4})
    scale.encrypt(tmp_path / "in", sealed, key_file)
    (s3.data / bucket / "sealed" / "a").unlink()

    def weather(prefix: str) -> Any:
        return lambda request: stores.refuse(403, "AccessDenied") if lists_below(request, prefix) else None

    # What may be there, and could not be listed, is not called gone.
    monkeypatch.setattr(sky, "weather", weather("sealed/b/"))
    report = scale.verify(sealed, key_file, check=False)
    failures = {str(failure.path): failure.error for failure in report.failures}
    assert (report.files, failures) == (1, {f"{sealed}/b": "OSError", "a": "FileNotFoundError"})


def test_what_cannot_be_reached_is_told(s3: Any, tmp_path: Path, key_file: scale.KeyFile, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    for place in ("s3://no-such-bucket/in", "ftp://host/in"):
        with pytest.raises((OSError, cl.InvalidRequest)):
            scale.encrypt(place, tmp_path / "out", key_file)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(OSError):
        scale.encrypt(f"s3://{s3.bucket()}/in", tmp_path / "out", key_file)
