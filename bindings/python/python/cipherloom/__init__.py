"""Encrypt, verify, decrypt and re-key trees of files on every core, in formats that others can open.

>>> import cipherloom as cl
>>> key = cl.Keyset.generate()
>>> cipher = cl.StreamingAead(key)
>>> sealed = cipher.encrypt(b"It was a bright cold day", associated_data=b"chapter 1")
>>> cipher.decrypt(sealed, associated_data=b"chapter 1")
b'It was a bright cold day'

The format is Tink Streaming AEAD: Tink for Python, Go and Java opens the same files with the same keyset.
"""

from cipherloom import age, envelope, exceptions, hazmat, lcp
from cipherloom._native import Keyset, templates
from cipherloom._listing import ListedEntry, Listing, list_tree
from cipherloom._options import Options
from cipherloom._plan import Plan, StorePlan, plan
from cipherloom._report import Failure, IndexReport, Report
from cipherloom._streaming import DecryptingStream, EncryptingStream, SealedIO, StreamingAead, open
from cipherloom._trees import decrypt_tree, encrypt_tree, index_tree, rekey_tree, verify_tree
from cipherloom.exceptions import (
    CipherloomError,
    InvalidKey,
    InvalidPublication,
    InvalidRequest,
    InvalidTag,
    LibraryFailed,
    TreeFailed,
)

__all__ = [
    "TEMPLATES",
    "CipherloomError",
    "DecryptingStream",
    "EncryptingStream",
    "Failure",
    "IndexReport",
    "InvalidKey",
    "InvalidPublication",
    "InvalidRequest",
    "InvalidTag",
    "Keyset",
    "Options",
    "LibraryFailed",
    "ListedEntry",
    "Listing",
    "Plan",
    "Report",
    "SealedIO",
    "StorePlan",
    "StreamingAead",
    "TreeFailed",
    "age",
    "decrypt_tree",
    "encrypt_tree",
    "envelope",
    "exceptions",
    "hazmat",
    "index_tree",
    "lcp",
    "list_tree",
    "open",
    "plan",
    "rekey_tree",
    "verify_tree",
]

TEMPLATES: tuple[str, ...] = tuple(templates())
"""The names of all key templates, as Tink calls them; the default is AES256_GCM_HKDF_1MB."""

del templates
