"""What can go wrong. Names follow pyca/cryptography where it has one.

What the operating system refuses is an :class:`OSError` (``FileNotFoundError``, ``FileExistsError``, ``PermissionError``
and so on), as everywhere in Python; so is what a store refuses. ``FileNotFoundError`` also says that nothing is at an address: no
object of this name, and none below it. No message holds a key or a passphrase. What to do about an error is a note of the
exception: ``hint: …``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cipherloom._report import Failure, Report
    from cipherloom._lcp_reports import EncryptReport, LicenseReport
    from cipherloom.ray._report import ScaleReport

__all__ = [
    "CipherloomError",
    "InternalError",
    "InvalidKey",
    "InvalidPublication",
    "InvalidRequest",
    "InvalidTag",
    "LibraryFailed",
    "TreeFailed",
]


class CipherloomError(Exception):
    """Any error of this package that is not the operating system's."""


class InvalidTag(CipherloomError):
    """The content does not open: another key or associated data, or the bytes are not those that were written."""


class InvalidKey(CipherloomError):
    """The key material is unreadable, unsuitable, or locked with another secret."""


class InvalidRequest(CipherloomError, ValueError):
    """The request cannot be carried out: unknown names, contradicting options, impossible paths."""


class InvalidPublication(CipherloomError, ValueError):
    """A publication or license is malformed, or of a kind that cannot be processed."""


class InternalError(CipherloomError):
    """The cryptographic library or the source of random bytes failed. Nothing was written."""


class TreeFailed(CipherloomError):
    """Some files of a tree failed; all others were processed. ``report`` says which and why."""

    def __init__(self, report: Report | ScaleReport) -> None:
        super().__init__(_in_words(report.failures, report.files + report.skipped + report.failed))
        self.report = report
        _add_hint(self, report.failures)


class LibraryFailed(CipherloomError):
    """Some publications or licenses failed; all others were processed. ``report`` says which and why."""

    def __init__(self, report: EncryptReport | LicenseReport, failures: Sequence[Failure], total: int) -> None:
        super().__init__(_in_words(failures, total))
        self.report = report
        _add_hint(self, failures)


def _in_words(failures: Sequence[Failure], total: int) -> str:
    first = failures[0]
    others = f" (and {len(failures) - 1} more, see .report.failures)" if len(failures) > 1 else ""
    return f"{len(failures)} of {total} failed: {first.path}: {first.reason}{others}"


def _add_hint(error: Exception, failures: Sequence[Failure]) -> None:
    if failures[0].hint:
        error.add_note(f"hint: {failures[0].hint}")
