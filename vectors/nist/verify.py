#!/usr/bin/env python3
"""Checks every line of this folder's vectors with pyca/cryptography (OpenSSL's AES)."""

import pathlib
import sys

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

MODES = {"ecb": lambda iv: modes.ECB(), "cbc": modes.CBC, "ctr": modes.CTR}


def lines(path):
    """Yields (mode, key, iv, plaintext, ciphertext); each file names its columns in its first line."""
    of_file = path.stem.removeprefix("aes-")
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            words = line.split()
            mode = of_file if of_file in MODES else words[0]
            yield mode, *(bytes.fromhex(word) if word != "-" else b"" for word in words[-4:])


def main():
    checked = 0
    for path in sorted(pathlib.Path(__file__).parent.glob("*.txt")):
        for mode, key, iv, plaintext, ciphertext in lines(path):
            cipher = Cipher(algorithms.AES(key), MODES[mode](iv))
            sealer, opener = cipher.encryptor(), cipher.decryptor()
            if sealer.update(plaintext) + sealer.finalize() != ciphertext:
                sys.exit(f"{path.name}: encryption gives another ciphertext: {ciphertext.hex()}")
            if opener.update(ciphertext) + opener.finalize() != plaintext:
                sys.exit(f"{path.name}: decryption gives another plaintext: {plaintext.hex()}")
            checked += 1
    if checked < 100:
        sys.exit(f"only {checked} vectors found; the files have been cut")
    print(f"nist: {checked} vectors agree")


if __name__ == "__main__":
    main()
