"""Operations over whole trees: of files in folders, and of objects in stores (``s3://bucket/prefix``, ``gs://``, ``az://``),
from either to either. A store's credentials and endpoint come from the environment, as its own tools have them.

A file that cannot be read, opened or written never stops the others. When all have ended, a run with failures raises
:class:`~cipherloom.exceptions.TreeFailed`, which has the report; with ``check=False`` the report is returned.

Ctrl-C stops a run within moments. Outputs that were not complete do not exist; ``if_exists="skip"`` continues later.
"""

from __future__ import annotations

import os
from typing import Literal, Unpack

from cipherloom import _native, _progress
from cipherloom._options import Options, ReadSettings, Request, StrPath, TreeSettings, choose_options
from cipherloom._report import Report, failures

__all__ = ["decrypt_tree", "encrypt_tree", "rekey_tree", "verify_tree"]


def encrypt_tree(
    source: StrPath,
    destination: StrPath,
    key: _native.Keyset,
    *,
    options: Options | None = None,
    **settings: Unpack[TreeSettings],
) -> Report:
    """Encrypts a folder (or a file) into another, each file by itself, with the keyset's primary key. Either may be the address
    of a place in a store; objects there are created with conditional writes, and record what they were made from.

    :param options: an :class:`Options`; its fields are also taken by name (``threads=4``).
    """
    return run_tree("encrypt", source, destination, _keyset("key", key), None, choose_options(options, settings, TreeSettings))


def decrypt_tree(
    source: StrPath,
    destination: StrPath,
    key: _native.Keyset,
    *,
    options: Options | None = None,
    **settings: Unpack[TreeSettings],
) -> Report:
    """Decrypts what :func:`encrypt_tree` made. A file that is not authentic to its last byte gets no output.

    ``suffix`` is removed from every name; other parameters are as there.
    """
    return run_tree("decrypt", source, destination, _keyset("key", key), None, choose_options(options, settings, TreeSettings))


def verify_tree(
    source: StrPath, key: _native.Keyset, *, options: Options | None = None, **settings: Unpack[ReadSettings]
) -> Report:
    """Authenticates every byte of every file and writes nothing. Parameters are those of :func:`decrypt_tree`, without those
    for outputs."""
    return run_tree("verify", source, None, _keyset("key", key), None, choose_options(options, settings, ReadSettings))


def rekey_tree(
    source: StrPath,
    destination: StrPath,
    key: _native.Keyset,
    new_key: _native.Keyset,
    *,
    options: Options | None = None,
    **settings: Unpack[TreeSettings],
) -> Report:
    """Decrypts with ``key`` and encrypts with ``new_key`` in one pass; no plaintext touches the disk.

    In a bucket ``destination`` may be ``source`` with ``if_exists="overwrite"``: each object is replaced if it is still what
    was read. Names stay as they are: ``suffix`` says which part of them is no part of a bound path. Other parameters are those of
    :func:`encrypt_tree`.
    """
    keys = _keyset("key", key), _keyset("new_key", new_key)
    return run_tree("rekey", source, destination, *keys, choose_options(options, settings, TreeSettings))


def run_tree(
    operation: Literal["encrypt", "decrypt", "verify", "rekey"],
    source: StrPath,
    destination: StrPath | None,
    key: _native.Keyset | _native.AgeKeys,
    new_key: _native.Keyset | _native.AgeKeys | None,
    options: Options,
) -> Report:
    """Runs an operation with the keys of any format."""
    target = None if operation == "verify" else os.fsdecode(destination)  # type: ignore[arg-type]
    with _progress.bar(operation, options.progress) as start:
        request = Request(
            operation=operation, source=os.fsdecode(source), destination=target, key=key, new_key=new_key,
            options=options, progress=start,
        )  # fmt: skip
        numbers, failed = _native.process(request)
    report = Report(**numbers, failures=failures(failed))
    if options.check:
        report.raise_if_failed()
    return report


def _keyset(name: str, given: object) -> _native.Keyset:
    if not isinstance(given, _native.Keyset):
        raise TypeError(f"{name} is a cipherloom.Keyset, not {type(given).__name__}")
    return given
