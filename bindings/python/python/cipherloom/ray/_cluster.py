"""The cluster: an existing one, or one on this machine for the time of a run, which nobody else can reach."""

from __future__ import annotations

import os
import secrets
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
    # Loopback only, as Ray does on macOS and Windows, where it makes no clusters of several machines. Without this
    # setting Ray takes 127.0.0.1 for a mistake, and listens on every address.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # A machine under load takes longer than Ray's 10 s to start.
    "RAY_raylet_start_wait_time_s": "180",
    # No usage reports to Ray.
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
}

AUTHENTICATION = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
"""Ray's settings for who may use a cluster."""

RECEIPTS_BYTES = 80 << 20
"""Ray's object store on this machine: it holds receipts only."""


@dataclass(frozen=True)
class Cluster:
    """How many tasks run at once, and with how many threads each."""

    is_own: bool
    """Whether this run has started it, on this machine only."""
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
    before = {name: os.environ.get(name) for name in AUTHENTICATION}
    try:
        if is_own:
            # Ray's records of this run and its sockets: for this user only, and removed with the cluster. A short path, since
            # sockets are in it. Ray opens its own folder to everybody, so it is inside one that stays closed.
            folder = tempfile.mkdtemp(prefix="cl-", dir="/tmp" if os.path.isdir("/tmp") else None)
            _demand_token(folder)
            _start(ray, os.path.join(folder, "ray"))
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
            # Ctrl-C waits until the cluster's processes have ended: a second or two.
            with Interrupt():
                ray.shutdown()
                # Before the token's file is removed, which Ray would read again.
                _authenticate(before)
                shutil.rmtree(folder, ignore_errors=True)


def _demand_token(folder: str) -> None:
    """Makes the cluster demand a token: every user of the machine reaches loopback, and could run code on the cluster."""
    path = os.path.join(folder, "token")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_hex(32))
    _authenticate({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": None, "RAY_AUTH_TOKEN_PATH": path})


def _authenticate(settings: dict[str, str | None]) -> None:
    """Sets these variables, and has Ray read them again."""
    from ray._raylet import AuthenticationTokenLoader, Config

    for name, value in settings.items():
        os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()


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
