"""Ctrl-C: a run stops soon, raises KeyboardInterrupt, and leaves nothing half-written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import cipherloom as cl
import pytest
from conftest import content, files, interrupted

MB = 1 << 20


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Links to one file, 16 GiB in all: more than any run gets through before it is told to stop."""
    root = tmp_path_factory.mktemp("large")
    (root / "folder").mkdir()
    first = root / "folder" / "0"
    first.write_bytes(content("large", 64 * MB)[: 64 * MB])
    for index in range(1, 256):
        os.link(first, root / "folder" / str(index))
    return root / "folder"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("after", [0.05, 0.3])
def test_a_tree_stops(large: Path, tmp_path: Path, key: cl.Keyset, threads: int, after: float) -> None:
    out = tmp_path / "out"
    interrupted(lambda: cl.encrypt_tree(large, out, key, threads=threads), after)
    expected = os.path.getsize(large / "0")
    layout = cl.StreamingAead(key).encrypt(bytes(expected))
    for path in out.iterdir() if out.exists() else ():
        assert path.stat().st_size == len(layout), "what has a name is complete"
        assert not path.name.startswith("."), "no temporary name is left"
    if out.exists():
        assert cl.verify_tree(out, key).failed == 0


def test_verification_stops(large: Path, tmp_path: Path, key: cl.Keyset) -> None:
    sealed = tmp_path / "sealed"
    sealed.mkdir()
    (sealed / "0").write_bytes(cl.StreamingAead(key).encrypt((large / "0").read_bytes()))
    for index in range(1, 256):
        os.link(sealed / "0", sealed / str(index))
    interrupted(lambda: cl.verify_tree(sealed, key), 0.1)


@pytest.mark.parametrize("verb", ["encrypt", "decrypt"])
def test_bytes_in_memory_stop(key: cl.Keyset, verb: str) -> None:
    # One thread, and so much that a call takes longer than the time between two looks for a signal.
    box = cl.StreamingAead(key, threads=1)
    data = bytearray(512 * MB) if verb == "encrypt" else bytearray(box.encrypt(bytes(512 * MB)))
    size, during = len(data), []

    def handler(number: int, frame: object) -> None:
        # A buffer cannot grow as long as it is lent: only within the call.
        try:
            data.append(0)
            del data[size:]
        except BufferError:
            during.append(True)
        raise KeyboardInterrupt

    def forever() -> None:
        while True:
            getattr(box, verb)(data)

    before = signal.signal(signal.SIGINT, handler)
    try:
        # A signal may also come between two calls, or so late in one that it ends first: once is enough.
        for attempt in range(60):
            interrupted(forever, 0.01 + 0.007 * attempt)
            if during:
                return
    finally:
        signal.signal(signal.SIGINT, before)
    pytest.fail("no call was interrupted before its end")


def test_a_handler_of_ones_own_is_called(large: Path, tmp_path: Path, key: cl.Keyset) -> None:
    class Enough(Exception):
        pass

    def handler(number: int, frame: object) -> None:
        raise Enough

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(Enough):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            cl.encrypt_tree(large, tmp_path / "out", key)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_in_a_program_of_its_own(large: Path, tmp_path: Path) -> None:
    """The whole way: a process gets SIGINT and dies of it, as programs do; a second run goes on."""
    sources = tmp_path / "source"
    sources.mkdir()
    for index in range(3):
        (sources / str(index)).write_bytes((large / "0").read_bytes())
    key_file = tmp_path / "key.json"
    cl.Keyset.generate().write(key_file)
    program = (
        "import sys, cipherloom as cl; key = cl.Keyset.read(sys.argv[3]); print('go', flush=True)\n"
        "while True: cl.encrypt_tree(sys.argv[1], sys.argv[2], key, if_exists='overwrite', threads=1)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(sources), str(tmp_path / "out"), str(key_file)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=60)[1]
    assert child.returncode == -signal.SIGINT and "KeyboardInterrupt" in said
    assert cl.Keyset.read(key_file).to_json()[60:90] not in said
    key = cl.Keyset.read(key_file)
    cl.encrypt_tree(sources, tmp_path / "out", key, if_exists="skip")
    cl.decrypt_tree(tmp_path / "out", tmp_path / "back", key)
    assert files(tmp_path / "back") == files(sources)
