"""Checks vectors.json with pyca/cryptography and Python's own PBKDF2: each opens to the pattern.

Needs the package in requirements.txt.
"""

import base64
import hashlib
import json
import pathlib

from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


def pattern(length: int) -> bytes:
    return bytes((i % 251) ^ (i // 251 & 255) for i in range(length))


def decrypt(cipher: str, key: bytes, iv: bytes, body: bytes) -> bytes:
    mode = modes.CBC(iv) if cipher.endswith("cbc") else modes.CTR(iv)
    decryptor = Cipher(algorithms.AES(key), mode).decryptor()
    text = decryptor.update(body) + decryptor.finalize()
    if cipher.endswith("cbc"):
        unpadder = padding.PKCS7(128).unpadder()
        text = unpadder.update(text) + unpadder.finalize()
    return text


def main() -> None:
    content = json.loads((pathlib.Path(__file__).parent / "vectors.json").read_text())
    for vector in content["raw"]:
        key, iv = bytes.fromhex(vector["key"]), bytes.fromhex(vector["iv"])
        text = decrypt(vector["cipher"], key, iv, base64.b64decode(vector["ciphertext"]))
        assert text == pattern(vector["plaintext_len"]), vector
    for vector in content["passphrase"]:
        stream = base64.b64decode(vector["ciphertext"])
        assert stream[:8] == b"Salted__", vector
        size = int(vector["cipher"][4:7]) // 8
        passphrase = vector["passphrase"].encode()
        derived = hashlib.pbkdf2_hmac("sha256", passphrase, stream[8:16], vector["iterations"], size + 16)
        text = decrypt(vector["cipher"], derived[:size], derived[size:], stream[16:])
        assert text == pattern(vector["plaintext_len"]), vector
    print(f"vectors.json: {len(content['raw'])} raw and {len(content['passphrase'])} passphrase vectors open")


if __name__ == "__main__":
    main()
