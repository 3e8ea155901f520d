"""What the READMEs show is what happens."""

import doctest
import os
import traceback
from pathlib import Path

import cipherloom as cl
import pytest

HERE = Path(__file__).resolve().parent
PAGES = [HERE.parent / "README.md", HERE.parents[2] / "README.md"]


@pytest.fixture
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "one.txt").write_text("1" * 1000)
    (tmp_path / "books" / "two.txt").write_text("2" * 2_000_000)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=["package", "project"])
def test_a_page(page: Path, in_a_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Before Python 3.13 doctest compares only the last line of an exception, which may be a note.
    lines = traceback.format_exception_only
    monkeypatch.setattr(traceback, "format_exception_only", lambda *raised: ["".join(lines(*raised))])
    # A fence that ends an example is no part of its output.
    text = page.read_text().replace("\n```\n", "\n\n")
    parts = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert len(parts.examples) >= 5
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(parts).failed == 0
    assert os.path.exists("out/one.txt")


def test_the_packages_own_example() -> None:
    tried = doctest.testmod(cl)
    assert tried.attempted >= 4 and tried.failed == 0
