"""What the index of an encrypted folder lists."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from cipherloom import _native
from cipherloom._options import StrPath
from cipherloom._report import IndexReport

__all__ = ["Listing", "ListedEntry", "list_tree"]


@dataclass(frozen=True)
class ListedEntry:
    """A file, folder or link that an index lists."""

    path: PurePath
    """The path before encryption, relative to the tree."""
    encrypted_path: PurePath
    """The path in the encrypted tree."""
    kind: Literal["file", "folder", "link"]
    """What it is."""
    size: int
    """Bytes of plaintext of a file; else 0."""
    encrypted_size: int
    """Bytes of ciphertext of a file; else 0."""
    mode: int | None
    """Permission bits; None for a link."""
    modified_ns: int | None
    """The time of the last change, in nanoseconds since 1970; None for a link, or if it is not known."""
    target: str | None
    """Where a link leads."""
    key_id: int | None
    """The identifier of the key that a file is encrypted with."""


class Listing(Iterator[ListedEntry]):
    """The entries of an index, in its order: by folder, then by name. They are read as they are asked for, one time."""

    index: IndexReport
    """The index's numbers."""

    def __init__(self, numbers: dict[str, int], entries: _native.IndexEntries) -> None:
        self.index = IndexReport(**numbers)
        self._entries = entries

    def __next__(self) -> ListedEntry:
        path, encrypted_path, kind, size, encrypted_size, mode, modified, target, key_id = next(self._entries)
        modified_ns = None if modified is None else modified[0] * 1_000_000_000 + modified[1]
        return ListedEntry(
            PurePath(path), PurePath(encrypted_path), kind, size, encrypted_size, mode, modified_ns, target, key_id
        )  # fmt: skip


def list_tree(
    source: StrPath, key: _native.Keyset, *, anchor: StrPath | None = None, max_segment_size: int | None = None
) -> Listing:
    """What the index of an encrypted folder lists. Nothing is compared with the folder: :func:`cipherloom.verify_tree` does that.

    :param anchor: refuses a tree whose index is older than this file remembers.
    :param max_segment_size: as in :class:`cipherloom.Options`.
    """
    if not isinstance(key, _native.Keyset):
        raise TypeError(f"key is a cipherloom.Keyset, not {type(key).__name__}")
    return Listing(*_native.list_index(os.fsdecode(source), key, anchor, max_segment_size))
