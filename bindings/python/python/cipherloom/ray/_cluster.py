"""The cluster: one that is there, or one on this machine for as long as a run takes, which nobody else can reach."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cipherloom.ray._interrupt import Interrupt

__all__ = ["Cluster", "connected"]

LOOPBACK = "127.0.0.1"

SETTINGS = {
    # Loopback only: Ray's own way on macOS and Windows, where it makes no clusters of several machines. Without it, Ray
    # takes 127.0.0.1 for a mistake, and listens on every address.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # A machine under load takes longer than Ray's 10 s to start.
    "RAY_raylet_start_wait_time_s": "180",
    # No word to anybody outside.
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
}

RECEIPTS_BYTES = 80 << 20
"""Ray's object store on this machine: it holds receipts only."""


@dataclass(frozen=True)
class Cluster:
    """How many tasks at once, of how many threads each."""

    is_own: bool
    """Whether this run has started it, on this machine alone."""
    slots: int
    """Tasks that fit at once."""
    threads: int
    """Threads of each."""


@contextmanager
def connected(address: str | None, threads: int | None) -> Iterator[Cluster]:
    """Connects to the cluster at ``address`` (or the one that this process is connected to); without one, starts one on
    loopback and ends it afterwards. A task gets the threads of a node unless told otherwise."""
    ray = _ray()
    is_own, folder = not ray.is_initialized() and address is None, ""
    try:
        if is_own:
            # Ray's records of this run: this user's alone, and gone with the cluster. A short path, since sockets are in it.
            folder = tempfile.mkdtemp(prefix="cl-", dir="/tmp" if os.path.isdir("/tmp") else None)
            _start(ray, folder)
        elif not ray.is_initialized():
            ray.init(address=address, log_to_driver=False)
        nodes = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
        nodes = [cpus for cpus in nodes if cpus > 0]
        if not nodes:
            raise RuntimeError("no node of the cluster has a CPU to give; start one with `ray start --num-cpus`")
        threads = min(threads or min(nodes), max(nodes))
        yield Cluster(is_own, sum(cpus // threads for cpus in nodes), threads)
    finally:
        if is_own:
            # Ctrl-C has to wait until the cluster's processes have ended: a second or two.
            with Interrupt():
                ray.shutdown()
                shutil.rmtree(folder, ignore_errors=True)


def _start(ray: Any, folder: str) -> None:
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    constants = ray._private.ray_constants
    if hasattr(constants, "ENABLE_RAY_CLUSTER"):
        # Read when Ray was imported, which may be before the setting was made.
        constants.ENABLE_RAY_CLUSTER = False
    ray.init(
        address="local",
        _node_ip_address=LOOPBACK,
        _temp_dir=folder,
        include_dashboard=False,
        object_store_memory=RECEIPTS_BYTES,
        log_to_driver=False,
        logging_level="error",
    )
    listens_at = ray.util.get_node_ip_address()
    if listens_at != LOOPBACK:
        ray.shutdown()
        raise RuntimeError(f"Ray would listen at {listens_at}, where others reach it; start a cluster and give its address")


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError("scaling out needs Ray: pip install cipherloom[ray]") from error
    return ray
