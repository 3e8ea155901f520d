"""Cobblestone of pyca/cryptography, both ways, with and without a context."""

import peers
import pytest
import tool

CHUNK = 16 * 1024
SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK - 1, 3 * CHUNK, 3 * CHUNK + 1, 1_000_000]


@pytest.mark.parametrize("context", ["", "example.invalid books"])
@pytest.mark.parametrize("bits", [128, 256])
def test_both_directions(tmp_path, bits, context):
    peer = peers.Cobblestone(bits)
    secret = peer.encryptor.generate_key()
    key = tmp_path / "key.hex"
    key.write_text(secret.hex() + "\n")
    key.chmod(0o600)
    flags = ["--format", "cobblestone", "--raw-key", key] + (["--context", context] if context else [])
    plain = tool.write_tree(tmp_path / "plain", {f"size-{size}": size for size in SIZES})
    tool.run("encrypt", plain, tmp_path / "ours", *flags)
    for path in sorted(plain.iterdir()):
        sealed = (tmp_path / "ours" / path.name).read_bytes()
        assert peer.decrypt(secret, context.encode(), sealed) == path.read_bytes(), path.name

    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for path in plain.iterdir():
        (theirs / path.name).write_bytes(peer.encrypt(secret, context.encode(), path.read_bytes()))
    tool.run("verify", theirs, *flags)
    tool.run("decrypt", theirs, tmp_path / "back", *flags)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)

    wrong = ["--format", "cobblestone", "--raw-key", key, "--context", "another"]
    tool.run("decrypt", theirs, tmp_path / "none", *wrong, code=tool.UNAUTHENTIC)
    assert tool.read_tree(tmp_path / "none") == {}
