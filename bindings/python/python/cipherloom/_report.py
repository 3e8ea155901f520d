"""What a run came to."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cipherloom.exceptions import TreeFailed

if TYPE_CHECKING:
    import pandas

__all__ = ["Failure", "Report"]


@dataclass(frozen=True)
class Failure:
    """A file that failed; nothing stands under its output's name that did not before."""

    path: Path
    """The source."""
    reason: str
    """Why, and what to do about it."""
    error: str
    """The name of the exception that this would be by itself: ``InvalidTag``, ``PermissionError`` and so on."""


@dataclass(frozen=True)
class Report:
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
    links: int
    """Symbolic links copied as links."""
    seconds: float
    """Wall time."""
    failures: tuple[Failure, ...] = field(default=(), repr=False)
    """The files that failed, by path."""

    def raise_if_failed(self) -> None:
        """Raises :class:`~cipherloom.exceptions.TreeFailed` if a file failed."""
        if self.failures:
            raise TreeFailed(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The failures as a table with the columns ``path``, ``reason`` and ``error``. Needs pandas."""
        import pandas

        rows = [asdict(failure) | {"path": str(failure.path)} for failure in self.failures]
        return pandas.DataFrame(rows, columns=["path", "reason", "error"])
