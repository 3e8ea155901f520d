"""Checks Tink vectors with Tink for Python (C++ inside): valid ones open to the pattern, the others do not open.

Usage: python verify.py [file.json ...]     without files: vectors.json beside this script
Needs the packages in requirements.txt. Any file of the same form can be checked, also one that cipherloom wrote
(cargo run -p cipherloom --example write_vectors > written.json).
"""

import base64
import io
import json
import pathlib
import sys

import tink
from tink import json_proto_keyset_format, secret_key_access, streaming_aead


def pattern(length: int) -> bytes:
    return bytes((i % 251) ^ (i // 251 & 255) for i in range(length))


def opened(primitive, ciphertext: bytes, associated_data: bytes) -> bytes | None:
    """The plaintext, or None if Tink refuses the stream."""
    try:
        with primitive.new_decrypting_stream(io.BytesIO(ciphertext), associated_data) as stream:
            return stream.read()
    except (tink.TinkError, ValueError, OSError):
        return None


def verify(path: pathlib.Path) -> list[str]:
    """The names of the vectors that are not what the file says."""
    content = json.loads(path.read_text())
    primitives = {}
    for name, keyset in content["keysets"].items():
        handle = json_proto_keyset_format.parse(json.dumps(keyset), secret_key_access.TOKEN)
        primitives[name] = handle.primitive(streaming_aead.StreamingAead)
    wrong = []
    for vector in content["vectors"]:
        ciphertext = base64.b64decode(vector["ciphertext"] or "")
        associated_data = base64.b64decode(vector["associated_data"] or "")
        # See the generator: C++ stops at a full last segment and does not look at what follows.
        length = vector["plaintext_len"] if vector["valid"] else vector.get("cpp_opens")
        expected = None if length is None else pattern(length)
        if opened(primitives[vector["keyset"]], ciphertext, associated_data) != expected:
            wrong.append(vector["name"])
    valid = sum(vector["valid"] for vector in content["vectors"])
    print(f"{path.name}: {valid} open, {len(content['vectors']) - valid} are refused, {len(wrong)} are wrong")
    return wrong


def main() -> None:
    streaming_aead.register()
    paths = [pathlib.Path(name) for name in sys.argv[1:]] or [pathlib.Path(__file__).parent / "vectors.json"]
    wrong = [name for path in paths for name in verify(path)]
    if wrong:
        sys.exit("not as expected: " + "; ".join(wrong))


if __name__ == "__main__":
    main()
