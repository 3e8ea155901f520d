"""The operations: what stands in each call, checked, listed, compared with the records, and given to the driver."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from cipherloom import _native, _progress
from cipherloom._report import Failure
from cipherloom._trees import Globs, StrPath, globs, threads_asked
from cipherloom.exceptions import InvalidRequest
from cipherloom.ray._cluster import connected
from cipherloom.ray._driver import Totals, drive
from cipherloom.ray._keys import KeyFile, KeySource, Wrapped, in_private_memory
from cipherloom.ray._listing import Listed, is_address, listed, stores
from cipherloom.ray._manifest import Manifest
from cipherloom.ray._report import ScaleReport
from cipherloom.ray._work import Errand, Operation

if TYPE_CHECKING:
    from typing import TypeAlias

    Key: TypeAlias = _native.Keyset | KeySource

__all__ = ["decrypt", "encrypt", "lcp_encrypt", "rekey", "verify"]

CHUNK_BYTES = 16 << 30
"""Bytes of a task: half a minute or more of work, beside which Ray costs little, and little to lose with a node."""

PUBLICATIONS = ["*.epub", "*.webpub", "*.audiobook", "*.divina", "*.lpf", "*.rpf", "*.pdf"]


def encrypt(
    source: StrPath,
    destination: StrPath,
    keyset: Key,
    *,
    address: str | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    max_retries: int = 3,
    threads: int | None = None,
    include: Globs = (),
    exclude: Globs = (),
    suffix: str = "",
    bind_path: bool = False,
    durable: bool = False,
    manifest: StrPath | None = None,
    progress: bool = False,
    check: bool = True,
) -> ScaleReport:
    """Encrypts everything at ``source``, each object by itself, to ``destination``.

    :param keyset: a :class:`~cipherloom.ray.KeyFile`, a :class:`~cipherloom.ray.Wrapped`, or a keyset in memory for a
        cluster that this call starts on this machine.
    :param address: the cluster's, as Ray has it (``"auto"``, ``"host:6379"``); else the one that this process is connected
        to, else one on this machine, on loopback, until the call returns.
    :param chunk_bytes: bytes of a task, 64 KiB added for each object.
    :param max_retries: how often a task that was lost, and objects that a store failed, are tried again.
    :param threads: threads of a task; those of the smallest node if this is left out.
    :param include: globs (one, or several); only what matches one takes part.
    :param exclude: globs; what matches one takes no part.
    :param suffix: added to every name.
    :param bind_path: binds each relative path to its content.
    :param durable: forces each file to stable storage before it gets its name; stores always do.
    :param manifest: where the records are; ``<destination>.manifest`` if this is left out.
    :param progress: shows a bar, if tqdm is installed and there is a terminal or notebook.
    :param check: raises if an object failed, when all others are through.
    """
    return _run(
        "encrypt", source, destination, keyset, None, address, chunk_bytes, max_retries, threads, include, exclude,
        suffix, bind_path, durable, manifest, progress, check, None,
    )  # fmt: skip


def decrypt(
    source: StrPath,
    destination: StrPath,
    keyset: Key,
    *,
    address: str | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    max_retries: int = 3,
    threads: int | None = None,
    include: Globs = (),
    exclude: Globs = (),
    suffix: str = "",
    bind_path: bool = False,
    durable: bool = False,
    manifest: StrPath | None = None,
    progress: bool = False,
    check: bool = True,
) -> ScaleReport:
    """Decrypts what :func:`encrypt` made. ``suffix`` is removed from every name; other parameters are as there."""
    return _run(
        "decrypt", source, destination, keyset, None, address, chunk_bytes, max_retries, threads, include, exclude,
        suffix, bind_path, durable, manifest, progress, check, None,
    )  # fmt: skip


def verify(
    source: StrPath,
    keyset: Key,
    *,
    manifest: StrPath,
    address: str | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    max_retries: int = 3,
    threads: int | None = None,
    include: Globs = (),
    exclude: Globs = (),
    suffix: str = "",
    bind_path: bool = False,
    progress: bool = False,
    check: bool = True,
) -> ScaleReport:
    """Authenticates every byte and writes nothing but the manifest, whose place is asked for: what is in it is not
    verified again. Other parameters are those of :func:`decrypt`."""
    return _run(
        "verify", source, None, keyset, None, address, chunk_bytes, max_retries, threads, include, exclude,
        suffix, bind_path, False, manifest, progress, check, None,
    )  # fmt: skip


def rekey(
    source: StrPath,
    destination: StrPath,
    keyset: Key,
    new_keyset: Key,
    *,
    address: str | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    max_retries: int = 3,
    threads: int | None = None,
    include: Globs = (),
    exclude: Globs = (),
    suffix: str = "",
    bind_path: bool = False,
    durable: bool = False,
    manifest: StrPath | None = None,
    progress: bool = False,
    check: bool = True,
) -> ScaleReport:
    """Decrypts with ``keyset`` and encrypts with ``new_keyset`` in one pass; no plaintext is written. Where only the wrap
    of a keyset is to change, :meth:`cipherloom.envelope.Envelope.rewrap` rewrites no data at all."""
    return _run(
        "rekey", source, destination, keyset, new_keyset, address, chunk_bytes, max_retries, threads, include, exclude,
        suffix, bind_path, durable, manifest, progress, check, None,
    )  # fmt: skip


def lcp_encrypt(
    source: StrPath,
    destination: StrPath,
    key_file: StrPath,
    *,
    address: str | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    max_retries: int = 3,
    threads: int | None = None,
    manifest: StrPath | None = None,
    progress: bool = False,
    check: bool = True,
) -> ScaleReport:
    """Protects the publications in a folder with Readium LCP (:func:`cipherloom.lcp.encrypt`), each under a new key.

    :param key_file: gets the content keys; a file that every node sees and can lock. No key goes through Ray.
    """
    for place in (source, destination):
        if is_address(place):
            raise InvalidRequest(f"{os.fspath(place)}: publications are protected in folders, not in object stores")
    # A task's working folder is another than this one.
    key_file = os.path.abspath(key_file)
    return _run(
        "lcp_encrypt", source, destination, None, None, address, chunk_bytes, max_retries, threads,
        [f"**/{glob}" for glob in PUBLICATIONS], (), "", False, False, manifest, progress, check, key_file,
    )  # fmt: skip


def _run(
    operation: Operation,
    source: StrPath,
    destination: StrPath | None,
    key: Key | None,
    new_key: Key | None,
    address: str | None,
    chunk_bytes: int,
    max_retries: int,
    threads: int | None,
    include: Globs,
    exclude: Globs,
    suffix: str,
    bind_path: bool,
    durable: bool,
    manifest: StrPath | None,
    progress: bool,
    check: bool,
    key_file: str | None,
) -> ScaleReport:
    start = time.monotonic()
    threads_asked(threads)
    if chunk_bytes < 1 or max_retries < 0:
        raise InvalidRequest("chunk_bytes is 1 or more, max_retries 0 or more")
    source = _place(source)
    target = None if destination is None else _place(destination)
    place = _place(manifest) if manifest is not None else f"{str(target).rstrip('/')}.manifest"
    about = {
        "operation": operation, "source": source, "destination": target, "key": _key_id(new_key or key),
        "suffix": suffix, "bind_path": bind_path,
    }  # fmt: skip
    objects, unlisted = listed(source, globs(include), globs(exclude))
    listing_seconds = time.monotonic() - start
    with ExitStack() as stack:
        records = stack.enter_context(Manifest(place, about))
        done = records.done()
        todo = [each for each in objects if each.path not in done]
        changed = [each for each in objects if each.path in done and done[each.path] != (each.size, each.version)]
        totals = Totals()
        if todo:
            # Only now: a run that has nothing to do starts no cluster.
            cluster = stack.enter_context(connected(address, threads))
            travels = [
                None if each is None else stack.enter_context(in_private_memory(each, cluster.is_own))
                for each in (key, new_key)
            ]
            errand = Errand(
                operation, source, target, travels[0], travels[1], cluster.threads, suffix, bind_path, durable, key_file
            )
            size = sum(each.size for each in todo)
            records.begin(len(todo), size)
            begin = stack.enter_context(_progress.bar(operation, progress, unit="objects"))
            tell = begin(size, len(todo)) if begin else _unseen
            totals = drive(
                cluster, errand, todo, records, chunk_bytes=chunk_bytes, max_retries=max_retries, tell=tell
            )
        failures = sorted([*totals.failures, *unlisted, *map(_changed, changed)], key=lambda failure: failure.path)
        report = ScaleReport(
            manifest=place,
            files=totals.files,
            bytes=totals.bytes,
            output_bytes=totals.output_bytes,
            skipped=totals.skipped,
            recorded=len(objects) - len(todo) - len(changed),
            failed=len(failures),
            tasks=totals.tasks,
            retried=totals.retried,
            seconds=time.monotonic() - start,
            listing_seconds=listing_seconds,
            working_seconds=totals.working_seconds,
            failures=tuple(failures),
        )
        if todo:
            told = {name: getattr(report, name) for name in ScaleReport.__dataclass_fields__ if name != "failures"}
            records.end(told)
    if check:
        report.raise_if_failed()
    return report


def _place(given: StrPath) -> str:
    """An address as it is; a path from the root on, since a task's working folder is another."""
    if is_address(given):
        stores()
        return os.fspath(given)
    return os.path.abspath(given)


def _key_id(key: Key | None) -> int | str | None:
    """What tells in the records which key it was; no secret."""
    if key is None:
        return None
    if isinstance(key, _native.Keyset):
        return key.primary_id
    if not isinstance(key, KeyFile | Wrapped):
        raise TypeError(f"key is a Keyset, a KeyFile or Wrapped, not {type(key).__name__}")
    # Loaded here too: a key that cannot be had is told before anything starts.
    return key.load().primary_id


def _changed(each: Listed) -> Failure:
    reason = (
        "the source has changed since its output was made; remove the output and its manifest's part, or choose "
        "another destination"
    )
    return Failure(Path(each.path), reason, "FileExistsError")


def _unseen(bytes_done: int, objects_done: int) -> None:
    """Nobody looks."""
