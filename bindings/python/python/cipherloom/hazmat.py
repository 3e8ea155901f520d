"""Hazardous materials: ciphers without authentication, for older formats that require them.

Who can change the ciphertext can change what it decrypts to, and nothing here detects that. A nonce or IV that is used
twice with one key reveals plaintext. Use :class:`cipherloom.StreamingAead` unless a format requires one of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from cipherloom import _native

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["aes_cbc_decrypt", "aes_cbc_encrypt_many", "aes_ctr"]


def aes_cbc_encrypt_many(
    buffers: Iterable[Buffer], key: Buffer, ivs: Iterable[Buffer], *, padding: Literal["pkcs7"] | None = None,
    threads: int | None = None,
) -> list[bytes]:
    """AES-CBC (NIST SP 800-38A, section 6.2) of many buffers under one key of 16, 24 or 32 bytes.

    CBC is a chain within a buffer, so one buffer leaves most of a core's AES unit idle. This function interleaves several; the
    result is the same as one after the other. The interpreter's lock is released.

    :param ivs: one of 16 bytes for each buffer; unpredictable, and never the same twice.
    :param threads: how many threads share them; as many as pay if this is left out.
    :param padding: ``"pkcs7"`` pads each buffer to whole blocks; without it each has a multiple of 16 bytes.
    """
    return _native.aes_cbc_encrypt_many(list(buffers), key, list(ivs), padding=_pads(padding), threads=threads)


def aes_cbc_decrypt(data: Buffer, key: Buffer, iv: Buffer) -> bytes:
    """AES-CBC decryption of whole blocks. The caller checks and removes the padding."""
    return _native.aes_cbc_decrypt(data, key, iv)


def aes_ctr(data: Buffer, key: Buffer, nonce: Buffer) -> bytes:
    """AES-CTR (NIST SP 800-38A, section 6.5); encryption and decryption are the same.

    :param nonce: the first counter block, 16 bytes; the counter is all of it, big-endian, and wraps.
    """
    return _native.aes_ctr(data, key, nonce)


def _pads(padding: str | None) -> bool:
    if padding not in (None, "pkcs7"):
        raise ValueError(f'padding is "pkcs7" or None, not {padding!r}')
    return padding == "pkcs7"
