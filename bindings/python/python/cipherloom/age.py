"""Files of age (https://age-encryption.org): encrypted for recipients, or with a passphrase. age and rage open the same files.

>>> import cipherloom as cl
>>> identity = cl.age.Identity.generate()
>>> sealed = cl.age.encrypt(b"It was a bright cold day", recipients=[identity.recipient])
>>> cl.age.decrypt(sealed, identities=[identity])
b'It was a bright cold day'

Recipients are texts: ``age1...``, ``age1pq1...``, ``ssh-ed25519 ...``, ``ssh-rsa ...``. Identities are :class:`Identity`
objects or paths of identity files. A plugin is run as age runs it, but nobody answers what it asks: a file that needs an
answer, such as a PIN, fails.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias, Unpack, overload

from cipherloom import _native
from cipherloom._native import Identity
from cipherloom._options import Options, ReadSettings, StrPath, TreeSettings, choose_options
from cipherloom._report import Report
from cipherloom._streaming import EncryptingStream, SealedIO, open_file
from cipherloom._trees import run_tree
from cipherloom.exceptions import InvalidRequest

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "Identities",
    "Identity",
    "Passphrase",
    "decrypt",
    "decrypt_tree",
    "encrypt",
    "encrypt_tree",
    "open",
    "rekey_tree",
    "verify_tree",
]

Identities: TypeAlias = Iterable[Identity | StrPath]
Passphrase: TypeAlias = str | bytes
_ARMOR = b"-----BEGIN AGE ENCRYPTED FILE-----"


def encrypt_tree(
    source: StrPath,
    destination: StrPath,
    *,
    recipients: Iterable[str] | None = None,
    passphrase: Passphrase | None = None,
    options: Options | None = None,
    **settings: Unpack[TreeSettings],
) -> Report:
    """Encrypts a folder (or a file) into another, each file by itself, as :func:`cipherloom.encrypt_tree` does.

    :param recipients: who may decrypt: each of them.
    :param passphrase: what decrypts, in place of recipients. Each file costs a second of work; give a tree to recipients.
    :param options: an :class:`~cipherloom.Options`; its fields are also taken by name (``suffix=".age"``).
    """
    keys = _sealing(recipients, passphrase)
    return run_tree("encrypt", source, destination, keys, None, choose_options(options, settings, TreeSettings))


def decrypt_tree(
    source: StrPath,
    destination: StrPath,
    *,
    identities: Identities | None = None,
    passphrase: Passphrase | None = None,
    max_work_factor: int | None = None,
    options: Options | None = None,
    **settings: Unpack[TreeSettings],
) -> Report:
    """Decrypts files of age. A file that is not authentic to its last byte gets no output.

    :param identities: the first that fits opens a file.
    :param passphrase: opens files that are encrypted with one, and encrypted identity files.
    :param max_work_factor: files with a passphrase may ask for 2^N rounds of scrypt; 22 if this is left out.
    """
    keys = _opening(identities, passphrase, max_work_factor)
    return run_tree("decrypt", source, destination, keys, None, choose_options(options, settings, TreeSettings))


def verify_tree(
    source: StrPath,
    *,
    identities: Identities | None = None,
    passphrase: Passphrase | None = None,
    max_work_factor: int | None = None,
    options: Options | None = None,
    **settings: Unpack[ReadSettings],
) -> Report:
    """Authenticates every byte of every file and writes nothing. Parameters are those of :func:`decrypt_tree`."""
    keys = _opening(identities, passphrase, max_work_factor)
    return run_tree("verify", source, None, keys, None, choose_options(options, settings, ReadSettings))


def rekey_tree(
    source: StrPath,
    destination: StrPath,
    *,
    identities: Identities | None = None,
    passphrase: Passphrase | None = None,
    recipients: Iterable[str] | None = None,
    new_passphrase: Passphrase | None = None,
    max_work_factor: int | None = None,
    options: Options | None = None,
    **settings: Unpack[TreeSettings],
) -> Report:
    """Decrypts and encrypts for other recipients in one pass; no plaintext touches the disk."""
    keys = _opening(identities, passphrase, max_work_factor), _sealing(recipients, new_passphrase)
    return run_tree("rekey", source, destination, *keys, choose_options(options, settings, TreeSettings))


def encrypt(
    data: Buffer,
    *,
    recipients: Iterable[str] | None = None,
    passphrase: Passphrase | None = None,
    armor: bool = False,
    threads: int | None = None,
) -> bytes:
    """A file of age with ``data`` in it; as text with ``armor=True``."""
    sealed = _native.StreamingAead(_sealing(recipients, passphrase), threads=threads).encrypt(data)
    return _native.age_armor(sealed) if armor else sealed


def decrypt(
    data: Buffer,
    *,
    identities: Identities | None = None,
    passphrase: Passphrase | None = None,
    max_work_factor: int | None = None,
    threads: int | None = None,
) -> bytes:
    """What is in a file of age, which may be armored. Raises InvalidTag unless every byte is what was encrypted."""
    keys = _opening(identities, passphrase, max_work_factor)
    with memoryview(data) as view:
        is_armored = bytes(view[: len(_ARMOR) + 64]).lstrip().startswith(_ARMOR)
        binary = _native.age_dearmor(bytes(view)) if is_armored else data
    return _native.StreamingAead(keys, threads=threads).decrypt(binary)


@overload
def open(
    path: StrPath, mode: Literal["rb"] = ..., *, identities: Identities | None = ..., passphrase: Passphrase | None = ...,
    max_work_factor: int | None = ..., buffering: int = ...,
) -> io.BufferedReader | SealedIO: ...
@overload
def open(
    path: StrPath, mode: Literal["wb", "xb"], *, recipients: Iterable[str] | None = ..., passphrase: Passphrase | None = ...
) -> EncryptingStream: ...
def open(
    path: StrPath,
    mode: Literal["rb", "wb", "xb"] = "rb",
    *,
    identities: Identities | None = None,
    recipients: Iterable[str] | None = None,
    passphrase: Passphrase | None = None,
    max_work_factor: int | None = None,
    buffering: int = -1,
) -> io.BufferedReader | SealedIO | EncryptingStream:
    """Opens a file of age for reading its plaintext anywhere (``"rb"``), or for writing plaintext that is encrypted.

    As with :func:`cipherloom.open`, opening authenticates the length, and a file for writing gets its name when it is closed.
    """
    if mode == "rb":
        if recipients is not None:
            raise InvalidRequest("recipients are for writing; reading takes identities or a passphrase")
        return open_file(path, mode, _opening(identities, passphrase, max_work_factor), buffering=buffering)
    if identities is not None:
        raise InvalidRequest("identities are for reading; writing takes recipients or a passphrase")
    return open_file(path, mode, _sealing(recipients, passphrase))


def _sealing(recipients: Iterable[str] | None, passphrase: Passphrase | None) -> _native.AgeKeys:
    if isinstance(recipients, str):
        raise TypeError("recipients is a list of texts, not one text")
    return _native.AgeKeys.sealing(list(recipients or ()), passphrase)


def _opening(
    identities: Identities | None, passphrase: Passphrase | None, max_work_factor: int | None
) -> _native.AgeKeys:
    if isinstance(identities, (str, Identity)):
        raise TypeError("identities is a list, of Identity objects and paths")
    found: list[Identity] = []
    for each in identities or ():
        if isinstance(each, Identity):
            found.append(each)
        else:
            found += Identity.read(each, passphrase=passphrase)
    return _native.AgeKeys.opening(found, passphrase, max_work_factor)
