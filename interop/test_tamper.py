"""A damaged ciphertext fails alone, and leaves nothing under its final name."""

import pytest
import tool

SEGMENT = 4096


@pytest.fixture
def sealed(tmp_path):
    key = tool.keygen(tmp_path / "key.json", "AES256_GCM_HKDF_4KB")
    plain = tool.write_tree(tmp_path / "plain", {"victim": 5 * SEGMENT, "other": 100_000, "small": 9})
    tool.run("encrypt", plain, tmp_path / "sealed", "--key", key)
    return tmp_path / "sealed"


def segments(data):
    return [data[start : start + SEGMENT] for start in range(0, len(data), SEGMENT)]


def swapped(data):
    parts = segments(data)
    parts[1], parts[2] = parts[2], parts[1]
    return b"".join(parts)


def flipped(position):
    def change(data):
        at = position if position >= 0 else len(data) + position
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]

    return change


DAMAGE = {
    "empty": lambda data: b"",
    "header-cut": lambda data: data[:20],
    "only-the-header": lambda data: data[:40],
    "last-byte-missing": lambda data: data[:-1],
    "last-segment-missing": lambda data: b"".join(segments(data)[:-1]),
    "middle-segment-missing": lambda data: b"".join(segments(data)[:2] + segments(data)[3:]),
    "segments-swapped": swapped,
    "segment-repeated": lambda data: b"".join(segments(data)[:2] + segments(data)[1:]),
    "byte-added": lambda data: data + b"x",
    "header-length-flipped": flipped(0),
    "salt-flipped": flipped(5),
    "first-segment-flipped": flipped(60),
    "middle-flipped": flipped(2 * SEGMENT + 7),
    "last-tag-flipped": flipped(-1),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_damaged_file_fails_alone(tmp_path, sealed, damage, threads):
    victim = sealed / "victim"
    victim.write_bytes(damage(victim.read_bytes()))
    flags = ["--key", tmp_path / "key.json", "--threads", threads]
    done = tool.run("decrypt", sealed, tmp_path / "back", *flags, code=tool.UNAUTHENTIC)
    assert "victim" in tool.message(done)
    expected = tool.read_tree(tmp_path / "plain")
    del expected[b"victim"]
    assert tool.read_tree(tmp_path / "back") == expected
    done = tool.run("verify", sealed, *flags, code=tool.UNAUTHENTIC)
    assert "victim" in tool.message(done)


def test_a_tampered_cbc_padding_leaves_nothing(tmp_path):
    key = tmp_path / "key.hex"
    key.write_text("00" * 16)
    key.chmod(0o600)
    flags = ["--format", "raw", "--cipher", "aes-128-cbc", "--raw-key", key]
    plain = tool.write_tree(tmp_path / "plain", {"victim": 100, "other": 100})
    tool.run("encrypt", plain, tmp_path / "sealed", *flags)
    victim = tmp_path / "sealed/victim"
    victim.write_bytes(victim.read_bytes()[:-1])
    tool.run("decrypt", tmp_path / "sealed", tmp_path / "back", *flags, code=tool.UNAUTHENTIC)
    assert set(tool.read_tree(tmp_path / "back")) == {b"other"}


def test_another_key_opens_nothing(tmp_path, sealed):
    other = tool.keygen(tmp_path / "other.json", "AES256_GCM_HKDF_4KB")
    done = tool.run("decrypt", sealed, tmp_path / "back", "--key", other, code=tool.UNAUTHENTIC)
    assert "key" in tool.message(done)
    assert tool.read_tree(tmp_path / "back") == {}


def test_a_damaged_keyset_is_named(tmp_path, sealed):
    key = tmp_path / "key.json"
    key.write_text(key.read_text()[:-20])
    done = tool.run("decrypt", sealed, tmp_path / "back", "--key", key, code=tool.KEY)
    assert "key.json" in tool.message(done)


def test_a_keyset_that_others_can_read_is_warned_about(tmp_path, sealed):
    key = tmp_path / "key.json"
    key.chmod(0o644)
    done = tool.run("verify", sealed, "--key", key)
    assert "key.json" in tool.message(done) and "600" in tool.message(done)
