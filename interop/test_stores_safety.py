"""Over stores as over folders: no second key in one tree, a dry run that tells the truth, an end where going on makes no sense."""

import json
import shutil
import subprocess

import pytest
import stores
import tool

FILES = {"one": 1_000, "empty": 0, "letters/two": 5_000, "letters/old/three": 70_000, "large": 9_000_000}


@pytest.fixture
def plain(tmp_path):
    return tool.write_tree(tmp_path / "plain", FILES)


@pytest.fixture
def other(tmp_path):
    return tool.keygen(tmp_path / "other.json")


def run(s3, rule, *arguments, code=tool.DONE):
    with stores.Proxy(s3.port, rule).running() as port:
        return s3.run(*arguments, port=port, code=code)


def summary(done):
    return json.loads(done.stdout.splitlines()[-1])


def test_one_bucket_prefix_is_not_put_under_two_keys(s3, tmp_path, plain, key, other):
    bucket, fresh = s3.bucket(), tmp_path / "fresh.json"
    sealed, folder = f"s3://{bucket}/sealed", tmp_path / "sealed"
    s3.run("encrypt", plain, sealed, "--key", key)
    s3.run("floor", plain, f"s3://{bucket}/plain")
    tool.write_tree(plain, {"new": 10})
    tool.run("encrypt", plain, folder, "--key", key)
    before = s3.objects(bucket)

    def refused(*arguments):
        told = tool.message(s3.run(*arguments, code=tool.KEY))
        assert "encrypted with another key; refusing to mix keys in the destination" in told and "--allow-mixed-keys" in told
        assert s3.objects(bucket) == before and not fresh.exists()
        return told

    told = refused("encrypt", plain, sealed, "--key", other, "--if-exists", "skip")
    assert f"cipherloom: {sealed}/" in told, told
    refused("encrypt", plain, sealed, "--key", other)
    refused("encrypt", plain, sealed, "--key", other, "--dry-run")
    refused("encrypt", plain, sealed, "--new-key", fresh)
    refused("encrypt", plain, f"s3://{bucket}/", "--key", other)
    refused("encrypt", plain / "new", f"{sealed}/", "--key", other)
    refused("encrypt", plain / "one", f"{sealed}/one", "--key", other, "--if-exists", "skip")
    refused("encrypt", f"s3://{bucket}/plain", sealed, "--key", other)
    refused("encrypt", f"s3://{bucket}/plain", folder, "--key", other)
    refused("rekey", folder, sealed, "--key", key, "--to", other)
    # Some are replaced, and others stay.
    overwrite = ["--key", other, "--if-exists", "overwrite"]
    refused("encrypt", f"s3://{bucket}/plain", sealed, *overwrite, "--exclude", "letters")
    # What replaces every object, who insists, and a new object that is named.
    s3.run("encrypt", f"s3://{bucket}/plain", sealed, *overwrite)
    s3.run("encrypt", plain, sealed, "--key", key, "--if-exists", "overwrite")
    s3.run("encrypt", plain / "one", f"{sealed}/named", "--key", other)
    # The own key, and in place.
    s3.run("encrypt", plain, f"{sealed}/letters", "--key", key, "--if-exists", "overwrite", "--bind-path")
    tool.write_tree(plain, {"newer": 10})
    s3.run("encrypt", plain / "newer", f"{sealed}/letters/", "--key", key)
    s3.run("encrypt", plain, f"{sealed}/letters", "--key", other, "--if-exists", "overwrite", "--allow-mixed-keys")
    again = f"s3://{bucket}/again"
    s3.run("encrypt", plain, again, "--key", key)
    s3.run("rekey", again, again, "--key", key, "--to", other, "--if-exists", "overwrite")


def test_who_may_only_write_is_not_asked_for_what_is_there(s3, plain, other):
    bucket = s3.bucket()

    def rule(request):
        may_not = request.method == "GET" and request.path.startswith(f"/{bucket}")
        return stores.refuse(403, "AccessDenied") if may_not else None

    run(s3, rule, "encrypt", plain, f"s3://{bucket}/sealed", "--key", other)
    assert set(s3.objects(bucket, "sealed")) == set(FILES)


@pytest.mark.parametrize(("to_store", "from_store"), [(True, False), (True, True), (False, True)])
def test_a_dry_run_says_and_exits_what_the_run_would(s3, tmp_path, plain, key, to_store, from_store):
    bucket = s3.bucket()
    sealed = f"s3://{bucket}/sealed" if to_store else tmp_path / "sealed"
    source = f"s3://{bucket}/plain" if from_store else plain
    s3.run("floor", plain, f"s3://{bucket}/plain")
    s3.run("encrypt", source, sealed, "--key", key)
    tool.write_tree(plain, {"new": 10})
    s3.run("floor", plain / "new", f"s3://{bucket}/plain/")

    def files():
        return s3.objects(bucket, "sealed") if to_store else tool.read_tree(sealed)

    before = files()
    for if_exists, code, skipped, failed, objects in [
        ("skip", tool.DONE, len(FILES), 0, 1),
        ("fail", tool.PARTIAL, 0, len(FILES), 1),
        ("overwrite", tool.DONE, 0, 0, len(FILES) + 1),
    ]:
        command = ["encrypt", source, sealed, "--key", key, "--if-exists", if_exists]
        done = s3.run(*command, "--dry-run", "--json", code=code)
        planned = summary(done)
        assert (planned["skipped"], planned["failed"], planned["objects"]) == (skipped, failed, objects)
        assert done.stdout.count(b"the output exists already") == len(done.stdout.splitlines()) - 1 == failed
        done = s3.run(*command, "--dry-run", "-v", code=code)
        told, text = tool.message(done), done.stdout.decode()
        assert f"{source}/new -> {sealed}/new" in text
        assert text.count(" -> ") == objects and told.count("the output exists already") == failed
        assert told.count("skipped, the name exists") == skipped
        assert (f"skips     {skipped} objects" in text) == (skipped > 0) and (f"fails     {failed} o" in text) == (failed > 0)
        assert files() == before
        s3.run(*command, code=code)
        assert len(files()) == len(FILES) + 1
        ((s3.data / bucket / "sealed" if to_store else sealed) / "new").unlink()
        shutil.rmtree(s3.metadata / bucket / "sealed/new", ignore_errors=True)
        before = files()
    s3.run("encrypt", source, sealed, "--key", key, "--dry-run", "--exclude", "new", code=tool.FAILED)
    told = tool.message(s3.run("encrypt", source, sealed, "--key", key, "--dry-run", "--include", "x", code=tool.FAILED))
    assert "there is nothing to be encrypted" in told


def test_a_key_that_opens_nothing_is_told_once(s3, tmp_path, key, other):
    bucket = s3.bucket()
    plain = tool.write_tree(tmp_path / "plain", {f"{number % 3}/{number:03}": 500 for number in range(200)})
    sealed = f"s3://{bucket}/sealed"
    s3.run("encrypt", plain, sealed, "--key", key)
    for command in (["decrypt", sealed, tmp_path / "back"], ["verify", sealed]):
        done = s3.run(*command, "--key", other, code=tool.UNAUTHENTIC)
        told = tool.message(done)
        assert told.count("cipherloom: ") == 1 and "the key opened none of the first 20 files, so the run stopped" in told, told
        assert "20 FAILED" in told
    assert tool.read_tree(tmp_path / "back") == {}
    done = s3.run("verify", sealed, "--key", other, "--json", code=tool.UNAUTHENTIC)
    counts = summary(done)
    assert (counts["files"], counts["failed"], counts["unauthentic"]) == (0, 20, 20) and counts["untried"] > 0
    assert done.stdout.count(b'"failed"') == 21
    # Where it opens one, each of the others is told; and fewer than it takes to give up are told at the end.
    s3.run("encrypt", plain / "0/000", f"{sealed}/000", "--key", other)
    counts = summary(s3.run("verify", sealed, "--key", other, "--json", "--in-flight", "1", code=tool.UNAUTHENTIC))
    assert (counts["files"], counts["failed"], counts["untried"]) == (1, 200, 0)
    done = s3.run("verify", sealed, "--key", other, "--include", "1/00*", code=tool.UNAUTHENTIC)
    assert "3 FAILED" in tool.message(done) and tool.message(done).count("cipherloom: ") == 3


@pytest.mark.parametrize(("options", "words"), [("size=2m", "No space left"), ("ro", "Read-only file system")])
def test_a_destination_that_takes_nothing_ends_the_run(s3, tmp_path, key, options, words):
    bucket, disk = s3.bucket(), tmp_path / "disk"
    plain = tool.write_tree(tmp_path / "plain", {f"{number:02}": 300_000 for number in range(60)})
    s3.run("encrypt", plain, f"s3://{bucket}/sealed", "--key", key)
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], check=True)
    try:
        code = tool.PARTIAL if options != "ro" else tool.FAILED
        done = s3.run("decrypt", f"s3://{bucket}/sealed", disk, "--key", key, "--json", code=code)
        lines = done.stdout.decode().splitlines()
        told = [line for line in lines if words in line]
        assert len(told) == 1 and "the run stopped because every other file would fail too" in told[0], lines
        counts = summary(done)
        assert counts["failed"] == 1 and counts["files"] + 1 + counts["untried"] <= 60
        # What has a name is complete.
        assert all(data == (plain / name.decode()).read_bytes() for name, data in tool.read_tree(disk).items())
    finally:
        subprocess.run(["umount", disk], check=True)
