"""What can go wrong. Names follow pyca/cryptography where it has one.

What the operating system refuses is an :class:`OSError` (``FileNotFoundError``, ``FileExistsError``, ``PermissionError``
and so on), as everywhere in Python. No message holds a key or a passphrase.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cipherloom._report import Report

__all__ = ["CipherloomError", "InternalError", "InvalidKey", "InvalidRequest", "InvalidTag", "TreeFailed"]


class CipherloomError(Exception):
    """Any error of this package that is not the operating system's."""


class InvalidTag(CipherloomError):
    """The content does not open: another key or associated data, or the bytes are not those that were written."""


class InvalidKey(CipherloomError):
    """The key material is unreadable, unsuitable, or locked with another secret."""


class InvalidRequest(CipherloomError, ValueError):
    """The request cannot be carried out: unknown names, options that contradict each other, senseless paths."""


class InternalError(CipherloomError):
    """The cryptographic library or the source of random bytes failed. Nothing was written."""


class TreeFailed(CipherloomError):
    """Some files of a tree failed; all others were done. ``report`` says which and why."""

    def __init__(self, report: Report) -> None:
        first = report.failures[0]
        others = f" (and {report.failed - 1} more, see .report.failures)" if report.failed > 1 else ""
        total = report.files + report.skipped + report.failed
        super().__init__(f"{report.failed} of {total} failed: {first.path}: {first.reason}{others}")
        self.report = report
