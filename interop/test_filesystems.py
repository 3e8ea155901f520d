"""File systems that refuse: what is told at close, what has neither links nor permissions, a server that is full."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
import tool

SOURCE = Path(__file__).parent / "filesystem" / "refusing.c"
SFTP_SERVER = "/usr/lib/openssh/sftp-server"


@pytest.fixture(scope="session")
def refusing(tmp_path_factory):
    """The file system that refuses, compiled."""
    program = tmp_path_factory.mktemp("filesystem") / "refusing"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], check=True, capture_output=True, text=True)
    subprocess.run(["cc", "-O1", "-o", program, SOURCE, *flags.stdout.split()], check=True)
    return program


class Mounted:
    """A mounted file system, and the folder behind it."""

    def __init__(self, program, tmp_path, *refused):
        self.behind, self.path = tmp_path / "behind", tmp_path / "mounted"
        self.behind.mkdir(exist_ok=True)
        self.path.mkdir(exist_ok=True)
        self.server = subprocess.Popen([program, self.behind, self.path, ",".join(refused) or "nothing"])
        wait_for_mount(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", self.path], check=True)
        self.server.wait(timeout=60)


def wait_for_mount(path):
    until = time.monotonic() + 300
    while not os.path.ismount(path):
        assert time.monotonic() < until, "not mounted"
        time.sleep(0.02)


def temporaries(folder):
    return list(Path(folder).rglob(".cipherloom-*"))


def test_what_is_refused_at_close_gets_no_name(tmp_path, key, refusing):
    plain = tool.write_tree(tmp_path / "plain", {"large": 20_000, "small": 100, "deep/large": 30_000, "deep/small": 1})
    tool.run("encrypt", plain, tmp_path / "sealed", "--key", key)
    with Mounted(refusing, tmp_path, "flush") as place:
        for command, source in (("encrypt", plain), ("decrypt", tmp_path / "sealed")):
            output = place.path / command
            done = tool.run(command, source, output, "--key", key, code=tool.PARTIAL)
            said = tool.message(done)
            assert f"{output}/large" in said and f"{output}/deep/large" in said and "File too large" in said, said
            assert set(tool.read_tree(output)) == {b"small", b"deep/small"}
        # What stands there stays when its successor is refused.
        (place.behind / "encrypt/large").write_bytes(b"before")
        overwrite = ("--if-exists", "overwrite")
        tool.run("encrypt", plain / "large", place.path / "encrypt/large", "--key", key, *overwrite, code=tool.FAILED)
        assert (place.behind / "encrypt/large").read_bytes() == b"before"
        # From standard input, which goes another way.
        sealed = (tmp_path / "sealed/large").open("rb")
        with sealed:
            command = [tool.COMMAND, "decrypt", "-", place.path / "stream", "--key", key]
            done = subprocess.run(command, stdin=sealed, capture_output=True, timeout=60)
        assert done.returncode == tool.FAILED and b"File too large" in done.stderr, done
        assert not (place.path / "stream").exists() and not temporaries(place.behind)
    # Room has been made: a resumed run brings the rest.
    (tmp_path / "behind/encrypt/large").unlink()
    with Mounted(refusing, tmp_path) as place:
        tool.run("encrypt", plain, place.path / "encrypt", "--key", key, "--if-exists", "skip")
        tool.run("verify", place.path / "encrypt", "--key", key)
        assert len(tool.read_tree(place.path / "encrypt")) == 4


def test_a_full_server_behind_sshfs_is_told(tmp_path, key):
    """The server has 2 MB; sshfs takes all writes and reports at close what came of them."""
    disk, place = tmp_path / "disk", tmp_path / "place"
    disk.mkdir()
    place.mkdir()
    plain = tool.write_tree(tmp_path / "plain", {f"file-{number:02}": 400_000 for number in range(12)})
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], check=True)
    ours, theirs = socket.socketpair()
    server = subprocess.Popen([SFTP_SERVER], stdin=theirs, stdout=theirs)
    client = subprocess.Popen(["sshfs", f":{disk}", place, "-f", "-o", "passive"], stdin=ours, stdout=ours)
    ours.close()
    theirs.close()
    try:
        wait_for_mount(place)
        done = tool.run("encrypt", plain, place / "sealed", "--key", key, code=tool.PARTIAL)
        written = tool.read_tree(disk / "sealed")
        assert 0 < len(written) < 12 and "cannot write the output" in tool.message(done)
        assert all(len(content) > 400_000 for content in written.values())
        tool.run("verify", disk / "sealed", "--key", key)
    finally:
        subprocess.run(["umount", place], check=True)
        client.wait(timeout=60)
        server.wait(timeout=60)
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("refused", [("noreplace",), ("link",), ("noreplace", "link")])
def test_outputs_get_their_names_in_the_way_that_there_is(tmp_path, key, tree, refusing, refused):
    has_safe_way = refused != ("noreplace", "link")
    with Mounted(refusing, tmp_path, *refused) as place:
        sealed = place.path / "sealed"
        if not has_safe_way:
            done = tool.run("encrypt", tree, sealed, "--key", key, code=tool.FAILED)
            _, hint = tool.message(done).splitlines()
            assert hint.startswith("hint: ") and "--non-atomic" in hint
            assert not tool.read_tree(place.behind), "known before any work is done"
            (place.behind / "sealed").chmod(0o500)
            tool.run("encrypt", tree, sealed, "--key", key, "--if-exists", "skip", code=tool.FAILED)
            assert (place.behind / "sealed").stat().st_mode & 0o777 == 0o500, "opened, and closed again"
            (place.behind / "sealed").chmod(0o700)
            tool.run("encrypt", tree, sealed, "--key", key, "--if-exists", "overwrite")
            shutil.rmtree(sealed)
        accepted = () if has_safe_way else ("--non-atomic",)
        tool.run("encrypt", tree, sealed, "--key", key, *accepted)
        before = tool.read_tree(sealed)
        done = tool.run("encrypt", tree, sealed, "--key", key, *accepted, code=tool.FAILED)
        assert "--if-exists" in tool.message(done)
        assert tool.read_tree(sealed) == before
        tool.run("encrypt", tree, sealed, "--key", key, *accepted, "--if-exists", "skip")
        assert tool.read_tree(sealed) == before
        tool.run("decrypt", sealed, tmp_path / "back", "--key", key)
        assert tool.read_tree(tmp_path / "back") == tool.read_tree(tree)
        made = tool.run("keygen", "-o", place.path / "key.json")
        assert made.returncode == tool.DONE and not temporaries(place.behind)


def test_books_are_refused_before_the_work_where_names_are_not_safe(tmp_path, refusing):
    book, keys = tmp_path / "book.pdf", tmp_path / "keys.json"
    book.write_bytes(b"%PDF-1.7\n")
    with Mounted(refusing, tmp_path, "noreplace", "link") as place:
        encrypt = ["lcp", "encrypt", book, "--out", place.path / "out", "--key-file", keys]
        done = tool.run(*encrypt, code=tool.FAILED)
        assert "choose --if-exists overwrite" in tool.message(done)
        assert not tool.read_tree(place.behind) and not keys.exists(), "known before any work is done"
        tool.run(*encrypt, "--if-exists", "overwrite")


def test_permissions_and_times_that_are_not_taken_are_counted(tmp_path, key, tree, refusing):
    with Mounted(refusing, tmp_path, "chmod", "utimens") as place:
        done = tool.run("encrypt", tree, place.path / "sealed", "--key", key, "--preserve", "modes")
        assert "without permissions or time" in tool.message(done)
        tool.run("verify", place.path / "sealed", "--key", key)


def test_a_key_file_that_others_may_read_is_told_at_once(tmp_path, refusing):
    with Mounted(refusing, tmp_path, "modes") as place:
        done = tool.run("keygen", "-o", place.path / "key.json")
        assert "others may read this key file" in tool.message(done)
        tool.run("encrypt", SOURCE, tmp_path / "sealed", "--key", place.path / "key.json")


def test_plaintext_that_keeps_its_temporary_name_is_told(tmp_path, key, refusing):
    """The output is there, but under two names: that is no success."""
    tool.run("encrypt", tool.write_tree(tmp_path / "plain", {"file": 100}), tmp_path / "sealed", "--key", key)
    with Mounted(refusing, tmp_path, "noreplace", "remove") as place:
        done = tool.run("decrypt", tmp_path / "sealed", place.path / "back", "--key", key, code=tool.FAILED)
        assert "temporary name" in tool.message(done), tool.message(done)
        assert len(temporaries(place.behind)) == 1
    resumed = ("--key", key, "--if-exists", "skip")
    with Mounted(refusing, tmp_path) as place:
        tool.run("decrypt", tmp_path / "sealed", place.path / "back", *resumed)
        assert len(temporaries(place.behind)) == 1, "no lock tells here whether another host is writing it"
    # The next run on a local file system takes away what is left.
    tool.run("decrypt", tmp_path / "sealed", place.behind / "back", *resumed)
    assert set(tool.read_tree(place.behind)) == {b"back/file"}


def is_under_way(folder):
    """Whether a temporary name below the folder holds content."""
    try:
        return any((folder / path).stat().st_size > 1_000_000 for path in temporaries(folder))
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_temporary_names_do_not_outlive_the_next_local_run(tmp_path, key, refusing, how):
    plain = tool.write_tree(tmp_path / "plain", {"large": 240_000_000, "small": 10})
    with Mounted(refusing, tmp_path) as place:
        sealed = place.path / "sealed"
        # Last in turn: on a busy machine the run would end before it is looked at.
        command = ["nice", "-n", "19", tool.COMMAND, "encrypt", plain, sealed, "--key", key, "--quiet"]
        running = subprocess.Popen(command)
        until = time.monotonic() + 600
        # Empty ones come and go before: they show how outputs get their names here.
        while not is_under_way(place.behind):
            assert running.poll() is None and time.monotonic() < until
            time.sleep(0.002)
        running.send_signal(how)
        running.wait(timeout=600)
        if how == signal.SIGINT:
            assert not temporaries(place.behind), "a run that can clean up does"
        left = temporaries(place.behind)
        assert bool(left) == (how == signal.SIGKILL)
        tool.run("encrypt", plain, sealed, "--key", key, "--if-exists", "skip")
        assert temporaries(place.behind) == left, "no lock tells here whether another host is writing it"
    tool.run("encrypt", plain, place.behind / "sealed", "--key", key, "--if-exists", "skip")
    assert set(tool.read_tree(place.behind / "sealed")) == {b"large", b"small"}


def test_where_nothing_can_be_linked_outputs_are_renamed(tmp_path, key, tree):
    """Without privilege and `/proc`, older kernels refuse to link a file that has no name: all that a program sees of it."""
    command = ["strace", "-f", "-o", "/dev/null", "-e", "inject=linkat:error=ENOENT", tool.COMMAND]
    arguments = ["encrypt", tree, tmp_path / "sealed", "--key", key]
    done = subprocess.run([*command, *arguments], capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == tool.DONE, tool.message(done)
    assert not temporaries(tmp_path)
    tool.run("verify", tmp_path / "sealed", "--key", key)


def test_where_a_name_can_only_be_replaced_an_index_is_written(tmp_path, key, tree):
    """No file gets a second name, and none is renamed on condition, as on some file systems of FUSE."""
    sealed, new = tmp_path / "sealed", tool.keygen(tmp_path / "new.json")
    calls = ["inject=linkat:error=EPERM", "inject=renameat2:error=EINVAL"]
    command = ["strace", "-f", "-o", "/dev/null", *(part for call in calls for part in ("-e", call)), tool.COMMAND]

    def run(*arguments, code=tool.DONE):
        done = subprocess.run([*command, *arguments], capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
        assert done.returncode == code, tool.message(done)
        assert not temporaries(tmp_path)

    encrypt = ["encrypt", tree, sealed, "--key", key, "--index"]
    run(*encrypt, code=tool.FAILED)
    assert not (sealed / ".cipherloom/index/root").exists()
    run(*encrypt, "--non-atomic")
    run(*encrypt, "--if-exists", "overwrite")
    run("rekey", sealed, sealed, "--key", key, "--to", new, "--if-exists", "overwrite")
    run("verify", sealed, "--key", new)
    assert json.loads(tool.run("verify", sealed, "--key", new, "--json").stdout.splitlines()[-1])["index"]["generation"] == 3


def test_interrupted_calls_are_repeated(tmp_path, key, tree):
    """Each of these calls is interrupted by a signal once in four times."""
    calls = [f"inject={call}:error=EINTR:when=1+4" for call in ("openat2", "linkat", "mkdirat")]
    command = ["strace", "-f", "-o", "/dev/null", *(part for call in calls for part in ("-e", call)), tool.COMMAND]
    arguments = ["encrypt", tree, tmp_path / "sealed", "--key", key, "--threads", "1"]
    done = subprocess.run([*command, *arguments], capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == tool.DONE, tool.message(done)
    tool.run("verify", tmp_path / "sealed", "--key", key)
