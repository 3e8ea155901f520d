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
from pathlib import Path
from typing import Any

from cipherloom import _lcp_reports, _native, _progress
from cipherloom._lcp_reports import *  # noqa: F403
from cipherloom._report import Failure
from cipherloom._trees import IfExists, StrPath, threads_asked

__all__ = ["check", "decrypt", "encrypt", "inspect", "license", "license_many"]
__all__ += _lcp_reports.__all__


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
    :param if_exists: where the output is there, or with ``embed`` a licence is inside: ``"fail"``, ``"skip"`` it, or
        ``"overwrite"``.
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
