"""The Python package beside the command and beside other libraries for Python, and how soon Ctrl-C stops it.

    target/python-venv/bin/pip install --force-reinstall --no-deps bindings/python      as released: the tests' is not optimised
    target/python-venv/bin/python benchmarks/python.py --command target/<triple>/release/cipherloom [--out record.json]

`--only NAME` takes one part of it: streaming_aead, many_buffers, encrypt_tree or interrupt.

Contestants take turns (A B A B ...); medians. Every first result is checked: trees by decrypting them with the other
contestant and comparing, ciphertexts by opening them with the other library.
"""

import argparse
import datetime
import filecmp
import io
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import cipherloom as cl
import tink
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from tink import json_proto_keyset_format, secret_key_access, streaming_aead

streaming_aead.register()

MB = 1 << 20


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def summary(samples):
    return {
        "median": statistics.median(samples), "least": min(samples), "most": max(samples), "samples": samples
    }  # fmt: skip


class Kept(io.BytesIO):
    """A stream whose bytes outlive it."""

    def close(self):
        pass


def bytes_in_memory(rounds):
    """64 MiB, default template: StreamingAead.encrypt and decrypt against Tink's streams over the same keyset."""
    key = cl.Keyset.generate()
    handle = json_proto_keyset_format.parse(key.to_json(), secret_key_access.TOKEN)
    theirs, ours, data = handle.primitive(streaming_aead.StreamingAead), cl.StreamingAead(key), os.urandom(64 * MB)

    def tink_encrypt():
        kept = Kept()
        with theirs.new_encrypting_stream(kept, b"") as sealed:
            view = memoryview(data)
            while view:
                view = view[sealed.write(view[:MB]) :]
        return kept.getvalue()

    def tink_decrypt(ciphertext):
        with theirs.new_decrypting_stream(io.BytesIO(ciphertext), b"") as opened:
            return opened.read()

    sealed = ours.encrypt(data)
    assert tink_decrypt(sealed) == data, "Tink opens what this package sealed"
    assert ours.decrypt(tink_encrypt()) == data, "this package opens what Tink sealed"
    single = cl.StreamingAead(key, threads=1)
    contestants = {
        "encrypt, cipherloom": lambda: ours.encrypt(data),
        "encrypt, cipherloom, one thread": lambda: single.encrypt(data),
        "encrypt, tink": tink_encrypt,
        "decrypt, cipherloom": lambda: ours.decrypt(sealed),
        "decrypt, tink": lambda: tink_decrypt(sealed),
    }
    times = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            times[name].append(timed(work)[0])
    return {
        "bytes": len(data),
        "seconds": {name: summary(samples) for name, samples in times.items()},
        "encrypt_ratio": statistics.median(
            t / o for t, o in zip(times["encrypt, tink"], times["encrypt, cipherloom"], strict=True)
        ),
        "decrypt_ratio": statistics.median(
            t / o for t, o in zip(times["decrypt, tink"], times["decrypt, cipherloom"], strict=True)
        ),
    }


def many_buffers(rounds):
    """hazmat.aes_cbc_encrypt_many, AES-256, against a loop over pyca/cryptography's ciphers."""
    key, results = os.urandom(32), {}
    for count, size in ((10_000, 256), (1_000, 4096), (1_000, 65_536), (16, 4 * MB)):
        noise = os.urandom(size + count)
        buffers = [noise[index : index + size] for index in range(count)]
        ivs = [os.urandom(16) for _ in range(count)]

        def loop(buffers=buffers, ivs=ivs):
            sealed = []
            for buffer, iv in zip(buffers, ivs, strict=True):
                encryptor = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
                sealed.append(encryptor.update(buffer) + encryptor.finalize())
            return sealed

        contestants = {
            "cipherloom": lambda buffers=buffers, ivs=ivs: cl.hazmat.aes_cbc_encrypt_many(buffers, key, ivs),
            "cipherloom, one thread": lambda buffers=buffers, ivs=ivs: cl.hazmat.aes_cbc_encrypt_many(
                buffers, key, ivs, threads=1
            ),
            "pyca, a loop": loop,
        }
        expected = loop()
        assert all(work() == expected for work in contestants.values()), "all give the same bytes"
        times = {name: [] for name in contestants}
        for _ in range(rounds):
            for name, work in contestants.items():
                times[name].append(timed(work)[0])
        ratio = {
            name: statistics.median(t / o for t, o in zip(times["pyca, a loop"], times[name], strict=True))
            for name in ("cipherloom", "cipherloom, one thread")
        }
        results[f"{count} x {size}"] = {
            "seconds": {name: summary(samples) for name, samples in times.items()}, "ratio": ratio
        }  # fmt: skip
    return results


def trees(command, rounds, scratch):
    """encrypt_tree in this interpreter against the command's whole process, each into a fresh folder on tmpfs."""
    results = {}
    for name, count, size in (("10000 x 4 KB", 10_000, 4096), ("100 x 4 MB", 100, 4 * MB)):
        source = scratch / name
        source.mkdir()
        noise = os.urandom(size + count)
        for index in range(count):
            (source / f"{index:05}").write_bytes(noise[index : index + size])
        key = cl.Keyset.generate()
        key_file = scratch / f"{name}.json"
        key.write(key_file)
        flags = ["--key", str(key_file), "--threads", "2", "--quiet"]
        contestants = {
            "python": lambda out: cl.encrypt_tree(source, out, key, threads=2),
            "command": lambda out: subprocess.run([command, "encrypt", source, out, *flags], check=True),
        }
        for who, work in contestants.items():
            work(scratch / "out")
            if who == "python":
                subprocess.run([command, "decrypt", scratch / "out", scratch / "back", *flags], check=True)
            else:
                cl.decrypt_tree(scratch / "out", scratch / "back", key)
            names = [f"{index:05}" for index in range(count)]
            assert filecmp.cmpfiles(source, scratch / "back", names, shallow=False)[0] == names
            shutil.rmtree(scratch / "out")
            shutil.rmtree(scratch / "back")
        times = {who: [] for who in contestants}
        for turn in range(rounds):
            for who in list(contestants)[:: 1 if turn % 2 else -1]:
                times[who].append(timed(lambda: contestants[who](scratch / "out"))[0])
                shutil.rmtree(scratch / "out")
        shutil.rmtree(source)
        results[name] = {
            "seconds": {who: summary(samples) for who, samples in times.items()},
            "ratio": statistics.median(p / c for p, c in zip(times["python"], times["command"], strict=True)),
        }
    return results


def stopping(rounds, scratch):
    """Seconds from SIGINT to KeyboardInterrupt, in the middle of a tree of large files."""
    source = scratch / "large"
    source.mkdir()
    (source / "0").write_bytes(os.urandom(256 * MB))
    for index in range(1, 64):
        os.link(source / "0", source / str(index))
    key, samples = cl.Keyset.generate(), []
    for _ in range(rounds):
        sent = []

        def send():
            time.sleep(0.2)
            sent.append(time.perf_counter())
            signal.raise_signal(signal.SIGINT)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            cl.encrypt_tree(source, scratch / "stopped", key, threads=2)
            raise SystemExit("the run ended before it was told to stop")
        except KeyboardInterrupt:
            samples.append(time.perf_counter() - sent[0])
        sender.join()
        shutil.rmtree(scratch / "stopped")
    return summary(samples)


def machine():
    text = Path("/proc/cpuinfo").read_text()
    line = next(line for line in text.splitlines() if line.startswith("model name"))
    return {
        "processor": line.split(":")[1].strip(),
        "cores": os.cpu_count(),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "tink": tink.__version__ if hasattr(tink, "__version__") else "1.16.1",
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--command", default="cipherloom", help="the release build of the command")
    arguments.add_argument("--out", help="where to write the record; standard output without it")
    arguments.add_argument("--rounds", type=int, default=11)
    arguments.add_argument("--only", help="one part")
    given = arguments.parse_args()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    load_before = Path("/proc/loadavg").read_text().split()[:3]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        parts = {
            "streaming_aead": lambda: bytes_in_memory(given.rounds),
            "many_buffers": lambda: many_buffers(given.rounds),
            "encrypt_tree": lambda: trees(given.command, given.rounds, Path(scratch)),
            "interrupt": lambda: stopping(given.rounds, Path(scratch)),
        }
        record = {
            "bench": "python",
            "machine": machine(),
            "build": {"commit": commit, "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"},
            "load_before": " ".join(load_before),
            **{name: work() for name, work in parts.items() if given.only in (None, name)},
        }
    text = json.dumps(record, indent=1) + "\n"
    if given.out:
        Path(given.out).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
