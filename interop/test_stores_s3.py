"""S3 as source and destination, over a real gateway: the same results as on folders, created on condition, resumed, shared."""

import json
import os
import random
import subprocess
import time

import pytest
import tool

SIZES = {
    "empty": 0,
    "one": 1,
    "a book.epub": 300_000,
    "deep/er/chapter é.xhtml": 5_000,
    "deep/100%25 & +.bin": 70,
    "large.bin": 21_000_000,
}


@pytest.fixture
def plain(tmp_path):
    return tool.write_tree(tmp_path / "plain", SIZES)


@pytest.mark.parametrize("template", ["AES256_GCM_HKDF_1MB", "AES128_CTR_HMAC_SHA256_4KB"])
def test_round_trip_through_buckets(s3, tmp_path, plain, template):
    key, bucket = tool.keygen(tmp_path / "key.json", template), s3.bucket()
    whole = tool.read_tree(plain)
    s3.run("encrypt", plain, f"s3://{bucket}/sealed", "--key", key)
    s3.run("verify", f"s3://{bucket}/sealed", "--key", key)
    # What lies in the bucket is what the command makes of folders: it opens there too.
    tool.run("decrypt", s3.data / bucket / "sealed", tmp_path / "opened", "--key", key)
    assert tool.read_tree(tmp_path / "opened") == whole
    s3.run("decrypt", f"s3://{bucket}/sealed", f"s3://{bucket}/plain", "--key", key)
    assert s3.objects(bucket, "plain") == {os.fsdecode(name): data for name, data in whole.items()}
    s3.run("encrypt", f"s3://{bucket}/plain", tmp_path / "sealed", "--key", key)
    s3.run("decrypt", f"file://{tmp_path}/sealed", f"file://{tmp_path}/again", "--key", key)
    assert tool.read_tree(tmp_path / "again") == whole


@pytest.mark.parametrize("flags", [["--format", "cobblestone", "--raw-key"], ["--format", "raw", "--cipher", "aes-256-ctr", "--raw-key"]])
def test_other_formats(s3, tmp_path, plain, flags):
    key, bucket = tmp_path / "key.hex", s3.bucket()
    key.write_text("07" * 32)
    key.chmod(0o600)
    s3.run("encrypt", plain, f"s3://{bucket}", *flags, key)
    s3.run("decrypt", f"s3://{bucket}/", tmp_path / "back", *flags, key)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_a_chain_is_refused_before_anything_happens(s3, tmp_path, plain):
    key, bucket = tmp_path / "key.hex", s3.bucket()
    key.write_text("07" * 16)
    key.chmod(0o600)
    flags = ["--format", "raw", "--cipher", "aes-128-cbc", "--raw-key", key]
    done = s3.run("encrypt", plain, f"s3://{bucket}/sealed", *flags, code=tool.USAGE)
    assert "chain" in tool.message(done) and not s3.objects(bucket)
    # What was encrypted in folders is decrypted from a bucket all the same.
    tool.run("encrypt", plain, tmp_path / "sealed", *flags)
    s3.run("floor", tmp_path / "sealed", f"s3://{bucket}/sealed")
    s3.run("decrypt", f"s3://{bucket}/sealed", tmp_path / "back", *flags)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_outputs_are_created_never_overwritten(s3, tmp_path, plain):
    key, bucket = tool.keygen(tmp_path / "key.json"), s3.bucket()
    s3.run("floor", plain, f"s3://{bucket}/plain")
    command = ["encrypt", f"s3://{bucket}/plain", f"s3://{bucket}/sealed", "--key", key]
    s3.run(*command)
    first = s3.objects(bucket, "sealed")
    done = s3.run(*command, code=tool.FAILED)
    assert tool.message(done).count("the output exists already") == len(SIZES)
    done = s3.run(*command, "--if-exists", "skip", "--json")
    summary = json.loads(done.stdout.splitlines()[-1])
    assert (summary["files"], summary["skipped"], summary["failed"]) == (0, len(SIZES), 0)
    # A changed source, and another key, are conflicts: what is there was not made from this.
    tool.write_tree(tmp_path / "changed", {"one": b"2", "large.bin": 20_500_000})
    s3.run("floor", tmp_path / "changed", f"s3://{bucket}/plain", "--if-exists", "overwrite")
    done = s3.run(*command, "--if-exists", "skip", code=tool.PARTIAL)
    assert tool.message(done).count("another version of the source") == 2 and "4 skipped" in tool.message(done)
    other = tool.keygen(tmp_path / "other.json")
    done = s3.run(*command[:-1], other, "--if-exists", "skip", "--allow-mixed-keys", code=tool.FAILED)
    assert tool.message(done).count("under another key") == 4
    assert s3.objects(bucket, "sealed") == first
    s3.run(*command, "--if-exists", "overwrite")
    s3.run("decrypt", f"s3://{bucket}/sealed", tmp_path / "back", "--key", key)
    assert tool.read_tree(tmp_path / "back")[b"one"] == b"2"


def test_rekey_elsewhere_and_in_place(s3, tmp_path, plain):
    old, new = tool.keygen(tmp_path / "old.json"), tool.keygen(tmp_path / "new.json", "AES128_GCM_HKDF_4KB")
    bucket, whole = s3.bucket(), tool.read_tree(plain)
    place = f"s3://{bucket}/sealed"
    s3.run("encrypt", plain, place, "--key", old)
    s3.run("rekey", place, f"s3://{bucket}/resealed", "--key", old, "--to", new)
    s3.run("decrypt", f"s3://{bucket}/resealed", tmp_path / "elsewhere", "--key", new)
    assert tool.read_tree(tmp_path / "elsewhere") == whole
    done = s3.run("rekey", place, place, "--key", old, "--to", new, code=tool.USAGE)
    assert "in place" in tool.message(done)
    flags = ["--key", old, "--to", new, "--if-exists", "overwrite"]
    # Half of them, as if the run had been stopped, then all: what is done is recognised.
    s3.run("rekey", place, place, *flags, "--shard", "1/2")
    done = s3.run("rekey", place, place, *flags, "--json")
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["skipped"] > 0 and summary["files"] > 0
    assert summary["skipped"] + summary["files"] == len(SIZES)
    s3.run("decrypt", place, tmp_path / "back", "--key", new)
    assert tool.read_tree(tmp_path / "back") == whole
    done = s3.run("decrypt", place, place, "--key", new, code=tool.USAGE)
    assert "inside the source" in tool.message(done)
    done = s3.run("encrypt", place, f"{place}/below", "--key", new, code=tool.USAGE)
    assert "inside the source" in tool.message(done)


def test_shards_divide_a_tree_in_folders_and_buckets_alike(s3, tmp_path):
    files = {f"folder-{number % 5}/{number}": b"%d" % number for number in range(60)}
    plain, key, bucket = tool.write_tree(tmp_path / "plain", files), tool.keygen(tmp_path / "key.json"), s3.bucket()
    for shard in ("1/3", "2/3", "3/3"):
        name = shard.replace("/", "of")
        s3.run("encrypt", plain, f"s3://{bucket}/{name}", "--key", key, "--shard", shard)
        tool.run("encrypt", plain, tmp_path / name, "--key", key, "--shard", shard)
        in_bucket = set(s3.objects(bucket, name))
        assert in_bucket == {os.fsdecode(path) for path in tool.read_tree(tmp_path / name)}
        assert 10 < len(in_bucket) < 30
        s3.run("encrypt", plain, f"s3://{bucket}/all", "--key", key, "--shard", shard)
    assert set(s3.objects(bucket, "all")) == set(files)
    s3.run("decrypt", f"s3://{bucket}/all", f"s3://{bucket}/some", "--key", key, "--shard", "2/3")
    assert set(s3.objects(bucket, "some")) == set(s3.objects(bucket, "2of3"))


def test_names_bound_paths_and_selection(s3, tmp_path, plain):
    key, bucket = tool.keygen(tmp_path / "key.json"), s3.bucket()
    flags = ["--key", key, "--suffix", ".enc", "--bind-path"]
    s3.run("encrypt", plain, f"s3://{bucket}/sealed", *flags, "--exclude", "deep")
    assert set(s3.objects(bucket, "sealed")) == {f"{name}.enc" for name in SIZES if "/" not in name}
    s3.run("decrypt", f"s3://{bucket}/sealed", tmp_path / "back", *flags, "--include", "one.enc")
    assert tool.read_tree(tmp_path / "back") == {b"one": tool.content(1, 1)}
    s3.run("floor", f"s3://{bucket}/sealed/one.enc", f"s3://{bucket}/moved/two.enc")
    done = s3.run("verify", f"s3://{bucket}/moved", *flags, code=tool.UNAUTHENTIC)
    assert f"s3://{bucket}/moved/two.enc: no key opens" in tool.message(done)
    done = s3.run("verify", f"s3://{bucket}/sealed", "--key", key, "--suffix", ".x", "--bind-path", code=tool.FAILED)
    assert 'does not end in ".x"' in tool.message(done)


def test_a_single_object_goes_where_cp_would_put_it(s3, tmp_path, plain):
    key, bucket = tool.keygen(tmp_path / "key.json"), s3.bucket()
    s3.run("encrypt", plain / "one", f"s3://{bucket}/a/named", "--key", key)
    s3.run("encrypt", plain / "one", f"s3://{bucket}/b/", "--key", key)
    assert set(s3.objects(bucket)) == {"a/named", "b/one"}
    s3.run("decrypt", f"s3://{bucket}/a/named", tmp_path / "file", "--key", key)
    assert (tmp_path / "file").read_bytes() == (plain / "one").read_bytes()
    done = s3.run("rekey", f"s3://{bucket}/b/one", f"s3://{bucket}/b/one", "--key", key, "--to", key, code=tool.USAGE)
    assert "in place" in tool.message(done)


def test_a_dry_run_shows_and_writes_nothing(s3, tmp_path, plain):
    key, bucket = tmp_path / "key.json", s3.bucket()
    done = s3.run("encrypt", plain, f"s3://{bucket}/sealed", "--new-key", key, "--dry-run", "--json")
    planned = json.loads(done.stdout)
    assert (planned["objects"], planned["in_parts"], planned["bytes"]) == (len(SIZES), 1, sum(SIZES.values()))
    assert not key.exists() and not s3.objects(bucket)


def test_a_plan_counts_objects_and_requests(s3, tmp_path, plain):
    bucket = s3.bucket()
    s3.run("floor", plain, f"s3://{bucket}/plain")
    planned = json.loads(s3.run("plan", f"s3://{bucket}/plain", "--json").stdout)
    assert (planned["objects"], planned["bytes"]) == (len(SIZES), sum(SIZES.values()))
    # Five small ones; one in three parts, begun and completed, and looked for before and after.
    requests = planned["requests"]
    assert (planned["parts"], requests["get"], requests["put"], requests["head"]) == (3, 8, 10, 2)
    assert "at S3's list prices" in s3.run("plan", f"s3://{bucket}/plain").stdout.decode()
    one = json.loads(s3.run("plan", f"s3://{bucket}/plain/large.bin", "--json").stdout)
    assert (one["objects"], one["parts"], one["requests"]["list"]) == (1, 3, 0)


def test_wide_and_deep_prefixes_are_listed_page_by_page(s3, tmp_path):
    bucket = s3.bucket()
    # Written past the gateway, which is quicker; more names than a page has, and folders with more than a page.
    tool.write_tree(s3.data / bucket / "wide", {f"{number:04}": 1 for number in range(2_300)})
    tool.write_tree(s3.data / bucket / "deep", {f"{number % 2}/{number}": 2 for number in range(2_300)})
    for name, size in {"wide": 1, "deep": 2}.items():
        for flags, least, most in ((["--shard", "1/2"], 1_000, 1_300), ([], 2_300, 2_300)):
            planned = json.loads(s3.run("plan", f"s3://{bucket}/{name}", "--json", *flags).stdout)
            assert least <= planned["objects"] <= most and planned["bytes"] == size * planned["objects"]
    both = json.loads(s3.run("plan", f"s3://{bucket}", "--json").stdout)
    assert (both["objects"], both["unlisted"]) == (4_600, 0)


def test_events_are_those_of_folders(s3, tmp_path, plain):
    key, bucket = tool.keygen(tmp_path / "key.json"), s3.bucket()
    done = s3.run("encrypt", plain, f"s3://{bucket}/x", "--key", key, "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {event["output"] for event in events[:-1]} == {f"s3://{bucket}/x/{name}" for name in SIZES}
    assert all(event["event"] == "done" and event["output_bytes"] > event["bytes"] for event in events[:-1])
    assert events[-1]["files"] == len(SIZES) and events[-1]["bytes"] == sum(SIZES.values())


def test_damage_is_found_alone_and_nothing_of_it_is_released(s3, tmp_path, plain):
    key, bucket = tool.keygen(tmp_path / "key.json"), s3.bucket()
    tool.run("encrypt", plain, tmp_path / "sealed", "--key", key)
    for name, place in {"large.bin": 15_000_000, "a book.epub": 100}.items():
        with (tmp_path / "sealed" / name).open("r+b") as file:
            file.seek(place)
            byte = file.read(1)
            file.seek(place)
            file.write(bytes([byte[0] ^ 1]))
    s3.run("floor", tmp_path / "sealed", f"s3://{bucket}/sealed")
    for target in (tmp_path / "back", f"s3://{bucket}/back"):
        done = s3.run("decrypt", f"s3://{bucket}/sealed", target, "--key", key, code=tool.UNAUTHENTIC)
        assert "large.bin: segment 14" in tool.message(done) and "2 FAILED" in tool.message(done)
    kept = set(SIZES) - {"large.bin", "a book.epub"}
    assert set(s3.objects(bucket, "back")) == kept
    assert {os.fsdecode(name) for name in tool.read_tree(tmp_path / "back")} == kept


def test_mistakes_are_told_with_their_remedy(s3, tmp_path, plain):
    key, bucket = tool.keygen(tmp_path / "key.json"), s3.bucket()
    s3.run("floor", plain, f"s3://{bucket}/plain")

    def told(source, target, code, **changes):
        done = s3.run("encrypt", source, target, "--key", key, "--retries", "0", code=code, changes=changes)
        return tool.message(done)

    assert "ftp:// is not a known scheme" in told("ftp://host/x", tmp_path / "x", tool.USAGE)
    assert "names no bucket" in told(plain, "s3:///x", tool.USAGE)
    assert "no such bucket" in told("s3://not-there/x", tmp_path / "x", tool.FAILED)
    assert "no such bucket" in told(plain, "s3://not-there/x", tool.FAILED)
    assert "nothing is there" in told(f"s3://{bucket}/mistyped", tmp_path / "x", tool.FAILED)
    source = f"s3://{bucket}/plain"
    assert "secret key is wrong" in told(source, tmp_path / "x", tool.FAILED, AWS_SECRET_ACCESS_KEY="wrong")
    assert "access key" in told(source, tmp_path / "x", tool.FAILED, AWS_ACCESS_KEY_ID="wrong")
    assert "AWS_ALLOW_HTTP" in told(source, tmp_path / "x", tool.FAILED, AWS_ALLOW_HTTP="false")


def test_killed_and_resumed(s3, tmp_path):
    files = {f"folder-{number % 7}/file-{number}": 200 + 1_500 * (number % 40) for number in range(300)}
    files |= {f"large-{number}": 12_000_000 for number in range(3)}
    plain, key, bucket = tool.write_tree(tmp_path / "plain", files), tool.keygen(tmp_path / "key.json"), s3.bucket()
    command = ["encrypt", plain, f"s3://{bucket}/sealed", "--key", key, "--if-exists", "skip"]
    chance, cut_short = random.Random(1), 0
    for _ in range(8):
        running = subprocess.Popen(
            [tool.COMMAND, *map(str, command)], env=s3.environment(), stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(0.02, 0.3))
        running.kill()
        cut_short += running.wait() != 0
    assert cut_short > 0
    s3.run(*command)
    s3.run("decrypt", f"s3://{bucket}/sealed", tmp_path / "back", "--key", key)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_memory_is_bounded(s3, tmp_path):
    key, bucket = tool.keygen(tmp_path / "key.json"), s3.bucket()
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(600 << 20)
    for source, target in ((large, f"s3://{bucket}/sealed"), (f"s3://{bucket}/sealed", f"s3://{bucket}/back")):
        verb = "encrypt" if source == large else "decrypt"
        arguments = [tool.COMMAND, verb, source, target, "--key", key]
        running = subprocess.Popen(list(map(str, arguments)), env=s3.environment(), stderr=subprocess.PIPE)
        _, status, usage = os.wait4(running.pid, 0)
        said = running.stderr.read()
        running.stderr.close()
        running.returncode = os.waitstatus_to_exitcode(status)
        assert running.returncode == 0, said
        assert usage.ru_maxrss < 420 << 10, f"{usage.ru_maxrss >> 10} MiB"
    assert (s3.data / bucket / "back").stat().st_size == 600 << 20
