"""The index of an encrypted tree says the same to an independent reader as to the command."""

import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
from datetime import datetime, timezone

import index_reader
import pytest
import tool
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def listed(tree, key):
    """What `list --json` prints, in the reader's form."""
    lines = [json.loads(line) for line in tool.run("list", tree, "--key", key, "--json").stdout.splitlines()]
    raw = lambda path: path.encode() if isinstance(path, str) else base64.b64decode(path["bytes"])  # noqa: E731
    for line in lines[:-1]:
        assert line.pop("event") == "entry"
        for name in {"path", "encrypted_path", "target"} & line.keys():
            line[name] = raw(line[name])
        if "mode" in line:
            line["mode"] = int(line["mode"], 8)
        if "modified" in line:
            second, fraction = line["modified"].rstrip("Z").split(".")
            moment = datetime.fromisoformat(second).replace(tzinfo=timezone.utc)
            line["modified"] = (int(moment.timestamp()), int(fraction))
    return lines[-1], lines[:-1]


def check(sealed, key, entries):
    summary, lines = listed(sealed, key)
    for entry in entries:
        if entry["kind"] == "file":
            path = sealed / os.fsdecode(entry["encrypted_path"])
            assert entry.pop("identity") == index_reader.identity(path)
            entry.pop("device", None), entry.pop("inode", None), entry.pop("digest", None)
            assert entry["encrypted_size"] == path.stat().st_size
        elif entry["kind"] == "folder":
            del entry["encrypted_path"]
    assert entries == lines
    assert summary["listed"] == summary["index"]["entries"] == len(lines)
    return summary


@pytest.mark.parametrize("template", tool.TEMPLATES)
def test_every_template(tmp_path, tree, template):
    key = tool.keygen(tmp_path / "other.json", template)
    (tree / "nothing in it").mkdir()
    (tree / os.fsdecode(b"not \xff UTF-8")).write_bytes(b"")
    (tree / ("x" * 250)).write_bytes(b"y")
    (tree / "link").symlink_to("deep/er/chapter.xhtml")
    os.utime(tree / "one", ns=(0, -1_500_000_000))
    sealed = tmp_path / "sealed"
    tool.run("encrypt", tree, sealed, "--key", key, "--index", "--suffix", ".enc", "--links", "copy")
    generation, entries = index_reader.read(sealed, key)
    assert generation == 1
    by_path = {entry["path"]: entry for entry in entries}
    assert by_path[b"one"]["modified"] == (-2, 500_000_000)
    assert by_path[b"nothing in it"]["kind"] == "folder"
    assert by_path[b"link"]["target"] == b"deep/er/chapter.xhtml"
    assert by_path[b"large.bin"]["encrypted_path"] == b"large.bin.enc"
    assert {entry["key_id"] for entry in entries if entry["kind"] == "file"} == {*index_reader.keys(key)}
    check(sealed, key, entries)


def test_every_generation(tmp_path, key):
    tree, sealed = tmp_path / "tree", tmp_path / "sealed"
    for generation in range(1, 4):
        for number in range(1500):
            folder = tree / f"{generation}" / f"{number % 7}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}").write_bytes(b"x" * (number % 5))
        tool.run("encrypt", tree, sealed, "--key", key, "--index", "--if-exists", "skip")
        found, entries = index_reader.read(sealed, key)
        assert (found, len(entries)) == (generation, generation * (1500 + 8))
        if generation > 1:
            before = index_reader.read(sealed, key, "root.previous")
            assert before[0] == generation - 1 and len(before[1]) == (generation - 1) * (1500 + 8)
        assert check(sealed, key, entries)["index"]["generation"] == generation


def test_hidden_names(tmp_path, key, tree):
    (tree / os.fsdecode(b"not \xff UTF-8")).write_bytes(b"")
    sealed = tmp_path / "sealed"
    for generation in 2, 3:
        tool.run("encrypt", tree, sealed, "--key", key, "--index", "--hide-names", "--if-exists", "skip")
        found, entries = index_reader.read(sealed, key)
        assert found == generation
        assert index_reader.read(sealed, key, place="00/.cipherloom/copy") == (found, entries)
        names = {entry["encrypted_path"]: entry["path"] for entry in entries if entry["kind"] == "file"}
        assert index_reader.read_names(sealed, key) == names
        assert set(names.values()) == {
            os.fsencode(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()
        }
        check(sealed, key, entries)
        (tree / "later").write_bytes(b"later")
    for place in ".cipherloom", "00/.cipherloom":
        shutil.rmtree(sealed / place)
    tool.run("index", sealed, "--key", key)
    found, entries = index_reader.read(sealed, key)
    assert {entry["encrypted_path"]: entry["path"] for entry in entries if entry["kind"] == "file"} == names
    [later] = [sealed / os.fsdecode(at) for at, path in names.items() if path == b"later"]
    assert index_reader.open_stream(*index_reader.keys(key).values(), b"", later.read_bytes()) == b"later"


def test_an_index_made_of_files(tmp_path, key, tree):
    sealed = tmp_path / "sealed"
    tool.run("encrypt", tree, sealed, "--key", key)
    tool.run("index", sealed, "--key", key)
    _, entries = index_reader.read(sealed, key)
    assert {entry["path"] for entry in entries if entry["kind"] == "file"} == {
        os.fsencode(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()
    }
    check(sealed, key, entries)
    (sealed / "one").unlink()
    tool.run("verify", sealed, "--key", key, code=tool.INCOMPLETE)


@pytest.mark.parametrize("name", ["root", "parts"])
def test_the_reader_refuses_damage(tmp_path, key, tree, name):
    sealed = tmp_path / "sealed"
    tool.run("encrypt", tree, sealed, "--key", key, "--index")
    path = sealed / ".cipherloom/index" / name
    path = next(path.iterdir()) if path.is_dir() else path
    data = path.read_bytes()
    for at in (0, 1, 60, len(data) - 1):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(ValueError):
            index_reader.read(sealed, key)


def is_marked(path, key, identity, name):
    """Whether the header of a re-keyed file shows which stream it has taken the place of."""
    params = index_reader.message(key[2])
    half = params[2] // 2
    header = path.read_bytes()[: 1 + params[2] + 7]
    label = b"\0cipherloom re-keyed stream 1"
    marking = HKDF(index_reader.HASHES[params[3]](), 32, None, label).derive(key[3])
    predecessor = hashlib.sha256(identity + name).digest()
    rest = header[: 1 + half] + header[1 + 2 * half :]
    return hmac.digest(marking, predecessor + rest, "sha256")[:half] == header[1 + half : 1 + 2 * half]


@pytest.mark.parametrize("template", tool.TEMPLATES)
def test_a_rekeyed_tree(tmp_path, tree, key, template):
    sealed, new = tmp_path / "sealed", tool.keygen(tmp_path / "new.json", template)
    tool.run("encrypt", tree, sealed, "--key", key, "--index", "--suffix", ".enc")
    _, before = index_reader.read(sealed, key)
    tool.run("rekey", sealed, sealed, "--key", key, "--to", new, "--if-exists", "overwrite")
    generation, entries = index_reader.read(sealed, new)
    assert generation == 2
    [new_key] = index_reader.keys(new).values()
    for old, entry in zip(before, entries, strict=True):
        if entry["kind"] == "file":
            path = sealed / os.fsdecode(entry["encrypted_path"])
            assert is_marked(path, new_key, old["identity"], old["encrypted_path"])
            assert not is_marked(path, new_key, entry["identity"], old["encrypted_path"])
            assert not is_marked(path, new_key, old["identity"], b"other")
        changed = {"identity", "key_id", "encrypted_size"}
        same = lambda entry: {name: value for name, value in entry.items() if name not in changed}  # noqa: E731, B023
        assert same(old) == same(entry)
    check(sealed, new, entries)


@pytest.mark.parametrize("call", ["linkat", "renameat", "fsync", "pwrite64"])
def test_a_rekeying_that_was_killed_goes_on(tmp_path, key, call):
    """Killed when it makes each of these calls, with one thread and so at each step."""
    tree, before, new = tmp_path / "tree", tmp_path / "before", tool.keygen(tmp_path / "new.json")
    for name in ("a/one", "a/two", "three"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
    tool.run("encrypt", tree, before, "--key", key, "--index")
    done = None
    for when in range(1, 60):
        sealed = tmp_path / f"{when}"
        shutil.copytree(before, sealed)
        rekey = ["rekey", sealed, sealed, "--key", key, "--to", new, "--if-exists", "overwrite", "--threads", "1"]
        inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={when}"]
        command = ["strace", "-f", "-o", "/dev/null", *inject, tool.COMMAND, *rekey]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        tool.run(*rekey)
        tool.run("verify", sealed, "--key", new)
        _, entries = index_reader.read(sealed, new)
        check(sealed, new, entries)
        tool.run("decrypt", sealed, tmp_path / f"back-{when}", "--key", new)
        assert tool.read_tree(tmp_path / f"back-{when}") == tool.read_tree(tree)
        if done.returncode == 0:
            break
    assert when > 3 and done.returncode == 0
