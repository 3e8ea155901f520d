"""The sealed index of a tree in a bucket: written on condition, compared, listed, and read by an independent reader."""

import json
import shutil
import signal
import subprocess
import threading

import index_reader
import pytest
import stores
import tool

SIZES = {"empty": 0, "one": 1, "a book.epub": 300_000, "deep/er/chapter é": 5_000, "deep/other": 5_000, "large.bin": 8_500_000}


@pytest.fixture
def plain(tmp_path):
    return tool.write_tree(tmp_path / "plain", SIZES)


@pytest.fixture
def sealed(s3, tmp_path, plain, key):
    """A bucket with a tree and its index below `sealed/`: its place, and its folder past the gateway."""
    bucket = s3.bucket()
    s3.run("encrypt", plain, f"s3://{bucket}/sealed", "--key", key, "--index")
    return f"s3://{bucket}/sealed", s3.data / bucket / "sealed"


@pytest.fixture
def copied(s3, tmp_path, plain, key):
    """The same, encrypted in a folder and then copied to the bucket, with an empty folder and a link that no bucket has."""
    (plain / "empty folder").mkdir()
    (plain / "link").symlink_to("one")
    flags = ["--key", key, "--index", "--suffix", ".enc", "--links", "copy"]
    tool.run("encrypt", plain, tmp_path / "sealed", *flags)
    bucket = s3.bucket()
    folder = s3.data / bucket / "sealed"
    shutil.copytree(tmp_path / "sealed", folder, symlinks=True)
    (folder / "link").unlink()
    (folder / "empty folder").rmdir()
    return f"s3://{bucket}/sealed", folder


def summary(done):
    return json.loads(done.stdout.splitlines()[-1])


def proxied(s3, rule, *arguments, code=tool.DONE):
    proxy = stores.Proxy(s3.port, rule)
    with proxy.running() as port:
        return s3.run(*arguments, port=port, code=code), proxy


def test_a_copied_tree_is_listed_and_verified_as_its_folder_is(s3, tmp_path, copied, key):
    place, _ = copied
    local = tool.run("list", tmp_path / "sealed", "--key", key, "--json").stdout
    assert s3.run("list", place, "--key", key, "--json").stdout == local
    assert s3.run("list", f"{place}/", "--key", key, "*.epub").stdout.splitlines()[0].endswith(b"a book.epub")
    for flags in ([], ["--quick"]):
        counts = summary(s3.run("verify", place, "--key", key, "--suffix", ".enc", "--json", *flags))
        assert (counts["files"], counts["failed"]) == (len(SIZES), 0)
        assert (counts["index"]["generation"], counts["index"]["missing"], counts["index"]["extra"]) == (1, 0, 0)


@pytest.mark.parametrize("flags", [[], ["--quick"]])
def test_every_difference_is_named(s3, tmp_path, sealed, key, flags):
    place, folder = sealed
    verify = ["verify", place, "--key", key, *flags]
    assert "lists 8 entries" in tool.message(s3.run(*verify))
    # Missing and extra alone are no damage.
    (folder / "one").rename(tmp_path / "kept")
    tool.run("encrypt", tmp_path / "plain/one", folder / "deep/new", "--key", key)
    done = s3.run(*verify, code=tool.INCOMPLETE)
    assert f"{place}/one: missing" in tool.message(done) and f"{place}/deep/new: extra" in tool.message(done)
    counts = summary(s3.run(*verify, "--json", code=tool.INCOMPLETE))["index"]
    assert (counts["missing"], counts["extra"]) == (1, 1)
    (folder / "deep/new").unlink()
    (tmp_path / "kept").rename(folder / "one")
    s3.run(*verify)
    # Swapped, copied, and another version under the same key.
    (folder / "deep/other").rename(tmp_path / "kept")
    (folder / "deep/er/chapter é").rename(folder / "deep/other")
    (tmp_path / "kept").rename(folder / "deep/er/chapter é")
    shutil.copyfile(folder / "large.bin", folder / "copy of large.bin")
    tool.run("encrypt", tmp_path / "plain/a book.epub", folder / "a book.epub", "--key", key, "--if-exists", "overwrite")
    done = s3.run(*verify, code=tool.UNAUTHENTIC)
    for line in (
        "deep/other: swapped: the index lists this file as deep/er/chapter é",
        "deep/er/chapter é: swapped: the index lists this file as deep/other",
        "copy of large.bin: moved or copied: the index lists this file as large.bin",
        "a book.epub: replaced: it is not what the index lists",
    ):
        assert f"{place}/{line}" in tool.message(done)
    assert "4 FAILED" in tool.message(done)


def test_a_store_that_answers_from_another_object_is_found_out(s3, tmp_path, sealed, plain, key):
    place, folder = sealed
    # Another stream of the same length under the same key, as an older version would be.
    tool.run("encrypt", plain / "large.bin", tmp_path / "large.bin", "--key", key)
    other = (tmp_path / "large.bin").read_bytes()
    assert len(other) == (folder / "large.bin").stat().st_size
    answered = set()

    def answer(handler, forward):
        asked = handler.headers["Range"]
        start, end = map(int, asked.removeprefix("bytes=").split("-"))
        status, headers, body = forward()
        # Each end is that of the listed object where it is asked for again, or alone.
        is_other = asked not in answered and start + 16 < len(other)
        answered.add(asked)
        handler.answer(status, other[start : end + 1] if is_other else body, headers)

    def rule(request):
        return answer if request.method == "GET" and request.path.endswith("large.bin") else None

    for command in (["verify", place], ["decrypt", place, tmp_path / "back", "--only", "large.bin"]):
        answered.clear()
        done, _ = proxied(s3, rule, *command, "--key", key, code=tool.UNAUTHENTIC)
        assert f"{place}/large.bin: replaced" in tool.message(done)
    assert tool.read_tree(tmp_path / "back") == {}


def test_a_quick_verification_reads_ends_only(s3, tmp_path, sealed, key):
    place, _ = sealed
    done, proxy = proxied(s3, lambda _: None, "verify", place, "--key", key, "--quick", "--json")
    assert summary(done)["files"] == len(SIZES)
    gets = [target for method, target in proxy.requests if method == "GET" and target.endswith("large.bin")]
    assert len(gets) == 2


def test_damage_to_the_index_is_named(s3, tmp_path, sealed, key):
    place, folder = sealed
    root = folder / ".cipherloom/index/root"
    part = next((folder / ".cipherloom/index/parts").iterdir())
    for path in (root, part):
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        done = s3.run("list", place, "--key", key, code=tool.UNAUTHENTIC)
        assert f"{place}/.cipherloom/index/" in tool.message(done)
        s3.run("verify", place, "--key", key, code=tool.UNAUTHENTIC)
        path.unlink()
        if path == part:
            assert "a part is missing" in tool.message(s3.run("list", place, "--key", key, code=tool.UNAUTHENTIC))
        path.write_bytes(data)
    s3.run("verify", place, "--key", key)
    other = tool.keygen(tmp_path / "other.json")
    s3.run("list", place, "--key", other, code=tool.UNAUTHENTIC)


def test_an_anchor_shows_a_rollback(s3, tmp_path, sealed, plain, key):
    place, folder = sealed
    anchor = ["--anchor", tmp_path / "anchor"]
    s3.run("verify", place, "--key", key, *anchor)
    shutil.copytree(folder, tmp_path / "before")
    (plain / "later").write_bytes(b"later")
    s3.run("encrypt", plain, place, "--key", key, "--index", "--if-exists", "skip", *anchor)
    s3.run("verify", place, "--key", key, "--quick", *anchor)
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "before", folder)
    s3.run("verify", place, "--key", key)
    for command in (["verify"], ["verify", "--quick"], ["list"]):
        done = s3.run(*command, place, "--key", key, *anchor, code=tool.UNAUTHENTIC)
        assert "rolled back: its index is of generation 1, and the anchor knows generation 2" in tool.message(done)
    shutil.rmtree(folder / ".cipherloom")
    assert "was removed" in tool.message(s3.run("verify", place, "--key", key, *anchor, code=tool.UNAUTHENTIC))


def test_parts_of_a_tree_are_decrypted_by_its_index(s3, tmp_path, copied, plain, key):
    place, folder = copied
    done, proxy = proxied(
        s3, lambda _: None, "decrypt", place, tmp_path / "some", "--key", key, "--only", "deep/**", "--only", "one"
    )
    assert set(tool.read_tree(tmp_path / "some")) == {"one".encode(), "deep/er/chapter é".encode(), b"deep/other"}
    assert not [target for method, target in proxy.requests if method == "GET" and "large.bin" in target]
    whole = s3.bucket()
    s3.run("decrypt", place, f"s3://{whole}/plain", "--key", key, "--only", "*")
    assert s3.objects(whole, "plain").keys() == SIZES.keys()
    # What is not as the index lists it is not released.
    (folder / "deep/other.enc").rename(folder / "one.enc")
    (folder / "large.bin.enc").unlink()
    tool.run("encrypt", plain / "empty", folder / "empty.enc", "--key", key, "--if-exists", "overwrite")
    for target in (tmp_path / "back", f"s3://{s3.bucket()}/back"):
        done = s3.run("decrypt", place, target, "--key", key, "--only", "*", code=tool.UNAUTHENTIC)
        said = tool.message(done)
        assert f"{place}/one.enc: swapped: the index lists this file as deep/other.enc" in said
        assert f"{place}/deep/other.enc: missing" in said and f"{place}/large.bin.enc: missing" in said
        assert f"{place}/empty.enc: replaced" in said
    assert {name.decode() for name in tool.read_tree(tmp_path / "back")} == {"a book.epub", "deep/er/chapter é"}
    done = s3.run("decrypt", f"{place}/one.enc", tmp_path / "x", "--key", key, "--only", "*", code=tool.USAGE)


def test_every_generation_opens_to_an_independent_reader(s3, tmp_path, sealed, plain, key):
    place, folder = sealed
    generation, entries = index_reader.read(folder, key)
    files = {entry["path"].decode(): entry for entry in entries if entry["kind"] == "file"}
    assert generation == 1 and files.keys() == SIZES.keys()
    for name, entry in files.items():
        assert entry["identity"] == index_reader.identity(folder / name)
        assert (entry["size"], entry["encrypted_size"]) == (SIZES[name], (folder / name).stat().st_size)
        assert entry["mode"] == (plain / name).stat().st_mode & 0o7777
    # A run that adds, one that replaces, and one that does nothing new: what is skipped is opened, and stays listed.
    encrypt = ["encrypt", plain, place, "--key", key, "--index"]
    (plain / "later").write_bytes(b"later")
    assert summary(s3.run(*encrypt, "--if-exists", "skip", "--json"))["index"]["generation"] == 2
    (plain / "one").write_bytes(b"2")
    s3.run(*encrypt, "--if-exists", "overwrite", "--include", "one")
    s3.run("verify", place, "--key", key)
    generation, entries = index_reader.read(folder, key)
    assert (generation, len(entries)) == (3, len(SIZES) + 3)
    assert index_reader.read(folder, key, "root.previous")[0] == 2
    # What it lists is what a copy of the bucket in a folder has.
    shutil.copytree(folder, tmp_path / "copy")
    counts = summary(tool.run("verify", tmp_path / "copy", "--key", key, "--json"))["index"]
    assert (counts["missing"], counts["extra"]) == (0, 0)


def test_from_bucket_to_bucket(s3, tmp_path, plain, key):
    bucket = s3.bucket()
    s3.run("floor", plain, f"s3://{bucket}/plain")
    s3.run("encrypt", f"s3://{bucket}/plain", f"s3://{bucket}/sealed", "--key", key, "--index", "--suffix", ".enc")
    counts = summary(s3.run("verify", f"s3://{bucket}/sealed", "--key", key, "--json"))
    assert (counts["files"], counts["index"]["missing"]) == (len(SIZES), 0)


@pytest.mark.parametrize("name", ["root", "root.previous"])
def test_of_two_runs_at_once_one_fails_and_nothing_is_mixed(s3, tmp_path, sealed, key, name):
    place, _ = sealed
    first, second = tool.write_tree(tmp_path / "first", {"a": 1}), tool.write_tree(tmp_path / "second", {"b": 2})
    encrypt = ["--key", key, "--index", "--if-exists", "skip"]

    def rule(request):
        # When the first run is about to replace its root, all of the second run comes between.
        if request.method == "PUT" and request.path.endswith(f"index/{name}") and request.number == 0:
            s3.run("encrypt", second, place, *encrypt)

    done, _ = proxied(s3, rule, "encrypt", first, place, *encrypt, code=tool.PARTIAL)
    assert "another run has written the tree's index meanwhile" in tool.message(done)
    assert "the index was not written" in tool.message(done)
    # The second run's generation is in force and whole; the first run's file is there, and is known not to be listed.
    done = s3.run("verify", place, "--key", key, code=tool.INCOMPLETE)
    assert f"{place}/a: extra" in tool.message(done) and "1 FAILED" in tool.message(done)
    s3.run("encrypt", first, place, *encrypt)
    s3.run("verify", place, "--key", key)


def test_two_first_generations_at_once(s3, tmp_path, plain, key):
    place = f"s3://{s3.bucket()}/sealed"
    trees = [tool.write_tree(tmp_path / f"tree {number}", {f"{number}": number}) for number in range(2)]
    encrypt = ["--key", key, "--index"]

    def rule(request):
        if request.method == "PUT" and request.path.endswith("index/root"):
            s3.run("encrypt", trees[1], place, *encrypt)

    done, _ = proxied(s3, rule, "encrypt", trees[0], place, *encrypt, code=tool.PARTIAL)
    assert "another run has written" in tool.message(done)
    s3.run("encrypt", trees[0], place, *encrypt, "--if-exists", "skip")
    assert summary(s3.run("verify", place, "--key", key, "--json"))["index"]["generation"] == 2


def test_many_runs_at_once_lose_nothing_in_silence(s3, tmp_path, key):
    place, ends = f"s3://{s3.bucket()}/sealed", {}

    def work(number):
        tree = tool.write_tree(tmp_path / f"tree {number}", {f"{number}/file": number})
        command = ["encrypt", tree, place, "--key", key, "--index", "--if-exists", "skip", "--quiet"]
        ends[number] = [subprocess.run([tool.COMMAND, *map(str, command)], env=s3.environment(), capture_output=True).returncode]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    listed = {line["path"] for line in map(json.loads, s3.run("list", place, "--key", key, "--json").stdout.splitlines()) if line.get("kind") == "file"}
    done = {number for number, codes in ends.items() if codes == [tool.DONE]}
    assert done and {f"{number}/file" for number in done} == listed, ends


def test_lost_answers_do_not_matter(s3, tmp_path, sealed, plain, key):
    place, _ = sealed
    (plain / "later").write_bytes(b"later")

    def rule(request):
        is_index = request.method == "PUT" and ".cipherloom/index/" in request.path
        return stores.lose_answer if is_index and request.number == 0 else None

    proxied(s3, rule, "encrypt", plain, place, "--key", key, "--index", "--if-exists", "skip")
    assert summary(s3.run("verify", place, "--key", key, "--json"))["index"]["generation"] == 2


@pytest.mark.parametrize("name", ["parts/", "index/root"])
def test_a_run_that_fails_to_write_the_index_keeps_its_objects(s3, tmp_path, sealed, plain, key, name):
    place, folder = sealed
    (plain / "later").write_bytes(b"later")

    def rule(request):
        is_refused = request.method == "PUT" and name in request.path
        return stores.refuse(403, "AccessDenied") if is_refused else None

    encrypt = ["encrypt", plain, place, "--key", key, "--index", "--if-exists", "skip"]
    done, _ = proxied(s3, rule, *encrypt, "--json", code=tool.PARTIAL)
    assert summary(done)["index_not_written"] and "AccessDenied" in done.stdout.decode()
    assert index_reader.read(folder, key)[0] == 1
    assert f"{place}/later: extra" in tool.message(s3.run("verify", place, "--key", key, code=tool.INCOMPLETE))
    s3.run(*encrypt)
    s3.run("verify", place, "--key", key)


def test_an_index_made_of_objects(s3, tmp_path, plain, key):
    bucket = s3.bucket()
    place, folder = f"s3://{bucket}/sealed", s3.data / bucket / "sealed"
    s3.run("encrypt", plain, place, "--key", key, "--suffix", ".enc")
    done = s3.run("index", place, "--key", key, "--suffix", ".enc")
    assert "lists the files as they are" in tool.message(done)
    entries = {entry["path"].decode(): entry for entry in index_reader.read(folder, key)[1] if entry["kind"] == "file"}
    assert entries.keys() == SIZES.keys()
    for name, entry in entries.items():
        assert (entry["size"], entry["identity"]) == (SIZES[name], index_reader.identity(folder / f"{name}.enc"))
    s3.run("verify", place, "--key", key)
    assert "has an index already" in tool.message(s3.run("index", place, "--key", key, code=tool.USAGE))
    (folder / "one.enc").unlink()
    s3.run("verify", place, "--key", key, code=tool.INCOMPLETE)
    s3.run("index", place, "--key", key, "--suffix", ".enc", "--replace")
    assert summary(s3.run("verify", place, "--key", key, "--json"))["index"]["generation"] == 2
    # What no key opens would be missing from it in silence.
    (folder / "foreign").write_bytes(b"x" * 100)
    done = s3.run("index", place, "--key", key, "--replace", code=tool.UNAUTHENTIC)
    assert "the index was not written" in tool.message(done)
    assert index_reader.read(folder, key)[0] == 2
    s3.run("index", place, "--key", key, "--suffix", ".enc", "--replace", "--exclude", "foreign")
    assert index_reader.read(folder, key)[0] == 3


def test_what_leaves_an_index_behind_says_so(s3, tmp_path, sealed, plain, key):
    place, folder = sealed
    (plain / "later").write_bytes(b"later")
    done = s3.run("encrypt", plain, place, "--key", key, "--if-exists", "skip")
    assert "it has an index, which will not list what this run writes" in tool.message(done)
    for refused in (
        ["verify", f"{place}/one", "--quick"],
        ["encrypt", plain / "one", f"{place}/two", "--index"],
        ["encrypt", place, tmp_path / "out", "--index"],
    ):
        assert "an index is of an encrypted folder" in tool.message(s3.run(*refused, "--key", key, code=tool.USAGE))
    bucket = s3.bucket()
    s3.run("floor", plain / "one", f"s3://{bucket}/one")
    for needs_index in (["list"], ["verify", "--quick"]):
        done = s3.run(*needs_index, f"s3://{bucket}/", "--key", key, code=tool.USAGE)
        assert "the tree has no index" in tool.message(done)


def test_a_run_is_stopped_while_it_holds_the_listing(s3, sealed, key):
    place, _ = sealed
    is_listing, may_go_on = threading.Event(), threading.Event()

    def rule(request):
        # The first page of the top level, and the roots, are asked for before that.
        if request.is_listing and "delimiter" not in request.query and "cipherloom" not in request.query:
            is_listing.set()
            may_go_on.wait(60)

    proxy = stores.Proxy(s3.port, rule)
    with proxy.running() as port:
        command = [tool.COMMAND, "verify", place, "--key", str(key)]
        run = subprocess.Popen(command, env=s3.environment(port), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            assert is_listing.wait(60)
            run.send_signal(signal.SIGINT)
            assert "stopped" in run.communicate(timeout=50)[1].decode() and run.returncode == 130
        finally:
            run.kill()
            may_go_on.set()
