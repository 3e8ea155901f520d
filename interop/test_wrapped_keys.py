"""Keysets wrapped by us are opened by `age`, and what `age` wraps opens here."""

import json
import subprocess

import peers
import pytest
import tool

WORDS = "correct horse battery staple"


@pytest.fixture
def identity(tmp_path):
    path = tmp_path / "identity.txt"
    subprocess.run(["age-keygen", "-o", path], check=True, capture_output=True)
    recipient = subprocess.run(["age-keygen", "-y", path], check=True, capture_output=True, text=True).stdout.strip()
    return path, recipient


def is_keyset(path):
    keyset = json.loads(path.read_text())
    return keyset["primaryKeyId"] == keyset["key"][0]["keyId"]


def test_age_opens_our_passphrase(tmp_path):
    wrapped, opened = tmp_path / "key.age", tmp_path / "key.json"
    peers.on_a_terminal(tool.COMMAND, "keygen", "-o", wrapped, "--passphrase", passphrase=WORDS)
    peers.on_a_terminal("age", "-d", "-o", opened, wrapped, passphrase=WORDS)
    assert is_keyset(opened)


def test_we_open_the_passphrase_of_age(tmp_path, key, tree):
    wrapped = tmp_path / "key.age"
    peers.on_a_terminal("age", "-p", "-o", wrapped, key, passphrase=WORDS)
    peers.on_a_terminal(tool.COMMAND, "encrypt", tree, tmp_path / "sealed", "--key", wrapped, passphrase=WORDS)
    tool.run("decrypt", tmp_path / "sealed", tmp_path / "back", "--key", key)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(tree)


def test_a_wrong_passphrase_says_so(tmp_path, key, tree):
    wrapped = tmp_path / "key.age"
    peers.on_a_terminal("age", "-p", "-o", wrapped, key, passphrase=WORDS)
    arguments = ["encrypt", tree, tmp_path / "sealed", "--key", wrapped]
    said = peers.on_a_terminal(tool.COMMAND, *arguments, passphrase="wrong", code=tool.KEY)
    assert "passphrase" in said
    assert not (tmp_path / "sealed").exists()


def test_age_opens_what_we_wrapped_for_recipients(tmp_path, identity):
    path, recipient = identity
    wrapped, opened = tmp_path / "key.age", tmp_path / "key.json"
    tool.run("keygen", "-o", wrapped, "--recipient", recipient)
    subprocess.run(["age", "-d", "-i", path, "-o", opened, wrapped], check=True)
    assert is_keyset(opened)


def test_we_open_what_age_wrapped_for_recipients(tmp_path, identity, key, tree):
    path, recipient = identity
    wrapped = tmp_path / "key.age"
    subprocess.run(["age", "-r", recipient, "-o", wrapped, key], check=True)
    tool.run("encrypt", tree, tmp_path / "sealed", "--key", wrapped, "--identity", path)
    tool.run("decrypt", tmp_path / "sealed", tmp_path / "back", "--key", key)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(tree)


def test_age_opens_a_key_file_that_was_changed(tmp_path, identity, key):
    path, recipient = identity
    wrapped, opened = tmp_path / "key.age", tmp_path / "key.json"
    subprocess.run(["age", "-r", recipient, "-o", wrapped, key], check=True)
    refused = tool.run("keys", "add", wrapped, "--identity", path, code=tool.USAGE)
    assert b"does not list the recipients" in refused.stderr
    tool.run("keys", "add", wrapped, "--primary", "--identity", path, "--recipient", recipient)
    subprocess.run(["age", "-d", "-i", path, "-o", opened, wrapped], check=True)
    keyset = json.loads(opened.read_text())
    assert keyset["primaryKeyId"] == keyset["key"][1]["keyId"]
    again, changed = tmp_path / "again.json", tmp_path / "new.txt"
    changed.write_text(WORDS)
    tool.run("keys", "passphrase", wrapped, "--identity", path, "--new-passphrase-file", changed)
    peers.on_a_terminal("age", "-d", "-o", again, wrapped, passphrase=WORDS)
    assert json.loads(again.read_text()) == keyset
