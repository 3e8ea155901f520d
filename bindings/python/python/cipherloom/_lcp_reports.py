"""What the functions of :mod:`cipherloom.lcp` take and return."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cipherloom._options import StrPath
from cipherloom._report import Failure
from cipherloom.exceptions import LibraryFailed

if TYPE_CHECKING:
    import pandas

__all__ = [
    "CheckReport",
    "Checked",
    "Decrypted",
    "EncryptReport",
    "Inspected",
    "Issued",
    "LicenseReport",
    "LicenseRequest",
    "Problem",
    "Protected",
]


@dataclass(frozen=True)
class Protected:
    """A publication whose protected form is complete."""

    source: Path
    """The publication that was protected."""
    output: Path
    """Its protected form."""
    bytes: int
    """Bytes of the source."""
    id: str | None
    """Its identifier in the key file; ``None`` if it was skipped because its output existed."""
    title: str | None
    """Its title, from its metadata."""
    output_bytes: int | None
    """Bytes of the output."""
    encrypted: int | None
    """Entries that were encrypted."""
    clear: int | None
    """Entries that stay readable: those that a reading system needs before it asks for the passphrase."""

    @property
    def is_skipped(self) -> bool:
        """Whether the output existed."""
        return self.id is None


@dataclass(frozen=True)
class EncryptReport:
    """The end of a run over publications."""

    books: tuple[Protected, ...] = field(repr=False)
    """Those that were protected or skipped, by path."""
    failures: tuple[Failure, ...] = field(repr=False)
    """Those that failed, by path."""
    protected: int
    """Publications that were protected."""
    skipped: int
    """Publications whose output existed."""
    failed: int
    """Publications that failed, and folders that could not be listed."""
    passed_over: int
    """Files in folders that are no publications, by their extension."""
    bytes: int
    """Source bytes of what was protected."""
    output_bytes: int
    """Bytes written."""
    seconds: float
    """Wall time."""

    def raise_if_failed(self) -> None:
        """Raises :class:`~cipherloom.exceptions.LibraryFailed` if a publication failed."""
        if self.failures:
            raise LibraryFailed(self, self.failures, self.protected + self.skipped + self.failed)

    def to_pandas(self) -> pandas.DataFrame:
        """The publications as a table, one row each. Needs pandas."""
        return _table([asdict(book) for book in self.books], list(Protected.__dataclass_fields__))


@dataclass(frozen=True, kw_only=True)
class LicenseRequest:
    """A license to make. What is left out is unlimited, or not in the license."""

    publication: StrPath
    """The protected publication."""
    passphrase: str = field(repr=False)
    """What opens it (basic profile: for tests)."""
    hint: str
    """What reminds the reader of the passphrase."""
    out: StrPath | None = None
    """The file to write; beside the publication, with the extension ``.lcpl``, if this is left out."""
    embed: bool = False
    """Puts the license into the publication, in place, instead of a file."""
    user: str = ""
    """Identifies the reader at the provider."""
    user_name: str | None = None
    """The reader's name."""
    user_email: str | None = None
    """The reader's address."""
    encrypt_user: Iterable[str] = ("name", "email")
    """Which of these the license holds encrypted."""
    rights_start: str | None = None
    """First moment of reading: ``2026-11-04`` or ``2026-11-04T01:08:15Z``."""
    rights_end: str | None = None
    """Last moment of reading."""
    rights_print: int | None = None
    """Pages that may be printed."""
    rights_copy: int | None = None
    """Characters that may be copied."""
    publication_url: str | None = None
    """Where the publication can be fetched; ``{publication_id}`` is replaced."""
    hint_url: str | None = None
    """Where more about the passphrase is; ``{license_id}`` is replaced."""
    status_url: str | None = None
    """Where the license's status document is; ``{license_id}`` is replaced."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "encrypt_user", tuple(self.encrypt_user))


@dataclass(frozen=True)
class Issued:
    """A license that was made, signed, verified and written."""

    id: str
    """Its identifier."""
    output: Path
    """The file it was written to, or the publication it was put into."""
    publication: Path
    """The publication it is for."""


@dataclass(frozen=True)
class LicenseReport:
    """The end of a run over licenses."""

    issued: tuple[Issued, ...] = field(repr=False)
    """Those that were made, in the order they were asked for."""
    failures: tuple[Failure, ...] = field(repr=False)
    """Those that were not, with the publication's path."""

    def raise_if_failed(self) -> None:
        """Raises :class:`~cipherloom.exceptions.LibraryFailed` if a license was not made."""
        if self.failures:
            raise LibraryFailed(self, self.failures, len(self.issued) + len(self.failures))


@dataclass(frozen=True)
class Problem:
    """Something that is wrong with a publication or license."""

    reason: str
    """What is wrong."""
    error: str
    """The name of the exception that this would be by itself."""
    hint: str | None = None
    """What to do about it."""


class _OldSpelling:
    """The attribute ``license`` under the name that it had before, for one release."""

    @property
    def licence(self) -> Any:
        """Deprecated: ``license``."""
        warnings.warn("the attribute `licence` is now spelled `license`", DeprecationWarning, stacklevel=2)
        return self.license  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Checked(_OldSpelling):
    """The verdict on one publication or license."""

    path: Path
    """The file."""
    kind: str
    """Its media type, ``"license"``, or ``"unknown"`` if it could not be read."""
    license: str | None
    """Its license's identifier."""
    provider: str | None
    """Who gave the license."""
    profile: str | None
    """The license's encryption profile."""
    signed_by: str | None
    """Whose certificate signed it; ``None`` if the signature does not verify."""
    resources: int
    """Protected resources."""
    opened: int
    """How many of them were decrypted and are sound."""
    bytes: int
    """Bytes of content of the opened ones."""
    problems: tuple[Problem, ...]
    """Everything that is wrong; a sound publication has none."""
    unchecked: tuple[str, ...]
    """What was not checked, with the parameter that it needs."""

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.problems


@dataclass(frozen=True)
class CheckReport:
    """The verdicts on a library, by path."""

    files: tuple[Checked, ...] = field(repr=False)
    """Every file that was checked."""
    sound: int
    """Files with which nothing is wrong."""
    unsound: int
    """The others."""

    def to_pandas(self) -> pandas.DataFrame:
        """The verdicts as a table, one row each. Needs pandas."""
        rows = [asdict(checked) | {"is_sound": checked.is_sound} for checked in self.files]
        return _table(rows, [*Checked.__dataclass_fields__, "is_sound"])


@dataclass(frozen=True)
class Decrypted:
    """A publication that was opened."""

    output: Path
    """The file that was written."""
    resources: int
    """Resources that were protected."""
    bytes: int
    """Bytes of their content."""


@dataclass(frozen=True)
class Inspected(_OldSpelling):
    """What a publication or license says about itself."""

    kind: str
    """Its media type, or ``"license"``."""
    bytes: int
    """Bytes of the file."""
    title: str
    """The publication's title; empty for a license."""
    entries: int
    """Entries of the archive."""
    resources: int
    """Protected resources."""
    deflated: int
    """How many of them were deflated before they were encrypted."""
    encrypted_bytes: int
    """Bytes of all protected resources as they are encrypted."""
    fingerprint: str
    """Identifies this protected publication, with a license inside or without."""
    license: dict[str, Any] | None = field(repr=False)
    """The license, which is the file itself or embedded in it, with all of its JSON members."""
    signed_by: str | None
    """Whose certificate signed the license; ``None`` if there is none, or its signature does not verify."""
    problem: str | None
    """What is wrong with the license."""


def _table(rows: list[dict[str, Any]], columns: list[str]) -> pandas.DataFrame:
    import pandas

    plain = [{name: str(value) if isinstance(value, Path) else value for name, value in row.items()} for row in rows]
    return pandas.DataFrame(plain, columns=columns)
