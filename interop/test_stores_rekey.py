"""`rekey` of a prefix with its index: each object on condition, the root last, and a run that was killed is gone on with."""

import shutil

import index_reader
import pytest
import stores
import tool
from test_index import is_marked
from test_stores_index import SIZES, plain, proxied, sealed, summary
from test_stores_stop import Stuck, is_part, stopped
from test_stores_sync import kill_when

__all__ = ["plain", "sealed"]


@pytest.fixture
def new(tmp_path):
    return tool.keygen(tmp_path / "new.json", "AES128_CTR_HMAC_SHA256_4KB")


@pytest.fixture
def rekey(sealed, key, new):
    """The command that re-keys the tree where it is."""
    return ["rekey", sealed[0], sealed[0], "--key", key, "--to", new, "--if-exists", "overwrite"]


def unchanged(entry):
    """What re-keying leaves as it is."""
    return {name: value for name, value in entry.items() if name not in {"identity", "key_id", "encrypted_size", "version"}}


def files(entries):
    return {entry["path"].decode(): entry for entry in entries if entry["kind"] == "file"}


def check(s3, place, folder, key, before, plain, tmp_path):
    """The index lists under this key what it listed before, and all objects are those."""
    counts = summary(s3.run("verify", place, "--key", key, "--json"))
    assert (counts["files"], counts["index"]["missing"], counts["index"]["extra"]) == (len(SIZES), 0, 0)
    _, entries = index_reader.read(folder, key)
    assert [unchanged(entry) for entry in entries] == [unchanged(entry) for entry in before]
    [new_key] = index_reader.keys(key).values()
    for name, entry in files(entries).items():
        assert entry["identity"] == index_reader.identity(folder / name)
        assert is_marked(folder / name, new_key, files(before)[name]["identity"], name.encode())
    s3.run("decrypt", place, tmp_path / "opened", "--key", key)
    assert tool.read_tree(tmp_path / "opened") == tool.read_tree(plain)


def written(proxy):
    """The objects that were written, without those of the index."""
    paths = {target.partition("?")[0] for method, target in proxy.requests if method in ("PUT", "POST")}
    return {path.partition("sealed/")[2] for path in paths if ".cipherloom" not in path}


def test_in_place(s3, tmp_path, sealed, plain, key, new, rekey):
    place, folder = sealed
    anchor = tmp_path / "anchor"
    s3.run("verify", place, "--key", key, "--anchor", anchor)
    _, before = index_reader.read(folder, key)
    counts = summary(s3.run(*rekey, "--anchor", anchor, "--json"))
    assert (counts["files"], counts["failed"], counts["index"]["generation"]) == (len(SIZES), 0, 3)
    check(s3, place, folder, new, before, plain, tmp_path)
    s3.run("verify", place, "--key", new, "--quick", "--anchor", anchor)
    # Nothing is left to be done, for `sync` neither: it knows the objects' versions.
    done, proxy = proxied(s3, lambda _: None, *rekey, "--anchor", anchor, "--json")
    assert (summary(done)["skipped"], summary(done)["failed"], written(proxy)) == (len(SIZES), 0, set())
    assert summary(s3.run("sync", plain, place, "--key", new, "--json"))["sync"]["unchanged"] == len(SIZES)
    # One keyset with another primary key is enough.
    tool.run("keys", "add", new)
    tool.run("keys", "promote", new, str(max(index_reader.keys(new))))
    again = ["rekey", place, place, "--key", new, "--to", new, "--if-exists", "overwrite"]
    s3.run(*again, "--anchor", anchor)
    s3.run("verify", place, "--key", new, "--anchor", anchor)


def test_into_another_prefix(s3, tmp_path, sealed, plain, key, new):
    place, folder = sealed
    _, before = index_reader.read(folder, key)
    bucket = s3.bucket()
    other, copy = f"s3://{bucket}/resealed", s3.data / bucket / "resealed"
    rekey = ["rekey", place, other, "--key", key, "--to", new]
    stored = tool.read_tree(folder)
    # Killed before the root, and gone on with.
    kill_when(s3, is_root, *rekey)
    assert "nothing shows that" not in tool.message(s3.run(*rekey, "--if-exists", "skip"))
    check(s3, other, copy, new, before, plain, tmp_path)
    assert summary(s3.run(*rekey, "--if-exists", "skip", "--json"))["skipped"] == len(SIZES)
    assert tool.read_tree(folder) == stored
    # What is not proven to be made of a listed object is not taken in.
    s3.run("encrypt", plain / "one", f"{other}/one", "--key", new, "--if-exists", "overwrite")
    s3.run(*rekey, "--if-exists", "skip", code=tool.PARTIAL)
    done = s3.run("verify", other, "--key", new, code=tool.UNAUTHENTIC)
    assert f"{other}/one: replaced" in tool.message(done)
    s3.run(*rekey, "--if-exists", "overwrite")
    s3.run("verify", other, "--key", new)


def is_root(request, number=0):
    return request.method == "PUT" and request.path.endswith("index/root") and request.number == number


def is_last_root(request):
    """In place: the first one takes the index over before anything is re-keyed."""
    return is_root(request, 1)


@pytest.mark.parametrize("paths", [["--suffix", ".enc"], ["--bind-path"]])
def test_suffixes_and_bound_paths(s3, tmp_path, plain, key, new, paths):
    place = f"s3://{s3.bucket()}/sealed"
    s3.run("encrypt", plain, place, "--key", key, "--index", *paths)
    bound = [flag for flag in paths if flag == "--bind-path"]
    rekey = ["rekey", place, place, "--key", key, "--to", new, "--if-exists", "overwrite", *bound]
    kill_when(s3, is_last_root, *rekey)
    assert summary(s3.run(*rekey, "--json"))["skipped"] == len(SIZES)
    s3.run("verify", place, "--key", new, *bound)
    s3.run("decrypt", place, tmp_path / "opened", "--key", new, *paths)
    assert tool.read_tree(tmp_path / "opened") == tool.read_tree(plain)


@pytest.mark.parametrize(
    "point",
    [
        lambda request: request.method == "PUT" and request.path.endswith("/one"),
        lambda request: request.method == "POST" and request.path.endswith("/large.bin"),
        is_root,
        is_last_root,
    ],
    ids=["object", "large object", "first root", "last root"],
)
def test_a_killed_run_is_gone_on_with(s3, tmp_path, sealed, plain, key, new, rekey, point):
    place, folder = sealed
    _, before = index_reader.read(folder, key)
    kill_when(s3, point, *rekey, "--in-flight", "1")
    old = {name for name, entry in files(before).items() if entry["identity"] == index_reader.identity(folder / name)}
    done, proxy = proxied(s3, lambda _: None, *rekey, "--json")
    assert written(proxy) == {name.replace(" ", "%20").replace("é", "%C3%A9") for name in old}
    assert (summary(done)["skipped"], summary(done)["failed"]) == (len(SIZES) - len(old), 0)
    check(s3, place, folder, new, before, plain, tmp_path)


def test_lost_answers_and_a_stopped_run(s3, tmp_path, sealed, plain, key, new, rekey):
    place, folder = sealed
    _, before = index_reader.read(folder, key)
    out, told, _ = stopped(s3, Stuck(is_part), *rekey, "--in-flight", "1", "--json")
    # The index lists under the new key what was re-keyed, and all else as it was.
    generation, entries = index_reader.read(folder, new)
    assert files(entries).keys() == SIZES.keys() and generation == 3, told
    assert files(entries)["large.bin"] == files(before)["large.bin"]
    assert files(entries)["a book.epub"]["identity"] == index_reader.identity(folder / "a book.epub")
    proxied(s3, lambda request: stores.lose_answer if request.method == "PUT" and request.number == 0 else None, *rekey)
    check(s3, place, folder, new, before, plain, tmp_path)


def test_what_is_not_the_listed_object_is_reported_and_left(s3, tmp_path, sealed, plain, key, new, rekey):
    place, folder = sealed
    older = (folder / "one").read_bytes()
    (plain / "one").write_bytes(b"2")
    s3.run("encrypt", plain, place, "--key", key, "--index", "--if-exists", "overwrite", "--include", "one")
    good = {name: (folder / name).read_bytes() for name in SIZES}
    s3.run("floor", folder / "deep/other", f"{place}/later")
    # Rolled back, swapped, and gone; a copy is under another name.
    (folder / "one").write_bytes(older)
    (folder / "deep/other").write_bytes(good["deep/er/chapter é"])
    (folder / "empty").unlink()
    left = {name: (folder / name).read_bytes() for name in ("one", "deep/other", "later")}
    for _ in range(2):
        said = tool.message(s3.run(*rekey, code=tool.UNAUTHENTIC))
        assert f"{place}/one: replaced: it is not what the index lists" in said
        # Whether the other one is still listed as it was, or is re-keyed.
        assert any(f"{place}/deep/other: {word}" in said for word in ("swapped: the index lists this file as deep/er/", "replaced"))
        assert f"{place}/empty: missing" in said
        assert f"{place}/later: moved or copied: the index lists this file as deep/other" in said
        assert {name: (folder / name).read_bytes() for name in left} == left
        # No entry is dropped, and none is made of what was found.
        entries = files(index_reader.read(folder, new)[1])
        assert entries.keys() == SIZES.keys()
        for name in ("one", "deep/other", "empty"):
            (tmp_path / "good").write_bytes(good[name])
            assert entries[name]["identity"] == index_reader.identity(tmp_path / "good")
    # The right objects are put back, and the next run goes on.
    for name in ("one", "deep/other", "empty"):
        (tmp_path / "good").write_bytes(good[name])
        s3.run("floor", tmp_path / "good", f"{place}/{name}", "--if-exists", "overwrite")
    (folder / "later").unlink()
    assert summary(s3.run(*rekey, "--json"))["files"] == 3
    s3.run("verify", place, "--key", new)
    s3.run("verify", place, "--key", key, code=tool.UNAUTHENTIC)


def test_after_a_kill_an_object_is_not_believed_because_it_opens(s3, tmp_path, sealed, plain, key, new, rekey):
    place, folder = sealed
    older = tmp_path / "older"
    shutil.copytree(folder, older)
    kill_when(s3, is_last_root, *rekey)
    # Another re-keyed object, one of the new key, and one whose beginning alone is right.
    (folder / "deep/other").write_bytes((folder / "deep/er/chapter é").read_bytes())
    s3.run("encrypt", plain / "one", f"{place}/one", "--key", new, "--if-exists", "overwrite")
    for name in ("a book.epub", "large.bin"):
        damaged = bytearray((folder / name).read_bytes())
        damaged[-1000] ^= 1
        (folder / name).write_bytes(damaged)
    said = tool.message(s3.run(*rekey, code=tool.UNAUTHENTIC))
    assert f"{place}/deep/other: replaced" in said and f"{place}/one: replaced" in said
    assert f"{place}/a book.epub: " in said and f"{place}/large.bin: " in said and "4 FAILED" in said
    # These are listed as before, and so are found again when they are put back.
    for name in ("deep/other", "one", "a book.epub", "large.bin"):
        s3.run("floor", older / name, f"{place}/{name}", "--if-exists", "overwrite")
    assert summary(s3.run(*rekey, "--json"))["files"] == 4
    s3.run("verify", place, "--key", new)


def test_a_store_cannot_have_another_object_listed_for_the_marked_one(s3, tmp_path, sealed, plain, key, new, rekey):
    place, folder = sealed
    kill_when(s3, is_last_root, *rekey)
    rekeyed = folder / "large.bin"
    tool.run("encrypt", plain / "large.bin", tmp_path / "large.bin", "--key", new)
    other = (tmp_path / "large.bin").read_bytes()
    assert len(other) == rekeyed.stat().st_size

    def answers_from_other_after(requests):
        asked = []

        def answer(handler, forward):
            asked.append(handler.headers["Range"])
            is_other = len(asked) > requests
            start, end = map(int, handler.headers["Range"].removeprefix("bytes=").split("-"))
            status, headers, body = forward()
            handler.answer(status, other[start : end + 1] if is_other else body, headers)

        return asked, lambda request: answer if request.method == "GET" and request.path.endswith("large.bin") else None

    requests = 0
    while True:
        asked, rule = answers_from_other_after(requests)
        done, _ = proxied(s3, rule, *rekey, code=None)
        if done.returncode == tool.DONE:
            break
        assert f"{place}/large.bin: " in tool.message(done)
        requests += 1
    # All was believed only when nothing came from the other object.
    assert requests == len(asked) > 3
    assert files(index_reader.read(folder, new)[1])["large.bin"]["identity"] == index_reader.identity(rekeyed)


def test_an_object_that_changes_meanwhile_is_not_replaced(s3, tmp_path, sealed, plain, key, new, rekey):
    place, folder = sealed

    def rule(request):
        is_put = request.method == "PUT" and request.path.endswith("/one")
        is_completion = request.method == "POST" and "uploadId" in request.query
        if request.number == 0 and (is_put or is_completion):
            name = "one" if is_put else "large.bin"
            s3.run("floor", plain / "deep/other", f"{place}/{name}", "--if-exists", "overwrite")

    done, _ = proxied(s3, rule, *rekey, code=tool.PARTIAL)
    assert tool.message(done).count("changed while it was read") == 2
    assert all((folder / name).read_bytes() == (plain / "deep/other").read_bytes() for name in ("one", "large.bin"))
    assert files(index_reader.read(folder, new)[1]).keys() == SIZES.keys()


def meeting(s3, method, end, number, *command, code=tool.DONE):
    """A rule: when the first run sends such a request, all of this command comes between."""

    def rule(request):
        if request.method == method and request.path.endswith(end) and request.number == number:
            s3.run(*command, code=code)

    return rule


OVERTAKEN = "another run has written the tree's index meanwhile"


@pytest.mark.parametrize("name", ["root.previous", "root"])
def test_of_two_runs_with_other_keys_one_fails_before_it_rekeys_anything(s3, tmp_path, sealed, key, new, rekey, name):
    place, folder = sealed
    other = tool.keygen(tmp_path / "other.json")
    second = [other if argument == new else argument for argument in rekey]
    done, proxy = proxied(s3, meeting(s3, "PUT", f"index/{name}", 0, *second), *rekey, code=tool.FAILED)
    assert OVERTAKEN in tool.message(done) and written(proxy) == set()
    s3.run("verify", place, "--key", other)
    # Nor does one that comes later.
    s3.run(*rekey, code=tool.UNAUTHENTIC)
    third = tool.keygen(tmp_path / "third.json")
    rekey = ["rekey", place, place, "--key", other, "--to", third, "--if-exists", "overwrite"]
    proxied(s3, meeting(s3, "PUT", "/one", 0, *second, code=tool.UNAUTHENTIC), *rekey)
    s3.run("verify", place, "--key", third)


UNFINISHED = "an earlier run has re-keyed only part of the tree"


def is_put_of_one(request):
    return request.method == "PUT" and request.path.endswith("/one")


def test_a_third_key_is_refused_until_the_run_before_has_ended(s3, tmp_path, sealed, plain, key, new, rekey):
    place, folder = sealed
    _, before = index_reader.read(folder, key)
    third = tool.keygen(tmp_path / "third.json")
    kill_when(s3, is_put_of_one, *rekey, "--in-flight", "1")
    killed = tool.read_tree(folder)
    on = ["rekey", place, place, "--key", new, "--to", third, "--if-exists", "overwrite"]
    said = tool.message(s3.run(*on, code=tool.FAILED))
    assert f"{place}/.cipherloom: {UNFINISHED}" in said and "repeat that run first" in said
    assert tool.read_tree(folder) == killed
    s3.run(*rekey)
    check(s3, place, folder, new, before, plain, tmp_path)
    s3.run(*on)
    s3.run("verify", place, "--key", third)


@pytest.mark.parametrize("back", [True, False])
def test_objects_of_a_run_that_has_not_ended_are_reported_as_that(s3, tmp_path, sealed, plain, key, new, back):
    """Back to the key before, or on to a third one where the others are in one keyset."""
    place, folder = sealed
    _, before = index_reader.read(folder, key)
    if not back:
        shutil.copy(key, new)
        tool.run("keys", "add", new)
        tool.run("keys", "promote", new, str(max(set(index_reader.keys(new)) - set(index_reader.keys(key)))))
    third = key if back else tool.keygen(tmp_path / "third.json")
    rekey = ["rekey", place, place, "--key", key, "--to", new, "--if-exists", "overwrite"]
    kill_when(s3, is_put_of_one, *rekey, "--in-flight", "1")
    rekeyed = [name for name, entry in files(before).items() if entry["identity"] != index_reader.identity(folder / name)]
    assert rekeyed
    on = ["rekey", place, place, "--key", new, "--to", third, "--if-exists", "overwrite"]
    said = tool.message(s3.run(*on, code=tool.PARTIAL))
    assert all(f"{place}/{name}: {UNFINISHED}" in said for name in rekeyed) and "replaced" not in said
    # As the hint says.
    if not back:
        s3.run("rekey", place, place, "--key", third, "--to", new, "--if-exists", "overwrite", code=None)
    s3.run(*rekey)
    s3.run("verify", place, "--key", new)
    s3.run("decrypt", place, tmp_path / "opened", "--key", new)
    assert tool.read_tree(tmp_path / "opened") == tool.read_tree(plain)


@pytest.mark.parametrize("end", ["/one", "/large.bin", "index/root"])
def test_of_two_runs_with_one_key_nothing_is_lost(s3, tmp_path, sealed, plain, key, new, rekey, end):
    place, folder = sealed
    _, before = index_reader.read(folder, key)
    method, number = ("POST", 0) if end == "/large.bin" else ("PUT", int(end == "index/root"))
    done, _ = proxied(s3, meeting(s3, method, end, number, *rekey), *rekey, "--in-flight", "1", code=tool.PARTIAL)
    assert OVERTAKEN in tool.message(done) and "the index was not written" in tool.message(done)
    check(s3, place, folder, new, before, plain, tmp_path)
    assert summary(s3.run(*rekey, "--json"))["skipped"] == len(SIZES)


def test_part_of_a_tree(s3, tmp_path, sealed, plain, key, new, rekey):
    place, folder = sealed
    _, before = index_reader.read(folder, key)
    counts = summary(s3.run(*rekey, "--include", "deep/**", "--json"))
    assert (counts["files"], counts["failed"]) == (2, 0)
    entries = files(index_reader.read(folder, new)[1])
    assert {name for name in entries if entries[name] != files(before)[name]} == {"deep/other", "deep/er/chapter é"}
    s3.run(*rekey)
    check(s3, place, folder, new, before, plain, tmp_path)
    part = f"s3://{s3.bucket()}/sealed"
    s3.run("rekey", place, part, "--key", new, "--to", key, "--include", "deep/**")
    assert summary(s3.run("verify", part, "--key", key, "--json"))["index"]["entries"] == 4


def test_a_dry_run_writes_nothing(s3, sealed, rekey):
    before = tool.read_tree(sealed[1])
    s3.run(*rekey, "--dry-run")
    assert tool.read_tree(sealed[1]) == before


def test_what_cannot_be_carried_is_refused(s3, tmp_path, sealed, plain, key, new, rekey):
    place, folder = sealed
    before = tool.read_tree(folder)
    out = ["--key", key, "--to", new]
    refused = "which this run would not carry over"
    assert refused in tool.message(s3.run("rekey", place, tmp_path / "out", *out, code=tool.USAGE))
    shutil.copytree(folder, tmp_path / "copy")
    place_of_copy = f"s3://{s3.bucket()}/sealed"
    assert refused in tool.message(s3.run("rekey", tmp_path / "copy", place_of_copy, *out, code=tool.USAGE))
    # A tree inside has an index of its own.
    s3.run("encrypt", plain, f"{place}/deep/inside", "--key", key, "--index")
    for flags in ([], ["--include", "one"]):
        for dry in ([], ["--dry-run"]):
            assert refused in tool.message(s3.run(*rekey, *flags, *dry, code=tool.USAGE))
    inside = tool.read_tree(folder / "deep/inside")
    s3.run(*rekey, "--exclude", "deep/inside", "--dry-run")
    assert tool.read_tree(folder / "deep/inside") == inside
    shutil.rmtree(folder / "deep/inside")
    assert tool.read_tree(folder) == before
