"""`-` beside a store: standard input to one object, one object to standard output, with the promises of files."""

import os
import subprocess

import pytest
import stores
import tool

PART = 8 << 20


def piped(s3, *arguments, content=b"", code=tool.DONE, port=None):
    command = [tool.COMMAND, *map(str, arguments)]
    done = subprocess.run(command, input=content, capture_output=True, env=s3.environment(port), timeout=600)
    assert done.returncode == code, done.stderr.decode()
    return done


@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, 2 * PART + 5, 21_000_000])
def test_a_stream_becomes_an_object_and_comes_back(s3, tmp_path, size):
    key, place, plain = tool.keygen(tmp_path / "key.json"), f"s3://{s3.bucket()}/deep/one", tool.content(size)
    piped(s3, "encrypt", "-", place, "--key", key, content=plain)
    assert piped(s3, "decrypt", place, "-", "--key", key).stdout == plain
    # What stands there is what files are: the command opens it as a tree too.
    s3.run("verify", place.rsplit("/", 1)[0], "--key", key)


def test_other_verbs_and_formats_take_streams(s3, tmp_path):
    key, new, bucket = tool.keygen(tmp_path / "key.json"), tool.keygen(tmp_path / "new.json"), s3.bucket()
    raw = tmp_path / "key.hex"
    raw.write_text("07" * 32)
    raw.chmod(0o600)
    cbc = ["--format", "raw", "--cipher", "aes-256-cbc", "--raw-key", raw]
    plain = tool.content(20_000_000)
    sealed = piped(s3, "encrypt", "-", "-", "--key", key, content=plain).stdout
    piped(s3, "rekey", "-", f"s3://{bucket}/new", "--key", key, "--to", new, content=sealed)
    resealed = piped(s3, "rekey", f"s3://{bucket}/new", "-", "--key", new, "--to", key).stdout
    piped(s3, "decrypt", "-", f"s3://{bucket}/plain", "--key", key, content=resealed)
    assert s3.objects(bucket)["plain"] == plain
    # A chain goes in order: as a stream it can be written.
    piped(s3, "encrypt", "-", f"s3://{bucket}/cbc", *cbc, content=plain)
    assert piped(s3, "decrypt", f"s3://{bucket}/cbc", "-", *cbc).stdout == plain


def test_an_object_is_made_once(s3, tmp_path):
    key, bucket = tool.keygen(tmp_path / "key.json"), s3.bucket()
    place = f"s3://{bucket}/one"
    command = ["encrypt", "-", place, "--key", key]
    piped(s3, *command, content=b"first")
    first = s3.objects(bucket)
    for content in (b"second", tool.content(2 * PART)):
        assert "exists already" in tool.message(piped(s3, *command, content=content, code=tool.FAILED))
        done = piped(s3, *command, "--if-exists", "skip", content=content, code=tool.FAILED)
        assert "a stream cannot be compared" in tool.message(done)
    assert s3.objects(bucket) == first
    piped(s3, *command, "--if-exists", "overwrite", content=b"second")
    assert piped(s3, "decrypt", place, "-", "--key", key).stdout == b"second"


def test_who_comes_first_keeps_the_name_of_a_stream(s3, tmp_path):
    key, bucket = tool.keygen(tmp_path / "key.json"), s3.bucket()
    (tmp_path / "other").write_bytes(b"other")

    def rule(request):
        is_completion = request.method == "POST" and "uploadId" in request.query
        if request.number == 0 and is_completion:
            s3.run("floor", tmp_path / "other", f"s3://{bucket}/one")
        return None

    with stores.Proxy(s3.port, rule).running() as port:
        command = ["encrypt", "-", f"s3://{bucket}/one", "--key", key]
        done = piped(s3, *command, content=tool.content(2 * PART), code=tool.FAILED, port=port)
    assert "exists already" in tool.message(done) and s3.objects(bucket) == {"one": b"other"}


def test_what_comes_out_is_authentic_and_an_error_says_not_to_use_it(s3, tmp_path):
    key, bucket = tool.keygen(tmp_path / "key.json"), s3.bucket()
    plain = tool.content(3 * PART)
    sealed = bytearray(piped(s3, "encrypt", "-", "-", "--key", key, content=plain).stdout)
    sealed[2 * PART] ^= 1
    (tmp_path / "damaged").write_bytes(sealed)
    s3.run("floor", tmp_path / "damaged", f"s3://{bucket}/damaged")
    done = piped(s3, "decrypt", f"s3://{bucket}/damaged", "-", "--key", key, code=tool.UNAUTHENTIC)
    assert plain.startswith(done.stdout) and len(done.stdout) < 2 * PART
    assert "the output may be incomplete" in tool.message(done)
    # A damaged stream leaves no object, and no parts of one.
    done = piped(s3, "decrypt", "-", f"s3://{bucket}/plain", "--key", key, content=bytes(sealed), code=tool.UNAUTHENTIC)
    assert "segment 16" in tool.message(done) and set(s3.objects(bucket)) == {"damaged"}


def test_a_part_that_is_refused_leaves_nothing(s3, tmp_path):
    key, bucket = tool.keygen(tmp_path / "key.json"), s3.bucket()

    def rule(request):
        return stores.refuse(403, "AccessDenied") if "partNumber=2" in request.query else None

    proxy = stores.Proxy(s3.port, rule)
    with proxy.running() as port:
        command = ["encrypt", "-", f"s3://{bucket}/one", "--key", key]
        done = piped(s3, *command, content=tool.content(3 * PART), code=tool.FAILED, port=port)
    assert "write a part of the output: the credentials do not allow this" in tool.message(done)
    assert not s3.objects(bucket)
    # The client repeats what a busy gateway refuses, and a part on another connection may be told of later.
    assert any(method == "DELETE" and "uploadId" in target for method, target in proxy.requests)


def test_mistakes_with_streams(s3, tmp_path):
    key, bucket = tool.keygen(tmp_path / "key.json"), s3.bucket()
    piped(s3, "encrypt", "-", f"s3://{bucket}/a/one", "--key", key, content=b"one")

    def told(*arguments, code=tool.USAGE):
        return tool.message(piped(s3, *arguments, "--key", key, code=code))

    assert "standard input has no name" in told("encrypt", "-", f"s3://{bucket}/a/")
    assert "standard input has no name" in told("encrypt", "-", f"s3://{bucket}")
    assert "only a single file" in told("decrypt", f"s3://{bucket}/a", "-")
    assert "no path to bind" in told("encrypt", "-", f"s3://{bucket}/x", "--bind-path")
    assert "no plan to show" in told("encrypt", "-", f"s3://{bucket}/x", "--dry-run")
    assert "no such bucket" in told("encrypt", "-", "s3://not-there/x", code=tool.FAILED)
    assert "prints to standard output" in told("decrypt", f"s3://{bucket}/a/one", "-", "--json")
    assert set(s3.objects(bucket)) == {"a/one"}


def test_memory_is_bounded_for_streams(s3, tmp_path):
    key, place = tool.keygen(tmp_path / "key.json"), f"s3://{s3.bucket()}/large"
    for verb, shell in (("encrypt", f'head -c 600M /dev/zero | "$0" encrypt - {place} --key "$1"'), ("decrypt", f'"$0" decrypt {place} - --key "$1" | wc -c')):
        # The largest of the shell's children is the command.
        script = f"set -o pipefail; {shell}"
        running = subprocess.Popen(["bash", "-c", script, tool.COMMAND, key], env=s3.environment(), stdout=subprocess.PIPE)
        said = running.stdout.read()
        running.stdout.close()
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        assert running.returncode == 0
        assert usage.ru_maxrss < 420 << 10, f"{verb}: {usage.ru_maxrss >> 10} MiB"
        assert verb == "encrypt" or int(said) == 600 << 20
