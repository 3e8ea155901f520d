"""The operations: each call is checked, its source listed and compared with the index, and the rest given to the driver."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from cipherloom import _native, _progress
from cipherloom._options import Options, ReadSettings, StrPath, choose_options
from cipherloom._report import Failure
from cipherloom.exceptions import CipherloomError, InvalidRequest
from cipherloom.ray._cluster import connected
from cipherloom.ray._driver import Totals, drive
from cipherloom.ray._index import Index
from cipherloom.ray._keys import KeyFile, KeySource, Wrapped, in_private_memory
from cipherloom.ray._listing import listed
from cipherloom.ray._report import ScaleReport
from cipherloom.ray._work import Job, Operation

if TYPE_CHECKING:
    from typing import TypeAlias

    Key: TypeAlias = _native.Keyset | KeySource

__all__ = ["Settings", "decrypt", "encrypt", "lcp_encrypt", "rekey", "verify"]

CHUNK_BYTES = 16 << 30
"""Bytes of a task: half a minute or more of work, beside which Ray costs little, and little to lose with a node."""

PUBLICATIONS = ["*.epub", "*.webpub", "*.audiobook", "*.divina", "*.lpf", "*.rpf", "*.pdf"]


class Settings(ReadSettings, total=False):
    """What every operation takes by name: these, and the fields of :class:`cipherloom.Options` but for ``if_exists`` (outputs are
    created and never replaced) and ``links``. ``threads`` are those of a task; of the smallest node if they are left out."""

    options: Options | None
    """The fields of :class:`cipherloom.Options` together."""
    durable: bool
    preserve_modes: bool
    non_atomic: bool
    allow_mixed_keys: bool
    address: str | None
    """The cluster's, as Ray has it (``"auto"``, ``"host:6379"``); else the one that this process is connected to, else one on
    this machine, on loopback, until the call returns."""
    chunk_bytes: int
    """Bytes of a task, 64 KiB added for each object; 16 GiB if this is left out."""
    max_retries: int
    """How often a task that was lost, and objects that a store failed, are tried again; three times if this is left out."""
    anchor: StrPath
    """For :func:`encrypt` and :func:`verify`: a file that remembers the index's generation; an index that is older, or missing, is
    refused."""


def encrypt(source: StrPath, destination: StrPath, keyset: Key, **settings: Unpack[Settings]) -> ScaleReport:
    """Encrypts everything at ``source``, each object by itself, to ``destination``.

    The sealed index at the destination (``.cipherloom``) lists what is done. Each task leaves a journal there, which the end of the
    run merges into the index. A repeated run leaves out what either lists with the source's size and time, if an output of the
    listed length is there; nobody writes into index and journals without the key. If the source has changed since, that is a failure
    (``FileExistsError``), as is an output that no run has made of this version of its source. Each destination has one source,
    and all runs into it have the same ``bind_path``.

    :param keyset: a :class:`~cipherloom.ray.KeyFile`, a :class:`~cipherloom.ray.Wrapped`, or a keyset in memory for a
        cluster that this call starts on this machine.
    :param settings: see :class:`~cipherloom.ray.Settings`.
    """
    return _run("encrypt", source, destination, keyset, None, **settings)


def decrypt(source: StrPath, destination: StrPath, keyset: Key, **settings: Unpack[Settings]) -> ScaleReport:
    """Decrypts what :func:`encrypt` made. Parameters are as there."""
    return _run("decrypt", source, destination, keyset, None, **settings)


def verify(source: StrPath, keyset: Key, **settings: Unpack[Settings]) -> ScaleReport:
    """Authenticates every byte and writes no output. Parameters are those of :func:`encrypt`.

    If ``source`` has an index, it lists what must exist. A missing object is a failure (``FileNotFoundError``), unless it lies
    where the listing failed; so is one that the index does not list (``FileExistsError``) or that was replaced (``InvalidTag``).
    """
    return _run("verify", source, None, keyset, None, **settings)


def rekey(
    source: StrPath, destination: StrPath, keyset: Key, new_keyset: Key, **settings: Unpack[Settings]
) -> ScaleReport:
    """Decrypts with ``keyset`` and encrypts with ``new_keyset`` in one pass; no plaintext is written. Where only the wrap
    of a keyset is to change, :meth:`cipherloom.envelope.Envelope.rewrap` rewrites no data at all. ``destination`` gets no index, with
    a warning if ``source`` has one: :func:`cipherloom.index_tree` makes one of a folder."""
    return _run("rekey", source, destination, keyset, new_keyset, **settings)


def lcp_encrypt(
    source: StrPath, destination: StrPath, key_file: StrPath, **settings: Unpack[Settings]
) -> ScaleReport:
    """Protects the publications in a folder with Readium LCP (:func:`cipherloom.lcp.encrypt`), each under a new key.

    Folders only: a publication is written in place and read again, and its key is on stable storage before it gets its name.
    Stores do not offer that. ``include``, ``suffix``, ``bind_path`` and ``durable`` do not apply.

    :param key_file: gets the content keys; a file that every node sees and can lock. No key passes through Ray.
    """
    for place in (source, destination):
        if _native.is_address(place):
            error = InvalidRequest(f"{os.fspath(place)}: publications are protected in folders, not in object stores")
            error.add_note("hint: protect them in a folder, and copy that to the store")
            raise error
    for name in ("include", "suffix", "bind_path", "durable"):
        if settings.get(name) or getattr(settings.get("options"), name, None):
            raise InvalidRequest(f"{name} is not for publications")
    settings["include"] = [f"**/{glob}" for glob in PUBLICATIONS]
    # A task's working folder is another than this one.
    return _run("lcp_encrypt", source, destination, None, None, key_file=os.path.abspath(key_file), **settings)


def _run(
    operation: Operation,
    source: StrPath,
    destination: StrPath | None,
    key: Key | None,
    new_key: Key | None,
    *,
    options: Options | None = None,
    address: str | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    max_retries: int = 3,
    key_file: str | None = None,
    anchor: StrPath | None = None,
    **settings: Any,
) -> ScaleReport:
    start, began = time.monotonic(), time.time()
    options = choose_options(options, settings, Settings)
    if (options.if_exists, options.links) not in (("fail", "skip"), ("skip", "skip")):
        raise InvalidRequest("if_exists and links are not for clusters: outputs are created and never replaced")
    if chunk_bytes < 1 or max_retries < 0:
        raise InvalidRequest("chunk_bytes is 1 or more, max_retries 0 or more")
    if anchor is not None and operation not in ("encrypt", "verify"):
        raise InvalidRequest("anchor is for encrypt and verify: other runs use no index")
    source = _place(source)
    target = None if destination is None else _place(destination)
    opened = None if key is None else _load(key)
    if new_key is not None:
        # One that cannot be loaded fails now.
        _load(new_key)
    objects, unlisted, reserved = listed(source, options, options.suffix if operation == "encrypt" else "")
    listing_seconds = time.monotonic() - start
    if operation != "encrypt" and opened is not None and (reserved or not _native.is_address(source)):
        _check_names(source, opened, options)
    if reserved:
        _check_reserved(operation, source)
    with ExitStack() as stack:
        index = Index(operation, source, target, opened, options, anchor)
        stack.callback(index.close)
        todo = index.compare(objects, began)
        # A run over a selection cannot tell what is missing.
        lost = [] if options.include or options.exclude else _lost(index.missing, source, unlisted)
        totals = Totals()
        if todo:
            # A run that has nothing to do starts no cluster.
            cluster = stack.enter_context(connected(address, options.threads))
            travels = [
                None if each is None else stack.enter_context(in_private_memory(each, cluster.is_own))
                for each in (key, new_key)
            ]
            # A task may run twice, and its receipt has its failures. An output that is damaged does not show that the key is another.
            mixed = options.allow_mixed_keys or index.has_outputs
            of_tasks = replace(
                options, threads=cluster.threads, if_exists="skip", progress=False, check=False, allow_mixed_keys=mixed
            )  # fmt: skip
            job = Job(operation, source, target, travels[0], travels[1], of_tasks, key_file, index.of_tasks())
            size = sum(each.size for each in todo)
            begin = stack.enter_context(_progress.bar(operation, options.progress, unit="objects"))
            tell = begin(size, len(todo)) if begin else _unseen
            totals = drive(cluster, job, todo, chunk_bytes=chunk_bytes, max_retries=max_retries, tell=tell)
        written = index.finish(totals.failures, len(lost))
        failures = _by_path([*totals.failures, *unlisted, *index.failures, *map(_gone, lost)])
        counted = ("files", "bytes", "output_bytes", "skipped", "tasks", "retried", "working_seconds")
        report = ScaleReport(
            recorded=index.recorded,
            failed=len(failures),
            seconds=time.monotonic() - start,
            listing_seconds=listing_seconds,
            index=written,
            failures=tuple(failures),
            **{name: getattr(totals, name) for name in counted},
        )
    if options.check:
        report.raise_if_failed()
    return report


def _place(given: StrPath) -> str:
    """An address as it is; a path made absolute, since a task has another working folder."""
    if _native.is_address(given):
        return os.fspath(given)
    return os.path.abspath(_native.without_scheme(given))


def _check_names(source: str, key: _native.Keyset, options: Options) -> None:
    """Refuses a tree with hidden names, by either copy of its index: the second one is where no other tree has one."""
    are_hidden = os.path.lexists(os.path.join(source, "00", ".cipherloom", "copy", "root"))
    try:
        index = None if are_hidden else _native.list_recorded(source, key, options.max_segment_size)
    except (CipherloomError, OSError) as error:
        # Nothing else is wanted of the index here.
        are_hidden = isinstance(error, InvalidRequest) and "names are hidden" in str(error)
    else:
        if index is not None:
            index[1].close()
    if are_hidden:
        refused = InvalidRequest(f"{source}: its names are hidden, and tasks do not know them")
        refused.add_note("hint: use cipherloom.decrypt_tree, verify_tree or rekey_tree")
        raise refused


def _check_reserved(operation: Operation, source: str) -> None:
    """Something in the source has the name of an index, and was passed over."""
    if operation == "encrypt":
        error = InvalidRequest(f"{source}: something below it is called .cipherloom, which is reserved for indexes")
        error.add_note('hint: exclude=".cipherloom" leaves it out of what is encrypted')
        raise error
    if operation == "rekey":
        warnings.warn(f"{source}: the destination gets no index; index_tree makes one of a folder", stacklevel=4)


def _load(key: Key) -> _native.Keyset:
    """The keyset. A key that cannot be loaded fails before anything starts."""
    if isinstance(key, _native.Keyset):
        return key
    if not isinstance(key, KeyFile | Wrapped):
        raise TypeError(f"key is a Keyset, a KeyFile or Wrapped, not {type(key).__name__}")
    return key.load()


def _lost(missing: list[str], source: str, unlisted: list[Failure]) -> list[str]:
    """What is missing, except where the listing failed."""
    root = f"{source.rstrip('/')}/"
    folders = [f"{str(failure.path).rstrip('/')}/" for failure in unlisted]
    if not all(folder.startswith(root) and folder != root for folder in folders):
        return []
    below = tuple(folder.removeprefix(root) for folder in folders)
    return [name for name in missing if not f"{name}/".startswith(below)]


def _gone(name: str) -> Failure:
    hint = "fetch it from a backup; a repeated run of encrypt makes it again of its source"
    return Failure(Path(name), "missing: the index lists it", "FileNotFoundError", hint)


def _by_path(failures: Iterable[Failure]) -> list[Failure]:
    return sorted(failures, key=lambda failure: str(failure.path))


def _unseen(bytes_done: int, objects_done: int) -> None:
    """Shows nothing."""
