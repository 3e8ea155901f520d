"""Object stores of the tests' own, on loopback: versitygw (S3) over a folder, Azurite (Azure), and a proxy that makes trouble."""

import base64
import contextlib
import datetime
import hashlib
import hmac
import http.client
import os
import re
import socket
import subprocess
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import tool

# Azurite's published account and key: no secret.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def wait_for(port, process):
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert process.poll() is None, "the server ended at once"
        time.sleep(0.1)
    raise AssertionError("the server does not answer")


@contextlib.contextmanager
def served(arguments, port, **options):
    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **options)
    try:
        wait_for(port, process)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


class S3:
    """A gateway over folders: what it stores can be looked at as files, past the gateway."""

    def __init__(self, folder, port):
        self.data, self.metadata, self.port, self.made = folder / "data", folder / "meta", port, 0

    @classmethod
    @contextlib.contextmanager
    def running(cls, folder):
        store = cls(folder, free_port())
        store.data.mkdir(parents=True)
        store.metadata.mkdir()
        secrets = os.environ | {"ROOT_ACCESS_KEY": "test", "ROOT_SECRET_KEY": "testsecret"}
        program = os.environ["CIPHERLOOM_VERSITYGW"]
        arguments = [program, "--port", f"127.0.0.1:{store.port}", "--quiet", "posix", "--sidecar"]
        with served([*arguments, store.metadata, store.data], store.port, env=secrets) as store.process:
            yield store

    def bucket(self):
        """A new bucket: its name. An object's key is a path below `data / name`."""
        self.made += 1
        name = f"bucket-{self.made}"
        (self.data / name).mkdir()
        return name

    def environment(self, port=None, **changes):
        return os.environ | {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "testsecret",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port or self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            **changes,
        }

    def objects(self, bucket, prefix=""):
        """Relative key to content, without the gateway's own files."""
        found = tool.read_tree(self.data / bucket / prefix)
        return {os.fsdecode(name): data for name, data in found.items() if not name.startswith(b".sgwtmp")}

    def run(self, *arguments, port=None, code=tool.DONE, changes=None):
        return tool.run(*arguments, code=code, env=self.environment(port, **(changes or {})))


@contextlib.contextmanager
def azurite(folder):
    """Gives the environment by which the command finds it, with one container called `box`."""
    port = free_port()
    program = os.environ["CIPHERLOOM_AZURITE"]
    arguments = [program, "--silent", "--skipApiVersionCheck", "--disableTelemetry", "--location", folder]
    with served([*arguments, "--blobHost", "127.0.0.1", "--blobPort", str(port)], port):
        make_container(port, "box")
        yield os.environ | {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{port}",
        }


def make_container(port, name):
    """Put Container, signed with the shared key (Microsoft, "Authorize with Shared Key")."""
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = f"x-ms-date:{date}\nx-ms-version:2021-08-06\n"
    resource = f"/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    text = "PUT" + "\n" * 12 + headers + resource
    signature = hmac.digest(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.putrequest("PUT", f"/{ACCOUNT}/{name}?restype=container", skip_accept_encoding=True)
    for header, value in {
        "x-ms-date": date,
        "x-ms-version": "2021-08-06",
        "Content-Length": "0",
        "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(signature).decode()}",
    }.items():
        connection.putheader(header, value)
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 201, answer.read()
    connection.close()


class Request:
    """What a rule of the proxy sees. `number` counts from 0, for requests of this method and path alone."""

    def __init__(self, method, target, number):
        self.method, self.number = method, number
        self.path, _, self.query = target.partition("?")
        self.path = urllib.parse.unquote(self.path)

    @property
    def is_listing(self):
        return self.method == "GET" and "list-type" in self.query


def refuse(status, code):
    """The answer of a store that refuses."""
    return lambda handler, forward: handler.answer(status, f"<Error><Code>{code}</Code></Error>".encode(), {})


def cut(handler, forward):
    """Half of the body, then the connection is closed."""
    status, headers, body = forward()
    handler.answer(status, body[: len(body) // 2], headers, length=len(body))
    handler.close_connection = True


def skew(handler, forward):
    """The request arrives as if its sender's clock were a day off."""
    for header in ("X-Amz-Date", "Authorization"):
        if header in handler.headers:
            moved = re.sub(r"\b20\d{6}(?=T|/)", "20200101", handler.headers[header])
            handler.headers.replace_header(header, moved)
    handler.answer(*reordered(forward()))


def reordered(answer):
    status, headers, body = answer
    return status, body, headers


def lose_answer(handler, forward):
    """The store does what is asked, and nobody hears of it."""
    forward()
    handler.close_connection = True


class Proxy:
    """Between the command and a store. `rule` gives for each request what to do with it, or None to let it through."""

    def __init__(self, upstream, rule):
        self.upstream, self.rule, self.counts, self.lock = upstream, rule, {}, threading.Lock()
        self.requests = []

    @contextlib.contextmanager
    def running(self):
        handler = type("Handler", (Handler,), {"proxy": self})
        server = Server(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def seen(self, method, target):
        with self.lock:
            place = (method, target)
            number = self.counts.get(place, 0)
            self.counts[place] = number + 1
            self.requests.append(place)
        return Request(method, target, number)


class Server(ThreadingHTTPServer):
    # A queue shorter than the requests in flight costs those that are dropped a second each.
    daemon_threads, request_queue_size = True, 128


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_one(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) < length:
            # The client went away.
            self.close_connection = True
            return
        request = self.proxy.seen(self.command, self.path)

        def forward():
            connection = http.client.HTTPConnection("127.0.0.1", self.proxy.upstream)
            try:
                connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    connection.putheader(name, value)
                connection.endheaders(body)
                answer = connection.getresponse()
                return answer.status, dict(answer.getheaders()), answer.read()
            finally:
                connection.close()

        trouble = self.proxy.rule(request)
        if trouble is None:
            status, headers, content = forward()
            self.answer(status, content, headers)
        else:
            trouble(self, forward)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_one

    def handle(self):
        # A client that is killed, or gives up, is none of the proxy's concern.
        with contextlib.suppress(ConnectionError):
            super().handle()

    def answer(self, status, body, headers, length=None):
        self.send_response_only(status)
        for name, value in headers.items():
            if not re.fullmatch("content-length|transfer-encoding|connection", name, re.IGNORECASE):
                self.send_header(name, value)
        told = headers.get("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", told or str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass
