"""Encryption from bucket to bucket, beside the same client's copy without a cipher and beside a boto3 + pyca script.

    cargo xtask bench stores        (which gives --command, --versitygw and --out, and makes a record of what comes out)

Wall time of whole processes against one versitygw on loopback, which shares the machine's processors; beside it the
processor time of the contestant's process and of the gateway. Data on tmpfs. Contestants take turns in rounds, each
round in the other order; ratios are those of a round. The first output of each is opened and compared with the plaintext.
"""

import argparse
import contextlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "interop"))

THREADS = 16

# What a data engineer writes: a pool of threads, each object fetched, sealed with AES-256-GCM, put.
SCRIPT = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
import boto3
from botocore.config import Config
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

bucket, source, target, threads = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
client = boto3.client("s3", config=Config(max_pool_connections=threads, s3={"addressing_style": "path"}))
cipher = AESGCM(bytes(32))

def one(name):
    data = client.get_object(Bucket=bucket, Key=name)["Body"].read()
    nonce = os.urandom(12)
    sealed = nonce + cipher.encrypt(nonce, data, None)
    client.put_object(Bucket=bucket, Key=target + name[len(source):], Body=sealed, IfNoneMatch="*")

pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=source + "/")
names = [item["Key"] for page in pages for item in page.get("Contents", [])]
with ThreadPoolExecutor(threads) as pool:
    list(pool.map(one, names))
"""


def processor_seconds(process):
    """User and system time of a process that runs (proc(5), /proc/PID/stat, fields 14 and 15)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(arguments, environment, gateway):
    def own():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before, gateway_before, start = own(), processor_seconds(gateway), time.perf_counter()
    done = subprocess.run(list(map(str, arguments)), env=environment, capture_output=True)
    wall = time.perf_counter() - start
    assert done.returncode == 0, done.stderr.decode()
    return {"wall": wall, "processor": own() - before, "gateway": processor_seconds(gateway) - gateway_before}


class Workload:
    """A bucket with as many objects of one size under `in/`."""

    def __init__(self, store, scratch, command, files, size):
        import tool

        self.store, self.scratch, self.command, self.bucket = store, scratch, command, store.bucket()
        self.files, self.size, self.plain, self.key = files, size, scratch / f"{files}", tool.keygen(scratch / f"{files}.json")
        tool.write_tree(self.plain, {f"{number % 10}/{number}": size for number in range(files)})
        store.run("floor", self.plain, f"s3://{self.bucket}/in")
        (scratch / "script.py").write_text(SCRIPT)

    def ours(self, *words):
        return [self.command, words[0], f"s3://{self.bucket}/in", f"s3://{self.bucket}/out", *words[1:]]

    def contestants(self, with_script):
        found = {"encrypt": self.ours("encrypt", "--key", self.key), "copy": self.ours("floor")}
        if with_script:
            found[f"boto3 + pyca, {THREADS} threads"] = [
                sys.executable, self.scratch / "script.py", self.bucket, "in", "out", THREADS
            ]  # fmt: skip
        return found

    def run(self, name, rounds, with_script):
        contestants = self.contestants(with_script)
        samples = {contestant: [] for contestant in contestants}
        for number in range(rounds):
            for contestant in list(contestants)[:: 1 if number % 2 == 0 else -1]:
                arguments, environment = contestants[contestant], self.store.environment()
                samples[contestant].append(measured(arguments, environment, self.store.process))
                if number == 0:
                    self.check(contestant)
                # Both of what the gateway keeps: metadata without an object would refuse the next one of that name.
                for folder in (self.store.data, self.store.metadata):
                    shutil.rmtree(folder / self.bucket / "out", ignore_errors=True)
        shutil.rmtree(self.store.data / self.bucket)
        shutil.rmtree(self.plain)
        return self.results(name, samples)

    def results(self, name, samples):
        base = [sample["wall"] for sample in samples["encrypt"]]
        for contestant, taken in samples.items():
            ratios = [sample["wall"] / own for sample, own in zip(taken, base, strict=True)]
            spread = {word: statistics.median(sample[word] for sample in taken) for word in taken[0]}
            rate = self.files * self.size / spread["wall"] / 2**20
            print(
                f"{name:9} {contestant:26} {spread['wall']:6.2f} s ({rate:.0f} MiB/s), processor {spread['processor']:.2f} s, "
                f"gateway {spread['gateway']:.2f} s; encryption has {statistics.median(ratios):.2f} x its throughput",
                flush=True,
            )
            yield {
                "workload": name, "files": self.files, "bytes": self.files * self.size, "contestant": contestant,
                "median": spread, "throughput_of_encrypt_relative": {"median": statistics.median(ratios), "rounds": ratios},
                "samples": taken,
            }  # fmt: skip

    def check(self, contestant):
        import tool

        out, plain = self.store.data / self.bucket / "out", tool.read_tree(self.plain)
        if contestant == "encrypt":
            tool.run("decrypt", out, self.scratch / "checked", "--key", self.key)
            assert tool.read_tree(self.scratch / "checked") == plain
            shutil.rmtree(self.scratch / "checked")
        elif contestant == "copy":
            assert tool.read_tree(out) == plain
        else:
            cipher = AESGCM(bytes(32))
            opened = {name: cipher.decrypt(data[:12], data[12:], None) for name, data in tool.read_tree(out).items()}
            assert opened == plain


WORKLOADS = {"5000x64K": (5000, 64 << 10, True), "8x64M": (8, 64 << 20, False)}


def main():
    parser = argparse.ArgumentParser()
    for name in ("--command", "--versitygw", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--workloads", nargs="*", choices=WORKLOADS, default=list(WORKLOADS))
    options = parser.parse_args()
    os.environ |= {"CIPHERLOOM": options.command, "CIPHERLOOM_VERSITYGW": options.versitygw}
    import stores

    results = []
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        store = stack.enter_context(stores.S3.running(scratch / "s3"))
        for name in options.workloads:
            files, size, with_script = WORKLOADS[name]
            results += Workload(store, scratch, options.command, files, size).run(name, options.rounds, with_script)
    Path(options.out).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
