"""What a run over a cluster did."""

from __future__ import annotations

from dataclasses import dataclass, field

from cipherloom._report import Failure, Failures

__all__ = ["ScaleReport"]


@dataclass(frozen=True)
class ScaleReport(Failures):
    """The end of a run. What earlier runs did is counted apart."""

    manifest: str
    """Where the records are."""
    files: int
    """Objects that were done."""
    bytes: int
    """Their bytes in the source."""
    output_bytes: int
    """Bytes written; when verifying, bytes of plaintext that were authenticated."""
    skipped: int
    """Objects whose output existed without a record: a task ran twice, or a run's end was lost."""
    recorded: int
    """Objects that earlier runs had done, by their records."""
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
    failures: tuple[Failure, ...] = field(default=(), repr=False)
    """The objects that failed, by path relative to the source."""
