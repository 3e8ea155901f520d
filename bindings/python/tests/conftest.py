"""What several tests use: a small tree of many sizes, and Ctrl-C."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

SIZES = {"empty": 0, "one": 1, "a book.epub": 300_000, "deep/er/chapter.xhtml": 5_000, "large.bin": 9_500_000}


def content(name: str, size: int) -> bytes:
    """Bytes that no two files share and that differ from place to place."""
    step = sum(name.encode()) | 1
    return bytes((step * position + (position >> 8)) & 0xFF for position in range(min(size, 65_536))) * (
        size // 65_536 + 1
    )


def write_tree(root: Path, sizes: dict[str, int]) -> Path:
    """Files of these sizes below ``root``."""
    for name, size in sizes.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(name, size)[:size])
    return root


def files(root: Path) -> dict[str, bytes]:
    """Every file below ``root``, hidden ones too, with its content."""
    return {
        os.path.relpath(os.path.join(folder, name), root): Path(folder, name).read_bytes()
        for folder, _, names in os.walk(root)
        for name in names
    }


def interrupted(run: Callable[[], object], after: float) -> None:
    """Runs it and sends SIGINT after this many seconds; how soon it stops is measured by benchmarks/python.py."""

    def send() -> None:
        time.sleep(after)
        signal.raise_signal(signal.SIGINT)

    sender = threading.Thread(target=send)
    with pytest.raises(KeyboardInterrupt):
        # On a busy machine the signal may come before `start` has returned.
        sender.start()
        run()
        pytest.fail("the run ended before it was told to stop")
    sender.join()


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard() -> None:
    """What starts the tests may ignore it, as a script's job in the background does."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "tree", SIZES)
