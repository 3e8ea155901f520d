"""What a run over a cluster came to."""

from __future__ import annotations

from dataclasses import dataclass, field

from cipherloom._report import Failure, Failures

__all__ = ["ScaleReport"]


@dataclass(frozen=True)
class ScaleReport(Failures):
    """The end of a run. What was done by earlier runs is counted apart."""

    manifest: str
    """Where the records are."""
    files: int
    """Objects that were done."""
    bytes: int
    """Their bytes in the source."""
    output_bytes: int
    """Bytes written; when verifying, bytes of plaintext that were authenticated."""
    skipped: int
    """Objects whose output was there though no record says so: a task ran twice, or a run's end was lost."""
    recorded: int
    """Objects that earlier runs had done, by their records."""
    failed: int
    """Objects that failed, after all tries."""
    tasks: int
    """Tasks that were given out, further tries included."""
    retried: int
    """Of these: tasks for objects that had failed before."""
    seconds: float
    """Wall time."""
    listing_seconds: float
    """Of it: listing."""
    working_seconds: float
    """Seconds of all tasks together, as they were on their nodes."""
    failures: tuple[Failure, ...] = field(default=(), repr=False)
    """The objects that failed, by path relative to the source."""
