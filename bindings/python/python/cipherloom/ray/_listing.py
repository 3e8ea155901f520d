"""The source, listed once with many prefixes at a time, and cut into tasks of even bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from cipherloom import _native
from cipherloom._options import Options, StrPath
from cipherloom._report import Failure, failures

__all__ = ["Listed", "cut", "listed", "order"]

LISTS = 16
"""Folders that are listed at once."""

OBJECT_BYTES = 64 << 10
"""What an object costs beside its bytes (opening, naming, a request), as bytes that take as long."""

MOST_OBJECTS = 50_000
"""The most objects in a task, so that its receipt and its journal stay small."""


class Listed(NamedTuple):
    """An object (or file) of the source."""

    path: str
    """Relative to the source, ``/`` between folders."""
    size: int
    """Bytes."""
    version: str | None
    """Changes when the object does: the store's ETag; size and time of a file."""
    modified: tuple[int, int] | None = None
    """When it was last changed, in seconds and nanoseconds since 1970."""
    stream: bytes | None = None
    """What the index says of the stream that is to be here."""


def order(path: str) -> tuple[bytes, bytes]:
    """Paths by this are in the order of an index: by folder, then by name."""
    folder, name = os.path.split(os.fsencode(path))
    return folder, name


def listed(source: StrPath, options: Options, suffix: str = "") -> tuple[list[Listed], list[Failure], int]:
    """Everything at the source, in the order in which an index lists it with this suffix; what could not be listed; and how much
    was passed over because its name is reserved for indexes."""
    objects: list[Listed] = []
    unlisted: list[Failure] = []
    reserved = 0

    def add(prefix: str, found: Iterable[_native.Listed], failed: Iterable[_native.Failed], passed_over: int) -> None:
        nonlocal reserved
        objects.extend(Listed(prefix + path, size, version, modified) for path, size, version, modified in found)
        unlisted.extend(failures(failed))
        reserved += passed_over

    if _native.is_address(source) or options.include or options.exclude or not os.path.isdir(source):
        # Globs are relative to the whole source; of a store, many prefixes are listed at once as it is.
        add("", *_native.list_objects(source, options))
    else:
        folders = []
        with os.scandir(source) as entries:
            for entry in entries:
                if _native.is_reserved(entry.name):
                    reserved += 1
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    facts = entry.stat(follow_symlinks=False)
                    # As the native listing has it.
                    version = f"{facts.st_size:x}-{facts.st_mtime_ns:x}"
                    modified = divmod(facts.st_mtime_ns, 10**9)
                    objects.append(Listed(entry.name, facts.st_size, version, modified))
        with ThreadPoolExecutor(LISTS) as pool:
            below = pool.map(lambda name: _native.list_objects(os.path.join(source, name), options), folders)
            for name, found in zip(folders, below, strict=True):
                add(f"{name}/", *found)
    # So that the journals of two tasks hardly overlap.
    objects.sort(key=lambda each: order(each.path + suffix))
    return objects, unlisted, reserved


def cut(objects: list[Listed], chunk_bytes: int) -> list[list[Listed]]:
    """Tasks of about ``chunk_bytes`` each, an object's own cost counted; neighbours stay together."""
    total = sum(each.size + OBJECT_BYTES for each in objects)
    # Even tasks: the last is no remainder.
    wanted = total / max(1, -(-total // chunk_bytes))
    tasks: list[list[Listed]] = []
    weight = 0.0
    for each in objects:
        if not tasks or weight >= wanted or len(tasks[-1]) >= MOST_OBJECTS:
            tasks.append([])
            weight = 0.0
        tasks[-1].append(each)
        weight += each.size + OBJECT_BYTES
    return tasks
