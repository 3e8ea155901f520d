"""A small tree of many sizes."""

import os
from pathlib import Path

import pytest

SIZES = {"empty": 0, "one": 1, "a book.epub": 300_000, "deep/er/chapter.xhtml": 5_000, "large.bin": 9_500_000}


def content(name: str, size: int) -> bytes:
    """Bytes that no two files share and that differ from place to place."""
    step = sum(name.encode()) | 1
    return bytes((step * position + (position >> 8)) & 0xFF for position in range(min(size, 65_536))) * (
        size // 65_536 + 1
    )


def write_tree(root: Path, sizes: dict[str, int]) -> Path:
    """Files of these sizes below ``root``."""
    for name, size in sizes.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(name, size)[:size])
    return root


def files(root: Path) -> dict[str, bytes]:
    """Every file below ``root``, hidden ones too, with its content."""
    return {
        os.path.relpath(os.path.join(folder, name), root): Path(folder, name).read_bytes()
        for folder, _, names in os.walk(root)
        for name in names
    }


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "tree", SIZES)
