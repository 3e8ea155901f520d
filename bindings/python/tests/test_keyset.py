"""Keysets: made, stored, wrapped, refused; and never shown."""

import copy
import json
import os
import pickle
import stat
import subprocess
import traceback
from pathlib import Path

import cipherloom as cl
import pytest
import tink
from tink import json_proto_keyset_format, secret_key_access, streaming_aead

streaming_aead.register()


@pytest.fixture
def identity(tmp_path: Path) -> Path:
    path = tmp_path / "identity.txt"
    subprocess.run(["age-keygen", "-o", path], check=True, capture_output=True)
    return path


@pytest.fixture
def recipient(identity: Path) -> str:
    return subprocess.run(["age-keygen", "-y", identity], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("template", cl.TEMPLATES)
def test_every_template_makes_a_keyset_that_tink_reads(template: str) -> None:
    key = cl.Keyset.generate(template)
    handle = json_proto_keyset_format.parse(key.to_json(), secret_key_access.TOKEN)
    assert handle.keyset_info().primary_key_id == key.primary_id
    assert key.key_ids == [key.primary_id]


@pytest.mark.parametrize("template", cl.TEMPLATES)
def test_every_keyset_of_tinks_is_read(template: str) -> None:
    handle = tink.new_keyset_handle(getattr(streaming_aead.streaming_aead_key_templates, template))
    key = cl.Keyset.from_json(json_proto_keyset_format.serialize(handle, secret_key_access.TOKEN))
    assert key.primary_id == handle.keyset_info().primary_key_id


def test_json_goes_round(key: cl.Keyset) -> None:
    text = key.to_json()
    for json_form in (text, text.encode(), bytearray(text.encode())):
        assert cl.Keyset.from_json(json_form).to_json() == text
    assert json.loads(text)["primaryKeyId"] == key.primary_id


def test_a_key_file_is_its_owners_alone(key: cl.Keyset, tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    old_mask = os.umask(0)
    try:
        key.write(path)
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert cl.Keyset.read(path).to_json() == key.to_json()
    assert cl.Keyset.read(str(path)).primary_id == key.primary_id


def test_a_key_file_is_never_overwritten(key: cl.Keyset, tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text("precious")
    with pytest.raises(FileExistsError) as raised:
        key.write(path)
    assert raised.value.filename == str(path)
    assert path.read_text() == "precious"
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        key.write(tmp_path / "link")


def test_a_passphrase_locks(key: cl.Keyset, tmp_path: Path) -> None:
    path = tmp_path / "key.age"
    key.write(path, passphrase="correct horse")
    assert path.read_bytes().startswith(b"age-encryption.org/v1\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert cl.Keyset.read(path, passphrase=b"correct horse").to_json() == key.to_json()
    with pytest.raises(cl.InvalidKey, match="passphrase does not open"):
        cl.Keyset.read(path, passphrase="battery staple")
    with pytest.raises(cl.InvalidKey, match="give passphrase="):
        cl.Keyset.read(path)


def test_recipients_lock(key: cl.Keyset, tmp_path: Path, identity: Path, recipient: str) -> None:
    wrapped = key.wrap(recipients=[recipient])
    assert cl.Keyset.unwrap(wrapped, identity=identity).to_json() == key.to_json()
    (tmp_path / "wrapped").write_bytes(wrapped)
    opened = subprocess.run(["age", "-d", "-i", identity, tmp_path / "wrapped"], check=True, capture_output=True)
    assert opened.stdout.decode() == key.to_json()
    path = tmp_path / "key.age"
    key.write(path, recipients=[recipient])
    assert cl.Keyset.read(path, identity=identity).primary_id == key.primary_id
    with pytest.raises(cl.InvalidKey, match="give identity="):
        cl.Keyset.read(path)
    with pytest.raises(cl.InvalidKey, match="give identity= instead of passphrase="):
        cl.Keyset.read(path, passphrase="x")
    with pytest.raises(FileNotFoundError):
        cl.Keyset.read(path, identity=tmp_path / "missing")
    damaged = bytearray(wrapped)
    damaged[-1] ^= 1
    with pytest.raises(cl.InvalidKey, match="damaged"):
        cl.Keyset.unwrap(damaged, identity=identity)


def test_an_encrypted_identity_file_needs_its_passphrase(key: cl.Keyset, tmp_path: Path) -> None:
    identity = cl.age.Identity.generate()
    identity.write(tmp_path / "locked.txt", passphrase="correct horse")
    wrapped = key.wrap(recipients=[identity.recipient])
    opened = cl.Keyset.unwrap(wrapped, identity=tmp_path / "locked.txt", passphrase="correct horse")
    assert opened.to_json() == key.to_json()
    with pytest.raises(cl.InvalidKey) as raised:
        cl.Keyset.unwrap(wrapped, identity=tmp_path / "locked.txt")
    assert raised.value.__notes__ == ["hint: give passphrase="]
    with pytest.raises(cl.InvalidKey):
        cl.Keyset.unwrap(wrapped, identity=tmp_path / "locked.txt", passphrase="battery staple")


def test_requests_that_make_no_sense(key: cl.Keyset, tmp_path: Path, identity: Path, recipient: str) -> None:
    key.write(tmp_path / "clear.json")
    for refused in (
        lambda: cl.Keyset.generate("AES512"),
        lambda: key.wrap(),
        lambda: key.wrap(passphrase="x", recipients=[recipient]),
        lambda: cl.Keyset.read(tmp_path / "clear.json", passphrase="x"),
        lambda: cl.Keyset.read(tmp_path / "clear.json", identity=identity),
    ):
        with pytest.raises(cl.InvalidRequest) as raised:
            refused()
        assert isinstance(raised.value, ValueError)
    for unusable in (
        lambda: key.wrap(recipients=[]),
        lambda: key.wrap(recipients=["age1nonsense"]),
        lambda: key.wrap(passphrase=""),
        lambda: key.wrap(passphrase="zero\0byte"),
        lambda: cl.Keyset.from_json("{}"),
        lambda: cl.Keyset.from_json("no JSON"),
        lambda: cl.Keyset.from_json(key.to_json()[:-20]),
        lambda: cl.Keyset.unwrap(key.to_json().encode(), passphrase="x"),
    ):
        with pytest.raises(cl.InvalidKey):
            unusable()
    for wrong_type in (
        lambda: cl.Keyset.from_json(3),  # type: ignore[arg-type]
        lambda: cl.Keyset.read(3),  # type: ignore[arg-type]
        lambda: cl.Keyset.generate(None),  # type: ignore[arg-type]
        lambda: key.wrap(passphrase=3),  # type: ignore[arg-type]
        lambda: cl.Keyset(),
    ):
        with pytest.raises(TypeError):
            wrong_type()
    with pytest.raises(FileNotFoundError) as missing:
        cl.Keyset.read(tmp_path / "missing")
    assert missing.value.filename == str(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        cl.Keyset.read(tmp_path)


def test_no_secret_is_shown(key: cl.Keyset) -> None:
    secret = json.loads(key.to_json())["key"][0]["keyData"]["value"]
    shown = [repr(key), str(key), f"{key}", repr(cl.StreamingAead(key)), repr(vars(cl))]
    with pytest.raises(TypeError):
        pickle.dumps(key)
    with pytest.raises(TypeError):
        copy.deepcopy(key)
    broken = key.to_json().replace("SYMMETRIC", "ASYMMETRIC_PUBLIC")
    for refused in (broken, key.to_json().replace('"status"', '"statu"'), key.to_json()[:-3]):
        with pytest.raises(cl.InvalidKey) as raised:
            cl.Keyset.from_json(refused)
        shown += ["".join(traceback.format_exception(raised.value)), repr(raised.value)]
    with pytest.raises(TypeError) as wrong:
        key.wrap(passphrase=["a secret phrase"])  # type: ignore[arg-type]
    assert "secret phrase" not in str(wrong.value)
    assert len(secret) > 40
    for text in shown:
        assert secret not in text and secret[8:24] not in text
