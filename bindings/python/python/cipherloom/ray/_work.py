"""What a task does on its node: the native pipeline over its share, and a small receipt."""

from __future__ import annotations

import json
import os
import socket
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from cipherloom import _native, lcp
from cipherloom.exceptions import CipherloomError
from cipherloom.ray._keys import KeySource, keyset
from cipherloom.ray._listing import Listed

__all__ = ["Errand", "Operation", "Receipt", "work"]

Operation: TypeAlias = Literal["encrypt", "decrypt", "verify", "rekey", "lcp_encrypt"]


@dataclass(frozen=True)
class Errand:
    """What all tasks of a run have in common."""

    operation: Operation
    source: str
    destination: str | None
    key: KeySource | None
    new_key: KeySource | None
    threads: int
    suffix: str
    bind_path: bool
    durable: bool
    key_file: str | None
    """Where content keys of publications go."""


@dataclass(frozen=True)
class Receipt:
    """What a task tells: its size does not depend on what it did, but for failures."""

    node: str
    pid: int
    seconds: float
    files: int
    skipped: int
    bytes: int
    output_bytes: int
    failures: list[tuple[str, str, str]]
    """Path relative to the source, the reason, the exception's name."""


def work(errand: Errand, share: list[Listed]) -> Receipt:
    """Does a share. Only what stops all of it raises; what fails by itself is in the receipt."""
    start = time.monotonic()
    try:
        told, failures = _publications(errand, share) if errand.operation == "lcp_encrypt" else _objects(errand, share)
    except (CipherloomError, OSError) as error:
        # Kept plain: an exception of another type may not unpickle where it goes.
        told, failures = {}, [(each.path, str(error), type(error).__name__) for each in share]
    return Receipt(
        node=socket.gethostname(),
        pid=os.getpid(),
        seconds=time.monotonic() - start,
        files=told.get("files", 0),
        skipped=told.get("skipped", 0),
        bytes=told.get("bytes", 0),
        output_bytes=told.get("output_bytes", 0),
        failures=failures,
    )


def _objects(errand: Errand, share: list[Listed]) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    assert errand.key is not None
    key = keyset(errand.key)
    new_key = None if errand.new_key is None else keyset(errand.new_key)
    summary, failures = _native.process(
        {
            "operation": errand.operation,
            "source": errand.source,
            "destination": errand.destination,
            "key": key,
            "new_key": new_key,
            "threads": errand.threads,
            "if_exists": "skip",
            "links": "skip",
            "include": [],
            "exclude": [],
            "objects": [(each.path, each.size, each.version) for each in share],
            "suffix": errand.suffix,
            "bind_path": errand.bind_path,
            "durable": errand.durable,
            "progress": None,
        }
    )
    told = json.loads(summary)
    failed = [(_below(errand.source, path), reason, error) for path, reason, error in failures]
    if told["failed"] > len(failed) or told["untried"]:
        # The run ended early and named one failure for all. What is not known to be done counts as failed with it: another
        # try skips what is there.
        _, reason, error = failed[-1]
        known = {path for path, _, _ in failed}
        failed += [(each.path, reason, error) for each in share if each.path not in known]
        told |= {"files": 0, "skipped": 0, "bytes": 0, "output_bytes": 0}
    return told, failed


def _publications(errand: Errand, share: list[Listed]) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    assert errand.destination is not None and errand.key_file is not None
    folders: dict[str, list[str]] = defaultdict(list)
    for each in share:
        folders[os.path.dirname(each.path)].append(os.path.join(errand.source, each.path))
    told = {"files": 0, "skipped": 0, "bytes": 0, "output_bytes": 0}
    failures = []
    for folder, books in folders.items():
        report = lcp.encrypt(
            books, os.path.join(errand.destination, folder), key_file=errand.key_file, threads=errand.threads,
            if_exists="skip", check=False,
        )  # fmt: skip
        told["files"] += report.protected
        told["skipped"] += report.skipped
        told["bytes"] += report.bytes
        told["output_bytes"] += report.output_bytes
        failures += [(_below(errand.source, each.path), each.reason, each.error) for each in report.failures]
    return told, failures


def _below(source: str, path: Any) -> str:
    """The path relative to the source, of a path or address below it."""
    text = str(path)
    prefix = source if source.endswith("/") else f"{source}/"
    return text.removeprefix(prefix)
