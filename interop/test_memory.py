"""Memory is bounded whatever the size of a file or a tree."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import tool

LIMIT = 64 << 20


@pytest.fixture
def memory_disk():
    """A folder in memory, where two gigabytes are written in a second."""
    place = Path(tempfile.mkdtemp(prefix="interop-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    yield place
    shutil.rmtree(place)


# A process counts as its own peak what its parent held when it was started, and this one holds whole libraries. So the
# command is started, and its peak read, by a small process in between.
MEASURE = """
import os, subprocess, sys
running = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(running.pid, 0)
running.returncode = os.waitstatus_to_exitcode(status)
print(usage.ru_maxrss * 1024)
sys.exit(running.returncode)
"""


def peak_memory(*arguments):
    """Bytes of resident memory at the highest, of a run that must succeed."""
    command = [sys.executable, "-I", "-S", "-c", MEASURE, tool.COMMAND, *map(str, arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return int(done.stdout)


def test_two_gigabytes(memory_disk):
    key = tool.keygen(memory_disk / "key.json")
    with open(memory_disk / "large", "wb") as file:
        file.truncate(2 << 30)
    flags = ["--key", key, "--threads", "2"]
    assert peak_memory("encrypt", memory_disk / "large", memory_disk / "sealed", *flags) < LIMIT
    os.remove(memory_disk / "large")
    assert peak_memory("verify", memory_disk / "sealed", *flags) < LIMIT
    assert peak_memory("decrypt", memory_disk / "sealed", memory_disk / "back", *flags) < LIMIT
    assert (memory_disk / "back").stat().st_size == 2 << 30


def test_a_hundred_thousand_files(memory_disk):
    key = tool.keygen(memory_disk / "key.json")
    for folder in range(100):
        place = memory_disk / "plain" / f"folder-{folder}"
        place.mkdir(parents=True)
        for number in range(1000):
            (place / f"file-{number}").write_bytes(b"x" * 100)
    flags = ["--key", key, "--threads", "2"]
    assert peak_memory("encrypt", memory_disk / "plain", memory_disk / "sealed", *flags) < LIMIT
    assert peak_memory("verify", memory_disk / "sealed", *flags) < LIMIT


def test_the_index_of_many_files(memory_disk):
    """Reading an index takes the memory of one part, however many entries it lists. A run has its list of files besides."""
    count = 1_000_000 if tool.IS_LONG else 50_000
    key, sealed = tool.keygen(memory_disk / "key.json"), memory_disk / "sealed"
    (memory_disk / "plain").write_bytes(b"")
    tool.run("encrypt", memory_disk / "plain", memory_disk / "one", "--key", key)
    data = (memory_disk / "one").read_bytes()
    for number in range(count):
        path = f"{sealed}/folder-{number // 1000:04}/a-name-of-forty-bytes-{number % 1000:012}.book"
        if number % 1000 == 0:
            os.makedirs(os.path.dirname(path))
        # File systems have limits for the names of one file.
        if number % 30_000 == 0:
            original = path
            Path(path).write_bytes(data)
        else:
            os.link(original, path)
    flags, listing = ["--key", key, "--threads", "2"], 300 * count
    assert peak_memory("index", sealed, *flags) < LIMIT + listing
    assert peak_memory("verify", sealed, "--quick", *flags) < LIMIT + listing
    assert peak_memory("list", sealed, "--key", key) < LIMIT // 2
    parts = [path.stat().st_size for path in (sealed / ".cipherloom/index/parts").iterdir()]
    assert sum(parts) < 60 * count
