"""A synchronization that is killed, or finds the disk full, loses nothing, and the next one makes it right."""

import json
import os
import re
import shutil
import subprocess

import pytest
import tool

HIDE = "--hide-names"
SYNC = ("sync", "tree", "sealed", "--key", "key.json", "--delete", "--threads", "1")


def build(folder, sync=SYNC):
    """A tree and its encrypted twin, and edits of each kind."""
    tree = folder / "tree"
    for name in ("a/changed", "a/renamed", "b/removed", "c/kept", "kind"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(name.encode() * 10)
        os.utime(tree / name, ns=(0, 1_000_000_000_000_000_000))
    tool.keygen(folder / "key.json")
    tool.run(*sync, cwd=folder)
    (tree / "a/changed").write_bytes(b"a newer version")
    (tree / "a/new").write_bytes(b"new")
    (tree / "d").mkdir()
    (tree / "a/renamed").rename(tree / "d/renamed")
    shutil.rmtree(tree / "b")
    (tree / "kind").unlink()
    (tree / "kind").mkdir()
    (tree / "kind/file").write_bytes(b"in a folder now")
    (tree / "d").chmod(0o555)
    for name in ("a", "d", "kind"):
        os.utime(tree / name, ns=(0, 1_000_000_001_000_000_000))


def contents(root):
    return {
        os.fspath(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
        if ".cipherloom" not in path.parts
    }


def opened(folder, codes=(tool.DONE,)):
    shutil.rmtree(folder / "opened", ignore_errors=True)
    command = [tool.COMMAND, "decrypt", "sealed", "opened", "--key", "key.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=600, check=False)
    assert done.returncode in codes, done.stderr
    return contents(folder / "opened")


def check_after(folder, older, sync=SYNC):
    """Right after the kill no version is lost; after the next run all is as in the source."""
    # Where names are hidden, what the index does not list yet is reported.
    codes = (tool.DONE, tool.UNAUTHENTIC, tool.INCOMPLETE) if HIDE in sync else (tool.DONE,)
    found = {name: content for name, content in opened(folder, codes).items() if content is not None}
    newer = contents(folder / "tree")
    for name, content in found.items():
        assert content in (older.get(name), newer.get(name)), name
    # What is in the source still, under whatever name, is among the outputs, in one version or the other.
    for name in ("c/kept", "a/changed"):
        assert name in found
    assert older["a/renamed"] in found.values()
    tool.run(*sync, cwd=folder)
    tool.run("verify", "sealed", "--key", "key.json", cwd=folder)
    assert opened(folder) == newer
    for path in (folder / "tree").glob("*/"):
        source, sealed = path.stat(), (folder / "sealed" / path.name).stat() if HIDE not in sync else path.stat()
        assert (source.st_mode, source.st_mtime_ns) == (sealed.st_mode, sealed.st_mtime_ns), path.name
    leftovers = [path for path in (folder / "sealed").rglob(".cipherloom-*")]
    assert not leftovers


def restore(folder, template):
    """The encrypted tree before the run."""
    shutil.rmtree(folder / "sealed", ignore_errors=True)
    subprocess.run(["cp", "-a", template, folder / "sealed"], check=True)


CALLS = ",".join(
    "openat openat2 mkdirat mkdir linkat renameat renameat2 rename unlinkat unlink rmdir pwrite64 write fsync fdatasync"
    " ftruncate fchmod chmod utimensat flock pread64 statx newfstatat getdents64 close".split()
)


@pytest.mark.parametrize("sync", [SYNC, (*SYNC, HIDE)], ids=["plain names", "hidden names"])
def test_killed_at_every_system_call(tmp_path, sync):
    build(tmp_path, sync)
    template = tmp_path / "template"
    (tmp_path / "sealed").rename(template)
    restore(tmp_path, template)
    older = {name: content for name, content in opened(tmp_path).items() if content is not None}
    log = tmp_path / "calls"
    traced = ["strace", "-f", "-qq", "-o", log, "-e", f"trace={CALLS}"]
    command = [tool.COMMAND, *sync]
    subprocess.run([*traced, *command], cwd=tmp_path, check=True, stdin=subprocess.DEVNULL, timeout=120)
    counts, changes_of = {}, {}
    for line in log.read_text(errors="replace").splitlines():
        call = re.match(r"\d+\s+(\w+)\(", line)
        if call:
            counts[call[1]] = counts.get(call[1], 0) + 1
            # One that failed has changed nothing.
            if " = -1 E" not in line:
                changes_of.setdefault(call[1], []).append(counts[call[1]])
    changing = ("linkat", "rename", "unlink", "mkdir", "rmdir", "write", "sync", "chmod", "utimensat")
    killed = 0
    for call, count in counts.items():
        # Between two of those that change nothing there is no other state than around them.
        numbers = range(1, count + 1)
        changes = any(word in call for word in changing)
        if HIDE in sync:
            # Each run makes many more calls.
            numbers = changes_of.get(call, []) if changes else []
            numbers = numbers if tool.IS_LONG else numbers[-1:]
        elif not tool.IS_LONG and not changes:
            numbers = range(1, count + 1, max(1, count // 3))
        for number in numbers:
            restore(tmp_path, template)
            inject = ["-e", f"inject={call}:signal=KILL:when={number}"]
            done = subprocess.run(
                [*traced, *inject, *command],
                cwd=tmp_path,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=120,
            )
            killed += done.returncode != 0
            check_after(tmp_path, older, sync)
    assert killed > (5 if HIDE in sync else 40)


def test_full_disk(tmp_path):
    """What does not fit is reported, and what was there before stays."""
    build(tmp_path)
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    (tmp_path / "sealed").rename(kept)
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", disk], check=True)
    try:
        subprocess.run(["cp", "-a", kept, disk / "sealed"], check=True)
        (tmp_path / "sealed").symlink_to(disk / "sealed")
        older = {name: content for name, content in opened(tmp_path).items() if content is not None}
        large = tmp_path / "tree/large"
        large.write_bytes(os.urandom(1 << 20))
        done = subprocess.run(
            [tool.COMMAND, *SYNC], cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=False
        )
        assert done.returncode in (tool.FAILED, tool.PARTIAL)
        assert b"No space left" in done.stderr
        # It fills a round by itself. What later rounds would have encrypted was not tried.
        with large.open("wb") as file:
            file.truncate(16 << 30)
        (tmp_path / "tree/later").write_bytes(b"later")
        command = [tool.COMMAND, *SYNC, "--json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
        summary = json.loads(done.stdout.splitlines()[-1])
        due = ("a/changed", "a/new", "kind/file", "large", "later")
        assert summary["failed"] == 1, "the full disk, which may have refused a folder"
        assert summary["files"] + 1 + summary["untried"] >= len(due), summary
        large.unlink()
        (tmp_path / "tree/later").unlink()
        check_after(tmp_path, older)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_disk_that_ignores_case(tmp_path, folding_disk):
    """A name that changes in case alone keeps an output, and two such names do not share one."""
    tree, sealed = tmp_path / "tree", folding_disk / "sealed"
    for name in ("Photo", "Docs/one", "kept"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
    key = tool.keygen(tmp_path / "key.json")
    sync = ("sync", tree, sealed, "--key", key, "--delete")

    def opened():
        shutil.rmtree(tmp_path / "opened", ignore_errors=True)
        tool.run("decrypt", sealed, tmp_path / "opened", "--key", key)
        found = contents(tmp_path / "opened").items()
        return {name.lower(): content.decode() for name, content in found if content is not None}

    tool.run(*sync)
    (tree / "Photo").rename(tree / "photo")
    (tree / "Docs").rename(tree / "docs")
    tool.run(*sync)
    assert opened() == {"photo": "Photo", "docs/one": "Docs/one", "kept": "kept"}
    (tree / "photo").rename(tree / "PhoTo")
    (tree / "PhoTo").write_text("another version")
    tool.run(*sync)
    assert opened() == {"photo": "another version", "docs/one": "Docs/one", "kept": "kept"}
    assert b"3 unchanged" in tool.run(*sync).stderr
    (tree / "photo").write_text("a file of its own")
    for _ in range(2):
        assert "photo" in tool.message(tool.run(*sync, code=tool.PARTIAL))
        assert opened()["photo"] == "another version"
