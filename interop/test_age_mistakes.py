"""What goes wrong with files of age: each mistake has an exit code, a message, a hint, and leaves nothing behind."""

import os
from pathlib import Path

import age_keys
import age_plugin
import pexpect
import pytest
import tool
from age_keys import WORDS, age, age_with_passphrase

TEXT = b"It was a bright cold day in April.\n"


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "keys"
    folder.mkdir()
    return folder


@pytest.fixture
def path_with_plugin(home, monkeypatch):
    age_keys.link_plugin(home)
    monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")


@pytest.fixture
def trial(home, path_with_plugin):
    return age_keys.make("plugin", home)


def sealed_for(tmp_path, *recipients):
    path = tmp_path / "sealed"
    path.write_bytes(age(*[word for recipient in recipients for word in ("-r", recipient)], content=TEXT))
    return path


def refused(tmp_path, source, *flags, code, says, hints="", **options):
    """Decrypts in vain; the message and the hint hold these words, and no output is left."""
    done = tool.run("decrypt", source, tmp_path / "opened", *flags, code=code, **options)
    said = tool.message(done)
    lines = said.splitlines()
    assert any(says in line for line in lines if not line.startswith("hint: ")), said
    assert any(line.startswith("hint: ") and hints in line for line in lines), said
    assert "\x1b" not in said
    assert not (tmp_path / "opened").exists()
    return said


def test_without_a_matching_identity_the_types_are_told(tmp_path, home):
    reader, other, hybrid = (age_keys.make(kind, home) for kind in ("ssh-ed25519", "x25519", "hybrid"))
    sealed = sealed_for(tmp_path, reader.recipient, other.recipient)
    flags = ["--identity", hybrid.identity]
    refused(tmp_path, sealed, *flags, code=tool.UNAUTHENTIC, says="1 ssh-ed25519, 1 X25519", hints="--identity")


def test_stanzas_of_unknown_types_are_passed_over(tmp_path, home, path_with_plugin):
    """The trial plugin is there for age to encrypt, and gone when we decrypt."""
    reader = age_keys.make("x25519", home)
    sealed = sealed_for(tmp_path, age_plugin.RECIPIENT, reader.recipient)
    (home / "age-plugin-trial").unlink()
    assert tool.run("decrypt", sealed, "-", "--identity", reader.identity).stdout == TEXT
    stranger = age_keys.make("ssh-rsa", home)
    flags = ["--identity", stranger.identity]
    refused(tmp_path, sealed, *flags, code=tool.UNAUTHENTIC, says="1 trial, 1 X25519")


def test_a_wrong_passphrase_and_a_damaged_header_are_told_apart(tmp_path):
    whole = age_with_passphrase("-e", TEXT)
    words = age_keys.write_secret(tmp_path / "words", WORDS.encode())
    wrong = age_keys.write_secret(tmp_path / "wrong", b"battery horse")
    sealed = tmp_path / "sealed"
    sealed.write_bytes(whole)
    flags = ["--format", "age", "--passphrase-file"]
    refused(tmp_path, sealed, *flags, wrong, code=tool.UNAUTHENTIC, says="passphrase does not open", hints="spelling")
    authentication = whole.index(b"\n--- ") + 5
    changed = b"A" if whole[authentication : authentication + 1] != b"A" else b"B"
    sealed.write_bytes(whole[:authentication] + changed + whole[authentication + 1 :])
    refused(tmp_path, sealed, *flags, words, code=tool.UNAUTHENTIC, says="header was changed")
    sealed.write_bytes(whole.replace(b"-> scrypt", b"-> \xff", 1))
    refused(tmp_path, sealed, *flags, words, code=tool.UNAUTHENTIC, says="malformed")


def test_a_file_may_not_ask_for_hours(tmp_path):
    words = age_keys.write_secret(tmp_path / "words", WORDS.encode())
    sealed = tmp_path / "sealed"
    sealed.write_bytes(age_with_passphrase("-e", TEXT, work_factor=10).replace(b" 10\n", b" 30\n", 1))
    flags = ["--format", "age", "--passphrase-file", words]
    refused(tmp_path, sealed, *flags, code=tool.UNAUTHENTIC, says="2^30", hints="--max-work-factor 30")
    sealed.write_bytes(age_with_passphrase("-e", TEXT, work_factor=12))
    lower = [*flags, "--max-work-factor", "11"]
    refused(tmp_path, sealed, *lower, code=tool.UNAUTHENTIC, says="2^12", hints="--max-work-factor 12")
    assert tool.run("decrypt", sealed, "-", *flags, "--max-work-factor", "12").stdout == TEXT


def test_the_wrong_kind_of_secret_is_told(tmp_path, home):
    reader = age_keys.make("x25519", home)
    sealed = tmp_path / "sealed"
    sealed.write_bytes(age_with_passphrase("-e", TEXT))
    refused(tmp_path, sealed, "--identity", reader.identity, code=tool.UNAUTHENTIC, says="passphrase", hints="--passphrase")
    sealed.write_bytes(age("-r", reader.recipient, content=TEXT))
    words = age_keys.write_secret(tmp_path / "words", WORDS.encode())
    flags = ["--format", "age", "--passphrase-file", words]
    refused(tmp_path, sealed, *flags, code=tool.UNAUTHENTIC, says="1 X25519", hints="--identity")


@pytest.mark.parametrize(
    "name, contents, says",
    [
        ("empty", b"# nobody\n", "no identity"),
        ("recipient", b"age1trial1vd5hq6r9wfkx7mmd2jxq3l\n", "line 1"),
        ("checksum", b"#\nAGE-PLUGIN-TRIAL-1VD5HQ6R9WFKX7MMDERCH85\n", "line 2"),
        ("binary", bytes(range(256)), "line 1"),
    ],
)
def test_identity_files_that_are_none(tmp_path, name, contents, says):
    identity = age_keys.write_secret(tmp_path / f"{name}.txt", contents)
    sealed = tmp_path / "sealed"
    sealed.write_bytes(age_with_passphrase("-e", TEXT))
    said = refused(tmp_path, sealed, "--identity", identity, code=tool.KEY, says=f"{name}.txt: ")
    assert says in said


@pytest.mark.parametrize("recipient", ["", "age1nobody", "AGE-SECRET-KEY-1", "ssh-dss AAAA", "someone@example.com"])
def test_recipients_that_are_none(tmp_path, recipient):
    plain = tool.write_tree(tmp_path / "plain", {"file": 10})
    flags = ["--format", "age", "--recipient", recipient]
    done = tool.run("encrypt", plain, tmp_path / "sealed", *flags, code=tool.KEY)
    assert "recipient" in tool.message(done) and "hint: " in tool.message(done)
    assert not (tmp_path / "sealed").exists()


def test_a_plugin_that_is_missing(tmp_path, home, trial):
    sealed = sealed_for(tmp_path, trial.recipient)
    (home / "age-plugin-trial").unlink()
    refused(tmp_path, sealed, "--identity", trial.identity, code=tool.FAILED, says="age-plugin-trial", hints="PATH")
    done = tool.run("encrypt", sealed, tmp_path / "again", "--format", "age", "-r", trial.recipient, code=tool.FAILED)
    assert "age-plugin-trial" in tool.message(done)
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("manner", ["crash", "garbage", "endless", "refuse", "twice"])
def test_a_plugin_that_misbehaves(tmp_path, trial, monkeypatch, manner):
    sealed = sealed_for(tmp_path, trial.recipient)
    monkeypatch.setenv("TRIAL", manner)
    refused(tmp_path, sealed, "--identity", trial.identity, code=tool.FAILED, says="age-plugin-trial")


def test_a_plugin_that_opens_nothing(tmp_path, trial, monkeypatch):
    sealed = sealed_for(tmp_path, trial.recipient)
    monkeypatch.setenv("TRIAL", "unsuited")
    refused(tmp_path, sealed, "--identity", trial.identity, code=tool.UNAUTHENTIC, says="1 trial")


def test_a_plugin_that_hangs_is_ended_with_ctrl_c(tmp_path, trial, monkeypatch):
    sealed = sealed_for(tmp_path, trial.recipient)
    monkeypatch.setenv("TRIAL", "hang")
    begun = tmp_path / "begun"
    monkeypatch.setenv("TRIAL_BEGUN", str(begun))
    child = pexpect.spawn(tool.COMMAND, decryption(tmp_path, sealed, trial), timeout=60)
    tool.wait_until(begun.exists)
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    tool.wait_until(lambda: not is_running(begun.read_text()))
    assert not (tmp_path / "opened").exists()


def test_a_touch_is_asked_for_at_the_terminal(tmp_path, trial, monkeypatch):
    sealed = sealed_for(tmp_path, trial.recipient)
    monkeypatch.setenv("TRIAL", "touch")
    child = pexpect.spawn(tool.COMMAND, decryption(tmp_path, sealed, trial), timeout=60)
    child.expect("trial: touch the trial token")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0 and (tmp_path / "opened").read_bytes() == TEXT


def test_a_pin_is_asked_for_once_for_each_file_and_never_shown(tmp_path, trial, monkeypatch):
    sealed = sealed_for(tmp_path, trial.recipient)
    monkeypatch.setenv("TRIAL", "pin")
    child = pexpect.spawn(tool.COMMAND, decryption(tmp_path, sealed, trial), timeout=60)
    child.expect("trial: Enter the PIN of the trial token: ")
    child.sendline("1234")
    child.expect(pexpect.EOF)
    assert b"1234" not in child.before
    child.close()
    assert child.exitstatus == 0 and (tmp_path / "opened").read_bytes() == TEXT


@pytest.mark.parametrize("answer, code", [("1", 0), ("2", tool.UNAUTHENTIC)])
def test_a_plugin_may_ask_for_consent(tmp_path, trial, monkeypatch, answer, code):
    sealed = sealed_for(tmp_path, trial.recipient)
    monkeypatch.setenv("TRIAL", "confirm")
    child = pexpect.spawn(tool.COMMAND, decryption(tmp_path, sealed, trial), timeout=60)
    child.expect("Use the trial token.*1.*use it.*2.*leave it")
    child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code and (tmp_path / "opened").exists() == (code == 0)


@pytest.mark.parametrize("manner", ["pin", "confirm"])
def test_without_a_terminal_nobody_answers(tmp_path, trial, monkeypatch, manner):
    sealed = sealed_for(tmp_path, trial.recipient)
    monkeypatch.setenv("TRIAL", manner)
    flags = ["--identity", trial.identity]
    said = refused(tmp_path, sealed, *flags, code=tool.FAILED, says="nobody answered", start_new_session=True)
    assert "no terminal" in said


def test_another_identity_is_tried_where_a_plugin_fails(tmp_path, trial, monkeypatch):
    """age-plugin-batchpass fails without its passphrase, whatever the file has."""
    monkeypatch.delenv("AGE_PASSPHRASE", raising=False)
    other = age_keys.write_secret(tmp_path / "batchpass", age_keys.BATCHPASS.encode())
    sealed = sealed_for(tmp_path, trial.recipient)
    refused(tmp_path, sealed, "--identity", other, code=tool.FAILED, says="AGE_PASSPHRASE")
    assert tool.run("decrypt", sealed, "-", "--identity", other, "--identity", trial.identity).stdout == TEXT


def decryption(tmp_path, sealed, key):
    return ["decrypt", str(sealed), str(tmp_path / "opened"), "--identity", str(key.identity)]


def is_running(process):
    """One that has ended and is not yet waited for has no command line."""
    try:
        return Path("/proc", process, "cmdline").read_bytes() != b""
    except OSError:
        return False
