"""An encrypted file as a file: seek anywhere, read from there. Only the segments that are touched are decrypted."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from cipherloom import _native
from cipherloom._trees import StrPath
from cipherloom.exceptions import InvalidRequest

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["SealedIO", "open"]


class SealedIO(io.RawIOBase):
    """The plaintext of an encrypted file, unbuffered but for the segment last read. Not to be shared by threads."""

    def __init__(self, path: StrPath, key: _native.Keyset, aad: Buffer = b"") -> None:
        super().__init__()
        self.name = os.fspath(path)
        self._file: _native.SealedFile | None = _native.SealedFile(path, key, aad)
        self._position = 0
        self._start = 0
        self._segment = b""

    @property
    def mode(self) -> str:
        """Always ``"rb"``."""
        return "rb"

    def _opened(self) -> _native.SealedFile:
        if self._file is None:
            raise ValueError("I/O operation on closed file")
        return self._file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        size = self._opened().size
        if whence not in (io.SEEK_SET, io.SEEK_CUR, io.SEEK_END):
            raise ValueError(f"invalid whence ({whence}, should be 0, 1 or 2)")
        target = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: size}[whence]
        if target < 0:
            raise ValueError(f"negative seek position {target}")
        self._position = target
        return target

    def tell(self) -> int:
        self._opened()
        return self._position

    def readinto(self, buffer: Buffer, /) -> int:
        file = self._opened()
        with memoryview(buffer) as view, view.cast("B") as target:
            if not self._start <= self._position < self._start + len(self._segment):
                if self._position >= file.size:
                    return 0
                self._start, self._segment = file.read_segment_at(self._position)
            within = self._position - self._start
            count = min(len(target), len(self._segment) - within)
            target[:count] = self._segment[within : within + count]
        self._position += count
        return count

    def close(self) -> None:
        self._file = None
        self._segment = b""
        super().close()


def open(path: StrPath, key: _native.Keyset, aad: Buffer = b"", *, buffering: int = -1) -> io.BufferedReader | SealedIO:
    """Opens an encrypted file for reading its plaintext anywhere.

    Opening authenticates the last segment, and with it the length; reading authenticates every segment it touches.
    A file of a tree that was encrypted with ``bind_path`` has its relative path as associated data.

    :param aad: the associated data that the file was encrypted with.
    :param buffering: size of the buffer in bytes; 0 for none, which gives the raw file.
    """
    if _native.is_address(path):
        raise InvalidRequest(f"{os.fspath(path)}: objects are not read in place; decrypt_tree fetches one into a folder")
    raw = SealedIO(_native.without_scheme(path), key, aad)
    if buffering == 0:
        return raw
    return io.BufferedReader(raw, io.DEFAULT_BUFFER_SIZE if buffering < 0 else buffering)
