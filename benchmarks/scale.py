"""What a cluster costs beside the work: measured here, then carried to sizes that are not here.

    python benchmarks/scale.py measure --versitygw PROGRAM --out record.json     needs the package with its stores, and Ray
    python benchmarks/scale.py simulate record.json                              prints the tables of docs/scale.md

`measure` takes: Ray's cost of a task that does nothing, as the driver gives it out; the rate of listing folders and a
bucket; the time of an object of 4 KiB and the rate of large ones, both over loopback (versitygw); the size of a row of the
index. `simulate` draws runs: tasks of the sizes that `cut` makes, nodes that fail, a store that takes as long as it
is told to. Its only inputs that were not measured are named in the tables: a store's latency, prices, failure rates.
"""

import argparse
import datetime
import heapq
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KB, MB, GB, TB, PB = (1 << shift for shift in (10, 20, 30, 40, 50))
OBJECTS = 5_000
TASKS = 300


def measure(versitygw):
    import cipherloom as cl
    import ray
    from cipherloom import _native
    from cipherloom._options import Request
    from cipherloom.ray._cluster import connected
    from cipherloom.ray._keys import KeyFile
    from cipherloom.ray._listing import Listed, listed
    from cipherloom.ray._work import Job, work

    os.environ["CIPHERLOOM_VERSITYGW"] = versitygw
    os.environ.setdefault("CIPHERLOOM", "none")
    sys.path.insert(0, os.fspath(Path(__file__).parents[1] / "interop"))
    import stores

    key, told = cl.Keyset.generate(), {}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        scratch = Path(scratch)
        key.write(scratch / "key.json")
        plain = scratch / "plain"
        noise = os.urandom(64 * KB)
        for number in range(OBJECTS):
            (plain / f"{number % 100}").mkdir(parents=True, exist_ok=True)
            (plain / f"{number % 100}" / f"{number:06}").write_bytes(noise[number : number + 4 * KB])
        start = time.perf_counter()
        objects, _, _ = listed(plain, cl.Options())
        told["folder_objects_per_second"] = OBJECTS / (time.perf_counter() - start)
        told["manifest_bytes_per_object"] = len(json.dumps(objects)) / OBJECTS

        with stores.S3.running(scratch / "s3") as s3:
            os.environ.update(s3.environment())
            bucket = s3.bucket()

            def process(operation, source, destination, objects):
                request = Request(
                    operation=operation, source=source, destination=destination, objects=objects,
                    key=None if operation == "copy" else key, options=cl.Options(threads=2, if_exists="skip"),
                )  # fmt: skip
                start = time.perf_counter()
                report, failures = _native.process(request)
                assert failures == [], failures[:1]
                return time.perf_counter() - start, report

            process("copy", os.fspath(plain), f"s3://{bucket}/plain", [each[:4] for each in objects])
            start = time.perf_counter()
            there, _, _ = _native.list_objects(f"s3://{bucket}/plain", cl.Options())
            told["bucket_objects_per_second"] = OBJECTS / (time.perf_counter() - start)
            assert len(there) == OBJECTS
            seconds, summary = process("encrypt", f"s3://{bucket}/plain", f"s3://{bucket}/sealed", there)
            assert summary["files"] == OBJECTS
            told["small_object_seconds"] = seconds / OBJECTS
            large = scratch / "large"
            large.mkdir()
            for number in range(8):
                (large / str(number)).write_bytes(noise * (64 * MB // len(noise)))
            objects, _, _ = listed(large, cl.Options())
            process("copy", os.fspath(large), f"s3://{bucket}/large", [each[:4] for each in objects])
            there, _, _ = _native.list_objects(f"s3://{bucket}/large", cl.Options())
            seconds, summary = process("encrypt", f"s3://{bucket}/large", f"s3://{bucket}/large-sealed", there)
            told["large_bytes_per_second"] = summary["bytes"] / seconds

        start = time.perf_counter()
        with connected(None, 1) as cluster:
            told["cluster_start_seconds"] = time.perf_counter() - start
            empty = scratch / "empty"
            empty.mkdir()
            options = cl.Options(threads=1, if_exists="skip", check=False)
            key_file = KeyFile(scratch / "key.json")
            job = ray.put(Job("encrypt", str(empty), str(scratch / "out"), key_file, None, options, None))
            remote = ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(work)
            share = [Listed(f"folder-{number % 100}/object-{number:08}", 64 * KB, "0" * 32) for number in range(1000)]

            def run(count, share):
                start = time.perf_counter()
                waiting = [remote.remote(job, share) for _ in range(count)]
                ray.get(waiting)
                return time.perf_counter() - start

            run(2 * cluster.slots, [])
            rounds = [run(TASKS, []) * cluster.slots / TASKS for _ in range(5)]
            told["task_seconds"] = {"median": statistics.median(rounds), "least": min(rounds), "most": max(rounds)}
            # A share of names, all of them missing: what it costs to carry them, and to look for each.
            told["task_of_1000_names_seconds"] = run(20, share) * cluster.slots / 20
            told["slots"] = cluster.slots
    return told


# Assumptions: list prices of one large store (US dollars, published in 2026), and how often a node is lost.
PRICES = {"PUT": 0.005 / 1000, "GET": 0.0004 / 1000, "LIST": 0.005 / 1000}
NODE_HOURS_BETWEEN_FAILURES = 500.0
STORE_LATENCY = 0.030
IN_FLIGHT = 64
THREADS = 16
NODE_BYTES_PER_SECOND = 1.25e9  # ten gigabits, and sixteen cores have far more cipher than that


def simulate(measured, objects, size, nodes, chunk_bytes, seed=1):
    """One run: gives its facts."""
    chance = random.Random(seed)
    weight = objects * (size + 64 * KB)
    tasks = max(1, -(-weight // chunk_bytes), -(-objects // 50_000))
    each = objects / tasks
    # A node has so many objects in flight; the larger of the times that latency, network and processor ask for.
    requests_seconds = 2 * STORE_LATENCY * each / IN_FLIGHT
    processor_seconds = each * measured["small_object_seconds"] * 2 / THREADS
    network_seconds = each * size * 2 / NODE_BYTES_PER_SECOND
    carried = each * max(0.0, measured["task_of_1000_names_seconds"] - measured["task_seconds"]["median"]) / 1000
    overhead = measured["task_seconds"]["median"] + carried
    task_seconds = max(requests_seconds, processor_seconds, network_seconds) + overhead
    # The driver gives out and writes down one task after the other.
    driver_seconds = overhead
    free = [(0.0, node) for node in range(nodes)]
    heapq.heapify(free)
    clock, lost, failures = 0.0, 0.0, 0
    rate = 1 / (NODE_HOURS_BETWEEN_FAILURES * 3600)
    left = tasks
    while left:
        start, node = heapq.heappop(free)
        start = clock = max(start, clock + driver_seconds)
        takes = task_seconds * chance.lognormvariate(0, 0.1)
        if chance.random() < rate * takes:
            done = takes * chance.random()
            failures += 1
            lost += done
            # Outputs of the lost task stay: the one that repeats it asks for each, and goes on.
            heapq.heappush(free, (start + done + 60, node))
            continue
        left -= 1
        heapq.heappush(free, (start + takes, node))
    wall = max(end for end, _ in free)
    lists = objects / 1000
    listing = max(objects / measured["bucket_objects_per_second"], lists * STORE_LATENCY / 16)
    parts = objects * max(0, -(-size // (8 * MB)) - 1)
    price = (objects + parts) * (PRICES["GET"] + PRICES["PUT"]) + lists * PRICES["LIST"]
    return {
        "tasks": tasks, "objects_per_task": each, "task_seconds": task_seconds, "overhead": overhead / task_seconds,
        "listing_hours": listing / 3600, "hours": wall / 3600, "failures": failures, "lost_hours": lost / 3600,
        "price": price, "manifest_gb": objects * measured["manifest_bytes_per_object"] / GB,
    }  # fmt: skip


def tables(measured):
    print("| job | nodes | chunk | tasks | a task | Ray's part of it | listing | run | nodes lost, work lost | requests | index |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, objects, size in (
        ("100 million x 10 KB", 100_000_000, 10 * KB),
        ("100 million x 10 MB (1 PB)", 100_000_000, 10 * MB),
        ("1 million x 1 GB (1 PB)", 1_000_000, GB),
    ):
        for nodes, chunks in ((10, (16,)), (100, (1, 16, 128))):
            for chunk in (chunk * GB for chunk in chunks):
                facts = simulate(measured, objects, size, nodes, chunk)
                print(
                    f"| {name} | {nodes} | {chunk // GB} GB | {facts['tasks']:,} | {facts['task_seconds']:.1f} s "
                    f"| {100 * facts['overhead']:.2f} % | {facts['listing_hours']:.1f} h | {facts['hours']:.1f} h "
                    f"| {facts['failures']}, {facts['lost_hours']:.2f} h | ${facts['price']:,.0f} "
                    f"| {facts['manifest_gb']:.1f} GB |"
                )
    ten_minutes = 600 / (600 + measured["task_seconds"]["median"])
    print(f"\nA job of ten minutes in one task: Ray takes {100 * (1 - ten_minutes):.4f} % of it;", end=" ")
    seconds = 600 * measured["slots"]
    for chunk_seconds in (1, 10, 60):
        count = seconds / chunk_seconds
        part = count * measured["task_seconds"]["median"] / seconds
        print(f"in tasks of {chunk_seconds} s {100 * part:.2f} %;", end=" ")
    start = measured["cluster_start_seconds"] / 600
    print(f"starting a cluster for it {100 * start:.2f} %.")


def main():
    arguments = argparse.ArgumentParser()
    actions = arguments.add_subparsers(dest="action", required=True)
    measuring = actions.add_parser("measure")
    measuring.add_argument("--versitygw", required=True)
    measuring.add_argument("--out", required=True)
    simulating = actions.add_parser("simulate")
    simulating.add_argument("record")
    given = arguments.parse_args()
    if given.action == "simulate":
        tables(json.loads(Path(given.record).read_text())["measured"])
        return
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    processor = next(
        (line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown"
    )
    record = {
        "date": datetime.date.today().isoformat(), "commit": commit, "processor": processor,
        "processors": os.cpu_count(), "python": platform.python_version(), "measured": measure(given.versitygw),
    }  # fmt: skip
    Path(given.out).write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
