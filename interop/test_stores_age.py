"""Files of age in buckets: Go's age opens what lies there, and what it wrote opens from there, whole or not at all."""

import json
import os

import age_keys
import pytest
import tool
from age_keys import BATCHPASS, CHUNK, WORDS, age

# The last one moves in several parts.
SIZES = {"empty": 0, "one": 1, "deep/er/chunk": CHUNK, "deep/chunk and one.epub": CHUNK + 1, "large.bin": 21_000_000}


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return {kind: age_keys.make(kind, folder) for kind in ("x25519", "hybrid", "ssh-rsa")}


@pytest.fixture
def plain(tmp_path):
    return tool.write_tree(tmp_path / "plain", SIZES)


def contents(tree):
    return {os.fsdecode(name): content for name, content in tool.read_tree(tree).items()}


@pytest.mark.parametrize("kind", ["x25519", "hybrid", "ssh-rsa"])
def test_age_opens_ours(s3, keys, plain, kind):
    bucket, key = s3.bucket(), keys[kind]
    s3.run("encrypt", plain, f"s3://{bucket}/ours", "--recipient", key.recipient, "--suffix", ".age")
    for name, content in contents(plain).items():
        assert age("-d", "-i", key.identity, s3.data / bucket / "ours" / f"{name}.age") == content, name
    s3.run("verify", f"s3://{bucket}/ours", "--identity", key.identity)
    s3.run("decrypt", f"s3://{bucket}/ours", f"s3://{bucket}/back", "--identity", key.identity, "--suffix", ".age")
    assert s3.objects(bucket, "back") == contents(plain)


def test_we_open_theirs(s3, tmp_path, keys, plain):
    bucket, key = s3.bucket(), keys["x25519"]
    for name, content in contents(plain).items():
        path = s3.data / bucket / "theirs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(age("-r", key.recipient, content=content))
    s3.run("verify", f"s3://{bucket}/theirs", "--identity", key.identity)
    s3.run("decrypt", f"s3://{bucket}/theirs", tmp_path / "back", "--identity", key.identity)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)
    one = f"s3://{bucket}/theirs/large.bin"
    assert s3.run("decrypt", one, "-", "--identity", key.identity).stdout == (plain / "large.bin").read_bytes()


def test_a_plugin_opens_objects(s3, tmp_path, plain):
    """Objects are processed side by side, and the plugin runs for one at a time."""
    bucket, identity = s3.bucket(), age_keys.write_secret(tmp_path / "batchpass", BATCHPASS.encode())
    words = {"AGE_PASSPHRASE": WORDS, "AGE_PASSPHRASE_WORK_FACTOR": "10"}
    s3.run("encrypt", plain, f"s3://{bucket}/ours", "--identity", identity, changes=words)
    s3.run("decrypt", f"s3://{bucket}/ours", tmp_path / "back", "--identity", identity, changes=words)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_rekeying_elsewhere_and_in_place(s3, keys, plain):
    bucket, old, new = s3.bucket(), keys["x25519"], keys["hybrid"]
    place = f"s3://{bucket}/sealed"
    s3.run("encrypt", plain, place, "--recipient", old.recipient)
    flags = ["--identity", old.identity, "--recipient", new.recipient]
    s3.run("rekey", place, f"s3://{bucket}/resealed", *flags)
    s3.run("rekey", place, place, *flags, "--if-exists", "overwrite")
    for folder in ("sealed", "resealed"):
        for name, content in contents(plain).items():
            assert age("-d", "-i", new.identity, s3.data / bucket / folder / name) == content, name
        s3.run("verify", f"s3://{bucket}/{folder}", "--identity", old.identity, code=tool.UNAUTHENTIC)


@pytest.mark.parametrize("has_identity", [False, True])
def test_a_run_is_resumed(s3, keys, plain, has_identity):
    """With recipients alone, an object is skipped by its metadata and length; with an identity it has to open, too."""
    bucket, key, other = s3.bucket(), keys["x25519"], keys["ssh-rsa"]
    whom = ["--identity", key.identity] if has_identity else ["--recipient", key.recipient]
    command = ["encrypt", plain, f"s3://{bucket}/sealed", *whom, "--if-exists", "skip", "--json"]
    s3.run(*command, "--shard", "1/2")
    done = json.loads(s3.run(*command).stdout.splitlines()[-1])
    assert done["skipped"] > 0 and done["skipped"] + done["files"] == len(SIZES)
    s3.run("verify", f"s3://{bucket}/sealed", "--identity", key.identity)
    command[3:5] = ["--recipient", other.recipient]
    done = json.loads(s3.run(*command, code=tool.FAILED).stdout.splitlines()[-1])
    assert (done["skipped"], done["failed"]) == (0, len(SIZES))


def test_cut_objects_are_refused_and_leave_nothing(s3, tmp_path, keys):
    """Cut at the ends of chunks, where age writes what came before; in a large one also between two parts."""
    bucket, key = s3.bucket(), keys["x25519"]
    folder = s3.data / bucket / "sealed"
    folder.mkdir()
    for size in (3 * CHUNK + 5, 17_000_000):
        whole = age("-r", key.recipient, content=tool.content(size))
        payload = age_keys.header_length(whole) + 16
        chunks = (len(whole) - payload - 1) // (CHUNK + 16)
        for count in {0, 1, chunks // 2, chunks}:
            (folder / f"{size}-{count}").write_bytes(whole[: payload + count * (CHUNK + 16)])
        (folder / f"{size}-lengthened").write_bytes(whole + bytes(16))
    for target in (tmp_path / "back", f"s3://{bucket}/back"):
        s3.run("decrypt", f"s3://{bucket}/sealed", target, "--identity", key.identity, code=tool.UNAUTHENTIC)
    assert tool.read_tree(tmp_path / "back") == {} and s3.objects(bucket, "back") == {}
    s3.run("verify", f"s3://{bucket}/sealed", "--identity", key.identity, code=tool.UNAUTHENTIC)
    for path in folder.iterdir():
        one = f"s3://{bucket}/sealed/{path.name}"
        s3.run("decrypt", one, tmp_path / "one", "--identity", key.identity, code=tool.UNAUTHENTIC)
        assert not (tmp_path / "one").exists(), path.name


def test_the_wrong_identity_is_told_the_types(s3, tmp_path, keys, plain):
    bucket = s3.bucket()
    s3.run("encrypt", plain / "one", f"s3://{bucket}/", "--recipient", keys["hybrid"].recipient)
    flags = ["--identity", keys["x25519"].identity]
    said = tool.message(s3.run("decrypt", f"s3://{bucket}/one", tmp_path / "back", *flags, code=tool.UNAUTHENTIC))
    assert f"s3://{bucket}/one: " in said and "1 mlkem768x25519" in said and "hint: " in said
