"""Trees in Azure Blob Storage, over Azurite on loopback."""

from collections.abc import Iterator
from pathlib import Path

import cipherloom as cl
import pytest
import stores  # type: ignore[import-not-found]
from store_checks import an_index_is_gathered, reachable, there_and_back


@pytest.fixture(scope="module", autouse=True)
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The emulator, with a container called `box`."""
    with stores.azurite(tmp_path_factory.mktemp("azure")) as environment, reachable(environment):
        yield


def test_there_and_back(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    there_and_back("az://box/books", tree, tmp_path, key)


def test_an_index_is_gathered(tree: Path, key: cl.Keyset) -> None:
    an_index_is_gathered("az://box/records", "az://missing/sealed", tree, key)
