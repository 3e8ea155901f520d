"""Trees in Google Cloud Storage, over fake-gcs-server and its front on loopback. Not part of the stage `python`, since the emulator
takes long to build: ``cargo xtask test gcs``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cipherloom as cl
import gcs  # type: ignore[import-not-found]
import pytest
from conftest import SIZES
from store_checks import an_index_is_gathered, reachable, there_and_back


@pytest.fixture(scope="module", autouse=True)
def google() -> Iterator[Any]:
    """The emulator, with a bucket called `box`."""
    with gcs.Store.running() as store, reachable(store.environment()):
        yield store


def test_there_and_back(google: Any, tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    there_and_back("gs://box/books", tree, tmp_path, key)
    # Nothing temporary is left, nor an upload.
    assert google.names("books/sealed/") == sorted(f"books/sealed/{name}" for name in SIZES) and not google.uploads


def test_an_index_is_gathered(tree: Path, key: cl.Keyset) -> None:
    an_index_is_gathered("gs://box/records", "gs://missing/sealed", tree, key)
