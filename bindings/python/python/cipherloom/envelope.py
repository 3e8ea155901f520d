"""Envelopes: a keyset under a data key that a key management service keeps.

::

    data key   made by the service; its wrapped form is in the envelope, its plaintext is wiped after use
    keyset     encrypted with the data key (C2SP Cobblestone-256), bound to the service's name and the context
    data       encrypted with the keyset; rewrapping an envelope rewrites none of it

>>> from cipherloom import aws, envelope                                                        # doctest: +SKIP
>>> kms = aws.Kms("alias/books")                                                                # doctest: +SKIP
>>> envelope.wrap(key, kms, context={"tree": "books"}).write("key.kms.json")                     # doctest: +SKIP
>>> key = envelope.read("key.kms.json").unwrap(kms)                                             # doctest: +SKIP

A service is anything with the three methods of :class:`KeyService`; :mod:`cipherloom.aws` has AWS KMS.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from cipherloom import _native
from cipherloom._options import StrPath
from cipherloom.exceptions import InvalidKey

__all__ = ["Envelope", "KeyService", "read", "wrap"]

DATA_KEY_BYTES = 32


class KeyService(Protocol):
    """A service that makes, opens and rewraps data keys. It authenticates and logs the context, so the context must not hold
    secrets."""

    @property
    def name(self) -> str:
        """The kind of service, as the envelope names it: ``"aws-kms"``."""

    def new_data_key(self, context: Mapping[str, str]) -> tuple[bytearray, bytes, str]:
        """A new key of 32 bytes, its wrapped form, and the identifier of the service's key that wraps it."""

    def open_data_key(self, wrapped: bytes, context: Mapping[str, str]) -> bytearray:
        """The data key of a form that this service's key wrapped; a form that another key wrapped is refused. The caller wipes it."""

    def rewrap_data_key(
        self, wrapped: bytes, context: Mapping[str, str], source: KeyService | None = None
    ) -> tuple[bytes, str]:
        """The same data key rewrapped, and the identifier of the key that wraps it now; the data key never leaves the service.
        ``source`` has the key that wrapped it before, if that is another one; a form that neither wrapped is refused."""


@dataclass(frozen=True)
class Envelope:
    """A wrapped keyset. Nothing in it is secret."""

    service: str
    """The kind of service that opens it."""
    key_id: str
    """The service's key, as the service calls it."""
    context: dict[str, str]
    """Names and values that the service authenticates with the data key."""
    data_key: bytes = field(repr=False)
    """The data key as the service wrapped it."""
    keyset: bytes = field(repr=False)
    """The keyset, encrypted with the data key."""

    def unwrap(self, service: KeyService) -> _native.Keyset:
        """The keyset. Raises InvalidKey if the service, or the envelope's own text, does not open."""
        self._check(service)
        plaintext = service.open_data_key(self.data_key, self.context)
        try:
            return _native.open_keyset(self.keyset, plaintext, _bound(self.service, self.context))
        finally:
            wipe(plaintext)

    def rewrap(self, service: KeyService, *, source: KeyService | None = None) -> Envelope:
        """The same keyset under the service's current key: only the data key is rewrapped, within the service; keyset and data stay
        as they are.

        :param source: the service with the key that wrapped it, if that is another one. The key that the envelope names is not
            trusted: somebody else's envelope could then pass for one of yours.
        """
        for known in (service, source or service):
            self._check(known)
        data_key, key_id = service.rewrap_data_key(self.data_key, self.context, source)
        return replace(self, data_key=data_key, key_id=key_id)

    def _check(self, service: KeyService) -> None:
        if service.name != self.service:
            raise InvalidKey(f"the envelope is for {self.service}, not {service.name}")

    def to_json(self) -> str:
        """The content of an envelope's file."""
        fields = {
            "format": FORMAT,
            "service": self.service,
            "keyId": self.key_id,
            "context": self.context,
            "dataKey": base64.b64encode(self.data_key).decode(),
            "keyset": base64.b64encode(self.keyset).decode(),
        }
        return json.dumps(fields, indent=2) + "\n"

    @staticmethod
    def from_json(text: str | bytes) -> Envelope:
        """Reads what :meth:`to_json` wrote."""
        try:
            told: dict[str, Any] = json.loads(text)
            if told["format"] != FORMAT:
                raise InvalidKey(f"the envelope's format is not {FORMAT!r}, which is the only one that this version reads")
            context = told["context"]
            words = [told["service"], told["keyId"], *context.keys(), *context.values()]
            if not all(isinstance(word, str) for word in words):
                raise TypeError
            return Envelope(
                service=told["service"],
                key_id=told["keyId"],
                context=dict(context),
                data_key=base64.b64decode(told["dataKey"], validate=True),
                keyset=base64.b64decode(told["keyset"], validate=True),
            )
        except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
            raise InvalidKey("this is no envelope: one is JSON with format, service, keyId, context, dataKey and keyset")

    def write(self, path: StrPath) -> None:
        """Writes a new file (mode 0600), forced to stable storage. Never overwrites."""
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(self.to_json())
            file.flush()
            os.fsync(file.fileno())


FORMAT = "cipherloom-envelope-1"


def wrap(key: _native.Keyset, service: KeyService, *, context: Mapping[str, str] | None = None) -> Envelope:
    """Puts a keyset under a new data key of the service.

    :param context: names and values that the service authenticates, and demands again; not secret.
    """
    if not isinstance(key, _native.Keyset):
        raise TypeError(f"key is a cipherloom.Keyset, not {type(key).__name__}")
    context = dict(context or {})
    plaintext, wrapped, key_id = service.new_data_key(context)
    try:
        sealed = _native.seal_keyset(key, plaintext, _bound(service.name, context))
    finally:
        wipe(plaintext)
    return Envelope(service.name, key_id, context, wrapped, sealed)


def read(path: StrPath) -> Envelope:
    """Reads an envelope's file."""
    with open(path, "rb") as file:
        return Envelope.from_json(file.read())


def wipe(secret: bytearray) -> None:
    """Overwrites a secret with zeros. Copies that Python made elsewhere stay."""
    secret[:] = bytes(len(secret))


def _bound(service: str, context: Mapping[str, str]) -> bytes:
    """What the keyset's ciphertext is bound to."""
    return json.dumps([FORMAT, service, dict(context)], sort_keys=True, separators=(",", ":")).encode()
