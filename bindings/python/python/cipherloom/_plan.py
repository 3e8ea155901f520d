"""What would run where, and why."""

from __future__ import annotations

from dataclasses import dataclass

from cipherloom import _native
from cipherloom._options import Globs, Options, StrPath

__all__ = ["Plan", "StorePlan", "plan"]


@dataclass(frozen=True)
class Plan:
    """How a tree would be encrypted on this machine."""

    entries: int
    """Files."""
    bytes: int
    """Their bytes together."""
    threads: int
    """Worker threads."""
    backend: str
    """What does AES on this CPU."""
    lanes: int
    """Files interleaved on each core."""
    tasks: int
    """Tasks in the queue."""
    shared_entries: int
    """Files that several workers share."""
    parts: int
    """Parts that these are cut into."""
    run_bytes: int
    """Bytes that one read or write moves at most."""
    buffer_bytes_per_worker: int
    """Bytes of buffer of each worker."""
    buffer_bytes: int
    """Bytes of buffer of all workers."""
    estimated_serial_seconds: float
    """Estimated time with one thread."""
    estimated_seconds: float
    """Estimated time as planned."""
    reasons: tuple[str, ...]
    """Why so."""

    def explain(self) -> str:
        """The plan in words, one line for each choice."""
        cut = f", {self.parts} of them parts of {self.shared_entries} large" if self.parts else ""
        lines = [
            f"files     {self.entries}, {_size(self.bytes)}",
            f"threads   {self.threads}",
            f"backend   {self.backend}",
            f"tasks     {self.tasks}{cut}",
            f"reads     up to {_size(self.run_bytes)} at once",
            f"buffers   {_size(self.buffer_bytes_per_worker)} in each thread, {_size(self.buffer_bytes)} in all",
            f"estimate  {_time(self.estimated_serial_seconds)} with one thread, "
            f"{_time(self.estimated_seconds)} as planned",
        ]
        lines += [("because   " if not index else " " * 10) + reason for index, reason in enumerate(self.reasons)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.explain()


@dataclass(frozen=True)
class StorePlan:
    """How objects of a store would be encrypted: what would be in flight at once."""

    objects: int
    """Objects."""
    bytes: int
    """Their bytes together."""
    unlisted: int
    """Folders (prefixes) that could not be listed; their objects are not counted."""
    in_flight: int
    """Objects in flight at once."""
    in_parts: int
    """Objects that are read and written in parts."""
    part_bytes: int
    """Approximate bytes of a part."""
    threads: int
    """Threads for the cipher."""
    memory_bytes: int
    """The most that sources and outputs take in memory together."""

    def explain(self) -> str:
        """The plan in words, one line for each choice."""
        parts = f"{self.in_parts} of them in parts of about {_size(self.part_bytes)}"
        lines = [
            f"objects   {self.objects}, {_size(self.bytes)}",
            f"in flight up to {self.in_flight} at once",
            f"parts     {parts if self.in_parts else 'each object in one piece'}",
            f"threads   {self.threads} for the cipher",
            f"memory    up to {_size(self.memory_bytes)} of sources and outputs",
        ]
        if self.unlisted:
            folders = f"{self.unlisted} folder{'s' if self.unlisted > 1 else ''}"
            lines.insert(1, f"unlisted  {folders}, of which nothing is counted here")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.explain()


def plan(
    source: StrPath,
    *,
    template: str = "AES256_GCM_HKDF_1MB",
    threads: int | None = None,
    include: Globs = (),
    exclude: Globs = (),
) -> Plan | StorePlan:
    """Plans the encryption of a tree without reading any content. Needs no key, only its template.

    For an address (``s3://bucket/prefix``) it returns a :class:`StorePlan`: what would be in flight at once.
    """
    options = Options(threads=threads, include=include, exclude=exclude)
    is_stored, description = _native.plan(source, template, options)
    if is_stored:
        return StorePlan(**description)
    return Plan(**description | {"reasons": tuple(description["reasons"])})


def _size(count: int) -> str:
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
