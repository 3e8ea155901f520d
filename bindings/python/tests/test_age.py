"""Files of age, with Go's age beside it (from PATH, at least version 1.3)."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import cipherloom as cl
import pytest
from conftest import files

CHUNK = 64 << 10
WORDS = "correct horse battery staple"

# Wraps a file key by copying it, and asks for a PIN before it unwraps. The bodies of all stanzas have one line.
ASKING_PLUGIN = f"""#!{sys.executable}
import sys


def hear():
    head = sys.stdin.readline().split()[1:]
    return head, sys.stdin.readline().rstrip()


def say(head, body=""):
    print(f"-> {{head}}\\n{{body}}", flush=True)


heard = [hear()]
while heard[-1][0] != ["done"]:
    heard.append(hear())
if sys.argv[1] == "--age-plugin=recipient-v1":
    say("recipient-stanza 0 asks", next(body for head, body in heard if head == ["wrap-file-key"]))
else:
    say("request-secret", "V2hhdCBpcyB0aGUgUElOPw")
hear()
say("done")
"""


@pytest.fixture
def identity() -> cl.age.Identity:
    return cl.age.Identity.generate()


def age(*arguments: str | Path, content: bytes | None = None) -> bytes:
    """Runs age's command; its standard output."""
    return subprocess.run(["age", *arguments], input=content, check=True, capture_output=True).stdout


@pytest.mark.parametrize("post_quantum", [False, True])
def test_age_opens_trees_and_we_open_its_files(tmp_path: Path, tree: Path, post_quantum: bool) -> None:
    identity = cl.age.Identity.generate(post_quantum=post_quantum)
    key = tmp_path / "identity.txt"
    identity.write(key)
    assert key.stat().st_mode & 0o777 == 0o600
    recipient = subprocess.run(["age-keygen", "-y", key], check=True, capture_output=True, text=True).stdout.strip()
    assert recipient == identity.recipient
    report = cl.age.encrypt_tree(tree, tmp_path / "sealed", recipients=[recipient], suffix=".age")
    assert report.files == len(files(tree))
    for name, content in files(tree).items():
        assert age("-d", "-i", key, tmp_path / "sealed" / f"{name}.age") == content
        (tmp_path / "sealed" / f"{name}.age").write_bytes(age("-r", recipient, content=content))
    assert cl.age.verify_tree(tmp_path / "sealed", identities=[key]).files == report.files
    cl.age.decrypt_tree(tmp_path / "sealed", tmp_path / "back", identities=[identity], suffix=".age")
    assert files(tmp_path / "back") == files(tree)


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5_000_000])
@pytest.mark.parametrize("armor", [False, True])
def test_bytes_in_memory(tmp_path: Path, identity: cl.age.Identity, size: int, armor: bool) -> None:
    identity.write(tmp_path / "key")
    data = os.urandom(size)
    sealed = cl.age.encrypt(data, recipients=[identity.recipient], armor=armor)
    assert sealed.startswith(b"-----BEGIN AGE" if armor else b"age-encryption.org/v1\n")
    assert age("-d", "-i", tmp_path / "key", content=sealed) == data
    assert cl.age.decrypt(sealed, identities=[identity]) == data
    theirs = age(*(["-a"] if armor else []), "-r", identity.recipient, content=data)
    assert cl.age.decrypt(bytearray(theirs), identities=[tmp_path / "key"]) == data


def test_passphrases(tmp_path: Path) -> None:
    sealed = cl.age.encrypt(b"told", passphrase=WORDS)
    assert cl.age.decrypt(sealed, passphrase=WORDS.encode()) == b"told"
    with pytest.raises(cl.InvalidTag, match="passphrase does not open"):
        cl.age.decrypt(sealed, passphrase="another")
    with pytest.raises(cl.InvalidTag, match=r"2\^18") as raised:
        cl.age.decrypt(sealed, passphrase=WORDS, max_work_factor=17)
    assert any("max_work_factor=18" in note for note in raised.value.__notes__)


def test_encrypted_identity_files(tmp_path: Path, identity: cl.age.Identity) -> None:
    identity.write(tmp_path / "locked", passphrase=WORDS)
    [again] = cl.age.Identity.read(tmp_path / "locked", passphrase=WORDS)
    assert again.to_secret_text() == identity.to_secret_text()
    with pytest.raises(cl.InvalidKey):
        cl.age.Identity.read(tmp_path / "locked")
    with pytest.raises(cl.InvalidKey):
        cl.age.Identity.read(tmp_path / "locked", passphrase="another")
    with pytest.raises(FileExistsError):
        identity.write(tmp_path / "locked")


def test_random_access(tmp_path: Path, identity: cl.age.Identity) -> None:
    data = os.urandom(10 * CHUNK + 17)
    with cl.age.open(tmp_path / "file", "wb", recipients=[identity.recipient]) as file:
        file.write(data)
    with cl.age.open(tmp_path / "file", identities=[identity]) as file:
        for offset in (9 * CHUNK - 3, 5, 10 * CHUNK + 16):
            file.seek(offset)
            assert file.read(20) == data[offset : offset + 20]
        assert file.seek(0, os.SEEK_END) == len(data)
    (tmp_path / "file").write_bytes((tmp_path / "file").read_bytes()[: -CHUNK])
    with pytest.raises(cl.InvalidTag):
        cl.age.open(tmp_path / "file", identities=[identity])


def test_rekeying(tmp_path: Path, tree: Path, identity: cl.age.Identity) -> None:
    other = cl.age.Identity.generate(post_quantum=True)
    sealed = tmp_path / "sealed"
    cl.age.encrypt_tree(tree, sealed, recipients=[identity.recipient])
    cl.age.rekey_tree(sealed, sealed, identities=[identity], recipients=[other.recipient], if_exists="overwrite")
    cl.age.decrypt_tree(sealed, tmp_path / "back", identities=[other])
    assert files(tmp_path / "back") == files(tree)
    with pytest.raises(cl.TreeFailed, match="mlkem768x25519"):
        cl.age.verify_tree(sealed, identities=[identity])


def test_mistakes(tmp_path: Path, identity: cl.age.Identity) -> None:
    recipient = identity.recipient
    with pytest.raises(cl.InvalidKey):
        cl.age.encrypt(b"", recipients=["age1nobody"])
    with pytest.raises(ValueError):
        cl.age.encrypt(b"", recipients=[recipient], passphrase=WORDS)
    with pytest.raises(cl.CipherloomError):
        cl.age.encrypt(b"")
    with pytest.raises(cl.CipherloomError):
        cl.age.decrypt(cl.age.encrypt(b"", recipients=[recipient]))
    with pytest.raises(TypeError):
        cl.age.encrypt(b"", recipients=recipient)
    with pytest.raises(ValueError):
        cl.age.decrypt(b"", passphrase=WORDS, max_work_factor=31)
    with pytest.raises(ValueError):
        cl.age.open(tmp_path / "file", "wb", identities=[identity])  # type: ignore[call-overload]
    with pytest.raises(cl.InvalidTag, match="1 X25519") as raised:
        cl.age.decrypt(cl.age.encrypt(b"", recipients=[recipient]), identities=[cl.age.Identity.generate()])
    assert raised.value.__notes__


def test_a_plugin_that_asks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = tmp_path / "age-plugin-asks"
    plugin.write_text(ASKING_PLUGIN)
    plugin.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    sealed = cl.age.encrypt(b"told", recipients=["age1asks1qqqsl6rpe4"])
    identity = cl.age.Identity.parse("AGE-PLUGIN-ASKS-1QQQSEMJ2YQ")
    assert "AGE-PLUGIN" not in repr(identity)
    with pytest.raises(cl.InvalidKey, match="age-plugin-asks asked what nobody answered: What is the PIN") as raised:
        cl.age.decrypt(sealed, identities=[identity])
    assert any("nobody answers" in note for note in raised.value.__notes__)


def test_no_secret_leaves_by_accident(identity: cl.age.Identity) -> None:
    assert identity.to_secret_text().startswith("AGE-SECRET-KEY-1")
    assert repr(identity) == f"<cipherloom.age.Identity {identity.recipient}>"
    with pytest.raises(TypeError):
        pickle.dumps(identity)
    parsed = cl.age.Identity.parse(identity.to_secret_text())
    assert parsed.recipient == identity.recipient
