"""Encryption from bucket to bucket, beside the same client's copy without a cipher and beside a boto3 + pyca script.

    python benchmarks/stores.py --command target/<triple>/release/cipherloom --versitygw PROGRAM --out record.json

Wall time of whole processes against one versitygw on loopback, which shares the machine's processors. Contestants take
turns in rounds; ratios are those of a round. The first output of each is checked: ours is decrypted and compared, the
script's sizes are counted.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "interop"))

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


def measured(arguments, environment):
    start = time.perf_counter()
    done = subprocess.run(list(map(str, arguments)), env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return time.perf_counter() - start


def workload(store, scratch, command, name, files, size, rounds, with_script):
    import tool

    environment, bucket, key = store.environment(), store.bucket(), scratch / "key.json"
    if not key.exists():
        measured([command, "keygen", "-o", key], os.environ)
    plain = scratch / name
    tool.write_tree(plain, {f"{number % 10}/{number}": size for number in range(files)})
    measured([command, "floor", plain, f"s3://{bucket}/in"], environment)
    script = scratch / "script.py"
    script.write_text(SCRIPT)

    def ours(verb, flags, target):
        return [command, verb, f"s3://{bucket}/in", f"s3://{bucket}/{target}", *flags]

    contestants = {
        "encrypt": lambda target: ours("encrypt", ["--key", key], target),
        "copy": lambda target: ours("floor", [], target),
    }
    if with_script:
        contestants["boto3 + pyca, 16 threads"] = lambda target: [sys.executable, script, bucket, "in", target, 16]
    times = {contestant: [] for contestant in contestants}
    for number in range(rounds):
        order = list(contestants) if number % 2 == 0 else list(contestants)[::-1]
        for contestant in order:
            times[contestant].append(measured(contestants[contestant]("out"), environment))
            if number == 0:
                check(store, scratch, command, contestant, bucket, key, plain, files, size)
            shutil.rmtree(store.data / bucket / "out")
    result = {"workload": name, "files": files, "bytes": files * size, "seconds": times}
    for contestant in list(contestants)[1:]:
        ratios = [other / mine for mine, other in zip(times["encrypt"], times[contestant], strict=True)]
        result[f"throughput relative to {contestant}"] = {"median": statistics.median(ratios), "rounds": ratios}
        print(f"{name}: encryption has {statistics.median(ratios):.2f} x the throughput of {contestant}", flush=True)
    rate = files * size / statistics.median(times["encrypt"]) / 2**20
    print(f"{name}: encrypt {statistics.median(times['encrypt']):.2f} s, {rate:.0f} MiB/s", flush=True)
    return result


def check(store, scratch, command, contestant, bucket, key, plain, files, size):
    import tool

    out = store.data / bucket / "out"
    if contestant == "encrypt":
        measured([command, "decrypt", out, scratch / "checked", "--key", key], os.environ)
        assert tool.read_tree(scratch / "checked") == tool.read_tree(plain)
        shutil.rmtree(scratch / "checked")
    else:
        extra = 0 if contestant == "copy" else 28
        sizes = [path.stat().st_size for path in out.rglob("*") if path.is_file()]
        assert sizes == [size + extra] * files, contestant


def main():
    parser = argparse.ArgumentParser()
    for name in ("--command", "--versitygw", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ |= {"CIPHERLOOM": options.command, "CIPHERLOOM_VERSITYGW": options.versitygw}
    import stores

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        scratch = Path(folder)
        with stores.S3.running(scratch / "s3") as store:
            run = (store, scratch, options.command)
            results = [
                workload(*run, "5000x64K", 5000, 64 << 10, options.rounds, True),
                workload(*run, "8x64M", 8, 64 << 20, options.rounds, False),
            ]
    processor = next(
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    )
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    record = {
        "what": "stores",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "processor": processor,
        "threads": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versitygw": Path(options.versitygw).parent.name,
        "commit": commit,
        "results": results,
    }
    Path(options.out).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
