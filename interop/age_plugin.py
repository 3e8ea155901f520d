"""An age plugin that behaves as a test asks: it wraps file keys, asks for a PIN or a touch, crashes, hangs or talks nonsense.

Follows https://c2sp.org/age-plugin. A test links this file as `age-plugin-trial` into a folder of PATH and sets TRIAL:

    (not set)   wraps and unwraps
    pin         asks for a PIN with `request-secret` before it unwraps; the PIN is 1234
    touch       asks for a touch with `msg`, and unwraps half a second later
    confirm     asks with `confirm`, and unwraps if the answer is yes
    refuse      answers with an `error`
    unsuited    unwraps nothing
    crash       exits with code 3 after the first phase
    hang        writes its process number to the file that TRIAL_BEGUN names, and never answers
    garbage     answers with bytes that are no stanza
    endless     answers with a line that never ends
    twice       answers with two file keys

It protects nothing: a stanza's body is the file key with every bit inverted.
"""

import base64
import os
import sys
import time

RECIPIENT = "age1trial1vd5hq6r9wfkx7mmd2jxq3l"
IDENTITY = "AGE-PLUGIN-TRIAL-1VD5HQ6R9WFKX7MMDERCH84"
PIN = b"1234"


def encode(data):
    return base64.b64encode(data).rstrip(b"=")


def decode(text):
    return base64.b64decode(text + b"=" * (-len(text) % 4))


def send(*arguments, body=b""):
    lines = encode(body)
    wrapped = [lines[start : start + 64] for start in range(0, len(lines), 64)]
    if len(lines) % 64 == 0:
        wrapped.append(b"")
    head = b" ".join([b"->", *(argument if isinstance(argument, bytes) else argument.encode() for argument in arguments)])
    sys.stdout.buffer.write(b"\n".join([head, *wrapped]) + b"\n")
    sys.stdout.buffer.flush()


def receive():
    """The arguments of the next stanza, and its body."""
    head = sys.stdin.buffer.readline()
    if not head:
        sys.exit(1)
    body = b""
    while True:
        line = sys.stdin.buffer.readline().rstrip(b"\n")
        body += line
        if len(line) < 64:
            return head.split()[1:], decode(body)


def ask(*arguments, body):
    send(*arguments, body=body)
    answer, value = receive()
    return answer[0] == b"ok", answer[1:], value


def invert(data):
    return bytes(byte ^ 255 for byte in data)


def first_phase():
    stanzas = []
    while True:
        stanza = receive()
        if stanza[0][0] == b"done":
            return stanzas
        stanzas.append(stanza)


def misbehave(manner):
    if manner == "crash":
        sys.exit(3)
    if manner == "hang":
        # Whole from the moment that it has its name: a test waits for it.
        with open(os.environ["TRIAL_BEGUN"] + ".new", "w") as begun:
            begun.write(str(os.getpid()))
        os.rename(begun.name, os.environ["TRIAL_BEGUN"])
        time.sleep(3600)
    if manner == "garbage":
        os.write(1, bytes(range(256)) * 4)
        sys.exit(0)
    if manner == "endless":
        try:
            while True:
                os.write(1, b"x" * 65536)
        except BrokenPipeError:
            sys.exit(0)
    if manner == "refuse":
        ask("error", "internal", body=b"the token is \x1b[31mlocked")
        send("done")
        sys.exit(0)


def may_unwrap(manner):
    if manner == "pin":
        answered, _, pin = ask("request-secret", body=b"Enter the PIN of the trial token")
        return answered and pin == PIN
    if manner == "touch":
        ask("msg", body=b"touch the trial token")
        time.sleep(0.5)
    if manner == "confirm":
        answered, choice, _ = ask("confirm", encode(b"use it"), encode(b"leave it"), body=b"Use the trial token?")
        return answered and choice == [b"yes"]
    return manner != "unsuited"


def wrap(stanzas):
    knows = any(words[:2] == [b"add-recipient", RECIPIENT.encode()] for words, _ in stanzas)
    for _, file_key in [stanza for stanza in stanzas if stanza[0][0] == b"wrap-file-key"]:
        if knows:
            ask("recipient-stanza", "0", "trial", "7", body=invert(file_key))
        else:
            ask("error", "internal", body=b"this is another token's recipient")


def unwrap(stanzas, manner):
    wrapped = [body for words, body in stanzas if words[:3] == [b"recipient-stanza", b"0", b"trial"]]
    if wrapped and may_unwrap(manner):
        for _ in range(2 if manner == "twice" else 1):
            ask("file-key", "0", body=invert(wrapped[0]))


def main():
    stanzas, manner = first_phase(), os.environ.get("TRIAL", "")
    misbehave(manner)
    if sys.argv[1] == "--age-plugin=recipient-v1":
        wrap(stanzas)
    else:
        unwrap(stanzas, manner)
    send("done")


if __name__ == "__main__":
    main()
