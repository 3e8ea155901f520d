"""What a run did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cipherloom import _native
from cipherloom.exceptions import TreeFailed

if TYPE_CHECKING:
    import pandas

    from cipherloom.ray._report import ScaleReport

__all__ = ["Failure", "Failures", "IndexReport", "Report", "failures"]


@dataclass(frozen=True)
class Failure:
    """A file that failed; what its output's name led to before is unchanged."""

    path: Path | str
    """The source; of an object its address, as text."""
    reason: str
    """Why."""
    error: str
    """The name of the exception that this would be by itself: ``InvalidTag``, ``PermissionError`` and so on."""
    hint: str | None = None
    """What to do about it."""


def failures(found: Iterable[tuple[str, str, str, str | None]]) -> tuple[Failure, ...]:
    """Failures as the native module gives them. An address stays text: a path would make one slash of two."""
    return tuple(
        Failure(path if _native.is_address(path) else Path(path), reason, error, hint)
        for path, reason, error, hint in found
    )


class Failures:
    """What the reports of runs over trees have in common: failures, as an exception or as a table."""

    failures: tuple[Failure, ...]

    def raise_if_failed(self) -> None:
        """Raises :class:`~cipherloom.exceptions.TreeFailed` if a file or object failed."""
        if self.failures:
            raise TreeFailed(cast("Report | ScaleReport", self))

    def to_pandas(self) -> pandas.DataFrame:
        """The failures as a table with the columns ``path``, ``reason``, ``error`` and ``hint``. Needs pandas."""
        import pandas

        rows = [asdict(failure) | {"path": str(failure.path)} for failure in self.failures]
        return pandas.DataFrame(rows, columns=list(Failure.__dataclass_fields__))


@dataclass(frozen=True)
class IndexReport:
    """What a run found in the index of an encrypted folder, or wrote to it."""

    generation: int
    """The index's generation, which each run that writes one raises by one."""
    time: int
    """When this generation was written, in seconds since 1970."""
    entries: int
    """How many files, folders and links it lists."""
    missing: int
    """Of the failures: what the index lists and is missing (``FileNotFoundError``)."""
    extra: int
    """Of the failures: what the index does not list (``FileExistsError``)."""


@dataclass(frozen=True)
class Report(Failures):
    """The end of a run over a tree."""

    files: int
    """Files that were processed."""
    bytes: int
    """Their bytes in the source."""
    output_bytes: int
    """Bytes written; when verifying, bytes of plaintext that were authenticated."""
    skipped: int
    """Files skipped because their output existed."""
    failed: int
    """Files that failed."""
    unauthentic: int
    """Of those that failed: files whose content is damaged, or under another key."""
    untried: int
    """Files left because the run ended early: the key opened none of the first files, or the destination is full."""
    links: int
    """Symbolic links copied as links."""
    seconds: float
    """Wall time."""
    attributes_refused: int = 0
    """Outputs and folders whose permissions or time the file system refused; their content is complete."""
    extended_attributes: int = 0
    """Files to be encrypted whose extended attributes (access control lists among them) their outputs lack."""
    index: IndexReport | None = None
    """The index that was compared or written; None if there is none, or it could not be written."""
    failures: tuple[Failure, ...] = field(default=(), repr=False)
    """The files that failed, by path."""
