"""Ctrl-C while a store is written to: nothing waits for requests on their way, uploads are taken back, nothing half-written
is seen, and a second Ctrl-C waits for nothing at all."""

import json
import signal
import subprocess
import threading

import pytest
import stores
import tool

FILES = {f"small-{number}": 1_000 for number in range(30)} | {"large-1": 30_000_000, "large-2": 30_000_000}


class Stuck:
    """A rule under which some requests never come through; `seen` is set when they are of so many paths."""

    def __init__(self, is_stuck, paths=1):
        self.is_stuck, self.wanted, self.paths = is_stuck, paths, set()
        self.seen, self.free = threading.Event(), threading.Event()

    def __call__(self, request):
        if not self.is_stuck(request):
            return None
        self.paths.add(request.path)
        if len(self.paths) >= self.wanted:
            self.seen.set()
        return self.hold

    def hold(self, handler, forward):
        self.free.wait(60)
        handler.close_connection = True


def is_part(request):
    return request.method == "PUT" and "partNumber" in request.query


def is_abort(request):
    return request.method == "DELETE" and "uploadId" in request.query


@pytest.fixture
def tree(tmp_path):
    return tool.write_tree(tmp_path / "plain", FILES), tool.keygen(tmp_path / "key.json")


def stopped(s3, rule, *arguments, content=None, again=None):
    """Sends SIGINT when a request is stuck (and again at another event); gives the process's words and the proxy."""
    proxy = stores.Proxy(s3.port, rule)
    with proxy.running() as port:
        running = subprocess.Popen(
            [tool.COMMAND, *map(str, arguments)],
            env=s3.environment(port),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        feeder = threading.Thread(target=feed, args=(running.stdin, content))
        feeder.start()
        assert rule.seen.wait(60)
        running.send_signal(signal.SIGINT)
        if again:
            assert again.wait(60)
            running.send_signal(signal.SIGINT)
        # Not communicate(), which would write to standard input.
        out, told = running.stdout.read(), running.stderr.read().decode()
        assert running.wait(60) == 130, told
        feeder.join()
        running.stdout.close()
        running.stderr.close()
        rule.free.set()
    return out, told, proxy


def feed(pipe, content):
    try:
        if content:
            pipe.write(content)
            pipe.flush()
    except BrokenPipeError:
        pass
    finally:
        try:
            pipe.close()
        except BrokenPipeError:
            pass


def test_the_first_ends_the_run_and_takes_uploads_back(s3, tree):
    (plain, key), bucket = tree, s3.bucket()
    target = f"s3://{bucket}/sealed"
    # Both uploads have begun by then.
    out, told, proxy = stopped(s3, Stuck(is_part, 2), "encrypt", plain, target, "--key", key, "--json", "--in-flight", "4")
    assert "stopped; completed outputs were kept\nhint: to resume, run again with --if-exists skip" in told
    summary = json.loads(out.splitlines()[-1])
    whole = s3.objects(bucket, "sealed")
    # Small ones whose answer was on its way then are there, but were not heard of: two have their turn beside the large ones.
    assert summary["files"] <= len(whole) <= summary["files"] + 2 and summary["failed"] == 0
    assert not any(name.startswith("large") for name in whole)
    # Paths, not requests: the client repeats what a busy gateway refuses.
    split = [(method, *target.partition("?")[::2]) for method, target in proxy.requests]
    begun = {path for method, path, query in split if method == "POST" and "uploads" in query}
    ended = {path for method, path, query in split if method == "DELETE" and "uploadId" in query}
    assert begun == ended and begun
    s3.run("encrypt", plain, target, "--key", key, "--if-exists", "skip")
    s3.run("verify", target, "--key", key)
    assert set(s3.objects(bucket, "sealed")) == set(FILES)


def test_the_second_waits_for_nothing(s3, tree):
    (plain, key), bucket = tree, s3.bucket()
    abort = threading.Event()

    def is_stuck(request):
        if is_abort(request):
            abort.set()
        return is_part(request) or is_abort(request)

    stopped(s3, Stuck(is_stuck), "encrypt", plain, f"s3://{bucket}/sealed", "--key", key, again=abort)
    assert not any(name.startswith("large") for name in s3.objects(bucket, "sealed"))


def test_reading_and_listing_stop_too(s3, tree, tmp_path):
    (plain, key), bucket = tree, s3.bucket()
    s3.run("encrypt", plain, f"s3://{bucket}/sealed", "--key", key)
    reads = Stuck(lambda request: request.method == "GET" and request.path.endswith("/large-1"))
    stopped(s3, reads, "decrypt", f"s3://{bucket}/sealed", tmp_path / "back", "--key", key)
    assert "large-1" not in {name.decode() for name in tool.read_tree(tmp_path / "back")}
    lists = Stuck(lambda request: request.is_listing and "delimiter" not in request.query)
    stopped(s3, lists, "verify", f"s3://{bucket}/", "--key", key)


def test_a_stream_that_is_stopped_leaves_no_object(s3, tree):
    (_, key), bucket = tree, s3.bucket()
    rule = Stuck(is_part)
    _, told, proxy = stopped(s3, rule, "encrypt", "-", f"s3://{bucket}/one", "--key", key, content=tool.content(30_000_000))
    assert "nothing was written" in told and not s3.objects(bucket)
    assert any(method == "DELETE" for method, _ in proxy.requests)
