"""A store in trouble, by a proxy of the tests' own: nothing is lost, nothing half-written is seen, the report names what failed."""

import json
import random

import pytest
import stores
import tool

FILES = {f"folder-{number % 4}/file-{number}": 300 + 2_000 * number for number in range(40)} | {
    "large-1": 21_000_000,
    "large-2": 17_000_001,
}


@pytest.fixture
def sealed(s3, tmp_path):
    """A bucket with a tree under `sealed/`, its plaintext and its key."""
    plain, key, bucket = tool.write_tree(tmp_path / "plain", FILES), tool.keygen(tmp_path / "key.json"), s3.bucket()
    s3.run("encrypt", plain, f"s3://{bucket}/sealed", "--key", key)
    return bucket, plain, key


def run(s3, rule, *arguments, code=tool.DONE):
    proxy = stores.Proxy(s3.port, rule)
    with proxy.running() as port:
        return s3.run(*arguments, port=port, code=code)


def opens_to(s3, tmp_path, place, key, plain):
    s3.run("decrypt", place, tmp_path / "checked", "--key", key)
    return tool.read_tree(tmp_path / "checked") == tool.read_tree(plain)


def test_a_storm_of_refusals_is_weathered(s3, sealed, tmp_path):
    bucket, plain, key = sealed
    new, chance = tool.keygen(tmp_path / "new.json"), random.Random(7)
    answers = [stores.refuse(500, "InternalError"), stores.refuse(503, "SlowDown"), stores.refuse(503, "ServiceUnavailable")]

    def rule(_):
        return chance.choice(answers) if chance.random() < 0.3 else None

    run(s3, rule, "rekey", f"s3://{bucket}/sealed", f"s3://{bucket}/resealed", "--key", key, "--to", new)
    assert opens_to(s3, tmp_path, f"s3://{bucket}/resealed", new, plain)


def test_connections_cut_mid_body_are_taken_up_again(s3, sealed, tmp_path):
    bucket, plain, key = sealed

    def rule(request):
        is_cut = request.method == "GET" and not request.is_listing and request.number == 0
        return stores.cut if is_cut else None

    run(s3, rule, "decrypt", f"s3://{bucket}/sealed", tmp_path / "back", "--key", key)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_an_answer_that_is_lost_is_not_a_conflict(s3, sealed, tmp_path):
    bucket, plain, key = sealed
    lost = []

    def rule(request):
        # The first try of each put and of each completion gets through, and is not heard of.
        is_completion = request.method == "POST" and "uploadId" in request.query
        is_put = request.method == "PUT" and "uploadId" not in request.query
        if (is_put or is_completion) and request.number == 0:
            lost.append(request.path)
            return stores.lose_answer
        return None

    done = run(s3, rule, "encrypt", plain, f"s3://{bucket}/again", "--key", key, "--json")
    summary = json.loads(done.stdout.splitlines()[-1])
    assert (summary["files"], summary["failed"], len(lost)) == (len(FILES), 0, len(FILES))
    assert opens_to(s3, tmp_path, f"s3://{bucket}/again", key, plain)


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "AccessDenied", "ask the bucket's owner"),
        (500, "InternalError", "trouble of its own"),
        (503, "SlowDown", "lower --in-flight"),
        (403, "RequestTimeTooSkewed", "set this machine's clock"),
    ],
)
def test_one_object_that_is_refused_fails_alone(s3, sealed, tmp_path, status, code, words):
    bucket, plain, key = sealed

    def rule(request):
        is_it = request.path.endswith(("/sealed/folder-3/file-3", "/sealed/large-1")) and request.method == "GET"
        return stores.refuse(status, code) if is_it else None

    arguments = ["decrypt", f"s3://{bucket}/sealed", tmp_path / "back", "--key", key, "--retries", "1"]
    done = run(s3, rule, *arguments, code=tool.PARTIAL)
    told = tool.message(done)
    for name in ("folder-3/file-3", "large-1"):
        assert f"s3://{bucket}/sealed/{name}: cannot read the object: " in told and words in told, told
    assert "2 FAILED" in told
    assert {name.decode() for name in tool.read_tree(tmp_path / "back")} == set(FILES) - {"folder-3/file-3", "large-1"}


def test_credentials_that_expire_stop_nothing_halfway(s3, sealed, tmp_path):
    bucket, plain, key = sealed
    seen = []

    def rule(request):
        seen.append(request.path)
        return stores.refuse(400, "ExpiredToken") if len(seen) > 25 else None

    target = f"s3://{bucket}/again"
    done = run(s3, rule, "encrypt", plain, target, "--key", key, "--in-flight", "4", code=tool.PARTIAL)
    told = tool.message(done)
    assert "credentials have expired (ExpiredToken)" in told
    assert "\nhint: renew them and run again with --if-exists skip\n" in told
    whole = s3.objects(bucket, "again")
    assert 0 < len(whole) < len(FILES)
    s3.run("verify", target, "--key", key)
    s3.run("encrypt", plain, target, "--key", key, "--if-exists", "skip")
    after = s3.objects(bucket, "again")
    assert set(after) == set(FILES) and all(after[name] == data for name, data in whole.items())
    assert opens_to(s3, tmp_path, target, key, plain)


def test_an_object_that_changes_after_the_listing_fails(s3, sealed, tmp_path):
    bucket, plain, key = sealed
    changed = tool.write_tree(tmp_path / "changed", {"file-5": 10_300, "large-2": 17_000_001})
    places = {"file-5": "sealed/folder-1/file-5", "large-2": "sealed/large-2"}

    def rule(request):
        for name, place in places.items():
            # The large one is replaced between two of its parts.
            count = 2 if name == "large-2" else 0
            if request.method == "GET" and request.path.endswith(place) and request.number == count:
                flags = ["--key", key, "--if-exists", "overwrite"]
                s3.run("encrypt", changed / name, f"s3://{bucket}/{place}", *flags)
        return None

    done = run(s3, rule, "decrypt", f"s3://{bucket}/sealed", f"s3://{bucket}/back", "--key", key, code=tool.PARTIAL)
    for place in places.values():
        assert f"s3://{bucket}/{place}: the file changed while it was read" in tool.message(done)
    assert set(s3.objects(bucket, "back")) == set(FILES) - {"folder-1/file-5", "large-2"}


def test_who_comes_first_keeps_the_name(s3, sealed, tmp_path):
    bucket, plain, key = sealed
    other = tool.write_tree(tmp_path / "other", {"large-1": 10, "file-0": 11})

    def rule(request):
        # At the last moment, somebody else takes the name.
        is_completion = request.method == "POST" and "uploadId" in request.query
        is_put = request.method == "PUT" and request.path.endswith("/file-0")
        if request.number == 0 and (is_completion and request.path.endswith("large-1") or is_put):
            place = request.path.split(f"/{bucket}/")[1]
            s3.run("floor", other / place.rsplit("/")[-1], f"s3://{bucket}/{place}")
        return None

    done = run(s3, rule, "encrypt", plain, f"s3://{bucket}/again", "--key", key, code=tool.PARTIAL)
    assert tool.message(done).count("the output exists already") == 2
    found = s3.objects(bucket, "again")
    assert (len(found["large-1"]), len(found["folder-0/file-0"]), len(found)) == (10, 11, len(FILES))


def test_rekeying_in_place_never_replaces_what_it_did_not_read(s3, sealed, tmp_path):
    bucket, plain, key = sealed
    new = tool.keygen(tmp_path / "new.json")
    other = tool.write_tree(tmp_path / "other", {"large-1": 10, "file-0": 11})

    def rule(request):
        is_completion = request.method == "POST" and "uploadId" in request.query
        is_put = request.method == "PUT" and request.path.endswith("/file-0")
        if request.number == 0 and (is_completion and request.path.endswith("large-1") or is_put):
            place = request.path.split(f"/{bucket}/")[1]
            flags = ["--if-exists", "overwrite"]
            s3.run("floor", other / place.rsplit("/")[-1], f"s3://{bucket}/{place}", *flags)
        return None

    place = f"s3://{bucket}/sealed"
    arguments = ["rekey", place, place, "--key", key, "--to", new, "--if-exists", "overwrite"]
    done = run(s3, rule, *arguments, code=tool.PARTIAL)
    assert tool.message(done).count("changed while it was read") == 2
    found = s3.objects(bucket, "sealed")
    assert (len(found["large-1"]), len(found["folder-0/file-0"])) == (10, 11)


def test_a_listing_cut_short_is_no_small_listing(s3, sealed, tmp_path):
    bucket, plain, key = sealed

    def below_one_folder(request):
        return stores.cut if request.is_listing and "folder-2" in request.query else None

    arguments = ["verify", f"s3://{bucket}/sealed", "--key", key, "--retries", "1"]
    done = run(s3, below_one_folder, *arguments, code=tool.PARTIAL)
    assert f"s3://{bucket}/sealed/folder-2: cannot list what is below" in tool.message(done)
    assert "verified 32 files" in tool.message(done) and "1 FAILED" in tool.message(done)

    def everything(request):
        return stores.cut if request.is_listing else None

    done = run(s3, everything, *arguments, code=tool.FAILED)
    assert "cannot list the bucket" in tool.message(done)


def test_a_clock_that_is_off_is_told_by_the_gateway_itself(s3, sealed, tmp_path):
    bucket, _, key = sealed
    arguments = ["verify", f"s3://{bucket}/sealed", "--key", key, "--retries", "0"]
    assert "\nhint: set this machine's clock" in tool.message(run(s3, lambda _: stores.skew, *arguments, code=tool.FAILED))


def test_an_output_that_may_not_be_written_fails_alone(s3, sealed, tmp_path):
    bucket, plain, key = sealed

    def rule(request):
        is_it = request.path.endswith(("/again/folder-1/file-1", "/again/large-2")) and request.method in ("PUT", "POST")
        return stores.refuse(403, "AccessDenied") if is_it else None

    done = run(s3, rule, "encrypt", plain, f"s3://{bucket}/again", "--key", key, code=tool.PARTIAL)
    told = tool.message(done)
    assert "folder-1/file-1: cannot write the output: the credentials do not allow this (AccessDenied)" in told
    assert "large-2: cannot begin the upload: the credentials do not allow this (AccessDenied)" in told
    assert told.count("hint: ask the bucket's owner for permission") == 1
    assert set(s3.objects(bucket, "again")) == set(FILES) - {"folder-1/file-1", "large-2"}


def test_a_listing_that_is_not_allowed_is_told(s3, sealed):
    bucket, _, key = sealed

    def rule(request):
        return stores.refuse(403, "AccessDenied") if request.is_listing else None

    done = run(s3, rule, "verify", f"s3://{bucket}/sealed", "--key", key, code=tool.FAILED)
    assert "cannot list the bucket: the credentials do not allow this" in tool.message(done)
