"""A real system's troubles: a full disk, folders that cannot be written, files that cannot be read or change."""

import os
import subprocess
import threading
from pathlib import Path

import pytest
import tool

NOBODY = 65534


def is_root():
    return os.geteuid() == 0


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MB."""
    assert is_root(), "mounting the small file system of these tests needs root"
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


def run_as_nobody(*arguments, code):
    """Root reads and writes everything, so these run as a user without rights."""
    prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if is_root() else []
    command = [*prefix, tool.COMMAND, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=600)
    assert done.returncode == code, tool.message(done)
    return done


@pytest.fixture
def open_folder():
    """A folder that the user without rights can reach (pytest's own are closed to others)."""
    import shutil
    import tempfile

    place = Path(tempfile.mkdtemp(prefix="cipherloom-"))
    place.chmod(0o755)
    shutil.copy(tool.COMMAND, place / "command")
    yield place
    subprocess.run(["chmod", "-R", "u+rwX", place], check=True)
    shutil.rmtree(place)


def owned_by_nobody(place):
    if is_root():
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", place], check=True)


@pytest.fixture
def reachable(open_folder, monkeypatch):
    monkeypatch.setattr(tool, "COMMAND", str(open_folder / "command"))
    return open_folder


def test_a_full_disk_leaves_no_half_file(tmp_path, key, small_disk):
    files = {"a-large": 3_000_000} | {f"small-{number}": 50_000 for number in range(5)}
    plain = tool.write_tree(tmp_path / "plain", files)
    arguments = ["encrypt", plain, small_disk / "sealed", "--key", key, "--threads", "1"]
    done = tool.run(*arguments, code=tool.FAILED)
    said = tool.message(done)
    # The largest is first, and the run ends with it.
    assert "a-large" in said and said.count("No space left") == 1 and "the run stopped" in said
    assert tool.read_tree(small_disk / "sealed") == {}
    (plain / "a-large").unlink()
    tool.run(*arguments, "--if-exists", "skip")
    tool.run("verify", small_disk / "sealed", "--key", key)


def test_a_full_disk_stops_every_file_cleanly(tmp_path, key, small_disk):
    plain = tool.write_tree(tmp_path / "plain", {f"file-{number}": 300_000 for number in range(20)})
    done = tool.run("encrypt", plain, small_disk / "sealed", "--key", key, code=tool.PARTIAL)
    assert tool.message(done).count("No space left") == 1
    written = tool.read_tree(small_disk / "sealed")
    assert 0 < len(written) < 20
    tool.run("verify", small_disk / "sealed", "--key", key)


def test_folders_whose_handles_do_not_close_are_listed(tmp_path, key):
    """As on file systems over a network. The first calls are those of the loader, where there is one."""
    plain = tool.write_tree(tmp_path / "plain", {f"{number}/file": 50 for number in range(20)})
    tool.run("encrypt", plain, tmp_path / "sealed", "--key", key)
    trace = ["strace", "-f", "-o", tmp_path / "trace", "-e", "trace=close", "-e", "inject=close:error=EIO:when=6+"]
    command = [*trace, tool.COMMAND, "verify", tmp_path / "sealed", "--key", key]
    done = subprocess.run(command, capture_output=True, timeout=600)
    assert (tmp_path / "trace").read_text().count("INJECTED") >= 20
    assert "verified 20 files" in tool.message(done), tool.message(done)


def test_a_file_size_limit_leaves_no_half_file(tmp_path, key):
    plain = tool.write_tree(tmp_path / "plain", {"large": 3_000_000, "small": 500})
    command = f"trap '' XFSZ; ulimit -f 1000; exec {tool.COMMAND} encrypt {plain} {tmp_path}/sealed --key {key}"
    done = subprocess.run(["bash", "-c", command], capture_output=True)
    assert done.returncode == tool.PARTIAL, tool.message(done)
    assert "large" in tool.message(done)
    assert set(tool.read_tree(tmp_path / "sealed")) == {b"small"}


def test_a_folder_that_cannot_be_written(reachable):
    key = tool.keygen(reachable / "key.json")
    plain = tool.write_tree(reachable / "plain", {"file": 100})
    (reachable / "closed").mkdir()
    owned_by_nobody(reachable)
    (reachable / "closed").chmod(0o555)
    done = run_as_nobody("encrypt", plain, reachable / "closed", "--key", key, code=tool.FAILED)
    assert f"{reachable}/closed/file: cannot create the output: Permission denied" in tool.message(done)
    assert not list((reachable / "closed").iterdir())
    done = run_as_nobody("encrypt", plain, reachable / "closed/deeper", "--key", key, code=tool.FAILED)
    assert "closed/deeper" in tool.message(done)


def modes(root, *paths):
    return [(root / path).stat().st_mode & 0o7777 for path in paths]


@pytest.mark.parametrize("if_exists", ["skip", "overwrite"])
def test_closed_folders_are_filled_by_later_runs(reachable, if_exists):
    """One folder is read-only like its source's; another's source could not be read at first."""
    key = tool.keygen(reachable / "key.json")
    plain = tool.write_tree(reachable / "plain", {"read-only/first": 10, "locked/inside": 10})
    owned_by_nobody(reachable)
    (plain / "read-only").chmod(0o555)
    (plain / "locked").chmod(0)
    sealed = reachable / "sealed"
    done = run_as_nobody("encrypt", plain, sealed, "--key", key, code=tool.PARTIAL)
    assert modes(sealed, "read-only", "locked") == [0o555, 0]
    assert len(tool.message(done).splitlines()) == 2, tool.message(done)
    (plain / "read-only/second").write_bytes(b"new")
    (plain / "locked").chmod(0o750)
    owned_by_nobody(reachable)
    run_as_nobody("encrypt", plain, sealed, "--key", key, "--if-exists", if_exists, code=tool.DONE)
    # Only the owner's way in is repaired; with overwrite, folders stay what they were.
    assert modes(sealed, "read-only", "locked") == [0o555, 0o700 if if_exists == "skip" else 0]
    (sealed / "locked").chmod(0o700)
    assert set(tool.read_tree(sealed)) == {b"read-only/first", b"read-only/second", b"locked/inside"}


def test_a_folder_that_cannot_be_opened_for_filling_is_told_by_its_own_name(reachable):
    key = tool.keygen(reachable / "key.json")
    plain = tool.write_tree(reachable / "plain", {"book/page": 10, "other": 10})
    (reachable / "sealed/book").mkdir(parents=True)
    owned_by_nobody(reachable)
    (reachable / "sealed/book").chmod(0o700)
    os.chown(reachable / "sealed/book", 0, 0)
    done = run_as_nobody("encrypt", plain, reachable / "sealed", "--key", key, "--if-exists", "skip", code=tool.PARTIAL)
    failed = [line for line in tool.message(done).splitlines() if "Permission denied" in line]
    assert len(failed) == 1 and f"{reachable}/sealed/book/page: " in failed[0], "one file, told once"


def test_a_file_that_cannot_be_read_does_not_stop_the_others(reachable):
    key = tool.keygen(reachable / "key.json")
    plain = tool.write_tree(reachable / "plain", {"secret": 100, "open": 100, "locked/inside": 100})
    owned_by_nobody(reachable)
    (plain / "secret").chmod(0)
    (plain / "locked").chmod(0)
    done = run_as_nobody("encrypt", plain, reachable / "sealed", "--key", key, code=tool.PARTIAL)
    said = tool.message(done)
    assert "secret" in said and "locked" in said
    assert set(tool.read_tree(reachable / "sealed")) == {b"open"}


def test_a_file_that_changes_while_it_is_read(tmp_path, key):
    """Files that grow and shrink all the time either fail by name or come out as one of their states."""
    plain = tool.write_tree(tmp_path / "plain", {"restless": 4_000_000, "calm": 100})
    stop = threading.Event()

    def disturb():
        with open(plain / "restless", "r+b") as file:
            while not stop.is_set():
                file.truncate(1_500_000)
                file.truncate(4_000_000)

    disturber = threading.Thread(target=disturb)
    disturber.start()
    try:
        for number in range(20):
            sealed = tmp_path / f"sealed-{number}"
            command = [tool.COMMAND, "encrypt", str(plain), str(sealed), "--key", str(key)]
            done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
            assert done.returncode in (tool.DONE, tool.PARTIAL), tool.message(done)
            assert (sealed / "calm").exists()
            if done.returncode == tool.PARTIAL:
                assert "restless" in tool.message(done)
                assert not (sealed / "restless").exists()
            else:
                tool.run("verify", sealed, "--key", key)
    finally:
        stop.set()
        disturber.join()


def test_an_existing_output_is_kept_unless_told_otherwise(tmp_path, key, tree):
    sealed = tmp_path / "sealed"
    tool.run("encrypt", tree, sealed, "--key", key)
    before = tool.read_tree(sealed)
    done = tool.run("encrypt", tree, sealed, "--key", key, code=tool.FAILED)
    assert "--if-exists" in tool.message(done)
    assert tool.read_tree(sealed) == before
    tool.run("encrypt", tree, sealed, "--key", key, "--if-exists", "overwrite")
    after = tool.read_tree(sealed)
    assert after.keys() == before.keys() and all(after[name] != before[name] for name in before)


def test_a_key_is_never_overwritten(tmp_path, key):
    before = key.read_bytes()
    tool.run("keygen", "-o", key, code=tool.FAILED)
    assert key.read_bytes() == before
    assert key.stat().st_mode & 0o777 == 0o600
