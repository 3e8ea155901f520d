"""AWS Key Management Service for envelopes. Needs boto3: ``pip install cipherloom[aws]``.

Region, endpoint and credentials come from where boto3 looks for them. The key policy decides what a principal may do with an
envelope: ``kms:GenerateDataKey`` to wrap, ``kms:Decrypt`` to unwrap, ``kms:ReEncryptFrom`` and ``kms:ReEncryptTo`` to
rewrap. Each can be restricted to a context (``kms:EncryptionContext:…``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cipherloom.envelope import DATA_KEY_BYTES, KeyService
from cipherloom.exceptions import InvalidKey

__all__ = ["Kms"]


class Kms:
    """A key of AWS KMS.

    :param key_id: the key's identifier, ARN or alias (``alias/…``). It wraps, and only it unwraps: an envelope that another
        key wrapped is refused, even if the caller may use that key.
    :param client: a boto3 client for ``kms``; made from the environment if it is left out.
    """

    name = "aws-kms"

    def __init__(self, key_id: str, *, client: Any = None) -> None:
        self.key_id = key_id
        self._client = client if client is not None else _client()

    def __repr__(self) -> str:
        return f"Kms({self.key_id!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Elsewhere the client is made from that machine's environment: its credentials are not sent.
        return Kms, (self.key_id,)

    def new_data_key(self, context: Mapping[str, str]) -> tuple[bytearray, bytes, str]:
        """GenerateDataKey."""
        told = self._ask(
            "generate_data_key", KeyId=self.key_id, NumberOfBytes=DATA_KEY_BYTES, EncryptionContext=dict(context)
        )
        return bytearray(told.pop("Plaintext")), told["CiphertextBlob"], told["KeyId"]

    def open_data_key(self, wrapped: bytes, context: Mapping[str, str]) -> bytearray:
        """Decrypt, with this key only. Without ``KeyId`` the service takes any key that the caller may use, and so an envelope
        that somebody else made under their own key."""
        told = self._ask(
            "decrypt", CiphertextBlob=wrapped, KeyId=self.key_id, EncryptionContext=dict(context)
        )
        return bytearray(told.pop("Plaintext"))

    def rewrap_data_key(
        self, wrapped: bytes, context: Mapping[str, str], source: KeyService | None = None
    ) -> tuple[bytes, str]:
        """ReEncrypt to this key, from that of ``source``; without one from this key, whose material may have been rotated."""
        source = self if source is None else source
        if not isinstance(source, Kms):
            raise TypeError(f"the key that wrapped the envelope is a Kms, not {type(source).__name__}")
        context = dict(context)
        told = self._ask(
            "re_encrypt", CiphertextBlob=wrapped, SourceKeyId=source.key_id, SourceEncryptionContext=context,
            DestinationKeyId=self.key_id, DestinationEncryptionContext=context,
        )  # fmt: skip
        return told["CiphertextBlob"], told["KeyId"]

    def _ask(self, action: str, **request: Any) -> dict[str, Any]:
        import botocore.exceptions

        try:
            answer: dict[str, Any] = getattr(self._client, action)(**request)
        except botocore.exceptions.ClientError as error:
            # Requests, and answers with an error, hold no plaintext.
            code = error.response.get("Error", {}).get("Code", "unknown")
            raise InvalidKey(
                f"AWS KMS refused to {action.replace('_', ' ')} ({code}); check the key, its policy, and that the "
                "context is the one that the envelope was made with"
            ) from error
        except botocore.exceptions.BotoCoreError as error:
            raise ConnectionError(f"AWS KMS cannot be reached: {error}") from error
        return answer


def _client() -> Any:
    try:
        import boto3
    except ImportError as error:
        raise ImportError("AWS KMS needs boto3: pip install cipherloom[aws]") from error
    return boto3.client("kms")
