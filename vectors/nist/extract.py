#!/usr/bin/env python3
"""Writes the compact selection in this folder from the wheel `cryptography_vectors`.

    pip download --no-deps cryptography_vectors==50.0.2
    python3 extract.py cryptography_vectors-50.0.2-py3-none-any.whl

One vector a line: direction, key, IV (`-` where the mode has none), plaintext, ciphertext, all hex.
The multi-block messages (MMT), GFSbox and KeySbox are kept whole; of the long series VarKey and VarTxt every
eighth vector is kept, and the last.
"""

import pathlib
import sys
import zipfile

FOLDER = "cryptography_vectors/ciphers/AES"
SIZES = (128, 192, 256)
WHOLE = ("GFSbox", "KeySbox", "MMT")
THINNED = ("VarKey", "VarTxt")


def read(text):
    """Yields (direction, key, iv, plaintext, ciphertext) from a CAVP response file."""
    direction, fields = "encrypt", {}
    for line in text.splitlines():
        line = line.strip()
        if line in ("[ENCRYPT]", "[DECRYPT]"):
            direction = line[1:-1].lower()
        elif " = " in line and not line.startswith("#"):
            name, value = line.split(" = ")
            fields[name] = value.lower()
            if {"KEY", "PLAINTEXT", "CIPHERTEXT"} <= fields.keys():
                yield direction, fields["KEY"], fields.get("IV", "-"), fields["PLAINTEXT"], fields["CIPHERTEXT"]
                fields = {}


def thin(vectors):
    vectors = list(vectors)
    kept = []
    for direction in ("encrypt", "decrypt"):
        series = [vector for vector in vectors if vector[0] == direction]
        kept += series[::8] + ([series[-1]] if (len(series) - 1) % 8 else [])
    return kept


def main():
    wheel = zipfile.ZipFile(sys.argv[1])
    here = pathlib.Path(__file__).parent
    series = {"ecb": [], "cbc": [], "ctr": []}
    for size in SIZES:
        for mode in ("ECB", "CBC"):
            for kind in WHOLE + THINNED:
                vectors = read(wheel.read(f"{FOLDER}/{mode}/{mode}{kind}{size}.rsp").decode())
                series[mode.lower()] += [
                    (f"{kind}{size}", *vector) for vector in (thin(vectors) if kind in THINNED else vectors)
                ]
        vectors = read(wheel.read(f"{FOLDER}/CTR/aes-{size}-ctr.txt").decode())
        series["ctr"] += [(f"RFC3686-{size}", *vector) for vector in vectors]
    for mode, vectors in series.items():
        lines = "".join(" ".join(vector) + "\n" for vector in vectors)
        (here / f"aes-{mode}.txt").write_text("# series direction key iv plaintext ciphertext\n" + lines)
        print(mode, len(vectors))


main()
