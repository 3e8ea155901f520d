"""Progress as Ray metrics, beside those that Ray has of tasks and nodes (for Prometheus, Grafana and so on).

The driver records them as receipts arrive, and Ray exports them in its own time. Without Ray's exporter
(``pip install "ray[default]"``) they are not exported, and nothing else changes.

==============================  =======  ========================================================
name (Ray puts ``ray_`` before)  kind     meaning
==============================  =======  ========================================================
``cipherloom_objects_done``      counter  objects that are done, or were found to be so
``cipherloom_bytes_done``        counter  their bytes in the source
``cipherloom_objects_failed``    counter  objects that failed for good
``cipherloom_tasks_repeated``    counter  tasks for objects that had failed before
``cipherloom_objects_left``      gauge    objects of this run that have not ended
==============================  =======  ========================================================

Each has the tag ``operation``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cipherloom.ray._driver import Totals

__all__ = ["Metrics"]


class Metrics:
    """The numbers of one run."""

    def __init__(self, operation: str, objects: int) -> None:
        from ray.util.metrics import Counter, Gauge

        tags = {"operation": operation}
        self._counters = {}
        for name, counted in {
            "objects_done": "Objects that are done, or were found to be so",
            "bytes_done": "Bytes of the source that are done",
            "objects_failed": "Objects that failed for good",
            "tasks_repeated": "Tasks for objects that had failed before",
        }.items():
            counter = Counter(f"cipherloom_{name}", counted, ("operation",))
            counter.set_default_tags(tags)
            self._counters[name] = counter
        self._told = dict.fromkeys(self._counters, 0)
        self._objects = objects
        self._left = Gauge("cipherloom_objects_left", "Objects of this run that have not ended", ("operation",))
        self._left.set_default_tags(tags)
        self._left.set(objects)

    def tell(self, totals: Totals) -> None:
        """Records what arrived since the last time."""
        done, failed = totals.files + totals.skipped, len(totals.failures)
        now = {
            "objects_done": done,
            "bytes_done": totals.bytes,
            "objects_failed": failed,
            "tasks_repeated": totals.retried,
        }
        for name, value in now.items():
            if value > self._told[name]:
                self._counters[name].inc(value - self._told[name])
        self._told = now
        self._left.set(self._objects - done - failed)
