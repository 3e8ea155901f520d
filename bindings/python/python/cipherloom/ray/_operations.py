"""The operations: each call is checked, its source listed and compared with the records, and the rest given to the driver."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from cipherloom import _native, _progress
from cipherloom._options import Options, ReadSettings, StrPath, choose_options
from cipherloom._report import Failure
from cipherloom.exceptions import InvalidRequest
from cipherloom.ray._cluster import connected
from cipherloom.ray._driver import Totals, drive
from cipherloom.ray._keys import KeyFile, KeySource, Wrapped, in_private_memory
from cipherloom.ray._listing import Listed, listed
from cipherloom.ray._manifest import Manifest, ManifestFormat
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
    manifest: StrPath | None
    """Where the records are; ``<destination>.manifest`` if this is left out."""
    manifest_format: ManifestFormat
    """``"jsonl"``, or ``"parquet"`` for tables (``pip install cipherloom[parquet]``). Earlier records are read in either."""


def encrypt(source: StrPath, destination: StrPath, keyset: Key, **settings: Unpack[Settings]) -> ScaleReport:
    """Encrypts everything at ``source``, each object by itself, to ``destination``.

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

    The manifest that :func:`encrypt` or :func:`rekey` left beside ``source`` lists what must exist. A missing object is a failure
    (``FileNotFoundError``), unless it lies where the listing failed. A manifest that cannot be read gives a warning. A whole
    bucket has no manifest beside it.

    ``manifest=`` names a manifest of its own for verification: what it records is not verified again, and an object that it
    records and that is missing is a failure. The manifest beside ``source`` is not read then.
    """
    return _run("verify", source, None, keyset, None, **settings)


def rekey(
    source: StrPath, destination: StrPath, keyset: Key, new_keyset: Key, **settings: Unpack[Settings]
) -> ScaleReport:
    """Decrypts with ``keyset`` and encrypts with ``new_keyset`` in one pass; no plaintext is written. Where only the wrap
    of a keyset is to change, :meth:`cipherloom.envelope.Envelope.rewrap` rewrites no data at all."""
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
    manifest: StrPath | None = None,
    manifest_format: ManifestFormat = "jsonl",
    key_file: str | None = None,
    **settings: Any,
) -> ScaleReport:
    start = time.monotonic()
    options = choose_options(options, settings, Settings)
    if (options.if_exists, options.links) not in (("fail", "skip"), ("skip", "skip")):
        raise InvalidRequest("if_exists and links are not for clusters: outputs are created and never replaced")
    if chunk_bytes < 1 or max_retries < 0:
        raise InvalidRequest("chunk_bytes is 1 or more, max_retries 0 or more")
    source = _place(source)
    target = None if destination is None else _place(destination)
    place = _place(manifest) if manifest is not None else Manifest.beside(target or source)
    if place is None and operation != "verify":
        error = InvalidRequest(f"{target}: there is no place beside it for the manifest")
        error.add_note("hint: say where it goes with manifest=")
        raise error
    about = {
        "operation": operation, "source": source, "destination": target, "key": _key_id(new_key or key),
        "suffix": options.suffix, "bind_path": options.bind_path,
    }  # fmt: skip
    objects, unlisted = listed(source, options)
    listing_seconds = time.monotonic() - start
    with ExitStack() as stack:
        expected: set[str] = set()
        if operation == "verify" and manifest is None:
            expected = _made(place, about)
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="cipherloom-manifest-"))
        assert place is not None
        records = stack.enter_context(Manifest(place, about, manifest_format))
        done = records.done()
        if operation == "verify":
            expected.update(done)
        # A run over a selection cannot tell what is missing.
        lost = [] if options.include or options.exclude else _lost(expected, objects, source, unlisted)
        todo = [each for each in objects if each.path not in done]
        changed = [each for each in objects if each.path in done and done[each.path] != (each.size, each.version)]
        totals = Totals()
        if todo:
            # A run that has nothing to do starts no cluster.
            cluster = stack.enter_context(connected(address, options.threads))
            travels = [
                None if each is None else stack.enter_context(in_private_memory(each, cluster.is_own))
                for each in (key, new_key)
            ]
            # A task may run twice, and its receipt has its failures.
            of_tasks = replace(options, threads=cluster.threads, if_exists="skip", progress=False, check=False)
            job = Job(operation, source, target, travels[0], travels[1], of_tasks, key_file)
            size = sum(each.size for each in todo)
            records.begin(len(todo), size)
            begin = stack.enter_context(_progress.bar(operation, options.progress, unit="objects"))
            tell = begin(size, len(todo)) if begin else _unseen
            totals = drive(cluster, job, todo, records, chunk_bytes=chunk_bytes, max_retries=max_retries, tell=tell)
        failures = _by_path([*totals.failures, *unlisted, *map(_changed, changed), *map(_gone, lost)])
        counted = ("files", "bytes", "output_bytes", "skipped", "tasks", "retried", "working_seconds")
        report = ScaleReport(
            manifest="" if operation == "verify" and manifest is None else place,
            recorded=len(objects) - len(todo) - len(changed),
            failed=len(failures),
            seconds=time.monotonic() - start,
            listing_seconds=listing_seconds,
            failures=tuple(failures),
            **{name: getattr(totals, name) for name in counted},
        )
        if todo:
            row = {name: getattr(report, name) for name in ScaleReport.__dataclass_fields__ if name != "failures"}
            records.end(row)
    if options.check:
        report.raise_if_failed()
    return report


def _place(given: StrPath) -> str:
    """An address as it is; a path made absolute, since a task has another working folder."""
    if _native.is_address(given):
        return os.fspath(given)
    return os.path.abspath(_native.without_scheme(given))


def _key_id(key: Key | None) -> int | str | None:
    """What identifies the key in the records; no secret."""
    if key is None:
        return None
    if isinstance(key, _native.Keyset):
        return key.primary_id
    if not isinstance(key, KeyFile | Wrapped):
        raise TypeError(f"key is a Keyset, a KeyFile or Wrapped, not {type(key).__name__}")
    # Loaded here too: a key that cannot be loaded fails before anything starts.
    return key.load().primary_id


def _made(place: str | None, about: dict[str, Any]) -> set[str]:
    """What the manifest at ``place``, if there is one, records as made. A run that verifies may lack the right to read it."""
    if place is None:
        return set()
    try:
        with Manifest(place, about) as manifest:
            return manifest.made()
    except (OSError, ValueError, ImportError) as error:
        warnings.warn(f"{place}: cannot read this manifest, so missing objects are not reported: {error}", stacklevel=4)
        return set()


def _lost(expected: set[str], objects: list[Listed], source: str, unlisted: list[Failure]) -> list[str]:
    """What is missing of what is expected, except where the listing failed."""
    root = f"{source.rstrip('/')}/"
    folders = [f"{str(failure.path).rstrip('/')}/" for failure in unlisted]
    if not all(folder.startswith(root) and folder != root for folder in folders):
        return []
    below = tuple(folder.removeprefix(root) for folder in folders)
    missing = expected - {each.path for each in objects}
    return [name for name in missing if not f"{name}/".startswith(below)]


def _changed(each: Listed) -> Failure:
    hint = "remove the output and its manifest's part, or choose another destination"
    return Failure(Path(each.path), "the source has changed since its output was made", "FileExistsError", hint)


def _gone(name: str) -> Failure:
    hint = "encrypt again with another manifest, which makes what is missing"
    return Failure(Path(name), "the manifest says that it was made or verified, and it is gone", "FileNotFoundError", hint)


def _by_path(failures: Iterable[Failure]) -> list[Failure]:
    return sorted(failures, key=lambda failure: str(failure.path))


def _unseen(bytes_done: int, objects_done: int) -> None:
    """Shows nothing."""
