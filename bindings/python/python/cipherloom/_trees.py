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
from cipherloom._options import (
    Globs,
    IndexOptions,
    Options,
    ReadSettings,
    Request,
    StrPath,
    TreeSettings,
    choose_options,
    list_globs,
)
from cipherloom._report import IndexReport, Report, failures
from cipherloom.exceptions import InvalidRequest

__all__ = ["decrypt_tree", "encrypt_tree", "index_tree", "rekey_tree", "verify_tree"]


def encrypt_tree(
    source: StrPath,
    destination: StrPath,
    key: _native.Keyset,
    *,
    index: bool = False,
    hide_names: bool = False,
    anchor: StrPath | None = None,
    options: Options | None = None,
    **settings: Unpack[TreeSettings],
) -> Report:
    """Encrypts a folder (or a file) into another, each file by itself, with the keyset's primary key. Either may be the address
    of a place in a store; objects there are created with conditional writes, and record what they were made from.

    :param index: whether the files are also listed in a sealed index below ``destination``, a folder. :func:`verify_tree` then
        finds files that are missing, extra, swapped or put back. Use it in every run into that folder.
    :param hide_names: with ``index``, gives the files random names that only the index knows. All runs into ``destination`` hide
        names, or none does. Sizes are not hidden.
    :param anchor: with ``index``, a file that remembers the index's generation; one that is older is refused.
    :param options: an :class:`Options`; its fields are also taken by name (``threads=4``).
    """
    if anchor is not None and not index:
        raise InvalidRequest("anchor needs index=True")
    if hide_names and not index:
        raise InvalidRequest("hide_names needs index=True")
    use = IndexOptions(use_as="update", anchor=anchor, hide_names=hide_names) if index else None
    return run_tree(
        "encrypt", source, destination, _keyset("key", key), None, choose_options(options, settings, TreeSettings), use
    )


def decrypt_tree(
    source: StrPath,
    destination: StrPath,
    key: _native.Keyset,
    *,
    only: Globs | None = None,
    anchor: StrPath | None = None,
    options: Options | None = None,
    **settings: Unpack[TreeSettings],
) -> Report:
    """Decrypts what :func:`encrypt_tree` made. A file that is not authentic to its last byte gets no output.

    ``suffix`` is removed from every name; other parameters are as there.

    :param only: globs (one, or several): decrypts the files whose plaintext's name or path matches one and that the tree's index
        lists, and only if they are the files that it lists. Links are skipped.
    :param anchor: with ``only``, refuses a tree whose index is older than this file remembers.
    """
    chosen = choose_options(options, settings, TreeSettings)
    use = None
    if only is not None:
        if chosen.include or chosen.exclude or chosen.links != "skip":
            raise InvalidRequest("only is not taken beside include, exclude and links")
        use = IndexOptions(use_as="compare", anchor=anchor, only=list_globs(only))
    elif anchor is not None:
        raise InvalidRequest("anchor needs only=")
    return run_tree("decrypt", source, destination, _keyset("key", key), None, chosen, use)


def verify_tree(
    source: StrPath,
    key: _native.Keyset,
    *,
    quick: bool = False,
    anchor: StrPath | None = None,
    options: Options | None = None,
    **settings: Unpack[ReadSettings],
) -> Report:
    """Authenticates every byte of every file and writes nothing. Parameters are those of :func:`decrypt_tree`, without those
    for outputs.

    A folder with an index is compared with it. What is missing fails with the error ``FileNotFoundError``, what is extra with
    ``FileExistsError``, and what was replaced, swapped, moved or put back with ``InvalidTag``; the report's ``index`` has counts.

    :param quick: reads only the beginning and end of each file, and compares them with the index, which must be there.
    :param anchor: fails if the index is older than this file remembers, or of another tree; else remembers its generation.
    """
    chosen = choose_options(options, settings, ReadSettings)
    use = IndexOptions(use_as="compare", anchor=anchor, quick=quick) if quick or anchor is not None else None
    return run_tree("verify", source, None, _keyset("key", key), None, chosen, use)


def index_tree(
    source: StrPath,
    key: _native.Keyset,
    *,
    replace: bool = False,
    skip_unopened: bool = False,
    anchor: StrPath | None = None,
    options: Options | None = None,
    **settings: Unpack[ReadSettings],
) -> Report:
    """Makes the index of an encrypted folder from its files, whose beginnings the key must open. Nothing shows then whether one was
    missing or replaced before. Files that ``exclude`` leaves out are not listed; give it to :func:`verify_tree` too.

    :param replace: replaces an index that is there, even one that the key does not open.
    :param skip_unopened: writes the index also if some files fail, without these.
    :param anchor: a file that remembers the index's generation; one that is older is refused.
    """
    use = IndexOptions(use_as="rebuild", anchor=anchor, replace=replace, skip_unopened=skip_unopened)
    return run_tree("verify", source, None, _keyset("key", key), None, choose_options(options, settings, ReadSettings), use)


def rekey_tree(
    source: StrPath,
    destination: StrPath,
    key: _native.Keyset,
    new_key: _native.Keyset,
    *,
    anchor: StrPath | None = None,
    options: Options | None = None,
    **settings: Unpack[TreeSettings],
) -> Report:
    """Decrypts with ``key`` and encrypts with ``new_key`` in one pass; no plaintext touches the disk.

    In a bucket ``destination`` may be ``source`` with ``if_exists="overwrite"``: each object is replaced if it is still what
    was read. Names stay as they are: ``suffix`` says which part of them is no part of a bound path. Other parameters are those of
    :func:`encrypt_tree`.

    If ``source`` is a folder with an index, only files that are as the index lists them are re-keyed, and ``destination`` gets an
    index too. In place (``destination`` is ``source``, with ``if_exists="overwrite"``), a run that was stopped goes on when it is
    repeated.

    :param anchor: refuses a tree whose index is older than this file remembers; else remembers its generation, in place the new one.
    """
    keys = _keyset("key", key), _keyset("new_key", new_key)
    use = IndexOptions(use_as="compare", anchor=anchor) if anchor is not None else None
    return run_tree("rekey", source, destination, *keys, choose_options(options, settings, TreeSettings), use)


def run_tree(
    operation: Literal["encrypt", "decrypt", "verify", "rekey"],
    source: StrPath,
    destination: StrPath | None,
    key: _native.Keyset | _native.AgeKeys,
    new_key: _native.Keyset | _native.AgeKeys | None,
    options: Options,
    index: IndexOptions | None = None,
) -> Report:
    """Runs an operation with the keys of any format."""
    target = None if operation == "verify" else os.fsdecode(destination)  # type: ignore[arg-type]
    with _progress.bar(operation, options.progress) as start:
        request = Request(
            operation=operation, source=os.fsdecode(source), destination=target, key=key, new_key=new_key,
            options=options, index=index, progress=start,
        )  # fmt: skip
        numbers, failed = _native.process(request)
    found = numbers.pop("index", None)
    report = Report(**numbers, index=found and IndexReport(**found), failures=failures(failed))
    if options.check:
        report.raise_if_failed()
    return report


def _keyset(name: str, given: object) -> _native.Keyset:
    if not isinstance(given, _native.Keyset):
        raise TypeError(f"{name} is a cipherloom.Keyset, not {type(given).__name__}")
    return given
