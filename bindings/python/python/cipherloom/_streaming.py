"""Streaming AEAD over bytes, file objects and files, with the names of Tink and pyca/cryptography."""

from __future__ import annotations

import errno
import io
import os
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Literal, overload

from cipherloom import _native
from cipherloom._options import StrPath
from cipherloom.exceptions import InvalidRequest

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["DecryptingStream", "EncryptingStream", "SealedIO", "StreamingAead", "open"]


class StreamingAead:
    """Tink Streaming AEAD over bytes in memory, and over file objects with the names of Tink's class.

    Anything with the buffer protocol is taken: bytes, bytearray, memoryview, numpy arrays, mmap. Large data is processed
    by several threads, with the interpreter's lock released.

    :param threads: how many threads; the planner chooses if this is left out.
    """

    def __init__(self, key: _native.Keyset, *, threads: int | None = None) -> None:
        self._aead = _native.StreamingAead(key, threads=threads)
        self._key = key

    def encrypt(self, data: Buffer, associated_data: Buffer | None = b"", *, aad: Buffer | None = None) -> bytes:
        """The ciphertext of ``data``, bound to the associated data. (``aad`` is deprecated.)"""
        return self._aead.encrypt(data, _associated_data(associated_data, aad))

    def decrypt(self, data: Buffer, associated_data: Buffer | None = b"", *, aad: Buffer | None = None) -> bytes:
        """The plaintext of ``data``. Raises InvalidTag unless every byte, and the associated data, is what was encrypted.
        (``aad`` is deprecated.)"""
        return self._aead.decrypt(data, _associated_data(associated_data, aad))

    def new_encrypting_stream(
        self, ciphertext_destination: BinaryIO, associated_data: Buffer = b""
    ) -> EncryptingStream:
        """A stream that encrypts what is written to it and writes the ciphertext to a file object. Closing it writes the end of
        the stream, and closes the file object."""
        if not ciphertext_destination.writable():
            raise ValueError("ciphertext_destination must be writable")
        native = _native.EncryptingStream(self._key, associated_data, ciphertext_destination)
        return EncryptingStream(native, ciphertext_destination)

    def new_decrypting_stream(
        self, ciphertext_source: BinaryIO, associated_data: Buffer = b""
    ) -> io.BufferedReader:
        """A stream that reads ciphertext from a file object and decrypts it. Every byte that it returns is authentic; the stream
        is complete when it has returned its end without an error. Closing it closes the file object."""
        if not ciphertext_source.readable():
            raise ValueError("ciphertext_source must be readable")
        native = _native.DecryptingStream(self._key, associated_data, ciphertext_source)
        return io.BufferedReader(DecryptingStream(native, ciphertext_source))

    def __repr__(self) -> str:
        return "<cipherloom.StreamingAead>"


class EncryptingStream(io.RawIOBase):
    """Encrypts what is written to it. :meth:`close` completes the stream; until then, a file that :func:`open` writes has no
    name. If a ``with`` block ends with an exception, or nobody closes the stream, it is discarded."""

    _stream: _native.EncryptingStream | None = None
    _destination: BinaryIO | None = None

    def __init__(self, native: _native.EncryptingStream, destination: BinaryIO | None = None) -> None:
        super().__init__()
        self._stream = native
        self._destination = destination

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        if self._stream is None:
            raise ValueError("write to closed file")
        return self._stream.write(data)

    def close(self) -> None:
        native, self._stream = self._stream, None
        try:
            if native is not None:
                native.finish()
        finally:
            self.discard()

    def discard(self) -> None:
        """Closes the stream without its end: a file is removed, and what a file object got does not decrypt."""
        destination, self._stream, self._destination = self._destination, None, None
        try:
            if destination is not None:
                destination.close()
        finally:
            super().close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close() if kind is None else self.discard()

    def __del__(self) -> None:
        self.discard()


class DecryptingStream(io.RawIOBase):
    """The plaintext of an encrypted stream, from its beginning to its end. Not to be shared by threads."""

    def __init__(self, native: _native.DecryptingStream, source: BinaryIO | None = None) -> None:
        super().__init__()
        self._stream: _native.DecryptingStream | None = native
        self._source = source

    def _opened(self) -> _native.DecryptingStream:
        if self._stream is None:
            raise ValueError("I/O operation on closed file")
        return self._stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        with memoryview(buffer) as view, view.cast("B") as target:
            data = self._opened().read(len(target))
            target[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self._opened().read(1 << 20), b""))

    def close(self) -> None:
        self._stream = None
        try:
            if self._source is not None:
                self._source.close()
        finally:
            super().close()


class SealedIO(DecryptingStream):
    """The plaintext of an encrypted file, with random access: only the segments that are read are decrypted."""

    def __init__(self, path: StrPath, key: _native.Keyset | _native.AgeKeys, associated_data: Buffer = b"") -> None:
        super().__init__(_native.DecryptingStream.open(key, associated_data, path))
        self.name = os.fspath(path)

    @property
    def mode(self) -> str:
        """Always ``"rb"``."""
        return "rb"

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._opened().seek(offset, whence)


@overload
def open(
    path: StrPath, mode: Literal["rb"] = ..., key: _native.Keyset | None = ..., associated_data: Buffer = ..., *,
    buffering: int = ..., aad: Buffer | None = ...,
) -> io.BufferedReader | SealedIO: ...
@overload
def open(
    path: StrPath, mode: Literal["wb", "xb"], key: _native.Keyset, associated_data: Buffer = ...
) -> EncryptingStream: ...
@overload
def open(
    path: StrPath, mode: _native.Keyset, key: Buffer | None = ..., *, buffering: int = ..., aad: Buffer | None = ...
) -> io.BufferedReader | SealedIO: ...
def open(
    path: StrPath,
    mode: Literal["rb", "wb", "xb"] | _native.Keyset = "rb",
    key: _native.Keyset | Buffer | None = None,
    associated_data: Buffer = b"",
    *,
    buffering: int = -1,
    aad: Buffer | None = None,
) -> io.BufferedReader | SealedIO | EncryptingStream:
    """Opens an encrypted file for reading its plaintext anywhere (``"rb"``), or for writing plaintext that is encrypted.

    Opening authenticates the last segment, and with it the length; reading authenticates every segment it touches.
    A file of a tree that was encrypted with ``bind_path`` has its relative path as associated data.

    A file for writing gets its name when it is closed. Until then, and if its ``with`` block ends with an exception, nothing
    has changed at ``path``. ``"wb"`` replaces a file of that name; ``"xb"`` refuses to.

    The forms ``open(path, key)`` and ``open(path, key, aad)`` are deprecated, and so is ``aad=``.

    :param associated_data: the associated data that the file is encrypted with.
    :param buffering: size of the buffer for reading, in bytes; 0 for none, which gives the raw file.
    """
    if isinstance(mode, _native.Keyset):
        warnings.warn('open(path, key) is now open(path, "rb", key)', DeprecationWarning, stacklevel=2)
        mode, key, associated_data = "rb", mode, b"" if key is None else key  # type: ignore[assignment]
    associated_data = _associated_data(associated_data, aad) or b""
    if not isinstance(key, _native.Keyset):
        raise TypeError(f"key is a cipherloom.Keyset, not {type(key).__name__}")
    return open_file(path, mode, key, associated_data, buffering)


def open_file(
    path: StrPath,
    mode: str,
    key: _native.Keyset | _native.AgeKeys,
    associated_data: Buffer = b"",
    buffering: int = -1,
) -> io.BufferedReader | SealedIO | EncryptingStream:
    """Opens a file with the keys of any format."""
    if mode not in ("rb", "wb", "xb"):
        raise ValueError(f'mode is "rb", "wb" or "xb", not {mode!r}')
    if _native.is_address(path):
        error = InvalidRequest(f"{os.fspath(path)}: objects are not opened in place")
        error.add_note("hint: decrypt_tree fetches one into a folder, encrypt_tree makes one from a file")
        raise error
    path = _native.without_scheme(path)
    if mode == "rb":
        raw = SealedIO(path, key, associated_data)
        size = io.DEFAULT_BUFFER_SIZE if buffering < 0 else buffering
        return io.BufferedReader(raw, size) if size else raw
    if mode == "xb" and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    if_exists = "overwrite" if mode == "wb" else "fail"
    return EncryptingStream(_native.EncryptingStream.create(key, associated_data, path, if_exists))


def _associated_data(given: Buffer | None, aad: Buffer | None) -> Buffer | None:
    if aad is None:
        return given
    if given:
        raise TypeError("aad is the former name of associated_data; give one of them")
    warnings.warn("the parameter aad is now called associated_data", DeprecationWarning, stacklevel=3)
    return aad
