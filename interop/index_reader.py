"""Reads the index of an encrypted tree with nothing of cipherloom: docs/formats.md in 190 lines of Python.

python index_reader.py TREE KEY.json prints a line of JSON for each entry.
"""

import base64
import hashlib
import json
import sys
from hmac import compare_digest
from pathlib import Path

from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

HASHES = {1: hashes.SHA1, 3: hashes.SHA256, 4: hashes.SHA512}
# By flags, less the one for no time.
KINDS = {1: "folder", 3: "link"} | {2 | more: "file" for more in range(0, 256, 4) if not more & 16}


def require(condition, problem):
    """Refuses what no writer makes; unlike an assertion, also with python -O."""
    if not condition:
        raise ValueError(problem)


def number(data, at):
    """A number in base 128, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            require(value < 1 << 64 and (data[at - 1] or shift == 7), "a number that no writer makes")
            return value, at


def text(data, at):
    """Bytes with their length in front, and where they end."""
    length, at = number(data, at)
    require(length <= 65_535 and at + length <= len(data), "a length that no writer makes")
    return data[at : at + length], at + length


def message(data):
    """A protobuf message of numbers and bytes."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = number(data, at)
        fields[tag >> 3], at = number(data, at)
        if tag & 7 == 2:
            fields[tag >> 3], at = data[at : at + fields[tag >> 3]], at + fields[tag >> 3]
    return fields


def keys(path):
    """The streaming keys of a keyset, by identifier."""
    entries = [entry for entry in json.loads(Path(path).read_text())["key"] if entry["status"] == "ENABLED"]
    return {entry["keyId"]: message(base64.b64decode(entry["keyData"]["value"])) for entry in entries}


def open_stream(key, label, data):
    """The plaintext of a Tink stream with this associated data."""
    params = message(key[2])
    size, derived_size, tag_params = params[1], params[2], message(params.get(4, b""))
    header = 1 + derived_size + 7
    require(data[:1] == bytes([header]), "not a stream of this key")
    salt, prefix = data[1 : 1 + derived_size], data[1 + derived_size : header]
    derived = HKDF(HASHES[params[3]](), derived_size + (32 if tag_params else 0), salt, label).derive(key[3])
    segments = [data[max(start, header) : start + size] for start in range(0, len(data), size)]
    plaintext = b""
    for index, segment in enumerate(segments):
        nonce = prefix + index.to_bytes(4, "big") + bytes([index == len(segments) - 1])
        if not tag_params:
            plaintext += AESGCM(derived).decrypt(nonce, segment, None)
            continue
        body, tag = segment[: -tag_params[2]], segment[-tag_params[2] :]
        mac = hmac.HMAC(derived[derived_size:], HASHES[tag_params[1]]())
        mac.update(nonce + bytes(4) + body)
        require(compare_digest(mac.finalize()[: tag_params[2]], tag), "a segment is not authentic")
        plaintext += Cipher(algorithms.AES(derived[:derived_size]), modes.CTR(nonce + bytes(4))).decryptor().update(body)
    return plaintext


def read_root(keys, data):
    """Tree, generation, time, the root before, and the parts: (name, length, content, key, entries)."""
    for key in keys.values():
        try:
            root = open_stream(key, b"\0cipherloom index root 1", data)
            break
        except Exception:  # noqa: BLE001: another key
            continue
    else:
        raise ValueError("no key opens the root")
    big = lambda start, end: int.from_bytes(root[start:end], "big")  # noqa: E731
    parts = []
    for at in range(68, 68 + 76 * big(64, 68), 76):
        ends = (at + 32, at + 36, at + 68, at + 72, at + 76)
        parts.append((root[at : ends[0]], big(ends[0], ends[1]), root[ends[1] : ends[2]], big(*ends[2:4]), big(*ends[3:5])))
    require(big(16, 24) > 0 and not any(root[68 + 76 * len(parts) :]), "the root is damaged")
    return root[:16], big(16, 24), big(24, 32), root[32:64], parts


def is_path(path):
    """Whether a path leads to something below a root."""
    return len(path) <= 65_535 and b"\0" not in path and not {b"", b".", b".."} & {*path.split(b"/")}


def read_part(data):
    """The entries of a part."""
    require(data[0] == 1, "a part of another format")
    part_key = int.from_bytes(data[1:5], "big")
    suffix, at = text(data, 5)
    path = b""
    while at < len(data) and data[at]:
        flags, at = data[at], at + 1
        require(flags in KINDS or flags & ~16 in KINDS and flags & 3 != 3, "a flag that no writer sets")
        shared, at = number(data, at)
        rest, at = text(data, at)
        require(shared <= len(path), "a path shares more than there is")
        path = path[:shared] + rest
        entry = {"encrypted_path": path, "path": path, "kind": KINDS[flags & ~16]}
        if entry["kind"] == "link":
            entry["target"], at = text(data, at)
        elif entry["kind"] == "file":
            if flags & 4:
                entry["path"], at = text(data, at)
            else:
                require(path.endswith(suffix), "a path without the suffix")
                entry["path"] = path[: len(path) - len(suffix)]
            entry["size"], at = number(data, at)
            more, at = number(data, at)
            entry["encrypted_size"] = entry["size"] + more
        if entry["kind"] != "link":
            entry["mode"], at = number(data, at)
            require(entry["mode"] <= 0o7777, "a mode that no file has")
            if not flags & 16:
                seconds, at = number(data, at)
                seconds = seconds >> 1 if seconds % 2 == 0 else -(seconds >> 1) - 1
                entry["modified"], at = (seconds, int.from_bytes(data[at : at + 4], "big")), at + 4
                require(entry["modified"][1] < 10**9, "a time that no file has")
        if entry["kind"] == "file":
            entry["identity"], at = data[at : at + 16], at + 16
            entry["key_id"] = int.from_bytes(data[at : at + 4], "big") if flags & 8 else part_key
            at += 4 if flags & 8 else 0
            if flags & 32:
                entry["device"], at = number(data, at)
                entry["inode"], at = number(data, at)
            if flags & 64:
                entry["digest"], at = data[at : at + 16], at + 16
            if flags & 128:
                entry["version"], at = data[at : at + 8], at + 8
        require(is_path(entry["path"]) and is_path(path), "a path that leads elsewhere")
        yield entry
    require(not any(data[at:]), "something behind the end of a part")


def identity(path):
    """What tells an encrypted file from all others."""
    data = path.read_bytes()
    return hashlib.sha256(data[: data[0]] + data[data[0] :][-16:]).digest()[:16]


def read(tree, key_file, root="root"):
    """The generation, and all entries in their order."""
    folder, known = Path(tree) / ".cipherloom/index", keys(key_file)
    _, generation, _, _, parts = read_root(known, (folder / root).read_bytes())
    entries = []
    for name, length, _, key_id, count in parts:
        data = (folder / "parts" / name.hex()).read_bytes()
        require(len(data) == length and hashlib.sha256(data).digest() == name, "a part is another one")
        part = list(read_part(open_stream(known[key_id], b"\0cipherloom index part 1", data)))
        require(len(part) == count, "a part has other entries")
        entries += part
    order = [entry["encrypted_path"].rpartition(b"/")[::2] for entry in entries]
    require(order == sorted(set(order)), "the entries are not in their order")
    return generation, entries


if __name__ == "__main__":
    for listed in read(sys.argv[1], sys.argv[2])[1]:
        print(json.dumps(listed, default=lambda value: value.decode(errors="backslashreplace")))
