"""What the tests of scaling out share: trees, what an index lists, and a hand that kills a worker."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cipherloom as cl
import pytest
import stores  # type: ignore[import-not-found]
from cipherloom import _native
from cipherloom import ray as scale
from cipherloom.ray._cluster import connected

# Books of the tests on one machine.
sys.path.insert(0, os.fspath(Path(__file__).parents[1] / "tests"))


@pytest.fixture
def key_file(key: cl.Keyset, tmp_path_factory: pytest.TempPathFactory) -> scale.KeyFile:
    """The same key, as it may go to a cluster of others."""
    path = tmp_path_factory.mktemp("key") / "key.json"
    key.write(path)
    return scale.KeyFile(path)


class Sky:
    """Between the cluster and the store: clear, until a test says otherwise."""

    def __init__(self) -> None:
        self.weather: Any = None

    def __call__(self, request: Any) -> Any:
        return self.weather(request) if self.weather else None


@pytest.fixture(scope="session")
def sky() -> Sky:
    return Sky()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with stores.S3.running(tmp_path_factory.mktemp("s3")) as store:
        yield store


@pytest.fixture(scope="session")
def cluster(s3: Any, sky: Sky) -> Iterator[None]:
    """A cluster that is there before and after a run, for all tests that need no one of their own, which come before. Its
    workers reach the store under that sky; so does this process, where it does not choose another endpoint."""
    proxy = stores.Proxy(s3.port, sky)
    with proxy.running() as port, pytest.MonkeyPatch.context() as patch:
        for name, value in s3.environment(port).items():
            patch.setenv(name, value)
        with connected(None, None):
            yield


def indexed(place: os.PathLike[str] | str, key: cl.Keyset) -> dict[str, int]:
    """The files that the index of an encrypted tree lists, with their sizes."""
    found = _native.list_recorded(place, key)
    assert found is not None
    return {path: size for path, _, size, *_ in found[1]}


def write(root: Path, sizes: dict[str, int]) -> Path:
    """Files of these sizes, of random bytes."""
    for name, size in sizes.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(size))
    return root


def workers(verb: str) -> list[int]:
    """Processes of Ray that are at a task of this operation."""
    found = []
    for entry in os.scandir("/proc"):
        try:
            command = Path(entry.path, "cmdline").read_bytes()
        except OSError:
            continue
        if command.startswith(f"ray::cipherloom {verb}".encode()):
            found.append(int(entry.name))
    return found


@contextmanager
def a_worker_killed(verb: str, after: float = 0.0) -> Iterator[list[int]]:
    """Kills one worker, by its process number, while it is at a task; gives what was killed."""
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        while not over.wait(0.005):
            at_work = workers(verb)
            if at_work:
                if over.wait(after):
                    return
                try:
                    os.kill(at_work[0], signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed.append(at_work[0])
                return

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def listeners() -> set[str]:
    """Addresses at which this process's descendants listen, as the system has them."""
    addresses = {}
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                addresses[words[9]] = words[1].rpartition(":")[0]
    found = set()
    for pid in descendants(os.getpid()):
        try:
            links = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
        except OSError:
            continue
        for link in links:
            inode = link.removeprefix("socket:[").removesuffix("]")
            if inode in addresses:
                found.add(addresses[inode])
    return found


def descendants(root: int) -> set[int]:
    parents = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                stat = Path(entry.path, "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found
