"""The driver: submits tasks, as many as fit and a few more, and counts what comes back."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cipherloom import _native
from cipherloom._report import Failure
from cipherloom.ray._cluster import Cluster
from cipherloom.ray._interrupt import Interrupt
from cipherloom.ray._listing import Listed, cut
from cipherloom.ray._metrics import Metrics
from cipherloom.ray._work import Job, Receipt, work

__all__ = ["Totals", "drive"]

QUEUED = 2
"""Tasks submitted for each that runs, so that a free slot has its next one at once."""

LOOK = 0.1
"""Seconds after which the driver checks for Ctrl-C."""

FIRST_WAIT = 1.0
"""Seconds before objects that failed are retried; doubled each time."""

TRANSIENT = frozenset({"OSError", "ConnectionError", "TimeoutError", "RayError"})
"""Failures that a retry may repair: those of stores and systems, never of keys or content."""


@dataclass
class Totals:
    """What has come back so far."""

    files: int = 0
    skipped: int = 0
    bytes: int = 0
    output_bytes: int = 0
    tasks: int = 0
    retried: int = 0
    working_seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class Task:
    """A share, and which attempt at it this is."""

    number: int
    attempt: int
    share: list[Listed]
    not_before: float = 0.0


def drive(
    cluster: Cluster,
    job: Job,
    objects: list[Listed],
    *,
    chunk_bytes: int,
    max_retries: int,
    tell: Callable[[int, int], None],
) -> Totals:
    """Processes every object; returns when each is done or has failed for good."""
    import ray
    from ray.exceptions import RayError

    totals = Totals()
    # Ray itself repeats a task whose worker is lost or killed.
    remote = ray.remote(max_retries=max_retries, num_cpus=cluster.threads, scheduling_strategy="SPREAD")(work)
    waiting = deque(Task(number, 1, share) for number, share in enumerate(cut(objects, chunk_bytes), 1))
    numbers = len(waiting)
    running: dict[Any, Task] = {}
    metrics = Metrics(job.operation, len(objects))
    with Interrupt() as interrupt:
        try:
            shared = ray.put(job)
            while waiting or running:
                while waiting and len(running) < QUEUED * cluster.slots and waiting[0].not_before <= time.monotonic():
                    task = waiting.popleft()
                    running[remote.options(name=_name(job, task)).remote(shared, task.share)] = task
                    totals.tasks += 1
                    totals.retried += task.attempt > 1
                interrupt.look()
                if not running:
                    time.sleep(min(LOOK, max(0.0, waiting[0].not_before - time.monotonic())))
                    continue
                ready, _ = ray.wait(list(running), num_returns=1, timeout=LOOK)
                for reference in ready:
                    task = running.pop(reference)
                    try:
                        receipt = ray.get(reference)
                    except RayError as error:
                        receipt = _lost(task, error)
                    again = _settle(task, receipt, max_retries, totals)
                    if again:
                        numbers += 1
                        wait = FIRST_WAIT * 2 ** (task.attempt - 1)
                        waiting.append(Task(numbers, task.attempt + 1, again, time.monotonic() + wait))
                    metrics.tell(totals)
                    tell(totals.bytes, totals.files + totals.skipped + len(totals.failures))
        except BaseException:
            # Mostly Ctrl-C: running tasks stop within moments, and leave nothing half-written.
            for reference in running:
                ray.cancel(reference)
            raise
    totals.failures.sort(key=lambda failure: str(failure.path))
    return totals


def _name(job: Job, task: Task) -> str:
    """The task's name in Ray's lists and dashboard: what it does, its number, and where in the tree it is."""
    again = f", try {task.attempt}" if task.attempt > 1 else ""
    first = task.share[0].path.encode(errors="backslashreplace").decode()
    count = f"{len(task.share)} object{'' if len(task.share) == 1 else 's'} from {first}"
    return f"cipherloom {job.operation} {task.number}: {count}{again}"


def _settle(task: Task, receipt: Receipt, max_retries: int, totals: Totals) -> list[Listed]:
    """Counts a receipt; returns what is to be retried."""
    totals.files += receipt.files
    totals.skipped += receipt.skipped
    totals.bytes += receipt.bytes
    totals.output_bytes += receipt.output_bytes
    totals.working_seconds += receipt.seconds
    again, known = set(), {each.path for each in task.share}
    for path, reason, error, hint in receipt.failures:
        if error in TRANSIENT and task.attempt <= max_retries and path in known:
            again.add(path)
        else:
            totals.failures.append(Failure(Path(path), reason, error, hint))
    return [each for each in task.share if each.path in again]


def _lost(task: Task, error: Exception) -> Receipt:
    """The receipt of a task that was lost."""
    reason = f"the task was lost ({type(error).__name__})"
    failures: list[_native.Failed] = [(each.path, reason, "RayError", "see the node's memory and Ray's logs") for each in task.share]
    return Receipt("", 0, 0.0, 0, 0, 0, 0, failures)
