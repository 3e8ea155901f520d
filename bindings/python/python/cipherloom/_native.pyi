# The native module, as `src/` defines it.

from typing import Any, BinaryIO, Literal, TypeAlias, final

from typing_extensions import Buffer

from cipherloom._lcp_reports import LicenseRequest
from cipherloom._options import Options, Request, StrPath

# Path, reason, the exception's name, the remedy.
Failed: TypeAlias = tuple[str, str, str, str | None]
# Path, size, version, when it was changed.
Listed: TypeAlias = tuple[str, int, str | None, tuple[int, int] | None]

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

        :param passphrase: opens an age file that is locked with one, or with ``identity`` an encrypted identity file.
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
    def __new__(cls, key: Keyset | AgeKeys, *, threads: int | None = None) -> StreamingAead: ...
    def encrypt(self, data: Buffer, aad: Buffer | None = None) -> bytes: ...
    def decrypt(self, data: Buffer, aad: Buffer | None = None) -> bytes: ...

@final
class EncryptingStream:
    def __new__(cls, key: Keyset | AgeKeys, associated_data: Buffer, destination: BinaryIO) -> EncryptingStream: ...
    @staticmethod
    def create(key: Keyset | AgeKeys, associated_data: Buffer, path: StrPath, if_exists: str) -> EncryptingStream: ...
    def write(self, data: Buffer) -> int: ...
    def finish(self) -> None: ...

@final
class DecryptingStream:
    def __new__(cls, key: Keyset | AgeKeys, associated_data: Buffer, source: BinaryIO) -> DecryptingStream: ...
    @staticmethod
    def open(key: Keyset | AgeKeys, associated_data: Buffer, path: StrPath) -> DecryptingStream: ...
    def read(self, size: int) -> bytes: ...
    def seek(self, offset: int, whence: int) -> int: ...

@final
class Identity:
    """What opens files of age: an X25519 or post-quantum key, an SSH key, or what a plugin holds.

    The secret leaves it through ``to_secret_text`` and ``write`` only. It cannot be pickled.
    """

    @staticmethod
    def generate(*, post_quantum: bool = False) -> Identity:
        """Makes a new identity: X25519, or ML-KEM-768 with X25519, which age 1.3 and later know."""
    @staticmethod
    def parse(text: str) -> Identity:
        """Reads the line of an identity file: ``AGE-SECRET-KEY-1...``, ``AGE-SECRET-KEY-PQ-1...``, ``AGE-PLUGIN-...``."""
    @staticmethod
    def read(path: StrPath, *, passphrase: str | bytes | None = None) -> list[Identity]:
        """Reads all identities of a file: age's own form, or an SSH private key.

        :param passphrase: opens a file that is encrypted with one.
        """
    def write(self, path: StrPath, *, passphrase: str | bytes | None = None) -> None:
        """Writes a new identity file that only its owner may read, as age-keygen does; with a passphrase, encrypted. Never
        overwrites."""
    @property
    def recipient(self) -> str:
        """Whom files are encrypted for that this identity opens: ``age1...``. It is public."""
    def to_secret_text(self) -> str:
        """The secret itself, as an identity file has it."""

@final
class AgeKeys:
    @staticmethod
    def sealing(recipients: list[str], passphrase: str | bytes | None = None) -> AgeKeys: ...
    @staticmethod
    def opening(
        identities: list[Identity], passphrase: str | bytes | None = None, max_work_factor: int | None = None
    ) -> AgeKeys: ...

def age_armor(data: bytes) -> bytes: ...
def age_dearmor(text: bytes) -> bytes: ...
def process(request: Request) -> tuple[dict[str, Any], list[Failed]]: ...
@final
class IndexEntries:
    def __iter__(self) -> IndexEntries: ...
    def __next__(
        self,
    ) -> tuple[
        str,
        str,
        Literal["file", "folder", "link"],
        int,
        int,
        int | None,
        tuple[int, int] | None,
        str | None,
        int | None,
    ]: ...

def list_index(
    source: StrPath, key: Keyset, anchor: StrPath | None, max_segment_size: int | None
) -> tuple[dict[str, Any], IndexEntries]: ...
# Path, path in the encrypted tree, bytes of plaintext and of ciphertext, when the source was changed, the stream.
Recorded: TypeAlias = tuple[str, str, int, int, tuple[int, int] | None, bytes]
@final
class RecordedFiles:
    def __iter__(self) -> RecordedFiles: ...
    def __next__(self) -> Recorded: ...
    def close(self) -> None: ...

@final
class Gathering:
    def __new__(
        cls, place: StrPath, key: Keyset, suffix: str, max_segment_size: int | None = None, anchor: StrPath | None = None
    ) -> Gathering: ...
    def root(self) -> bytes: ...
    def recorded(self) -> RecordedFiles: ...
    def finish(self, made: list[str]) -> tuple[dict[str, Any] | None, list[str]]: ...
    def close(self) -> None: ...

def list_recorded(
    place: StrPath, key: Keyset, max_segment_size: int | None = None, anchor: StrPath | None = None
) -> tuple[dict[str, Any], RecordedFiles] | None: ...
def is_reserved(name: str) -> bool: ...
def list_objects(source: StrPath, options: Options) -> tuple[list[Listed], list[Failed], int]: ...
def plan(source: StrPath, template: str, options: Options) -> tuple[bool, dict[str, Any]]: ...
def aes_cbc_encrypt_many(
    buffers: list[Buffer], key: Buffer, ivs: list[Buffer], *, padding: bool, threads: int | None = None
) -> list[bytes]: ...
def aes_cbc_decrypt(data: Buffer, key: Buffer, iv: Buffer) -> bytes: ...
def aes_ctr(data: Buffer, key: Buffer, nonce: Buffer) -> bytes: ...
def lcp_encrypt(
    order: dict[str, Any], options: Options
) -> tuple[dict[str, Any], list[dict[str, Any]], list[Failed], int]: ...
def lcp_license(
    wanted: list[LicenseRequest], provider: dict[str, StrPath], options: Options
) -> tuple[list[tuple[int, str, str]], list[Failed]]: ...
def lcp_check(paths: list[StrPath], opening: dict[str, Any], options: Options) -> list[dict[str, Any]]: ...
def lcp_decrypt(source: StrPath, out: StrPath, opening: dict[str, Any], options: Options) -> tuple[int, int]: ...
def lcp_inspect(path: StrPath) -> dict[str, Any]: ...
