"""Trees in buckets: the same functions, reports, exceptions and Ctrl-C where a source or destination is an address.

The gateway (versitygw), and the proxy that makes it slow, are those of the command's own tests; on loopback only.
"""

import os
import signal
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cipherloom as cl
import pytest
import stores  # type: ignore[import-not-found]
from conftest import SIZES
from store_checks import an_index_is_gathered, reachable, there_and_back


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with stores.S3.running(tmp_path_factory.mktemp("s3")) as store, reachable(store.environment()):
        yield store


def test_there_and_back(s3: Any, tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    bucket = s3.bucket()
    there_and_back(f"s3://{bucket}", tree, tmp_path, key)
    assert set(s3.objects(bucket, "sealed")) == set(SIZES)
    with pytest.raises(cl.InvalidKey, match="encrypted with another key") as mixed:
        cl.encrypt_tree(tree, f"s3://{bucket}/sealed", key)
    assert mixed.value.__notes__ == ["hint: allow_mixed_keys=True does so anyway"]
    with pytest.raises(cl.TreeFailed, match=f"{len(SIZES)} of {len(SIZES)} failed"):
        cl.encrypt_tree(tree, f"s3://{bucket}/sealed", key, allow_mixed_keys=True)


def test_an_index_is_gathered(s3: Any, tree: Path, key: cl.Keyset) -> None:
    an_index_is_gathered(f"s3://{s3.bucket()}", "s3://no-such-bucket/sealed", tree, key)


def test_one_object_by_name(s3: Any, tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    bucket = s3.bucket()
    cl.encrypt_tree(tree / "one", f"s3://{bucket}/a/name", key)
    assert set(s3.objects(bucket)) == {"a/name"}
    cl.decrypt_tree(f"s3://{bucket}/a/name", tmp_path / "one", key)
    assert (tmp_path / "one").read_bytes() == (tree / "one").read_bytes()
    with pytest.raises(cl.InvalidRequest, match="ends in /"):
        cl.encrypt_tree(tree / "one", f"s3://{bucket}/a/name", key, bind_path=True)


def test_damage_is_told_by_address(s3: Any, tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    bucket = s3.bucket()
    cl.encrypt_tree(tree, f"s3://{bucket}/sealed", key)
    with open(s3.data / bucket / "sealed" / "one", "r+b") as file:
        file.seek(45)
        file.write(b"damage")
    report = cl.verify_tree(f"s3://{bucket}/sealed", key, check=False)
    assert (report.failed, report.unauthentic, report.files) == (1, 1, len(SIZES) - 1)
    assert [(failure.path, failure.error) for failure in report.failures] == [
        (f"s3://{bucket}/sealed/one", "InvalidTag")
    ]


def test_progress_is_told(s3: Any, tree: Path, key: cl.Keyset) -> None:
    from cipherloom import _native
    from cipherloom._options import Request

    totals: list[tuple[int, int]] = []
    seen: list[tuple[int, int]] = []

    def start(total_bytes: int, total_files: int) -> Any:
        totals.append((total_bytes, total_files))
        return lambda bytes_done, files_done: seen.append((bytes_done, files_done))

    _native.process(
        Request(
            operation="encrypt", source=str(tree), destination=f"s3://{s3.bucket()}/out", key=key,
            options=cl.Options(threads=2), progress=start,
        )
    )  # fmt: skip
    assert totals == [(sum(SIZES.values()), len(SIZES))] and seen[-1] == totals[0] and seen == sorted(seen)


def test_a_plan_for_a_bucket(s3: Any, tree: Path, key: cl.Keyset) -> None:
    sealed = f"s3://{s3.bucket()}/sealed"
    cl.encrypt_tree(tree, sealed, key)
    plan = cl.plan(sealed, threads=2)
    assert isinstance(plan, cl.StorePlan)
    assert (plan.objects, plan.threads, plan.in_parts) == (len(SIZES), 2, 1)
    assert plan.bytes > sum(SIZES.values())
    assert "1 of them in parts of about 8.0 MiB" in plan.explain()
    assert plan.unlisted == 0 and "unlisted" not in plan.explain()
    assert isinstance(cl.plan(tree), cl.Plan)


def lists_below(request: Any, prefix: str) -> bool:
    return bool(request.is_listing) and urllib.parse.parse_qs(request.query).get("prefix") == [prefix]


def test_a_plan_tells_what_could_not_be_listed(
    s3: Any, tree: Path, key: cl.Keyset, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = f"s3://{s3.bucket()}/sealed"
    cl.encrypt_tree(tree, sealed, key)

    def rule(request: Any) -> Any:
        return stores.refuse(403, "AccessDenied") if lists_below(request, "sealed/deep/") else None

    with stores.Proxy(s3.port, rule).running() as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        plan = cl.plan(sealed)
        report = cl.verify_tree(sealed, key, check=False)
    assert isinstance(plan, cl.StorePlan)
    assert (plan.unlisted, plan.objects) == (1, len(SIZES) - 1)
    assert "1 folder, of which nothing is counted" in plan.explain()
    assert [failure.path for failure in report.failures] == [f"{sealed}/deep"]


def test_objects_are_processed_while_others_are_listed(
    s3: Any, tree: Path, key: cl.Keyset, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed, is_read, came_first = f"s3://{s3.bucket()}/sealed", threading.Event(), []
    cl.encrypt_tree(tree, sealed, key)

    def rule(request: Any) -> None:
        if lists_below(request, "sealed/deep/"):
            came_first.append(is_read.wait(60))
        elif request.method == "GET" and not request.is_listing:
            is_read.set()

    with stores.Proxy(s3.port, rule).running() as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        assert cl.verify_tree(sealed, key).files == len(SIZES)
    assert came_first == [True], "an object was read before the listing had ended"


def test_addresses_are_told_from_paths_as_the_command_does(tmp_path: Path, tree: Path, key: cl.Keyset) -> None:
    from cipherloom import _native

    for address in ("s3://bucket/a", "gs://bucket"):
        assert _native.is_address(address) and _native.without_scheme(address) == address
    for path in ("books", "-", "a b://c", "://", "/s3:/x", "é3://x", "s3+x://y", os.fsdecode(b"\xff://x")):
        assert not _native.is_address(path) and _native.without_scheme(path) == path
    assert not _native.is_address("file:///books") and _native.without_scheme("file:///a b") == "/a b"
    for neither, hint in (("ftp://host", "known are s3://"), ("file://host/a", "file:///folder"), ("s3:/b", "s3://b")):
        assert not _native.is_address(neither)
        with pytest.raises(cl.InvalidRequest, match=hint):
            _native.without_scheme(neither)
    # A folder, with all that folders can do and stores cannot.
    (tree / "link").symlink_to("one")
    sealed = f"file://{tmp_path / 'sealed'}"
    assert cl.encrypt_tree(f"file://{tree}", sealed, key, links="copy").files == len(SIZES)
    assert os.readlink(tmp_path / "sealed" / "link") == "one"
    assert isinstance(cl.plan(sealed), cl.Plan)
    with cl.open(f"{sealed}/one", "rb", key) as file:
        assert file.read() == (tree / "one").read_bytes()


def test_what_cannot_be_reached(s3: Any, tree: Path, tmp_path: Path, key: cl.Keyset, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="no-such-bucket"):
        cl.decrypt_tree("s3://no-such-bucket/in", tmp_path / "out", key)
    with pytest.raises(cl.InvalidRequest, match="ftp:// is not a known scheme"):
        cl.encrypt_tree("ftp://host/in", tmp_path / "out", key)
    with pytest.raises(cl.InvalidRequest, match="links"):
        cl.encrypt_tree(tree, f"s3://{s3.bucket()}/out", key, links="copy")
    with pytest.raises(cl.InvalidRequest, match="decrypt_tree"):
        cl.open(f"s3://{s3.bucket()}/one", "rb", key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(OSError):
        cl.verify_tree(f"s3://{s3.bucket()}/in", key)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("held", ["GET", "PUT"])
def test_ctrl_c_while_the_store_does_not_answer(
    s3: Any, tree: Path, key: cl.Keyset, monkeypatch: pytest.MonkeyPatch, held: str
) -> None:
    """While listing, and while objects are written."""
    bucket, goes_on, pressed = s3.bucket(), threading.Event(), threading.Event()
    came: list[str] = []
    answered: list[str] = []

    def rule(request: Any) -> None:
        if request.method == held:
            came.append(f"{request.path}?{request.query}")
            if not pressed.is_set():
                pressed.set()
                signal.raise_signal(signal.SIGINT)
            goes_on.wait(60)
            answered.append(request.path)

    sealed = f"s3://{bucket}/sealed"
    cl.encrypt_tree(tree, f"s3://{bucket}/in", key)
    with stores.Proxy(s3.port, rule).running() as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        try:
            with pytest.raises(KeyboardInterrupt):
                cl.decrypt_tree(f"s3://{bucket}/in", sealed, key)
                pytest.fail("the run ended before it was told to stop")
            assert came and not answered, "the run ended before the store answered"
            assert len(came) == len(set(came)), "no request was repeated"
        finally:
            goes_on.set()
    assert pressed.is_set()
    assert set(s3.objects(bucket, "sealed")) <= set(SIZES)
