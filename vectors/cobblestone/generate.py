"""Writes vectors.json: Cobblestone streams made by pyca/cryptography, and streams that must not open.

Needs the package in requirements.txt. Keys and salts are random: every run gives other bytes that mean the same.
"""

import base64
import json
import pathlib

import cryptography
from cryptography import cobblestone
from cryptography.exceptions import InvalidTag

CHUNK = 16384
ENCRYPTED = CHUNK + 16
HEADER = 56
VARIANTS = {
    "AEAD_AES_128_GCM": (cobblestone.Cobblestone128Encryptor, cobblestone.Cobblestone128Decryptor),
    "AEAD_AES_256_GCM": (cobblestone.Cobblestone256Encryptor, cobblestone.Cobblestone256Decryptor),
}

vectors = []


def pattern(length: int) -> bytes:
    return bytes((i % 251) ^ (i // 251 & 255) for i in range(length))


def seal(aead: str, key: bytes, context: bytes, length: int) -> bytes:
    encryptor = VARIANTS[aead][0](key, context)
    return encryptor.update(pattern(length)) + encryptor.finalize()


def opens(aead: str, key: bytes, context: bytes, stream: bytes) -> bytes | None:
    try:
        decryptor = VARIANTS[aead][1](key, context)
        return decryptor.update(stream) + decryptor.finalize()
    except (InvalidTag, ValueError):
        return None


def add(name: str, aead: str, key: bytes, context: bytes, stream: bytes, length: int | None) -> None:
    expected = None if length is None else pattern(length)
    assert opens(aead, key, context, stream) == expected, f"pyca disagrees on {name}"
    vectors.append({
        "name": name, "aead": aead, "key": key.hex(), "context": context.hex(), "valid": length is not None,
        "plaintext_len": length or 0, "ciphertext": base64.b64encode(stream).decode(),
    })


def flipped(stream: bytes, position: int) -> bytes:
    changed = bytearray(stream)
    changed[position] ^= 1
    return bytes(changed)


def variant(aead: str, lengths: list[int]) -> None:
    key, other = (VARIANTS[aead][0].generate_key() for _ in range(2))
    context = b"a context"
    for length in lengths:
        add(f"{aead}, {length} bytes", aead, key, context, seal(aead, key, context, length), length)
    add(f"{aead}, no context", aead, key, b"", seal(aead, key, b"", 33), 33)
    long = pattern(300)
    add(f"{aead}, long context", aead, key, long, seal(aead, key, long, 33), 33)

    small = seal(aead, key, context, 33)
    for name, position in [("salt", 0), ("end of the salt", 23), ("commitment", 24), ("end of the commitment", 55),
                           ("ciphertext", 56), ("tag", -1)]:
        add(f"{aead}, flipped {name}", aead, key, context, flipped(small, position), None)
    for length in [0, 1, 23, 24, 55, 56, 60, 71, 72, len(small) - 1]:
        add(f"{aead}, cut to {length}", aead, key, context, small[:length], None)
    add(f"{aead}, byte behind", aead, key, context, small + b"\0", None)
    add(f"{aead}, byte in front", aead, key, context, b"\0" + small, None)
    add(f"{aead}, wrong key", aead, other, context, small, None)
    add(f"{aead}, wrong context", aead, key, b"a contexT", small, None)
    add(f"{aead}, no context given", aead, key, b"", small, None)
    second = seal(aead, key, context, 33)
    add(f"{aead}, commitment of another stream", aead, key, context, small[:24] + second[24:56] + small[56:], None)
    add(f"{aead}, chunk of another stream", aead, key, context, small[:HEADER] + second[HEADER:], None)


def chunks() -> None:
    """Whole chunks that are missing, swapped or repeated; once, for they are large."""
    aead = "AEAD_AES_256_GCM"
    key = cobblestone.Cobblestone256Encryptor.generate_key()
    stream = seal(aead, key, b"", 2 * CHUNK + 1)
    header, body = stream[:HEADER], stream[HEADER:]
    first, second, last = body[:ENCRYPTED], body[ENCRYPTED:2 * ENCRYPTED], body[2 * ENCRYPTED:]
    add("last chunk missing", aead, key, b"", header + first, None)
    add("first chunk missing", aead, key, b"", header + last, None)
    add("chunks swapped", aead, key, b"", header + second + first + last, None)
    add("middle chunk missing", aead, key, b"", header + first + last, None)


def main() -> None:
    variant("AEAD_AES_128_GCM", [0, 1, 100, CHUNK - 1, CHUNK, CHUNK + 1])
    variant("AEAD_AES_256_GCM", [0, 1, 100, CHUNK])
    chunks()
    content = {"origin": f"pyca/cryptography {cryptography.__version__}", "vectors": vectors}
    path = pathlib.Path(__file__).parent / "vectors.json"
    path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
