"""The command under test, and trees of files to give it."""

import os
import subprocess
import time
from pathlib import Path

COMMAND = os.environ["CIPHERLOOM"]

# Gigabytes and large books, which take minutes: `cargo xtask interop --long`.
IS_LONG = "CIPHERLOOM_TEST_LONG" in os.environ

# Exit codes, as the man page has them.
DONE, FAILED, USAGE, PARTIAL, KEY, UNAUTHENTIC, INCOMPLETE = range(7)

TEMPLATES = [
    f"AES{bits}_{kind}_{size}"
    for bits in (128, 256)
    for kind in ("GCM_HKDF", "CTR_HMAC_SHA256")
    for size in ("4KB", "1MB")
]


def segment_size(template):
    return 4096 if template.endswith("4KB") else 1 << 20


def edge_sizes(template):
    """Plaintext lengths around the first three segment ends of every template of this segment size."""
    segment = segment_size(template)
    bits = 128 if "128_" in template else 256
    overhead = 16 if "GCM" in template else 32
    first = segment - (1 + bits // 8 + 7) - overhead
    full = segment - overhead
    ends = [first, first + full, first + 2 * full]
    return sorted({0, 1, 17, *(end + step for end in ends for step in (-1, 0, 1))})


def run(*arguments, code=DONE, **options):
    """Runs the command, wants this exit code (None: any), and gives what it wrote (bytes) as a CompletedProcess."""
    done = subprocess.run(
        [COMMAND, *map(os.fsencode, arguments)], capture_output=True, stdin=subprocess.DEVNULL, timeout=600, **options
    )
    said = done.stderr.decode(errors="replace")
    assert code is None or done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}\n{said}"
    assert "panicked" not in said, said
    return done


def keygen(path, template="AES256_GCM_HKDF_1MB"):
    run("keygen", "-o", path, "--template", template)
    return path


def content(size, seed=1):
    """The same bytes for the same size and seed, without a pattern that hides a swapped block."""
    state, parts, left = seed.to_bytes(8, "little"), [], size
    import hashlib

    stream = hashlib.shake_256(state).digest(min(size, 1 << 20))
    number = 0
    while left > 0:
        part = bytearray(stream[: min(left, len(stream))])
        part[: min(8, len(part))] = number.to_bytes(8, "little")[: len(part)]
        parts.append(bytes(part))
        left -= len(part)
        number += 1
    return b"".join(parts)


def wait_until(is_true):
    for _ in range(6000):
        if is_true():
            return
        time.sleep(0.01)
    raise AssertionError("waited for a minute")


def write_tree(root, files):
    """`files`: relative name (text or bytes) to content (bytes) or size."""
    for number, (name, data) in enumerate(files.items()):
        path = Path(os.fsdecode(os.path.join(os.fsencode(root), os.fsencode(name))))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(data, number) if isinstance(data, int) else data)
    return Path(root)


def read_tree(root):
    """Relative name (bytes) to content of every regular file; other things appear with their kind."""
    found, root = {}, os.fsencode(root)
    for folder, folders, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                found[os.path.relpath(path, root)] = ("link", os.readlink(path))
            else:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, root)] = file.read()
    return found


def message(done):
    return done.stderr.decode(errors="replace")
