"""Other programs and libraries that read and write the same formats."""

import io
import os
import subprocess
from pathlib import Path

import pexpect
import tink
from cryptography import cobblestone
from tink import json_proto_keyset_format, secret_key_access, streaming_aead

GO_PEER = os.environ["CIPHERLOOM_GO_PEER"]
JAVA_PEER = os.environ["CIPHERLOOM_JAVA_PEER"]

streaming_aead.register()


class TinkPython:
    """Tink for Python, which wraps the C++ library."""

    @staticmethod
    def new_keyset(template, path):
        template = getattr(streaming_aead.streaming_aead_key_templates, template)
        handle = tink.new_keyset_handle(template)
        path.write_text(json_proto_keyset_format.serialize(handle, secret_key_access.TOKEN))
        return path

    @staticmethod
    def _cipher(keyset):
        handle = json_proto_keyset_format.parse(Path(keyset).read_text(), secret_key_access.TOKEN)
        return handle.primitive(streaming_aead.StreamingAead)

    @classmethod
    def encrypt(cls, jobs):
        for keyset, source, target, associated_data in jobs:
            with open(target, "wb") as file:
                with cls._cipher(keyset).new_encrypting_stream(file, associated_data.encode()) as sealed:
                    # A keyset's stream takes at most what fits at a time, so hand it over in pieces.
                    view = memoryview(Path(source).read_bytes())
                    while view:
                        view = view[sealed.write(view[: 1 << 20]) :]

    @classmethod
    def decrypt(cls, jobs):
        for keyset, source, target, associated_data in jobs:
            with open(source, "rb") as file:
                with cls._cipher(keyset).new_decrypting_stream(file, associated_data.encode()) as opened:
                    Path(target).write_bytes(opened.read())


class TinkGo:
    """tink-go, through the program in peers/go."""

    @staticmethod
    def new_keyset(template, path):
        path.write_bytes(subprocess.run([GO_PEER, "tink-keyset", template], check=True, capture_output=True).stdout)
        return path

    @staticmethod
    def _run(command, jobs):
        for keyset, source, target, associated_data in jobs:
            subprocess.run([GO_PEER, command, keyset, source, target, associated_data], check=True)

    @classmethod
    def encrypt(cls, jobs):
        cls._run("tink-encrypt", jobs)

    @classmethod
    def decrypt(cls, jobs):
        cls._run("tink-decrypt", jobs)


class TinkJava:
    """Tink for Java, through the program in peers/java; it makes no keysets here."""

    @staticmethod
    def _run(command, jobs):
        arguments = [argument for job in jobs for argument in (command, *job)]
        path = f"{JAVA_PEER}/classes:{JAVA_PEER}/libraries/*"
        subprocess.run(["java", "-cp", path, "Peer", *arguments], check=True)

    @classmethod
    def encrypt(cls, jobs):
        cls._run("encrypt", jobs)

    @classmethod
    def decrypt(cls, jobs):
        cls._run("decrypt", jobs)


class Cobblestone:
    """The Cobblestone classes of pyca/cryptography."""

    def __init__(self, bits):
        self.bits = bits
        self.encryptor = getattr(cobblestone, f"Cobblestone{bits}Encryptor")
        self.decryptor = getattr(cobblestone, f"Cobblestone{bits}Decryptor")

    def encrypt(self, key, context, plaintext):
        cipher = self.encryptor(key, context)
        return cipher.update(plaintext) + cipher.finalize()

    def decrypt(self, key, context, ciphertext):
        cipher = self.decryptor(key, context)
        return cipher.update(ciphertext) + cipher.finalize()


def openssl(*arguments):
    """`openssl enc` with these arguments; its own words on a failure."""
    done = subprocess.run(["openssl", "enc", *map(os.fsencode, arguments)], capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def on_a_terminal(program, *arguments, passphrase, code=0):
    """Runs a program on a terminal of its own and types the passphrase whenever it asks for one."""
    log = io.BytesIO()
    child = pexpect.spawn(program, [str(argument) for argument in arguments], timeout=60, logfile=log)
    while child.expect([r"(?i)(?:passphrase[^\r\n]*|again): *", pexpect.EOF]) == 0:
        child.sendline(passphrase)
    child.close()
    said = log.getvalue().replace(passphrase.encode(), b"***").decode(errors="replace")
    assert child.exitstatus == code, f"{program} {arguments}: exit code {child.exitstatus}\n{said}"
    return said
