"""Readium LCP: publications protected, licensed, checked, opened and described.

>>> from cipherloom import lcp
>>> report = lcp.encrypt("catalogue", "protected", key_file="keys.json")            # doctest: +SKIP
>>> lcp.check("protected")                                                          # doctest: +SKIP

EPUB, Readium packages and PDF are protected as a certified license server expects it. **Licenses made here are of the
basic profile, which is for tests and protects nothing**: how it makes a key from a passphrase is public.

Ctrl-C stops every function within moments. A publication that was not complete does not exist, and none gets its name
before its key is on stable storage in the key file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Unpack

from cipherloom import _lcp_reports, _native, _progress
from cipherloom._lcp_reports import *  # noqa: F403
from cipherloom._options import IfExists, Options, RunSettings, StrPath, choose_options
from cipherloom._report import failures

__all__ = ["check", "decrypt", "encrypt", "inspect", "license", "license_many"]
__all__ += _lcp_reports.__all__


def encrypt(
    sources: StrPath | Iterable[StrPath],
    out: StrPath,
    *,
    key_file: StrPath,
    checksums: bool = True,
    level: int = 6,
    options: Options | None = None,
    **settings: Unpack[RunSettings],
) -> EncryptReport:
    """Protects publications (and those found in folders), each under a new key of its own.

    :param sources: publications, or folders to search for them; one or several.
    :param out: the folder for the protected ones; made if it does not exist.
    :param key_file: gets one JSON record for each book (mode 0600, appended to) before the book gets its name.
    :param checksums: computes the SHA-256 of sources and outputs, which is most of the work for large books.
    :param level: how hard text that the source stores uncompressed is deflated, 1 to 9.
    :param options: a :class:`cipherloom.Options`. Of its fields ``threads``, ``if_exists``, ``durable``, ``progress`` and
        ``check`` apply, and are also taken by name.
    """
    options = choose_options(options, settings, RunSettings)
    if not 1 <= level <= 9:
        raise ValueError(f"level is 1 (fast) to 9 (small), not {level}")
    with _progress.bar("protect", options.progress, unit="books") as start:
        order = {
            "sources": _paths(sources), "out": out, "key_file": key_file, "checksums": checksums, "level": level,
            "progress": start,
        }  # fmt: skip
        numbers, books, failed, passed_over = _native.lcp_encrypt(order, options)
    report = EncryptReport(
        books=tuple(Protected(**book) for book in books),
        failures=failures(failed),
        protected=numbers["books"],
        passed_over=passed_over,
        **{name: numbers[name] for name in ("skipped", "failed", "bytes", "output_bytes", "seconds")},
    )
    if options.check:
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
    """Makes one license of the basic profile, which is for tests: it protects nothing.

    :param key_file: the content keys, as :func:`encrypt` wrote them.
    :param if_exists: where the output exists, or with ``embed`` a license is inside: ``"fail"``, ``"skip"``, or
        ``"overwrite"``.
    :param provider: who gives the license, a URI.
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
    """Makes licenses by the thousand, on all cores. Parameters are those of :func:`license`."""
    wanted = list(requests)
    named = {"key_file": key_file, "provider": provider, "certificate": certificate, "private_key": private_key}
    made, failed = _native.lcp_license(wanted, named, Options(if_exists=if_exists, threads=threads))
    report = LicenseReport(
        issued=tuple(Issued(id, Path(output), Path(wanted[number].publication)) for number, id, output in made),
        failures=failures(failed),
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
    """Checks publications and licenses, and those found in folders. Problems are in the report; they do not raise.

    :param passphrase: opens every resource (basic profile); else archives are checked against their CRC-32.
    :param root_ca: root certificates of the license authority: one of them must confirm each certificate.
    :param license: the license of publications that have none inside.
    """
    opening = {"passphrase": passphrase, "root_ca": root_ca, "license": license}
    files = tuple(
        Checked(
            **verdict
            | {
                "problems": tuple(Problem(*problem) for _, *problem in verdict["problems"]),
                "unchecked": tuple(verdict["unchecked"]),
            }
        )
        for verdict in _native.lcp_check(_paths(paths), opening, Options(threads=threads))
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
    """Writes the publication as it was before it was protected. A license that is unsigned, expired, or another reader's is
    refused.

    :param root_ca: root certificates of the license authority; without them the certificate is not confirmed.
    :param license: a license to use instead of the one inside.
    """
    opening = {"passphrase": passphrase, "root_ca": root_ca, "license": license}
    options = Options(if_exists=if_exists, threads=threads)
    return Decrypted(Path(out), *_native.lcp_decrypt(source, out, opening, options))


def inspect(path: StrPath) -> Inspected:
    """Describes a publication or license; no key is needed."""
    found = _native.lcp_inspect(path)
    return Inspected(**found | {"license": json.loads(found["license"]) if found["license"] else None})


def _paths(given: StrPath | Iterable[StrPath]) -> list[StrPath]:
    return [given] if isinstance(given, str | os.PathLike) else list(given)
