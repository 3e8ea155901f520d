"""Operations over whole trees: of files in folders, and of objects in stores (``s3://bucket/prefix``, ``gs://``, ``az://``),
from either to either. A store's credentials and endpoint come from the environment, as its own tools have them.

A file that cannot be read, opened or written never stops the others. When all are through, a run with failures raises
:class:`~cipherloom.exceptions.TreeFailed`, which carries the report; with ``check=False`` the report is returned and
the caller looks at it.

Ctrl-C stops a run within moments. Outputs that were not complete do not exist; ``if_exists="skip"`` goes on later.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

from cipherloom import _native, _progress
from cipherloom._report import Failure, Report
from cipherloom.exceptions import InvalidRequest

__all__ = ["decrypt_tree", "encrypt_tree", "rekey_tree", "verify_tree"]

StrPath: TypeAlias = str | os.PathLike[str]
Globs: TypeAlias = str | Iterable[str]
IfExists: TypeAlias = Literal["fail", "skip", "overwrite"]
Links: TypeAlias = Literal["skip", "copy", "copy-all"]


def encrypt_tree(
    source: StrPath,
    destination: StrPath,
    key: _native.Keyset,
    *,
    threads: int | None = None,
    if_exists: IfExists = "fail",
    include: Globs = (),
    exclude: Globs = (),
    links: Links = "skip",
    suffix: str = "",
    bind_path: bool = False,
    durable: bool = False,
    progress: bool = False,
    check: bool = True,
) -> Report:
    """Encrypts a folder (or a file) into another, each file by itself, with the keyset's primary key. Either may be the address
    of a place in a store; what is created there is never overwritten by accident, and says what it was made from.

    :param threads: how many threads; the planner chooses if this is left out.
    :param if_exists: where an output's name is taken: ``"fail"`` that file, ``"skip"`` it, or ``"overwrite"``. In a
        store, ``"skip"`` goes past what was made from the same source under the same key; anything else there fails.
    :param include: globs (one, or several); only files that match one take part. One without ``/`` is for names.
    :param exclude: globs; files that match one do not take part, folders are not entered.
    :param links: symbolic links are passed over (``"skip"``), or made again with the same target (``"copy"``; when decrypting,
        those fail that could lead out of the output tree, as links are not authenticated: ``"copy-all"`` makes them too); stores have none.
    :param suffix: added to every name.
    :param bind_path: binds each file's relative path to its content; it then opens under that path only.
    :param durable: forces each output to stable storage before it gets its name.
    :param progress: shows a bar, if tqdm is installed and there is a terminal or notebook.
    :param check: raises if a file failed, when all others are through.
    """
    return _run(
        "encrypt", source, destination, key, None, threads, if_exists, include, exclude, links, suffix, bind_path,
        durable, progress, check,
    )  # fmt: skip


def decrypt_tree(
    source: StrPath,
    destination: StrPath,
    key: _native.Keyset,
    *,
    threads: int | None = None,
    if_exists: IfExists = "fail",
    include: Globs = (),
    exclude: Globs = (),
    links: Links = "skip",
    suffix: str = "",
    bind_path: bool = False,
    durable: bool = False,
    progress: bool = False,
    check: bool = True,
) -> Report:
    """Decrypts what :func:`encrypt_tree` made. A file that is not authentic to its last byte gets no name.

    ``suffix`` is removed from every name; other parameters are as there.
    """
    return _run(
        "decrypt", source, destination, key, None, threads, if_exists, include, exclude, links, suffix, bind_path,
        durable, progress, check,
    )  # fmt: skip


def verify_tree(
    source: StrPath,
    key: _native.Keyset,
    *,
    threads: int | None = None,
    include: Globs = (),
    exclude: Globs = (),
    suffix: str = "",
    bind_path: bool = False,
    progress: bool = False,
    check: bool = True,
) -> Report:
    """Authenticates every byte of every file and writes nothing. Parameters are those of :func:`decrypt_tree`."""
    return _run(
        "verify", source, "", key, None, threads, "fail", include, exclude, "skip", suffix, bind_path,
        False, progress, check,
    )  # fmt: skip


def rekey_tree(
    source: StrPath,
    destination: StrPath,
    key: _native.Keyset,
    new_key: _native.Keyset,
    *,
    threads: int | None = None,
    if_exists: IfExists = "fail",
    include: Globs = (),
    exclude: Globs = (),
    links: Links = "skip",
    suffix: str = "",
    bind_path: bool = False,
    durable: bool = False,
    progress: bool = False,
    check: bool = True,
) -> Report:
    """Decrypts with ``key`` and encrypts with ``new_key`` in one pass; no plaintext touches the disk.

    In a bucket ``destination`` may be ``source`` with ``if_exists="overwrite"``: each object is replaced if it is still what
    was read. Names stay as they are: ``suffix`` says which part of them is no part of a bound path. Other parameters are those of
    :func:`encrypt_tree`.
    """
    return _run(
        "rekey", source, destination, key, new_key, threads, if_exists, include, exclude, links, suffix, bind_path,
        durable, progress, check,
    )  # fmt: skip


def _run(
    operation: Literal["encrypt", "decrypt", "verify", "rekey"],
    source: StrPath,
    destination: StrPath,
    key: _native.Keyset,
    new_key: _native.Keyset | None,
    threads: int | None,
    if_exists: IfExists,
    include: Globs,
    exclude: Globs,
    links: Links,
    suffix: str,
    bind_path: bool,
    durable: bool,
    progress: bool,
    check: bool,
) -> Report:
    for name, given in [("key", key), *([("new_key", new_key)] if operation == "rekey" else [])]:
        if not isinstance(given, _native.Keyset):
            raise TypeError(f"{name} is a cipherloom.Keyset, not {type(given).__name__}")
    threads_asked(threads)
    with _progress.bar(operation, progress) as start:
        summary, failures = _native.process(
            {
                "operation": operation,
                "source": os.fsdecode(source),
                "destination": None if operation == "verify" else os.fsdecode(destination),
                "key": key,
                "new_key": new_key,
                "threads": threads,
                "if_exists": if_exists,
                "links": links,
                "include": globs(include),
                "exclude": globs(exclude),
                "objects": None,
                "suffix": suffix,
                "bind_path": bind_path,
                "durable": durable,
                "progress": start,
            }
        )
    told = tuple(
        Failure(path if _native.is_address(path) else Path(path), reason, error) for path, reason, error in failures
    )
    report = Report(**json.loads(summary), failures=told)
    if check:
        report.raise_if_failed()
    return report


def threads_asked(threads: int | None) -> None:
    """Refuses less than one thread."""
    if threads is not None and threads < 1:
        raise InvalidRequest(f"threads is 1 or more, not {threads}; leave it out to have the planner choose")


def globs(given: Globs) -> list[str]:
    """One glob, or several."""
    return [given] if isinstance(given, str) else list(given)
