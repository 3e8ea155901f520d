"""Google Cloud Storage, over fake-gcs-server and what `gcs.py` adds to it: created on condition, resumed, re-keyed."""

import json
import os
import subprocess

import gcs
import pytest
import stores
import tool
from test_stores_stop import Stuck, is_part, stopped

FILES = {"empty": 0, "one": 1, "deep/er/chapter é.xhtml": 5_000, "deep/100%25 & +.bin": 70, "large.bin": 21_000_000}


@pytest.fixture
def store():
    with gcs.Store.running() as store:
        yield store


@pytest.fixture
def plain(tmp_path):
    return tool.write_tree(tmp_path / "plain", FILES)


def summary(done):
    return json.loads(done.stdout.splitlines()[-1])


def test_round_trip_created_once_resumed_and_rekeyed(store, tmp_path, plain, key):
    new = tool.keygen(tmp_path / "new")
    store.run("encrypt", plain, "gs://box/sealed", "--key", key)
    done = store.run("encrypt", plain, "gs://box/sealed", "--key", key, code=tool.FAILED)
    assert tool.message(done).count("the output exists already") == len(FILES)
    done = store.run("encrypt", plain, "gs://box/sealed", "--key", key, "--if-exists", "skip", "--json")
    assert summary(done)["skipped"] == len(FILES)
    store.run("rekey", "gs://box/sealed", "gs://box/sealed", "--key", key, "--to", new, "--if-exists", "overwrite")
    store.run("verify", "gs://box/sealed", "--key", new)
    # Again: what bears the new key is passed over.
    again = ["rekey", "gs://box/sealed", "gs://box/sealed", "--key", key, "--to", new, "--if-exists", "overwrite"]
    assert summary(store.run(*again, "--json"))["skipped"] == len(FILES)
    store.run("rekey", "gs://box/sealed", "gs://box/other", "--key", new, "--to", key)
    for place, opens in (("sealed", new), ("other", key)):
        store.run("decrypt", f"gs://box/{place}", tmp_path / place, "--key", opens)
        assert tool.read_tree(tmp_path / place) == tool.read_tree(plain)
    # Nothing temporary is left beside them, nor an upload.
    assert len(store.names()) == 2 * len(FILES) and not store.uploads


def test_a_tree_is_synchronized_on_condition(store, tmp_path, key):
    plain = tool.write_tree(tmp_path / "plain", FILES)
    sync = ["sync", plain, "gs://box/synced", "--key", key, "--delete", "--json"]
    for expected in ({"new": len(FILES)}, {"unchanged": len(FILES)}):
        counts = summary(store.run(*sync))
        assert {name: counts["sync"][name] for name in expected} == expected and counts["index"]["generation"] == 1
    (plain / "one").write_bytes(b"2")
    (plain / "large.bin").write_bytes(tool.content(20_000_000, 7))
    (plain / "empty").unlink()
    counts = summary(store.run(*sync))["sync"]
    assert (counts["changed"], counts["removed"], counts["unchanged"]) == (2, 1, len(FILES) - 3)
    done = store.run("verify", "gs://box/synced", "--key", key, "--json")
    counts = summary(done)
    assert (counts["files"], counts["index"]["missing"], counts["index"]["extra"]) == (len(FILES) - 1, 0, 0)
    store.run("decrypt", "gs://box/synced", tmp_path / "back", "--key", key)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


@pytest.mark.parametrize("name", ["one", "large.bin"])
def test_what_another_writer_has_replaced_is_not_overwritten(store, tmp_path, plain, key, name):
    sync = ["sync", plain, "gs://box/synced", "--key", key]
    store.run(*sync)
    other = tool.write_tree(tmp_path / "other", {name: FILES[name]})
    (plain / name).write_bytes(tool.content(FILES[name] + 9, 7))
    written = []

    def rule(request):
        if request.method in ("PUT", "POST") and request.path == f"/box/synced/{name}" and not written:
            written.append(store.run("encrypt", other, "gs://box/synced", "--key", key, "--if-exists", "overwrite"))

    with stores.Proxy(store.port, rule).running() as port:
        done = store.run(*sync, port=port, code=tool.PARTIAL)
    assert "left as it is: another run has written or removed it" in tool.message(done)
    store.run("decrypt", "gs://box/synced", tmp_path / "theirs", "--key", key)
    assert (tmp_path / "theirs" / name).read_bytes() == (other / name).read_bytes()
    store.run(*sync)
    store.run("verify", "gs://box/synced", "--key", key)
    store.run("decrypt", "gs://box/synced", tmp_path / "back", "--key", key)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_what_failed_is_made_by_the_next_run(store, plain, key):
    def rule(request):
        return stores.refuse(503, "ServiceUnavailable") if request.path.endswith("chapter é.xhtml") else None

    with stores.Proxy(store.port, rule).running() as port:
        command = ["encrypt", plain, "gs://box/sealed", "--key", key, "--if-exists", "skip", "--retries", "0", "--json"]
        assert summary(store.run(*command, port=port, code=tool.PARTIAL))["failed"] == 1
    done = summary(store.run(*command))
    assert (done["files"], done["skipped"]) == (1, len(FILES) - 1)


@pytest.mark.parametrize("name", ["one", "large.bin"])
def test_who_comes_between_is_not_overwritten(store, tmp_path, plain, key, name):
    """Another writer, just before the request that gives the object its name."""
    new = tool.keygen(tmp_path / "new")

    def rule(request):
        if request.method == "PUT" and request.path == f"/box/sealed/{name}" and not request.query:
            store.put("box", f"sealed/{name}", b"somebody else's")
        return None

    with stores.Proxy(store.port, rule).running() as port:
        done = store.run("encrypt", plain / name, f"gs://box/sealed/{name}", "--key", key, port=port, code=tool.FAILED)
        assert "the output exists already" in tool.message(done)
        assert store.names() == [f"sealed/{name}"] and not store.uploads
        if name == "one":
            store.run("encrypt", plain, "gs://box/sealed", "--key", key, "--if-exists", "overwrite")
            rekey = ["rekey", "gs://box/sealed", "gs://box/sealed", "--key", key, "--to", new, "--if-exists", "overwrite"]
            done = store.run(*rekey, port=port, code=tool.PARTIAL)
            assert "sealed/one" in tool.message(done) and "changed while it was read" in tool.message(done)
    assert store.ask("GET", f"/box/sealed%2F{name}")[2] == b"somebody else's"


def test_a_lost_answer_is_no_conflict(store, plain, key):
    lost = set()

    def rule(request):
        is_naming = request.method == "PUT" and request.path.startswith("/box/sealed/") and not request.query
        if is_naming and ".cipherloom-" not in request.path and request.path not in lost:
            lost.add(request.path)
            return stores.lose_answer
        return None

    with stores.Proxy(store.port, rule).running() as port:
        assert summary(store.run("encrypt", plain, "gs://box/sealed", "--key", key, "--json", port=port))["files"] == len(FILES)
    assert len(lost) == len(FILES) == len(store.names())


def test_what_was_replaced_since_it_was_listed_is_not_read(store, plain, key):
    store.run("encrypt", plain, "gs://box/sealed", "--key", key)

    def rule(request):
        if request.method == "GET" and request.path == "/box/sealed/one":
            store.put("box", "sealed/one", b"somebody else's")
        return None

    with stores.Proxy(store.port, rule).running() as port:
        done = store.run("verify", "gs://box/sealed", "--key", key, port=port, code=tool.PARTIAL)
    assert "changed while it was read" in tool.message(done)


def test_pages_and_plans(store, tmp_path, key):
    store.page = 7
    names = [f"{folder}{number:02}" for folder in ("", "a/", "a/b/", "c & d/") for number in range(23)]
    store.run("encrypt", tool.write_tree(tmp_path / "plain", dict.fromkeys(names, 3)), "gs://box", "--key", key)
    assert store.names() == sorted(names)
    size = len(store.ask("GET", "/box/00")[2])
    for place, below in (("gs://box", names), ("gs://box/a", [name for name in names if name.startswith("a/")])):
        assert summary(store.run("verify", place, "--key", key, "--json"))["files"] == len(below)
        plan = json.loads(store.run("plan", place, "--json").stdout)
        assert (plan["objects"], plan["bytes"]) == (len(below), size * len(below)) and plan["requests"]["list"] > len(below) // 7


def test_streams(store, key):
    content = tool.content(21_000_000)
    for name, plain in (("small", b"few"), ("large", content)):
        place = f"gs://box/{name}"
        store_run = {"env": store.environment(), "capture_output": True, "timeout": 600}
        for code in (tool.DONE, tool.FAILED):
            done = subprocess.run([tool.COMMAND, "encrypt", "-", place, "--key", key], input=plain, **store_run)
            assert done.returncode == code, done.stderr
        done = subprocess.run([tool.COMMAND, "decrypt", place, "-", "--key", key], **store_run)
        assert (done.returncode, done.stdout) == (tool.DONE, plain), done.stderr
    assert store.names() == ["large", "small"] and not store.uploads


def test_a_stopped_run_takes_its_upload_back(store, plain, key):
    stopped(store, Stuck(is_part), "encrypt", plain, "gs://box/sealed", "--key", key)
    assert not store.uploads and not any("large" in name or ".cipherloom-" in name for name in store.names())


def test_a_public_bucket_is_read_without_credentials(store, tmp_path, plain, key):
    store.run("encrypt", plain, "gs://box/sealed", "--key", key)
    public = os.environ | {"GOOGLE_SKIP_SIGNATURE": "true", "GOOGLE_BASE_URL": f"http://127.0.0.1:{store.port}"}
    tool.run("decrypt", "gs://box/sealed", tmp_path / "back", "--key", key, env=public)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_a_bucket_that_is_not_there(store, plain, key):
    done = store.run("verify", "gs://missing/x", "--key", key, "--retries", "0", code=tool.FAILED)
    assert "no such bucket" in tool.message(done)
    done = store.run("encrypt", plain, "gs://missing/x", "--key", key, "--retries", "0", code=tool.FAILED)
    # Once, before any file is read.
    assert tool.message(done).count("no such bucket") == 1
