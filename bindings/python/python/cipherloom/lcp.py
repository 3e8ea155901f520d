"""Readium LCP: publications protected, licensed, checked, opened and described.

>>> from cipherloom import lcp
>>> report = lcp.encrypt("catalogue", "protected", key_file="keys.json")            # doctest: +SKIP
>>> lcp.check("protected")                                                          # doctest: +SKIP

EPUB, Readium packages and PDF are protected as a certified licence server expects it. **Licences made here are of the
basic profile, which is for tests and protects nothing**: how it makes a key from a passphrase is public.

Ctrl-C stops every function within moments; a publication that was not complete does not exist, and none has its name
before its key is on stable storage in the key file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cipherloom import _native, _progress
from cipherloom._report import Failure
from cipherloom._trees import IfExists, StrPath, threads_asked
from cipherloom.exceptions import LibraryFailed

if TYPE_CHECKING:
    import pandas

__all__ = [
    "Checked",
    "CheckReport",
    "Decrypted",
    "EncryptReport",
    "Inspected",
    "Issued",
    "LicenseReport",
    "LicenseRequest",
    "Problem",
    "Protected",
    "check",
    "decrypt",
    "encrypt",
    "inspect",
    "license",
    "license_many",
]


@dataclass(frozen=True)
class Protected:
    """A publication whose protected form stands complete under its name."""

    source: Path
    """The publication that was protected."""
    output: Path
    """Its protected form."""
    bytes: int
    """Bytes of the source."""
    id: str | None
    """Its identifier in the key file; ``None`` if it was skipped, since its output was there already."""
    title: str | None
    """Its title, as it says itself."""
    output_bytes: int | None
    """Bytes of the output."""
    encrypted: int | None
    """Entries that were encrypted."""
    clear: int | None
    """Entries that stay readable: what a reading system must see before it asks for the passphrase."""

    @property
    def is_skipped(self) -> bool:
        """Whether the output was there already."""
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
    """Publications whose output was there already."""
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


def encrypt(
    sources: StrPath | Iterable[StrPath],
    out: StrPath,
    *,
    key_file: StrPath,
    threads: int | None = None,
    if_exists: IfExists = "fail",
    checksums: bool = True,
    level: int = 6,
    progress: bool = False,
    check: bool = True,
) -> EncryptReport:
    """Protects publications (and those found in folders), each under a new key of its own.

    :param sources: publications, or folders to search for them; one or several.
    :param out: the folder for the protected ones; made if it is not there.
    :param key_file: gets one JSON record for each book (mode 0600, appended to) before the book gets its name.
    :param if_exists: where an output's name is taken: ``"fail"`` that book, ``"skip"`` it, or ``"overwrite"``.
    :param checksums: takes the SHA-256 of sources and outputs, which is most of the work for large books.
    :param level: how hard text that the source stores uncompressed is deflated, 1 to 9.
    :param progress: shows a bar, if tqdm is installed and there is a terminal or notebook.
    :param check: raises if a book failed, when all others are through.
    """
    threads_asked(threads)
    if not 1 <= level <= 9:
        raise ValueError(f"level is 1 (fast) to 9 (small), not {level}")
    with _progress.bar("protect", progress, unit="books") as start:
        summary, books, failures, passed_over = _native.lcp_encrypt(
            {
                "sources": _paths(sources),
                "out": out,
                "key_file": key_file,
                "threads": threads,
                "if_exists": if_exists,
                "checksums": checksums,
                "level": level,
                "progress": start,
            }
        )
    told: dict[str, Any] = json.loads(summary)
    report = EncryptReport(
        books=tuple(Protected(**book) for book in books),
        failures=_failures(failures),
        protected=told["books"],
        skipped=told["skipped"],
        failed=told["failed"],
        passed_over=passed_over,
        bytes=told["bytes"],
        output_bytes=told["output_bytes"],
        seconds=told["seconds"],
    )
    if check:
        report.raise_if_failed()
    return report


@dataclass(frozen=True, kw_only=True)
class LicenseRequest:
    """A licence that is wanted. What is not given is not limited, or is not in it."""

    publication: StrPath
    """The protected publication."""
    passphrase: str = field(repr=False)
    """What opens it (basic profile: for tests)."""
    hint: str
    """What reminds the reader of the passphrase."""
    out: StrPath | None = None
    """The file to write; beside the publication, with the extension ``.lcpl``, if this is left out."""
    embed: bool = False
    """Puts the licence into the publication, in place, instead of a file."""
    user: str = ""
    """Identifies the reader at the provider."""
    user_name: str | None = None
    """The reader's name."""
    user_email: str | None = None
    """The reader's address."""
    encrypt_user: Iterable[str] = ("name", "email")
    """Which of these the licence holds encrypted."""
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
    """Where the licence's status document is; ``{license_id}`` is replaced."""


@dataclass(frozen=True)
class Issued:
    """A licence that was made, signed, verified and written."""

    id: str
    """Its identifier."""
    output: Path
    """The file it was written to, or the publication it was put into."""
    publication: Path
    """The publication it is for."""


@dataclass(frozen=True)
class LicenseReport:
    """The end of a run over licences."""

    issued: tuple[Issued, ...] = field(repr=False)
    """Those that were made, in the order they were asked for."""
    failures: tuple[Failure, ...] = field(repr=False)
    """Those that were not, with the publication's path."""

    def raise_if_failed(self) -> None:
        """Raises :class:`~cipherloom.exceptions.LibraryFailed` if a licence was not made."""
        if self.failures:
            raise LibraryFailed(self, self.failures, len(self.issued) + len(self.failures))


def license(
    publication: StrPath,
    *,
    key_file: StrPath,
    passphrase: str,
    hint: str,
    provider: str,
    certificate: StrPath,
    private_key: StrPath,
    if_exists: IfExists = "fail",
    **terms: Any,
) -> Issued:
    """Makes one licence of the basic profile, which is for tests: it protects nothing.

    :param key_file: the content keys, as :func:`encrypt` wrote them.
    :param provider: who gives the licence, a URI.
    :param certificate: the provider's certificate (X.509, PEM or DER).
    :param private_key: the certificate's key (RSA or ECDSA P-256; PEM or DER, not encrypted).
    :param terms: the other fields of :class:`LicenseRequest`: ``out``, ``embed``, ``user``, ``rights_end`` and so on.
    """
    request = LicenseRequest(publication=publication, passphrase=passphrase, hint=hint, **terms)
    report = license_many(
        [request], key_file=key_file, provider=provider, certificate=certificate, private_key=private_key,
        if_exists=if_exists, threads=1,
    )  # fmt: skip
    return report.issued[0]


def license_many(
    requests: Iterable[LicenseRequest],
    *,
    key_file: StrPath,
    provider: str,
    certificate: StrPath,
    private_key: StrPath,
    if_exists: IfExists = "fail",
    threads: int | None = None,
    check: bool = True,
) -> LicenseReport:
    """Makes licences by the thousand, on all cores. Parameters are those of :func:`license`."""
    threads_asked(threads)
    wanted = list(requests)
    made, refused = _native.lcp_license(
        [_request(request) for request in wanted],
        {
            "key_file": key_file,
            "provider": provider,
            "certificate": certificate,
            "private_key": private_key,
            "if_exists": if_exists,
            "threads": threads,
        },
    )
    report = LicenseReport(
        issued=tuple(Issued(id, Path(output), Path(wanted[number].publication)) for number, id, output in made),
        failures=_failures((path, reason, error) for _, path, reason, error in refused),
    )
    if check:
        report.raise_if_failed()
    return report


@dataclass(frozen=True)
class Problem:
    """Something that is wrong with a publication or licence."""

    reason: str
    """What, and what to do about it."""
    error: str
    """The name of the exception that this would be by itself."""


@dataclass(frozen=True)
class Checked:
    """The verdict on one publication or licence."""

    path: Path
    """The file."""
    kind: str
    """Its media type, ``"licence"``, or ``"unknown"`` if it could not be read so far."""
    licence: str | None
    """Its licence's identifier."""
    provider: str | None
    """Who gave the licence."""
    profile: str | None
    """The licence's encryption profile."""
    signed_by: str | None
    """Whose certificate signed it; ``None`` if the signature does not verify."""
    resources: int
    """Protected resources."""
    opened: int
    """How many of them were opened and found to be as they should."""
    bytes: int
    """Bytes of content of the opened ones."""
    problems: tuple[Problem, ...]
    """Everything that is wrong; a sound publication has none."""
    unchecked: tuple[str, ...]
    """What was not looked at, and what it would take."""

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.problems


@dataclass(frozen=True)
class CheckReport:
    """The verdicts on a library, by path."""

    files: tuple[Checked, ...] = field(repr=False)
    """Every file that was looked at."""
    sound: int
    """Files with which nothing is wrong."""
    unsound: int
    """The others."""

    def to_pandas(self) -> pandas.DataFrame:
        """The verdicts as a table, one row each. Needs pandas."""
        rows = [asdict(checked) | {"is_sound": checked.is_sound} for checked in self.files]
        return _table(rows, [*Checked.__dataclass_fields__, "is_sound"])


def check(
    paths: StrPath | Iterable[StrPath],
    *,
    passphrase: str | None = None,
    root_ca: StrPath | None = None,
    license: StrPath | None = None,
    threads: int | None = None,
) -> CheckReport:
    """Gives a verdict on publications and licences, and on those found in folders. Raises for none of them.

    :param passphrase: opens every resource (basic profile); else archives are checked against their CRC-32.
    :param root_ca: root certificates of the licence authority: one of them must confirm each certificate.
    :param license: the licence of publications that have none inside.
    """
    threads_asked(threads)
    verdicts = _native.lcp_check(_paths(paths), passphrase, root_ca, license, threads)
    files = tuple(
        Checked(
            **verdict
            | {
                "problems": tuple(Problem(*problem) for problem in verdict["problems"]),
                "unchecked": tuple(verdict["unchecked"]),
            }
        )
        for verdict in verdicts
    )
    sound = sum(checked.is_sound for checked in files)
    return CheckReport(files, sound, len(files) - sound)


@dataclass(frozen=True)
class Decrypted:
    """A publication that was opened."""

    output: Path
    """The file that was written."""
    resources: int
    """Resources that were protected."""
    bytes: int
    """Bytes of their content."""


def decrypt(
    source: StrPath,
    out: StrPath,
    *,
    passphrase: str,
    root_ca: StrPath | None = None,
    license: StrPath | None = None,
    if_exists: IfExists = "fail",
    threads: int | None = None,
) -> Decrypted:
    """Writes the publication that was protected. A licence that is not signed, is over, or is another reader's opens
    nothing.

    :param root_ca: root certificates of the licence authority; without them nobody confirms the certificate.
    :param license: a licence to use instead of the one inside.
    """
    threads_asked(threads)
    resources, count = _native.lcp_decrypt(
        {
            "source": source,
            "out": out,
            "passphrase": passphrase,
            "root_ca": root_ca,
            "license": license,
            "if_exists": if_exists,
            "threads": threads,
        }
    )
    return Decrypted(Path(out), resources, count)


@dataclass(frozen=True)
class Inspected:
    """What a publication or licence says of itself."""

    kind: str
    """Its media type, or ``"licence"``."""
    bytes: int
    """Bytes of the file."""
    title: str
    """The publication's title; empty for a licence."""
    entries: int
    """Entries of the archive."""
    resources: int
    """Protected resources."""
    deflated: int
    """How many of them were deflated before they were encrypted."""
    encrypted_bytes: int
    """Bytes of all protected resources as they are encrypted."""
    fingerprint: str
    """What tells this protected publication from every other, also with a licence in it."""
    licence: dict[str, Any] | None = field(repr=False)
    """The licence that it is or has inside, every member as it stands in the file (JSON)."""
    signed_by: str | None
    """Whose certificate signed the licence; ``None`` if there is none, or its signature does not verify."""
    problem: str | None
    """What is wrong with the licence."""


def inspect(path: StrPath) -> Inspected:
    """Tells what can be told of a publication or licence without a key."""
    told = _native.lcp_inspect(path)
    return Inspected(**told | {"licence": json.loads(told["licence"]) if told["licence"] else None})


def _paths(given: StrPath | Iterable[StrPath]) -> list[StrPath]:
    return [given] if isinstance(given, str | os.PathLike) else list(given)


def _request(request: LicenseRequest) -> dict[str, Any]:
    fields = {name: getattr(request, name) for name in LicenseRequest.__dataclass_fields__}
    return fields | {"encrypt_user": list(request.encrypt_user)}


def _failures(told: Iterable[tuple[StrPath, str, str]]) -> tuple[Failure, ...]:
    return tuple(Failure(Path(path), reason, error) for path, reason, error in told)


def _table(rows: list[dict[str, Any]], columns: list[str]) -> pandas.DataFrame:
    import pandas

    plain = [{name: str(value) if isinstance(value, Path) else value for name, value in row.items()} for row in rows]
    return pandas.DataFrame(plain, columns=columns)
