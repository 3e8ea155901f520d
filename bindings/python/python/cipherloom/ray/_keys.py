"""How keys reach the nodes: as the path of a key file, or wrapped by a key management service. Nothing that Ray transfers,
stores or logs opens a file by itself. A keyset in memory cannot be pickled at all.
"""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from cipherloom import _native
from cipherloom._options import StrPath
from cipherloom.envelope import Envelope, KeyService
from cipherloom.exceptions import InvalidRequest

__all__ = ["KeyFile", "KeySource", "Wrapped", "in_private_memory", "keyset"]


@dataclass(frozen=True)
class KeyFile:
    """A key file that every node has under this path: Tink's JSON, or that in an age file."""

    path: StrPath
    """The key file."""
    passphrase_file: StrPath | None = None
    """A file whose first line is the passphrase that opens it."""
    identity: StrPath | None = None
    """The age identity file that opens it."""

    def load(self) -> _native.Keyset:
        """Reads and opens it, on the machine where this is called."""
        passphrase = None
        if self.passphrase_file is not None:
            passphrase = Path(self.passphrase_file).read_bytes().split(b"\n")[0].rstrip(b"\r")
        return _native.Keyset.read(self.path, passphrase=passphrase, identity=self.identity)


@dataclass(frozen=True)
class Wrapped:
    """An envelope, and the service that opens it: each worker asks once, with its node's credentials."""

    envelope: Envelope
    """The wrapped keyset."""
    service: KeyService
    """The service; must be picklable, without credentials, as ``cipherloom.aws.Kms`` is."""

    def load(self) -> _native.Keyset:
        """Has the service open it, from the machine where this is called."""
        return self.envelope.unwrap(self.service)


KeySource: TypeAlias = KeyFile | Wrapped

_loaded: dict[bytes, _native.Keyset] = {}


def keyset(source: KeySource) -> _native.Keyset:
    """The keyset; loaded once in a worker process, which keeps it until it ends."""
    known = pickle.dumps(source)
    if known not in _loaded:
        _loaded[known] = source.load()
    return _loaded[known]


@contextmanager
def in_private_memory(key: _native.Keyset | KeySource, is_own_cluster: bool) -> Iterator[KeySource]:
    """The key as it may travel. A keyset in memory becomes a file of this user only, in memory where the system has a
    folder there, until the run has ended: for workers on this machine, of a cluster that the run started itself."""
    if isinstance(key, KeyFile | Wrapped):
        yield key
        return
    if not is_own_cluster:
        error = InvalidRequest("a keyset in memory is not sent to a cluster that others may share")
        error.add_note(
            "hint: give KeyFile (a path that every node has) or Wrapped (an envelope that a key management service opens)"
        )
        raise error
    memory = "/dev/shm"
    folder = tempfile.mkdtemp(prefix="cipherloom-", dir=memory if os.access(memory, os.W_OK) else None)
    try:
        path = os.path.join(folder, "key.json")
        key.write(path)
        yield KeyFile(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
