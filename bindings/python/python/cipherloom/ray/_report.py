"""What a run over a cluster did."""

from __future__ import annotations

from dataclasses import dataclass, field

from cipherloom._report import Failure, Failures, IndexReport

__all__ = ["ScaleReport"]


@dataclass(frozen=True)
class ScaleReport(Failures):
    """The end of a run. What earlier runs did is counted apart."""

    files: int
    """Objects that were done."""
    bytes: int
    """Their bytes in the source."""
    output_bytes: int
    """Bytes written; when verifying, bytes of plaintext that were authenticated."""
    skipped: int
    """Objects whose output existed: a task ran twice, or was killed in an earlier run."""
    recorded: int
    """When encrypting: objects that the index lists as they are in the source, and whose outputs are
    there in the listed length."""
    failed: int
    """Objects that failed, after all tries."""
    tasks: int
    """Tasks that were submitted, retries included."""
    retried: int
    """Of these: retries of objects that had failed before."""
    seconds: float
    """Wall time."""
    listing_seconds: float
    """Of it: listing."""
    working_seconds: float
    """Seconds of all tasks together, measured on their nodes."""
    index: IndexReport | None = None
    """The index that the run wrote, left as it was, or was compared with; None if there is none, or it could not be read or written."""
    failures: tuple[Failure, ...] = field(default=(), repr=False)
    """The objects that failed, by path relative to the source."""
