"""What a run came to."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cipherloom.exceptions import TreeFailed

if TYPE_CHECKING:
    import pandas

    from cipherloom.ray._report import ScaleReport

__all__ = ["Failure", "Failures", "Report"]


@dataclass(frozen=True)
class Failure:
    """A file that failed; nothing stands under its output's name that did not before."""

    path: Path | str
    """The source; of an object its address, as text."""
    reason: str
    """Why, and what to do about it."""
    error: str
    """The name of the exception that this would be by itself: ``InvalidTag``, ``PermissionError`` and so on."""


class Failures:
    """What the reports of runs over trees have in common: failures that can be raised, or looked at as a table."""

    failures: tuple[Failure, ...]

    def raise_if_failed(self) -> None:
        """Raises :class:`~cipherloom.exceptions.TreeFailed` if a file or object failed."""
        if self.failures:
            raise TreeFailed(cast("Report | ScaleReport", self))

    def to_pandas(self) -> pandas.DataFrame:
        """The failures as a table with the columns ``path``, ``reason`` and ``error``. Needs pandas."""
        import pandas

        rows = [asdict(failure) | {"path": str(failure.path)} for failure in self.failures]
        return pandas.DataFrame(rows, columns=["path", "reason", "error"])


@dataclass(frozen=True)
class Report(Failures):
    """The end of a run over a tree."""

    files: int
    """Files that were done."""
    bytes: int
    """Their bytes in the source."""
    output_bytes: int
    """Bytes written; when verifying, bytes of plaintext that were authenticated."""
    skipped: int
    """Files skipped because their output was there already."""
    failed: int
    """Files that failed."""
    unauthentic: int
    """Of those that failed: files whose content is not what was written, or under another key."""
    untried: int
    """Files left because the run ended early: the key opened none of the first files, or the destination takes no more."""
    links: int
    """Symbolic links copied as links."""
    seconds: float
    """Wall time."""
    attributes_refused: int = 0
    """Outputs and folders whose permissions or time the file system did not take; their content is complete."""
    extended_attributes: int = 0
    """Files to be encrypted whose extended attributes (access control lists among them) their outputs lack."""
    failures: tuple[Failure, ...] = field(default=(), repr=False)
    """The files that failed, by path."""
