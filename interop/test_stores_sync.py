"""`sync` to a bucket: what is new or changed alone is written, each object and the index on condition, and nothing is lost."""

import json
import os
import pathlib
import shutil
import subprocess
import threading

import index_reader
import pytest
import stores
import tool
from test_stores_index import proxied, summary
from test_stores_stop import Stuck, is_part, stopped

SIZES = {"empty": 0, "one": 1, "deep/er/chapter é": 5_000, "deep/other": 5_000, "large.bin": 8_500_000}


@pytest.fixture
def plain(tmp_path):
    tree = tool.write_tree(tmp_path / "plain", SIZES)
    # No store has it.
    (tree / "empty folder").mkdir()
    return tree


@pytest.fixture
def place(s3):
    """An empty prefix, and its folder past the gateway."""
    bucket = s3.bucket()
    return f"s3://{bucket}/sealed", s3.data / bucket / "sealed"


@pytest.fixture
def synced(s3, plain, place, key):
    """The same with the tree in it."""
    s3.run("sync", plain, place[0], "--key", key)
    return place


def edit(plain):
    """Edits of each kind."""
    (plain / "one").write_bytes(b"2")
    (plain / "new").mkdir()
    (plain / "new/er").write_bytes(b"new")
    (plain / "deep/other").unlink()
    (plain / "empty").rename(plain / "still empty")
    (plain / "large.bin").write_bytes(tool.content(8_600_000, 7))


def is_output(target):
    return ".cipherloom" not in target and "sealed/" in target.partition("?")[0]


def outputs(proxy, *methods):
    """The outputs that such requests were about."""
    paths = [target.partition("?")[0] for method, target in proxy.requests if method in methods]
    return {path.partition("sealed/")[2] for path in paths if is_output(path)}


def removals(proxy):
    """When the store was asked to remove something."""
    return [number for number, (method, _) in enumerate(proxy.requests) if method == "DELETE"]


def replace(s3, plain, place, key):
    """Puts another stream of the same length in the place of one."""
    s3.run("encrypt", plain / "deep/er/chapter é", f"{place[0]}/deep/other", "--key", key, "--if-exists", "overwrite")


def remove(s3, place, name):
    """Removes an object, and what the gateway knows of it."""
    (place[1] / name).unlink()
    shutil.rmtree(s3.metadata / place[1].relative_to(s3.data) / name)


def check(s3, place, plain, key, tmp_path, code=tool.DONE):
    """All is as in the source, and the index lists it."""
    done = s3.run("verify", place[0], "--key", key, "--json", code=code)
    names = {name.decode() for name in tool.read_tree(plain)}
    folders = {os.fspath(folder) for name in names for folder in pathlib.PurePath(name).parents} - {"."}
    listed = {entry["path"].decode(): entry["kind"] for entry in index_reader.read(place[1], key)[1]}
    assert listed == dict.fromkeys(names, "file") | dict.fromkeys(folders, "folder")
    s3.run("decrypt", place[0], tmp_path / "opened", "--key", key, "--if-exists", "overwrite")
    opened = tool.read_tree(tmp_path / "opened")
    assert {name: opened[name] for name in tool.read_tree(plain)} == tool.read_tree(plain)
    return summary(done)


def test_only_what_changed_is_written(s3, tmp_path, plain, place, key):
    sync = ["sync", plain, place[0], "--key", key, "--json"]
    counts = summary(s3.run(*sync))
    assert counts["sync"]["new"] == len(SIZES) and counts["index"]["generation"] == 1
    check(s3, place, plain, key, tmp_path)
    # Nothing to do: no request for an object, and nothing is written.
    for flags in ([], ["--delete"], ["--dry-run"]):
        done, proxy = proxied(s3, lambda _: None, *sync, *flags)
        assert summary(done)["sync"]["unchanged"] == len(SIZES)
        assert summary(done)["index"]["generation"] == 1
        assert not outputs(proxy, "GET", "HEAD", "PUT", "POST", "DELETE")
        assert not {method for method, _ in proxy.requests} - {"GET", "HEAD"}
    edit(plain)
    before = tool.read_tree(place[1])
    done, proxy = proxied(s3, lambda _: None, *sync, "--dry-run", "--delete")
    expected = {"new": 2, "changed": 2, "removed": 2, "unchanged": 1}
    assert {name: summary(done)["sync"][name] for name in expected} == expected
    assert tool.read_tree(place[1]) == before and not outputs(proxy, "PUT", "POST", "DELETE")
    done, proxy = proxied(s3, lambda _: None, *sync)
    expected = {"new": 2, "changed": 2, "removed": 0, "gone": 2}
    assert {name: summary(done)["sync"][name] for name in expected} == expected
    assert outputs(proxy, "PUT", "POST") == {"one", "new/er", "still%20empty", "large.bin"}
    assert not removals(proxy)
    assert summary(s3.run("verify", place[0], "--key", key, "--json"))["files"] == len(SIZES) + 2
    done, proxy = proxied(s3, lambda _: None, *sync, "--delete")
    assert summary(done)["sync"]["removed"] == 2
    assert not {"deep/other", "empty"} & tool.read_tree(place[1]).keys()
    # Objects are removed when a generation of this run is in force, before the one that says it.
    puts = [number for number, (method, target) in enumerate(proxy.requests) if method == "PUT" and target.endswith("index/root")]
    assert len(puts) == 2 and all(puts[0] < number < puts[1] for number in removals(proxy))
    counts = check(s3, place, plain, key, tmp_path)
    assert (counts["index"]["missing"], counts["index"]["extra"]) == (0, 0)
    assert summary(s3.run(*sync, "--delete"))["index"]["generation"] == counts["index"]["generation"]


def test_permissions_and_content(s3, tmp_path, plain, synced, key):
    sync = ["sync", plain, synced[0], "--key", key, "--json"]
    (plain / "one").chmod(0o600)
    done, proxy = proxied(s3, lambda _: None, *sync)
    assert summary(done)["sync"]["mode"] == 1 and not outputs(proxy, "GET", "PUT")
    assert summary(s3.run(*sync))["sync"]["unchanged"] == len(SIZES)
    assert summary(s3.run(*sync, "--checksum"))["sync"]["changed"] == len(SIZES)
    # Another content of the same size and time.
    times = (plain / "one").stat()
    (plain / "one").write_bytes(b"3")
    os.utime(plain / "one", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert summary(s3.run(*sync))["sync"]["changed"] == 0
    assert summary(s3.run(*sync, "--checksum"))["sync"]["changed"] == 1
    check(s3, synced, plain, key, tmp_path)


def test_outputs_that_are_missing_or_others_are_restored(s3, tmp_path, plain, synced, key):
    place, _ = synced
    remove(s3, synced, "deep/er/chapter é")
    replace(s3, plain, synced, key)
    s3.run("encrypt", plain / "one", f"{place}/empty", "--key", key, "--if-exists", "overwrite")
    done, proxy = proxied(s3, lambda _: None, "sync", plain, place, "--key", key, "--json")
    assert summary(done)["sync"]["restored"] == 3
    assert outputs(proxy, "GET") == {"deep/other"}
    check(s3, synced, plain, key, tmp_path)


@pytest.mark.parametrize("flags", [[], ["--checksum"]])
def test_a_restore_that_was_refused_is_done_by_the_next_run(s3, tmp_path, plain, synced, key, flags):
    replace(s3, plain, synced, key)
    (plain / "one").write_bytes(b"2")
    sync = ["sync", plain, synced[0], "--key", key, "--retries", "0", "--json"]
    refusal = stores.refuse(403, "AccessDenied")

    def rule(request):
        return refusal if request.method == "PUT" and request.path.endswith("deep/other") else None

    done, _ = proxied(s3, rule, *sync, *flags, code=tool.PARTIAL)
    # The other files are listed, in a root that is newer than the object.
    assert (summary(done)["failed"], summary(done)["index"]["generation"]) == (1, 2)
    s3.run("verify", synced[0], "--key", key, code=tool.UNAUTHENTIC)
    assert summary(s3.run(*sync))["sync"]["restored"] == 1
    check(s3, synced, plain, key, tmp_path)


@pytest.mark.parametrize("when", ["before the root", "before the kill"])
def test_what_the_index_does_not_know_is_looked_at(s3, tmp_path, plain, synced, key, when):
    sync = ["sync", plain, synced[0], "--key", key, "--json"]
    if when == "before the kill":
        # Another content of the same size and time, which the index does not list yet.
        times = (plain / "deep/other").stat()
        (plain / "deep/other").write_bytes(tool.content(5_000, 9))
        os.utime(plain / "deep/other", ns=(times.st_atime_ns, times.st_mtime_ns))
        kill_at_the_root(s3, *sync, "--checksum")
    else:
        (plain / "one").write_bytes(b"2")
        written = []

        def rule(request):
            # Somebody else comes when the listing is old and the root is not there yet.
            if request.method == "PUT" and request.path.endswith("index/root") and not written:
                written.append(replace(s3, plain, synced, key))

        assert summary(proxied(s3, rule, *sync)[0])["failed"] == 0
    s3.run("verify", synced[0], "--key", key, code=tool.UNAUTHENTIC)
    assert summary(s3.run(*sync))["sync"]["restored"] >= 1
    check(s3, synced, plain, key, tmp_path)


def test_a_version_that_is_not_known_is_learned(s3, plain, place, key):
    sync = ["sync", plain, place[0], "--key", key, "--json"]

    def rule(request):
        return stores.lose_answer if request.method == "PUT" and request.path.endswith("sealed/one") and not request.number else None

    proxied(s3, rule, *sync)
    listed = {entry["path"] for entry in index_reader.read(place[1], key)[1] if "version" in entry}
    assert listed == {name.encode() for name in SIZES if name != "one"}
    # Its ends are read in each run, until one has something to write.
    for changed, read in ((False, {"one"}), (True, {"one"}), (False, set())):
        if changed:
            (plain / "empty").write_bytes(b"no more")
        done, proxy = proxied(s3, lambda _: None, *sync)
        assert (outputs(proxy, "GET"), summary(done)["sync"]["unchanged"]) == (read, len(SIZES) - changed)


def test_an_object_that_vanishes_fails_no_other_one(s3, tmp_path, plain, synced, key):
    sync = ["sync", plain, synced[0], "--key", key, "--delete", "--json"]

    def rule(request):
        # It was listed, and is about to be looked at.
        if request.method == "GET" and request.path.endswith("deep/other") and (synced[1] / "deep/other").exists():
            remove(s3, synced, "deep/other")

    replace(s3, plain, synced, key)
    (plain / "one").write_bytes(b"2")
    done, _ = proxied(s3, rule, *sync, code=tool.PARTIAL)
    assert (summary(done)["sync"]["changed"], summary(done)["failed"]) == (1, 1)
    assert b"left as it is: another run has written or removed it" in done.stdout
    s3.run(*sync)
    check(s3, synced, plain, key, tmp_path)
    (plain / "deep/other").unlink()
    assert summary(proxied(s3, rule, *sync)[0])["sync"]["removed"] == 1
    check(s3, synced, plain, key, tmp_path)


def test_what_was_just_replaced_is_not_removed(s3, plain, synced, key):
    (plain / "deep/other").unlink()
    written = []

    def rule(request):
        if request.method == "DELETE" and not written:
            written.append(replace(s3, plain, synced, key))

    before = (synced[1] / "deep/other").read_bytes()
    done, _ = proxied(s3, rule, "sync", plain, synced[0], "--key", key, "--delete", code=tool.PARTIAL)
    assert "deep/other: left as it is: another run has written or removed it" in tool.message(done)
    assert (synced[1] / "deep/other").read_bytes() != before


def test_a_large_object_is_compared_where_the_store_does_not(s3, tmp_path, plain, synced, key):
    (plain / "large.bin").write_bytes(tool.content(8_600_000, 7))
    other = tool.write_tree(tmp_path / "other", {"large.bin": 8_500_000})
    written = []

    def ignore_condition(handler, forward):
        # It is not signed.
        del handler.headers["If-Match"]
        handler.answer(*stores.reordered(forward()))

    def rule(request):
        if is_part(request) and not written:
            written.append(s3.run("encrypt", other, synced[0], "--key", key, "--if-exists", "overwrite"))
        return ignore_condition if request.method == "POST" and "uploadId" in request.query else None

    done, _ = proxied(s3, rule, "sync", plain, synced[0], "--key", key, code=tool.PARTIAL)
    assert "large.bin: left as it is: another run has written or removed it" in tool.message(done)
    s3.run("decrypt", synced[0], tmp_path / "theirs", "--key", key)
    assert (tmp_path / "theirs/large.bin").read_bytes() == (other / "large.bin").read_bytes()


def test_what_no_key_opens_is_not_replaced(s3, tmp_path, plain, synced, key):
    place, folder = synced
    (plain / "theirs").write_bytes(b"ours")
    s3.run("floor", plain / "deep/other", f"{place}/theirs")
    theirs = (folder / "theirs").read_bytes()
    done = s3.run("sync", plain, place, "--key", key, code=tool.PARTIAL)
    assert f"{place}/theirs: not replaced: the index does not list it, and no key opens it" in tool.message(done)
    assert (folder / "theirs").read_bytes() == theirs
    # Under another key, an empty prefix is needed.
    other = tool.keygen(tmp_path / "other.json")
    s3.run("sync", plain, place, "--key", other, code=tool.UNAUTHENTIC)


def test_only_the_listed_stream_is_removed(s3, tmp_path, plain, synced, key):
    place, folder = synced
    s3.run("encrypt", plain / "deep/er/chapter é", f"{place}/deep/other", "--key", key, "--if-exists", "overwrite")
    kept = (folder / "deep/other").read_bytes()
    (plain / "deep/other").unlink()
    (plain / "one").unlink()
    done = s3.run("sync", plain, place, "--key", key, "--delete", code=tool.UNAUTHENTIC)
    assert f"{place}/deep/other: replaced" in tool.message(done)
    assert (folder / "deep/other").read_bytes() == kept and not (folder / "one").exists()


def test_a_file_in_the_place_of_a_folder(s3, tmp_path, plain, synced, key):
    place, _ = synced
    for name in ("deep/er/chapter é", "one"):
        (plain / name).unlink()
    (plain / "deep/er").rmdir()
    (plain / "deep/er").write_bytes(b"a file now")
    (plain / "one").mkdir()
    (plain / "one/file").write_bytes(b"in a folder now")
    done = s3.run("sync", plain, place, "--key", key, code=tool.PARTIAL)
    assert tool.message(done).count("the index lists something else in its place") == 2
    s3.run("verify", place, "--key", key)
    _, told, _ = stopped(s3, Stuck(lambda request: request.method == "DELETE"), "sync", plain, place, "--key", key, "--delete")
    assert "in its place" not in told
    s3.run("sync", plain, place, "--key", key, "--delete")
    counts = check(s3, synced, plain, key, tmp_path)
    assert (counts["index"]["missing"], counts["index"]["extra"]) == (0, 0)


@pytest.mark.parametrize("when", ["output", "large", "root", "next"])
def test_of_two_runs_at_once_one_fails_and_nothing_is_lost(s3, tmp_path, plain, synced, key, when):
    place, _ = synced
    edit(plain)
    sync = ["sync", plain, place, "--key", key, "--delete"]
    other = [tool.write_tree(tmp_path / "other", {"one": b"3"}), place, "--key", key, "--index", "--if-exists", "overwrite"]
    wanted = {"output": "sealed/one", "large": "sealed/large.bin", "root": "index/root", "next": "root.previous"}[when]
    lock, second = threading.Lock(), []

    def rule(request):
        # All of the second run comes before this write of the first one.
        is_write = request.method == "PUT" or (request.method == "POST" and "uploadId" in request.query)
        # Between its two generations it asks what has become of the first one.
        is_next = when == "next" and request.method == "HEAD" and request.number == 1
        if (is_next or (is_write and when != "next")) and request.path.endswith(wanted):
            with lock:
                second or second.append(s3.run(*sync) if when != "next" else s3.run("encrypt", *other))

    done, _ = proxied(s3, rule, *sync, "--in-flight", "1", code=tool.PARTIAL)
    assert second and "another run has written" in tool.message(done)
    # What the second run has written and listed is there.
    s3.run("verify", place, "--key", key)
    if when != "next":
        check(s3, synced, plain, key, tmp_path)
    s3.run(*sync)
    check(s3, synced, plain, key, tmp_path)


def test_lost_answers_do_not_matter(s3, tmp_path, plain, synced, key):
    edit(plain)

    def rule(request):
        is_write = request.method in ("PUT", "DELETE") or (request.method == "POST" and "uploadId" in request.query)
        return stores.lose_answer if is_write and request.number == 0 else None

    done, _ = proxied(s3, rule, "sync", plain, synced[0], "--key", key, "--delete", "--json")
    assert summary(done)["failed"] == 0
    check(s3, synced, plain, key, tmp_path)


def test_a_stopped_run_lists_what_is_complete(s3, tmp_path, plain, place, key):
    sync = ["sync", plain, place[0], "--key", key, "--json"]
    out, told, _ = stopped(s3, Stuck(is_part), *sync, "--in-flight", "1")
    done = json.loads(out.splitlines()[-1])
    assert "large.bin" not in {name.decode() for name in tool.read_tree(place[1])}
    assert done["index"]["generation"] == 1 and done["failed"] == 0, told
    assert s3.run("verify", place[0], "--key", key)
    assert summary(s3.run(*sync))["sync"]["unchanged"] == done["files"]
    check(s3, place, plain, key, tmp_path)


def kill_at_the_root(s3, *sync):
    kill_when(s3, lambda request: request.method == "PUT" and request.path.endswith("index/root"), *sync)


def kill_when(s3, is_stuck, *sync):
    """Kills the command when it sends a request that gets stuck."""
    rule = Stuck(is_stuck)
    proxy = stores.Proxy(s3.port, rule)
    with proxy.running() as port:
        run = subprocess.Popen([tool.COMMAND, *map(str, sync)], env=s3.environment(port), stdin=subprocess.DEVNULL)
        assert rule.seen.wait(60)
        run.kill()
        run.wait()
        rule.free.set()


@pytest.mark.parametrize("flags", [[], ["--checksum"]])
def test_a_killed_run_is_gone_on_with(s3, tmp_path, plain, synced, key, flags):
    edit(plain)
    sync = ["sync", plain, synced[0], "--key", key, "--delete", *flags]
    kill_at_the_root(s3, *sync)
    # The older versions were replaced, and nothing was removed.
    s3.run("verify", synced[0], "--key", key, code=tool.UNAUTHENTIC)
    assert (synced[1] / "deep/other").exists()
    (plain / "one").write_bytes(b"3")
    done, proxy = proxied(s3, lambda _: None, *sync, "--json")
    # What it made of the source as it is now is not made again. Content is not known by its time where it is compared.
    written = {"one"} if not flags else {"one", "new/er", "still%20empty", "large.bin", "deep/er/chapter%20%C3%A9"}
    assert outputs(proxy, "PUT", "POST") == written
    assert (summary(done)["skipped"], summary(done)["failed"]) == (3 if not flags else 0, 0)
    events = [json.loads(line) for line in done.stdout.splitlines()[:-1]]
    assert {event["action"] for event in events if event["event"] == "skipped"} <= {"new", "changed"}
    check(s3, synced, plain, key, tmp_path)


def test_paths_are_bound_and_names_have_a_suffix(s3, tmp_path, plain, place, key):
    flags = ["--key", key, "--suffix", ".enc", "--bind-path"]
    sync = ["sync", plain, place[0], *flags, "--delete", "--json"]
    kill_at_the_root(s3, *sync)
    counts = summary(s3.run(*sync))
    assert (counts["skipped"], counts["sync"]["new"]) == (len(SIZES), len(SIZES))
    assert summary(s3.run(*sync))["sync"]["unchanged"] == len(SIZES)
    edit(plain)
    assert summary(s3.run(*sync))["sync"]["removed"] == 2
    assert summary(s3.run("verify", place[0], *flags, "--json"))["index"]["extra"] == 0
    s3.run("decrypt", place[0], tmp_path / "opened", *flags)
    assert tool.read_tree(tmp_path / "opened") == tool.read_tree(plain)
    assert all(name.endswith(b".enc") for name in tool.read_tree(place[1]) if not name.startswith(b".cipherloom"))


def test_an_older_stream_is_not_taken_for_a_new_one(s3, tmp_path, plain, synced, key):
    place, folder = synced
    (plain / "later").write_bytes(b"1")
    kill_at_the_root(s3, "sync", plain, place, "--key", key)
    older = (folder / "later").read_bytes()
    (plain / "later").write_bytes(b"2")
    kill_at_the_root(s3, "sync", plain, place, "--key", key)
    # Somebody who may write to the bucket puts it back, and streams of other files.
    (folder / "later").write_bytes(older)
    (plain / "last").write_bytes(b"3")
    s3.run("floor", folder / "one", f"{place}/last")
    (plain / "more").write_bytes(b"4")
    done, proxy = proxied(s3, lambda _: None, "sync", plain, place, "--key", key)
    assert "skipped" not in tool.message(done)
    assert outputs(proxy, "PUT") == {"later", "last", "more"}
    check(s3, synced, plain, key, tmp_path)


def test_a_run_that_fails_harms_no_other_one(s3, tmp_path, plain, synced, key):
    edit(plain)
    sync = ["sync", plain, synced[0], "--key", key, "--delete"]
    second = []

    def rule(request):
        # When the first run is about to write its root, the second one has come as far.
        if request.method == "PUT" and request.path.endswith("index/root") and not second:
            second.append(kill_at_the_root(s3, *sync))

    proxied(s3, rule, *sync)
    assert second
    check(s3, synced, plain, key, tmp_path)


def test_what_the_store_refuses_is_done_by_the_next_run(s3, tmp_path, plain, synced, key):
    edit(plain)
    sync = ["sync", plain, synced[0], "--key", key, "--delete", "--retries", "0"]
    before = tool.read_tree(synced[1])

    def refused(is_refused, code=tool.PARTIAL):
        refusal = stores.refuse(403, "AccessDenied")
        return proxied(s3, lambda request: refusal if is_refused(request) else None, *sync, code=code)

    # Without its listing nothing is begun.
    done, _ = refused(lambda request: request.is_listing and "delimiter" not in request.query and "cipherloom" not in request.query, tool.FAILED)
    assert "cannot list" in tool.message(done) and tool.read_tree(synced[1]) == before
    # The older version stays, and nothing is removed.
    refused(lambda request: request.method == "PUT" and request.path.endswith("sealed/one"))
    assert (synced[1] / "one").read_bytes() == before[b"one"] and (synced[1] / "deep/other").exists()
    s3.run("verify", synced[0], "--key", key)
    refused(lambda request: request.method == "DELETE")
    assert (synced[1] / "deep/other").exists()
    s3.run("verify", synced[0], "--key", key)
    s3.run(*sync)
    check(s3, synced, plain, key, tmp_path)


def test_a_source_that_changes_is_taken_by_the_next_run(s3, tmp_path, plain, synced, key):
    edit(plain)
    sync = ["sync", plain, synced[0], "--key", key, "--delete"]

    def rule(request):
        if is_part(request):
            (plain / "large.bin").write_bytes(tool.content(8_700_000, 8))

    done, _ = proxied(s3, rule, *sync, code=tool.PARTIAL)
    assert "large.bin: the file changed while it was read" in tool.message(done)
    s3.run("verify", synced[0], "--key", key)
    s3.run(*sync)
    check(s3, synced, plain, key, tmp_path)


def test_swapped_objects_and_a_rollback_are_found(s3, tmp_path, plain, place, key):
    anchor = ["--anchor", tmp_path / "anchor"]
    s3.run("sync", plain, place[0], "--key", key, *anchor)
    root = (place[1] / ".cipherloom/index/root").read_bytes()
    (place[1] / "deep/other").rename(tmp_path / "kept")
    (place[1] / "deep/er/chapter é").rename(place[1] / "deep/other")
    (tmp_path / "kept").rename(place[1] / "deep/er/chapter é")
    done = s3.run("verify", place[0], "--key", key, code=tool.UNAUTHENTIC)
    assert "swapped: the index lists this file as deep/other" in tool.message(done)
    (plain / "one").write_bytes(b"2")
    s3.run("sync", plain, place[0], "--key", key, *anchor)
    (place[1] / ".cipherloom/index/root").write_bytes(root)
    done = s3.run("sync", plain, place[0], "--key", key, *anchor, code=tool.UNAUTHENTIC)
    assert "rolled back" in tool.message(done)


def test_what_has_no_place_in_a_store_is_refused(s3, tmp_path, plain, place, key):
    for refused, words in (
        (["sync", plain, place[0], "--links", "copy"], "a store has no links"),
        (["sync", place[0], tmp_path / "out"], "sync needs a folder"),
        (["sync", plain / "one", place[0]], "sync needs a folder"),
    ):
        assert words in tool.message(s3.run(*refused, "--key", key, code=tool.USAGE))
    assert not place[1].exists()
