"""Keys of every type that age knows, made by age's own programs, and age's command with these.

`age`, `age-keygen`, `age-plugin-batchpass` and `age-plugin-pq` come from PATH, at least version 1.3.
"""

import os
import subprocess
import sys
from pathlib import Path

import age_plugin
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

CHUNK = 64 << 10
SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 1 << 20]
TYPES = ["x25519", "hybrid", "ssh-ed25519", "ssh-rsa", "plugin"]
WORDS = "correct horse battery staple"
# The identity of age's own plugin, which takes passphrases from the environment; age's command asks at a terminal.
BATCHPASS = "AGE-PLUGIN-BATCHPASS-1JCS0Q9"


class Key:
    """A recipient as text, and the file with its identity."""

    def __init__(self, recipient, identity):
        self.recipient, self.identity = recipient, identity


def make(kind, folder):
    """A new key of one of TYPES; its identity goes to a file in `folder`."""
    identity = folder / f"{kind}.identity"
    if kind == "plugin":
        write_secret(identity, f"# the trial token\n{age_plugin.IDENTITY}\n".encode())
        return Key(age_plugin.RECIPIENT, identity)
    if kind.startswith("ssh-"):
        secret = ed25519.Ed25519PrivateKey.generate() if kind == "ssh-ed25519" else rsa.generate_private_key(65537, 2048)
        text = secret.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        )
        write_secret(identity, text)
        public = secret.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        return Key(public.decode(), identity)
    options = ["-pq"] if kind == "hybrid" else []
    subprocess.run(["age-keygen", *options, "-o", identity], check=True, capture_output=True)
    shown = subprocess.run(["age-keygen", "-y", identity], check=True, capture_output=True, text=True)
    return Key(shown.stdout.strip(), identity)


def converted(identity, form, words=None):
    """An SSH private key in another form of pyca's, perhaps encrypted."""
    secret = serialization.load_ssh_private_key(identity.read_bytes(), None)
    lock = serialization.BestAvailableEncryption(words.encode()) if words else serialization.NoEncryption()
    return secret.private_bytes(serialization.Encoding.PEM, getattr(serialization.PrivateFormat, form), lock)


def write_secret(path, contents):
    path.touch(0o600)
    path.write_bytes(contents)
    return path


def link_plugin(folder):
    """Puts `age-plugin-trial` into a folder, which is to stand in PATH."""
    program = folder / "age-plugin-trial"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {Path(age_plugin.__file__).resolve()} \"$@\"\n")
    program.chmod(0o755)


def age(*arguments, content=None, code=0, **environment):
    """Runs age's command; its standard output."""
    path = ["age", *map(os.fsencode, arguments)]
    done = subprocess.run(path, input=content, capture_output=True, env={**os.environ, **environment}, timeout=60)
    assert done.returncode == code, f"age {arguments}: {done.returncode}\n{done.stderr.decode(errors='replace')}"
    return done.stdout


def age_with_passphrase(option, content, words=WORDS, work_factor=10):
    """Encrypts ("-e") or decrypts ("-d") with a passphrase."""
    environment = {"AGE_PASSPHRASE": words, "AGE_PASSPHRASE_WORK_FACTOR": str(work_factor)}
    return age(option, "-j", "batchpass", content=content, **environment)


def header_length(file):
    """How many bytes precede the payload's nonce."""
    start = file.index(b"\n--- ") + 1
    return file.index(b"\n", start) + 1
