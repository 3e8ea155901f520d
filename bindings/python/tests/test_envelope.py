"""Envelopes, with AWS KMS as moto serves it on loopback."""

import base64
import json
import os
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import cipherloom as cl
import pytest
from cipherloom import aws, envelope
from conftest import files
from cryptography import cobblestone
from moto.server import ThreadedMotoServer

CONTEXT = {"tree": "books", "owner": "library"}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    known = {
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "eu-west-3",
        "AWS_ENDPOINT_URL_KMS": f"http://{host}:{port}", "NO_PROXY": "127.0.0.1",
    }  # fmt: skip
    before = {name: os.environ.get(name) for name in known}
    os.environ.update(known)
    yield boto3.client("kms")
    server.stop()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


@pytest.fixture
def kms(client: Any) -> aws.Kms:
    return aws.Kms(client.create_key()["KeyMetadata"]["KeyId"])


def test_a_keyset_comes_back_with_its_context_only(kms: aws.Kms, tmp_path: Path, key: cl.Keyset) -> None:
    made = envelope.wrap(key, kms, context=CONTEXT)
    path = tmp_path / "key.kms.json"
    made.write(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        made.write(path)
    again = envelope.read(path)
    assert again == made and again.key_id.endswith(kms.key_id)
    assert again.unwrap(kms).to_json() == key.to_json()
    # Nothing in the file, or in what shows itself, is the secret.
    secret = json.loads(key.to_json())["key"][0]["keyData"]["value"]
    assert secret not in path.read_text() and base64.b64decode(secret) not in made.keyset + made.data_key
    assert "data_key" not in repr(made)
    for wrong in ({}, {"tree": "other"}, CONTEXT | {"more": "1"}):
        changed = json.loads(made.to_json()) | {"context": wrong}
        with pytest.raises(cl.InvalidKey, match="AWS KMS refused to decrypt"):
            envelope.Envelope.from_json(json.dumps(changed)).unwrap(kms)


def test_wrapping_anew_rewrites_neither_keyset_nor_data(
    client: Any, kms: aws.Kms, tree: Path, tmp_path: Path, key: cl.Keyset
) -> None:
    made = envelope.wrap(key, kms, context=CONTEXT)
    cl.encrypt_tree(tree, tmp_path / "out", made.unwrap(kms))
    before = files(tmp_path / "out")
    other = aws.Kms(client.create_key()["KeyMetadata"]["KeyId"])
    anew = made.rewrap(other, source=kms)
    assert anew.keyset == made.keyset and anew.data_key != made.data_key
    assert anew.key_id.endswith(other.key_id)
    assert made.key_id.endswith(kms.key_id), "what was is as it was"
    cl.decrypt_tree(tmp_path / "out", tmp_path / "back", anew.unwrap(other))
    assert files(tmp_path / "out") == before and files(tmp_path / "back") == files(tree)


def test_an_envelope_under_another_key_is_refused(client: Any, kms: aws.Kms, key: cl.Keyset) -> None:
    """Somebody who may write the file puts a keyset of their own there, under a key that this caller may use too."""
    theirs = aws.Kms(client.create_key()["KeyMetadata"]["KeyId"])
    forged = envelope.wrap(cl.Keyset.generate(), theirs, context=CONTEXT)
    named = json.dumps(json.loads(forged.to_json()) | {"keyId": envelope.wrap(key, kms).key_id})
    for made in (forged, envelope.Envelope.from_json(named)):
        with pytest.raises(cl.InvalidKey, match="AWS KMS refused to decrypt"):
            made.unwrap(kms)
    # moto does not look at the source's key: what is asked for is looked at here.
    asked: list[dict[str, str]] = []
    client.meta.events.register("provide-client-params.kms.ReEncrypt", lambda params, **_: asked.append(params))
    watched = [aws.Kms(known.key_id, client=client) for known in (kms, theirs)]
    made = envelope.wrap(key, watched[0], context=CONTEXT)
    made.rewrap(watched[1], source=watched[0])
    made.rewrap(watched[0])
    assert [request["SourceKeyId"] for request in asked] == [kms.key_id, kms.key_id]
    client.create_alias(AliasName="alias/books", TargetKeyId=kms.key_id)
    assert made.unwrap(aws.Kms("alias/books")).to_json() == key.to_json()


def test_another_library_opens_the_envelope(kms: aws.Kms, key: cl.Keyset) -> None:
    made = envelope.wrap(key, kms, context=CONTEXT)
    data_key = bytes(kms.open_data_key(made.data_key, CONTEXT))
    bound = json.dumps([envelope.FORMAT, "aws-kms", CONTEXT], sort_keys=True, separators=(",", ":")).encode()
    assert opened_by_pyca(data_key, bound, made.keyset) == key.to_json().encode()


def opened_by_pyca(key: bytes, context: bytes, sealed: bytes) -> bytes:
    cipher = cobblestone.Cobblestone256Decryptor(key, context)
    return bytes(cipher.update(sealed) + cipher.finalize())


def test_damage_and_strangers_are_refused(kms: aws.Kms, key: cl.Keyset) -> None:
    made = envelope.wrap(key, kms)
    told = json.loads(made.to_json())
    damaged = bytearray(made.keyset)
    damaged[-1] ^= 1
    with pytest.raises(cl.InvalidTag):
        envelope.Envelope.from_json(
            json.dumps(told | {"keyset": base64.b64encode(damaged).decode()})
        ).unwrap(kms)
    for bad in ("", "[]", "{}", json.dumps(told | {"format": "x"}), json.dumps(told | {"dataKey": "!"}),
                json.dumps(told | {"context": {"a": 1}}), json.dumps(told | {"keyId": 7})):  # fmt: skip
        with pytest.raises(cl.InvalidKey):
            envelope.Envelope.from_json(bad)
    with pytest.raises(TypeError):
        envelope.wrap("key", kms)  # type: ignore[arg-type]
    with pytest.raises(cl.InvalidKey, match="refused"):
        envelope.wrap(key, aws.Kms("alias/nobody"))
    # Another process asks with its own credentials.
    assert pickle.loads(pickle.dumps(kms)).key_id == kms.key_id


class Vault:
    """Another service, as anybody might write one; it keeps what it handed out, to see that it is wiped."""

    name = "a-vault"

    def __init__(self) -> None:
        self.given: list[bytearray] = []

    def new_data_key(self, context: Mapping[str, str]) -> tuple[bytearray, bytes, str]:
        self.given.append(bytearray(os.urandom(32)))
        self.secret = bytes(self.given[-1])
        return self.given[-1], b"wrapped", "the key"

    def open_data_key(self, wrapped: bytes, context: Mapping[str, str]) -> bytearray:
        self.given.append(bytearray(self.secret))
        return self.given[-1]

    def rewrap_data_key(
        self, wrapped: bytes, context: Mapping[str, str], source: envelope.KeyService | None = None
    ) -> tuple[bytes, str]:
        return b"wrapped anew", "the next key"


def test_data_keys_are_wiped_whatever_the_service(kms: aws.Kms, key: cl.Keyset) -> None:
    vault = Vault()
    made = envelope.wrap(key, vault)
    assert made.unwrap(vault).primary_id == key.primary_id
    vault.secret = os.urandom(32)
    with pytest.raises(cl.InvalidTag):
        made.unwrap(vault)
    assert len(vault.given) == 3 and all(given == bytes(32) for given in vault.given)
    assert made.rewrap(vault).key_id == "the next key"
    with pytest.raises(cl.InvalidKey, match="for a-vault, not aws-kms"):
        made.unwrap(kms)
