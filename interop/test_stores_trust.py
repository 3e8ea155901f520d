"""Whoever may write to a bucket: what its metadata says is checked, and a key that no path can stand for fails alone."""

import json
import os
import re
from pathlib import Path

import pytest
import stores
import tool
from test_escapes import assert_harmless

# The last of them is read and written in parts.
FILES = {"one": 1_000, "h/two": 5_000, "large": 9_000_000}


@pytest.fixture
def sealed(s3, tmp_path):
    """A bucket with a tree under `plain/`, encrypted under `sealed/`; the tree, and its key."""
    plain, key, bucket = tool.write_tree(tmp_path / "plain", FILES), tool.keygen(tmp_path / "key.json"), s3.bucket()
    s3.run("floor", plain, f"s3://{bucket}/plain")
    s3.run("encrypt", f"s3://{bucket}/plain", f"s3://{bucket}/sealed", "--key", key)
    return bucket, plain, key


def run(s3, rule, *arguments, code=tool.DONE):
    with stores.Proxy(s3.port, rule).running() as port:
        return s3.run(*arguments, port=port, code=code)


def saying(name, value):
    """Answers that say this of an object, whatever its metadata is."""

    def answer(handler, forward):
        status, headers, body = forward()
        headers = {header: text for header, text in headers.items() if header.lower() != name}
        handler.answer(status, body, headers | {name: value})

    return lambda request: answer if request.method in ("GET", "HEAD") and not request.is_listing else None


def key_id(path):
    return str(json.loads(path.read_text())["primaryKeyId"])


def summary(done):
    return json.loads(done.stdout.splitlines()[-1])


def test_rekeying_in_place_does_not_believe_that_it_is_done(s3, sealed, tmp_path):
    bucket, plain, old = sealed
    new, both = tool.keygen(tmp_path / "new.json"), tmp_path / "both.json"
    # The old key may still open what the new keyset reads, and is none that anything stays under.
    keys = json.loads(new.read_text())
    keys["key"] += json.loads(old.read_text())["key"]
    both.write_text(json.dumps(keys))
    both.chmod(0o600)
    place = f"s3://{bucket}/sealed"
    command = ["rekey", place, place, "--key", old, "--to", both, "--if-exists", "overwrite", "--json"]
    done = run(s3, saying("x-amz-meta-cipherloomkey", key_id(new)), *command)
    assert (summary(done)["files"], summary(done)["skipped"]) == (len(FILES), 0)
    s3.run("decrypt", place, tmp_path / "back", "--key", new)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)
    # What is done is passed over as before.
    done = s3.run(*command)
    assert (summary(done)["files"], summary(done)["skipped"]) == (0, len(FILES))


def test_skipping_passes_over_what_opens_and_nothing_else(s3, sealed, tmp_path):
    bucket, _, key = sealed
    command = ["encrypt", f"s3://{bucket}/plain", f"s3://{bucket}/sealed", "--key", key, "--if-exists", "skip", "--json"]
    assert summary(s3.run(*command))["skipped"] == len(FILES)
    # Past the gateway, as its owner could: the metadata stays.
    folder = s3.data / bucket / "sealed"
    for name in ("one", "large"):
        with (folder / name).open("r+b") as file:
            file.seek(200)
            file.write(b"\0" * 8)
    with (folder / "h/two").open("ab") as file:
        file.write(b"\0")
    done = s3.run(*command, "--allow-mixed-keys", code=tool.FAILED)
    told = done.stdout.decode()
    assert told.count("made under this key, but it does not open with it") == 2
    assert told.count("its length does not fit") == 1 and summary(done)["failed"] == len(FILES)


def test_decryption_skips_only_what_has_the_length(s3, sealed):
    bucket, _, key = sealed
    command = ["decrypt", f"s3://{bucket}/sealed", f"s3://{bucket}/back", "--key", key, "--if-exists", "skip", "--json"]
    s3.run(*command)
    assert summary(s3.run(*command))["skipped"] == len(FILES)
    with (s3.data / bucket / "back/large").open("ab") as file:
        file.write(b"\0")
    done = s3.run(*command, code=tool.PARTIAL)
    assert "its length does not fit" in done.stdout.decode() and summary(done)["skipped"] == len(FILES) - 1


def test_a_run_that_others_watch_is_not_told_that_it_wrote_what_they_did(s3, sealed, tmp_path):
    """The mark in an output's metadata is its own: who has read that of another cannot forge the next one's."""
    bucket, plain, key = sealed
    marks = []

    def rule(request):
        def watch(handler, forward):
            marks.append(handler.headers["x-amz-meta-cipherloomrun"])
            handler.answer(*stores.reordered(forward()))

        is_put = request.method == "PUT" and "uploadId" not in request.query
        is_begun = request.method == "POST" and "uploads" in request.query
        return watch if is_put or is_begun else None

    run(s3, rule, "encrypt", plain, f"s3://{bucket}/again", "--key", key)
    assert len(marks) == len(set(marks)) == len(FILES)


def entry(key):
    return (
        f"<Contents><Key>{key}</Key><LastModified>2020-01-01T00:00:00.000Z</LastModified>"
        "<ETag>&quot;0&quot;</ETag><Size>3</Size></Contents>"
    )


HOSTILE = ("sealed/h/../../etc/x", "sealed/h//y", "sealed/../z")


def hostile(request):
    """A listing with keys that anybody can have put there. The gateway's own store are folders, which hold none of them."""

    def answer(handler, forward):
        status, headers, body = forward()
        prefix = re.search(r"(?:^|&)prefix=([^&]*)", request.query).group(1).replace("%2F", "/")
        if prefix == "sealed/../":
            added, body = entry(HOSTILE[2]), b"<ListBucketResult></ListBucketResult>"
            status = 200
        elif "delimiter" in request.query:
            added = "<CommonPrefixes><Prefix>sealed/../</Prefix></CommonPrefixes>"
        else:
            added = entry(HOSTILE[0]) + entry(HOSTILE[1])
        handler.answer(status, body.replace(b"</ListBucketResult>", added.encode() + b"</ListBucketResult>"), headers)

    return answer if request.is_listing else None


def test_a_hostile_key_fails_by_name_and_the_others_go_on(s3, sealed, tmp_path):
    bucket, plain, key = sealed
    place, back = f"s3://{bucket}/sealed", tmp_path / "in" / "back"
    done = run(s3, hostile, "decrypt", place, back, "--key", key, code=tool.PARTIAL)
    told = tool.message(done)
    for name in HOSTILE:
        assert f"s3://{bucket}/{name}: the key has an empty part, `.`, `..`" in told, told
    assert f"{len(HOSTILE)} FAILED" in told
    assert tool.read_tree(back) == tool.read_tree(plain)
    # Nor need anybody hear of what is left out.
    run(s3, hostile, "verify", place, "--key", key, "--exclude", "h", "--exclude", "../z")


EVIL = "gone&#10;cipherloom: forged&#x1b;]0;x&#x9b;31m&#x202e;\x1b[31m\ncipherloom: forged"


@pytest.mark.parametrize("code", ["Teapot", EVIL])
def test_the_words_of_a_store_stay_in_their_line(s3, sealed, tmp_path, code):
    bucket, _, key = sealed
    body = f"<Error><Code>{code}</Code><Message>{EVIL}</Message></Error>".encode()

    def refusing(is_it):
        return lambda request: (lambda handler, _: handler.answer(418, body, {})) if is_it(request) else None

    verify = ["verify", f"s3://{bucket}/sealed", "--key", key, "--retries", "0"]
    object_alone, listing = refusing(lambda request: request.path.endswith("/one")), refusing(lambda request: request.is_listing)
    for rule, status in [(object_alone, tool.PARTIAL), (listing, tool.FAILED)]:
        for flags in ([], ["--json"]):
            done = run(s3, rule, *verify, *flags, code=status)
            told = tool.message(done) + done.stdout.decode()
            assert_harmless(told)
            assert "forged" in told, told


def test_missing_credentials_are_told_once(s3, sealed):
    bucket, plain, key = sealed
    environment = s3.environment(AWS_METADATA_ENDPOINT=f"http://127.0.0.1:{stores.free_port()}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        del environment[name]
    done = tool.run("encrypt", plain, f"s3://{bucket}/again", "--key", key, code=tool.FAILED, env=environment)
    told = tool.message(done)
    assert told.count("no credentials in the environment") == 1 and "AWS_SECRET_ACCESS_KEY" in told
    assert "FAILED" not in told, told


def test_a_single_object_is_selected_like_any_other(s3, sealed):
    bucket, *_ = sealed

    def planned(*flags):
        return json.loads(s3.run("plan", f"s3://{bucket}/plain/one", "--json", *flags).stdout)["objects"]

    assert planned() == planned("--include", "o*") == 1
    assert planned("--exclude", "one") == 0
    assert sum(planned("--shard", f"{number}/3") for number in (1, 2, 3)) == 1


def test_a_bucket_restored_to_a_folder_gets_the_permissions_of_new_files(s3, sealed, tmp_path):
    bucket, _, key = sealed
    before = os.umask(0o027)
    try:
        s3.run("decrypt", f"s3://{bucket}/sealed", tmp_path / "back", "--key", key)
    finally:
        os.umask(before)
    modes = {path.relative_to(tmp_path): path.stat().st_mode & 0o777 for path in (tmp_path / "back").rglob("*")}
    assert modes == {Path("back") / name: 0o750 if name == "h" else 0o640 for name in (*FILES, "h")}


def test_names_that_the_destination_does_not_tell_apart_fail_by_name(s3, tmp_path, folding_disk):
    files = {"D/File": b"1", "D/file": b"22", "d/x": b"333", "D/x": b"4444", "other": b"5"}
    plain, bucket = tool.write_tree(tmp_path / "plain", files), s3.bucket()
    s3.run("floor", plain, f"s3://{bucket}/plain")
    for if_exists in ("overwrite", "overwrite", "skip"):
        flags = ["--if-exists", if_exists]
        told = tool.message(s3.run("floor", f"s3://{bucket}/plain", folding_disk / "back", *flags, code=tool.PARTIAL))
        assert told.count('name collides with "') == 2, told
        assert re.search(r'collides with "D/(File|file)" on the destination', told), told
        assert "2 FAILED" in told
        assert len(tool.read_tree(folding_disk / "back")) == 3
