"""`openssl enc`, both ways, for every cipher of the formats openssl and raw."""

import secrets
import subprocess

import peers
import pytest
import tool

CIPHERS = [f"aes-{bits}-{mode}" for bits in (128, 192, 256) for mode in ("cbc", "ctr")]
SIZES = [0, 1, 15, 16, 17, 4096, 65_535, 1_048_577]


def bits(cipher):
    return int(cipher.split("-")[1])


@pytest.fixture
def plain(tmp_path):
    return tool.write_tree(tmp_path / "plain", {f"size-{size}": size for size in SIZES})


@pytest.mark.parametrize("cipher", CIPHERS)
def test_a_passphrase_both_directions(tmp_path, plain, cipher):
    words = tmp_path / "words"
    words.write_text("correct horse\n")
    words.chmod(0o600)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    flags = ["--format", "openssl", "--cipher", cipher, "--passphrase-file", words, "--pbkdf2-iterations", "1234"]
    their_flags = [f"-{cipher}", "-pbkdf2", "-iter", "1234", "-salt", "-pass", f"file:{words}"]
    tool.run("encrypt", plain, ours, *flags)
    theirs.mkdir()
    for path in plain.iterdir():
        assert peers.openssl("-d", *their_flags, "-in", ours / path.name) == path.read_bytes(), path.name
        peers.openssl(*their_flags, "-in", path, "-out", theirs / path.name)
    tool.run("decrypt", theirs, tmp_path / "back", *flags)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_the_command_that_is_printed_opens_it(tmp_path):
    words = tmp_path / "words"
    words.write_text("correct horse\n")
    words.chmod(0o600)
    plain = tool.write_tree(tmp_path / "plain", {"file": 100})
    flags = ["--format", "openssl", "--cipher", "aes-256-cbc", "--passphrase-file", words]
    done = tool.run("encrypt", plain, tmp_path / "ours", *flags)
    command = tool.message(done).split("openssl enc ")[1].split()
    assert command[-2:] == ["-in", "FILE"]
    opened = peers.openssl(*command[:-1], tmp_path / "ours/file", "-pass", f"file:{words}")
    assert opened == (plain / "file").read_bytes()


def test_their_default_iterations_are_read(tmp_path):
    words = tmp_path / "words"
    words.write_text("correct horse\n")
    words.chmod(0o600)
    plain = tool.write_tree(tmp_path / "plain", {"file": 100})
    peers.openssl("-aes-256-cbc", "-pbkdf2", "-salt", "-pass", f"file:{words}", "-in", plain / "file", "-out", tmp_path / "sealed")
    flags = ["--format", "openssl", "--cipher", "aes-256-cbc", "--passphrase-file", words, "--pbkdf2-iterations", "10000"]
    tool.run("decrypt", tmp_path / "sealed", tmp_path / "back" / "file", *flags)
    assert (tmp_path / "back/file").read_bytes() == (plain / "file").read_bytes()


@pytest.mark.parametrize("digest", ["sha512", None])
def test_other_derivations_are_named_as_causes(tmp_path, digest):
    words = tmp_path / "words"
    words.write_text("correct horse\n")
    words.chmod(0o600)
    derivation = ["-pbkdf2", "-iter", "600000", "-md", digest] if digest else []
    flags = ["--format", "openssl", "--cipher", "aes-256-cbc", "--passphrase-file", words]
    # Wrong padding shows but once in 256 times.
    for attempt in range(4):
        sealed = tmp_path / f"sealed-{attempt}"
        peers.openssl("-aes-256-cbc", *derivation, "-salt", "-pass", f"file:{words}", "-in", words, "-out", sealed)
        command = [tool.COMMAND, "decrypt", sealed, tmp_path / f"back-{attempt}", *flags]
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
        if done.returncode == tool.UNAUTHENTIC:
            assert "-pbkdf2" in tool.message(done) and "-md" in tool.message(done)
            return
    raise AssertionError("four wrong keys gave good padding")


@pytest.mark.parametrize("cipher", CIPHERS)
def test_a_raw_key_bit_for_bit(tmp_path, plain, cipher):
    secret, vector = secrets.token_hex(bits(cipher) // 8), secrets.token_hex(16)
    key = tmp_path / "key.hex"
    key.write_text(secret + "\n")
    key.chmod(0o600)
    flags = ["--format", "raw", "--cipher", cipher, "--raw-key", key]
    their_flags = [f"-{cipher}", "-K", secret]
    for path in plain.iterdir():
        ours = tmp_path / "ours" / path.name
        ours.parent.mkdir(exist_ok=True)
        tool.run("encrypt", path, ours, *flags, "--iv", vector)
        assert ours.read_bytes() == peers.openssl(*their_flags, "-iv", vector, "-in", path), path.name
        tool.run("decrypt", ours, tmp_path / "back" / path.name, *flags, "--iv", vector, "--assume-raw")
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


@pytest.mark.parametrize("cipher", CIPHERS)
def test_the_initialisation_vector_in_front(tmp_path, plain, cipher):
    secret = secrets.token_bytes(bits(cipher) // 8)
    key = tmp_path / "key.bin"
    key.write_bytes(secret)
    key.chmod(0o600)
    flags = ["--format", "raw", "--cipher", cipher, "--raw-key", key]
    tool.run("encrypt", plain, tmp_path / "ours", *flags)
    vectors = set()
    for path in plain.iterdir():
        sealed = (tmp_path / "ours" / path.name).read_bytes()
        vectors.add(sealed[:16])
        (tmp_path / "rest").write_bytes(sealed[16:])
        opened = peers.openssl("-d", f"-{cipher}", "-K", secret.hex(), "-iv", sealed[:16].hex(), "-in", tmp_path / "rest")
        assert opened == path.read_bytes(), path.name
    assert len(vectors) == len(SIZES)
    tool.run("decrypt", tmp_path / "ours", tmp_path / "back", *flags, "--assume-raw")
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_one_key_stream_for_many_files_is_refused(tmp_path, plain):
    key = tmp_path / "key.hex"
    key.write_text(secrets.token_hex(16))
    key.chmod(0o600)
    flags = ["--format", "raw", "--cipher", "aes-128-ctr", "--raw-key", key, "--iv", "00" * 16]
    done = tool.run("encrypt", plain, tmp_path / "ours", *flags, code=tool.USAGE)
    assert "stream" in tool.message(done)
    assert not (tmp_path / "ours").exists() or tool.read_tree(tmp_path / "ours") == {}
