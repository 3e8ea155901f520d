# The native module, as `src/` defines it.

import os
from collections.abc import Callable
from typing import Any, TypedDict, final

from typing_extensions import Buffer

StrPath = str | os.PathLike[str]

def is_address(place: StrPath) -> bool: ...
def without_scheme(place: StrPath) -> str: ...
def templates() -> list[str]: ...
def seal_keyset(keyset: Keyset, data_key: Buffer, context: Buffer) -> bytes: ...
def open_keyset(sealed: Buffer, data_key: Buffer, context: Buffer) -> Keyset: ...

@final
class Keyset:
    """A Tink keyset of streaming AEAD keys: one encrypts, all that are enabled decrypt.

    The secret leaves it through ``to_json``, ``write`` and ``wrap`` only. It cannot be pickled.
    """

    @staticmethod
    def generate(template: str = "AES256_GCM_HKDF_1MB") -> Keyset:
        """Makes a keyset with one new key of this template (see ``cipherloom.TEMPLATES``)."""
    @staticmethod
    def read(path: StrPath, *, passphrase: str | bytes | None = None, identity: StrPath | None = None) -> Keyset:
        """Reads a key file: Tink's JSON, or that JSON in an age file.

        :param passphrase: opens an age file that is locked with one.
        :param identity: path of an age identity file, which opens an age file for recipients.
        """
    @staticmethod
    def from_json(json: str | Buffer) -> Keyset:
        """Reads Tink's JSON form of a keyset."""
    @staticmethod
    def unwrap(data: Buffer, *, passphrase: str | bytes | None = None, identity: StrPath | None = None) -> Keyset:
        """Opens an age file with a keyset in it, as ``read`` does."""
    def to_json(self) -> str:
        """Tink's JSON form: the secret itself, in clear."""
    def wrap(self, *, passphrase: str | bytes | None = None, recipients: list[str] | None = None) -> bytes:
        """An age file with this keyset in it, for a passphrase or for recipients (``age1...``)."""
    def write(
        self, path: StrPath, *, passphrase: str | bytes | None = None, recipients: list[str] | None = None
    ) -> None:
        """Writes a new key file that only its owner may read; in clear, or as ``wrap`` does. Never overwrites."""
    @property
    def primary_id(self) -> int:
        """The identifier of the key that encrypts."""
    @property
    def key_ids(self) -> list[int]:
        """The identifiers of all keys, in the keyset's order."""

@final
class StreamingAead:
    """Tink Streaming AEAD over bytes in memory.

    Anything with the buffer protocol is taken: bytes, bytearray, memoryview, numpy arrays, mmap. Large data is worked on
    by several threads, with the interpreter's lock released.
    """

    def __new__(cls, key: Keyset, *, threads: int | None = None) -> StreamingAead: ...
    def encrypt(self, data: Buffer, aad: Buffer | None = None) -> bytes:
        """The ciphertext of ``data``, bound to the associated data ``aad``."""
    def decrypt(self, data: Buffer, aad: Buffer | None = None) -> bytes:
        """The plaintext of ``data``. Raises InvalidTag unless every byte, and ``aad``, is what was encrypted."""

@final
class SealedFile:
    def __new__(cls, path: StrPath, key: Keyset, aad: Buffer) -> SealedFile: ...
    @property
    def size(self) -> int: ...
    def read_segment_at(self, position: int) -> tuple[int, bytes]: ...

class Request(TypedDict):
    operation: str
    source: StrPath
    destination: StrPath | None
    key: Keyset | None
    new_key: Keyset | None
    threads: int | None
    if_exists: str
    links: str
    include: list[str]
    exclude: list[str]
    objects: list[tuple[str, int, str | None]] | None
    suffix: str
    bind_path: bool
    durable: bool
    progress: Callable[[int, int], Callable[[int, int], None]] | None

def process(request: Request) -> tuple[str, list[tuple[str, str, str]]]: ...
def list_objects(
    source: StrPath, include: list[str], exclude: list[str]
) -> tuple[list[tuple[str, int, str | None]], list[tuple[str, str, str]]]: ...
def plan(
    source: StrPath, template: str, threads: int | None, include: list[str], exclude: list[str]
) -> tuple[bool, str]: ...
def aes_cbc_encrypt_many(
    buffers: list[Buffer], key: Buffer, ivs: list[Buffer], *, padding: bool, threads: int | None = None
) -> list[bytes]: ...
def aes_cbc_decrypt(data: Buffer, key: Buffer, iv: Buffer) -> bytes: ...
def aes_ctr(data: Buffer, key: Buffer, nonce: Buffer) -> bytes: ...

class LcpOptions(TypedDict):
    sources: list[StrPath]
    out: StrPath
    key_file: StrPath
    threads: int | None
    if_exists: str
    checksums: bool
    level: int
    progress: Callable[[int, int], Callable[[int, int], None]] | None

class LcpProvider(TypedDict):
    key_file: StrPath
    provider: str
    certificate: StrPath
    private_key: StrPath
    if_exists: str
    threads: int | None

class LcpOpening(TypedDict):
    source: StrPath
    out: StrPath
    passphrase: str
    root_ca: StrPath | None
    license: StrPath | None
    if_exists: str
    threads: int | None

def lcp_encrypt(
    options: LcpOptions,
) -> tuple[str, list[dict[str, Any]], list[tuple[StrPath, str, str]], int]: ...
def lcp_license(
    wanted: list[dict[str, Any]], provider: LcpProvider
) -> tuple[list[tuple[int, str, StrPath]], list[tuple[int, StrPath, str, str]]]: ...
def lcp_check(
    paths: list[StrPath],
    passphrase: str | None,
    root_ca: StrPath | None,
    license: StrPath | None,
    threads: int | None,
) -> list[dict[str, Any]]: ...
def lcp_decrypt(opening: LcpOpening) -> tuple[int, int]: ...
def lcp_inspect(path: StrPath) -> dict[str, Any]: ...
