"""The unauthenticated modes against pyca/cryptography."""

import os

import cipherloom as cl
import numpy
import pytest
from cipherloom import hazmat
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7


def pyca_cbc(data: bytes, key: bytes, iv: bytes) -> bytes:
    encryptor = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    return encryptor.update(data) + encryptor.finalize()


def pkcs7(data: bytes) -> bytes:
    padder = PKCS7(128).padder()
    return padder.update(data) + padder.finalize()


@pytest.mark.parametrize("length", [16, 24, 32])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 16, 33, 100])
def test_cbc_of_many_buffers(length: int, count: int) -> None:
    key = os.urandom(length)
    texts = [os.urandom((37 * index * index) % 5000) for index in range(count)]
    ivs = [os.urandom(16) for _ in texts]
    padded = hazmat.aes_cbc_encrypt_many(texts, key, ivs, padding="pkcs7")
    assert padded == [pyca_cbc(pkcs7(text), key, iv) for text, iv in zip(texts, ivs, strict=True)]
    whole = [text[: len(text) // 16 * 16] for text in texts]
    assert hazmat.aes_cbc_encrypt_many(whole, key, ivs) == [
        pyca_cbc(text, key, iv) for text, iv in zip(whole, ivs, strict=True)
    ]
    for sealed, text, iv in zip(padded, texts, ivs, strict=True):
        assert hazmat.aes_cbc_decrypt(sealed, key, iv) == pkcs7(text)


@pytest.mark.parametrize("length", [16, 24, 32])
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 4096, 100_001])
def test_ctr(length: int, size: int) -> None:
    key, data = os.urandom(length), os.urandom(size)
    for nonce in (os.urandom(16), b"\xff" * 16):
        encryptor = Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()
        sealed = hazmat.aes_ctr(data, key, nonce)
        assert sealed == encryptor.update(data) + encryptor.finalize()
        assert hazmat.aes_ctr(sealed, key, nonce) == data


def test_any_buffer_is_taken() -> None:
    key, iv = bytes(16), bytes(16)
    data = bytes(range(32))
    expected = [pyca_cbc(data, key, iv)] * 3
    buffers = [bytearray(data), memoryview(data), numpy.frombuffer(data, dtype=numpy.uint32)]
    assert hazmat.aes_cbc_encrypt_many(iter(buffers), bytearray(key), (iv, memoryview(iv), bytearray(iv))) == expected


def test_refuses() -> None:
    key, iv = bytes(16), bytes(16)
    for refused in (
        lambda: hazmat.aes_cbc_encrypt_many([b"x" * 17], key, [iv]),
        lambda: hazmat.aes_cbc_encrypt_many([b""], key, []),
        lambda: hazmat.aes_cbc_encrypt_many([b""], bytes(15), [iv]),
        lambda: hazmat.aes_cbc_encrypt_many([b""], key, [bytes(12)]),
        lambda: hazmat.aes_cbc_encrypt_many([b""], key, [iv], padding="zero"),  # type: ignore[arg-type]
        lambda: hazmat.aes_cbc_decrypt(bytes(15), key, iv),
        lambda: hazmat.aes_cbc_decrypt(bytes(16), key, bytes(15)),
        lambda: hazmat.aes_ctr(b"", bytes(33), iv),
        lambda: hazmat.aes_ctr(b"", key, b""),
    ):
        with pytest.raises(ValueError) as raised:
            refused()
        assert len(str(raised.value)) > 20
    for wrong in (
        lambda: hazmat.aes_ctr("text", key, iv),  # type: ignore[arg-type]
        lambda: hazmat.aes_cbc_encrypt_many(["text"], key, [iv]),  # type: ignore[list-item]
        lambda: hazmat.aes_cbc_encrypt_many(b"bytes", key, [iv]),  # type: ignore[arg-type]
    ):
        with pytest.raises((TypeError, ValueError)):
            wrong()
    assert not hasattr(cl, "aes_ctr")
