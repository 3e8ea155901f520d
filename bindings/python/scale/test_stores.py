"""Buckets on a cluster of this machine: thousands of objects, a worker killed, a storm of refusals, each object once.

The gateway (versitygw) and the proxy that makes the storm are those of the store tests; both listen on loopback only.
``CIPHERLOOM_SCALE_OBJECTS`` says how many objects; 20,000 unless it is set.
"""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cipherloom as cl
import pytest
import stores  # type: ignore[import-not-found]
from cipherloom import _native
from cipherloom import ray as scale
from conftest import a_worker_killed, recorded

OBJECTS = int(os.environ.get("CIPHERLOOM_SCALE_OBJECTS", "20000"))
STORM = 3000
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
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with stores.S3.running(tmp_path_factory.mktemp("s3")) as store:
        yield store


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


def copied(source: str, destination: str, key: cl.Keyset) -> None:
    """Copies with the package's own client."""
    if "://" in source:
        objects, _ = _native.list_objects(source, [], [])
    else:
        objects = [(os.fspath(path), size, version) for path, size, version in _native.list_files(source, [], [])[0]]
    _, failures = _native.process_objects(
        {
            "operation": "copy", "source": source, "destination": destination, "key": key, "new_key": None,
            "threads": 2, "if_exists": "fail", "suffix": "", "bind_path": False, "durable": False, "objects": objects,
        }
    )  # fmt: skip
    assert failures == []


def test_each_object_exactly_once(
    s3: Any, plain: Path, tmp_path: Path, key: cl.Keyset, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, weather = s3.bucket(), Weather()
    proxy = stores.Proxy(s3.port, weather)
    source, sealed = f"s3://{bucket}/plain", f"s3://{bucket}/sealed"
    with proxy.running() as port:
        for name, value in s3.environment(port).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{s3.port}")
        copied(os.fspath(plain), source, key)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        with a_worker_killed("encrypt", after=1.0) as killed:
            report = scale.encrypt(source, sealed, key, chunk_bytes=OBJECTS * (64 << 10) // 10, threads=1)
    assert len(killed) == 1, "a worker was at work and was killed"
    assert weather.left < STORM, "there was a storm"
    assert weather.refused > 0 and report.failed == 0
    assert report.files + report.skipped == OBJECTS
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{s3.port}")

    # The manifest says of each object once that it is done, and no object is there twice or half.
    records = tmp_path / "records"
    copied(f"{sealed}.manifest", os.fspath(records), key)
    done, rows = recorded(records)
    expected = {f"{number % 100:02}/{number:06}" for number in range(OBJECTS)}
    assert set(done) == expected and set(done.values()) == {1}
    assert [row["event"] for row in rows].count("end") == 1
    assert set(s3.objects(bucket, "sealed")) == expected

    # A second run does nothing, in seconds, and starts no cluster.
    before = s3.objects(bucket, "sealed")
    again = scale.encrypt(source, sealed, key)
    assert (again.recorded, again.tasks, again.files) == (OBJECTS, 0, 0)
    assert s3.objects(bucket, "sealed") == before

    # All of it decrypts to what it was, by this package from the bucket.
    objects, _ = _native.list_objects(sealed, [], [])
    summary, failures = _native.process_objects(
        {
            "operation": "decrypt", "source": sealed, "destination": os.fspath(tmp_path / "back"), "key": key,
            "new_key": None, "threads": 2, "if_exists": "fail", "suffix": "", "bind_path": False, "durable": False,
            "objects": objects,
        }
    )  # fmt: skip
    assert failures == [] and json.loads(summary)["files"] == OBJECTS
    for name in expected:
        assert (tmp_path / "back" / name).read_bytes() == (plain / name).read_bytes()
    print(f"{OBJECTS} objects: {report}, second run {again.seconds:.2f} s")


def test_what_cannot_be_reached_is_told(s3: Any, tmp_path: Path, key: cl.Keyset, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    for place in ("s3://no-such-bucket/in", "ftp://host/in"):
        with pytest.raises((OSError, cl.InvalidRequest)):
            scale.encrypt(place, tmp_path / "out", key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(OSError):
        scale.encrypt(f"s3://{s3.bucket()}/in", tmp_path / "out", key)
