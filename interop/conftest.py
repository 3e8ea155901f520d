"""Fixtures: keysets by template, and a small tree of many sizes."""

import pytest
import tool


@pytest.fixture
def key(tmp_path):
    return tool.keygen(tmp_path / "key.json")


@pytest.fixture
def tree(tmp_path):
    """Empty, small, larger than a segment, nested, with a blank in a name."""
    files = {"empty": 0, "one": 1, "a book.epub": 300_000, "deep/er/chapter.xhtml": 5_000, "large.bin": 3_500_000}
    return tool.write_tree(tmp_path / "tree", files)
