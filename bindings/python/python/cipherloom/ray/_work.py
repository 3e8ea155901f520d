"""What a task does on its node: the native pipeline over its share, and a small receipt."""

from __future__ import annotations

import os
import socket
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from cipherloom import _native, lcp
from cipherloom._options import IndexOptions, Options, Request
from cipherloom.exceptions import CipherloomError
from cipherloom.ray._keys import KeySource, keyset
from cipherloom.ray._listing import Listed

__all__ = ["Job", "Operation", "Receipt", "work"]

Operation: TypeAlias = Literal["encrypt", "decrypt", "verify", "rekey", "lcp_encrypt"]


@dataclass(frozen=True)
class Job:
    """What all tasks of a run have in common."""

    operation: Operation
    source: str
    destination: str | None
    key: KeySource | None
    new_key: KeySource | None
    options: Options
    key_file: str | None
    """Where content keys of publications go."""
    index: IndexOptions | None
    """What tasks do for the index of the encrypted tree."""


@dataclass(frozen=True)
class Receipt:
    """What a task returns. Only failures make it larger."""

    node: str
    pid: int
    seconds: float
    files: int
    skipped: int
    bytes: int
    output_bytes: int
    failures: list[_native.Failed]
    """Path relative to the source, the reason, the exception's name, the remedy."""


def work(job: Job, share: list[Listed]) -> Receipt:
    """Does a share. An error that stops all of it raises; errors of single objects are in the receipt."""
    start = time.monotonic()
    counts: dict[str, Any] = {}
    failed: list[_native.Failed]
    try:
        counts, failed = _publications(job, share) if job.operation == "lcp_encrypt" else _objects(job, share)
    except (CipherloomError, OSError) as error:
        # Kept plain: an exception of another type may not unpickle where it goes.
        hint = next((note.removeprefix("hint: ") for note in getattr(error, "__notes__", [])), None)
        failed = [(each.path, str(error), type(error).__name__, hint) for each in share]
    return Receipt(
        node=socket.gethostname(),
        pid=os.getpid(),
        seconds=time.monotonic() - start,
        failures=failed,
        **{name: counts.get(name, 0) for name in ("files", "skipped", "bytes", "output_bytes")},
    )


def _objects(job: Job, share: list[Listed]) -> tuple[dict[str, Any], list[_native.Failed]]:
    assert job.key is not None and job.operation != "lcp_encrypt"
    request = Request(
        operation=job.operation,
        source=job.source,
        destination=job.destination,
        key=keyset(job.key),
        new_key=None if job.new_key is None else keyset(job.new_key),
        options=job.options,
        index=None if job.index is None else replace(job.index, expected=[each.stream for each in share]),
        objects=[(each.path, each.size, each.version, each.modified) for each in share],
    )
    counts, failures = _native.process(request)
    failed = [(_below(job.source, path), reason, error, _hint(job, error, hint)) for path, reason, error, hint in failures]
    if counts["failed"] > len(failed) or counts["untried"]:
        # The run ended early and named one failure for all. What is not known to be done counts as failed with it: another
        # try skips what is there.
        known, (_, reason, error, hint) = {path for path, *_ in failed}, failed[-1]
        failed += [(each.path, reason, error, hint) for each in share if each.path not in known]
        counts = {}
    known = {each.path for each in share}
    # Of no object, and below the index: the journal.
    whole = next((failure for failure in failed if failure[0] not in known and "/.cipherloom" in failure[0]), None)
    if job.operation == "encrypt" and whole is not None:
        # No journal lists what was made: another try recognises it, and lists it.
        _, reason, error, hint = whole
        failed = [(each.path, reason, error, hint) for each in share]
        counts = {}
    return counts, failed


def _hint(job: Job, error: str, hint: str | None) -> str | None:
    """What to do, where nothing is replaced."""
    if job.operation == "encrypt" and error == "FileExistsError":
        return "remove the output and repeat the run, which makes it again; or choose another destination"
    return hint


def _publications(job: Job, share: list[Listed]) -> tuple[dict[str, Any], list[_native.Failed]]:
    assert job.destination is not None and job.key_file is not None
    folders: dict[str, list[str]] = defaultdict(list)
    for each in share:
        folders[os.path.dirname(each.path)].append(os.path.join(job.source, each.path))
    counts: dict[str, int] = defaultdict(int)
    failed: list[_native.Failed] = []
    for folder, books in folders.items():
        out = os.path.join(job.destination, folder)
        report = lcp.encrypt(books, out, key_file=job.key_file, options=job.options)
        counts["files"] += report.protected
        for name in ("skipped", "bytes", "output_bytes"):
            counts[name] += getattr(report, name)
        failed += [(_below(job.source, each.path), each.reason, each.error, each.hint) for each in report.failures]
    return counts, failed


def _below(source: str, path: Any) -> str:
    """The path relative to the source, of a path or address below it."""
    text = str(path)
    prefix = source if source.endswith("/") else f"{source}/"
    return text.removeprefix(prefix)
