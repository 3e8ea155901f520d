"""Google Cloud Storage, as far as it can be had on loopback: fake-gcs-server keeps the objects, their generations and the
conditions on them; its XML API, which the client speaks, lists without pages, ignores `If-Match` and knows no PUT, copy or
multipart upload. `Front` gives these, as Google's reference of the XML API describes them, over the server's JSON API.
"""

import contextlib
import hashlib
import http.client
import json
import os
import threading
import uuid
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import stores
import tool

# Google Cloud Storage, "Multipart uploads": every part but the last has at least 5 MiB.
LEAST_PART = 5 << 20


class Store:
    """The server with its front, and one bucket called `box`."""

    def __init__(self, server, page=1000):
        self.server, self.page = server, page
        self.uploads, self.port = {}, None

    @classmethod
    @contextlib.contextmanager
    def running(cls):
        port = stores.free_port()
        program = os.environ["CIPHERLOOM_FAKE_GCS"]
        arguments = [program, "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
        arguments += ["-public-host", f"127.0.0.1:{port}", "-log-level", "error"]
        with stores.served(arguments, port, stderr=None), cls(port).front() as store:
            store.ask("POST", "/storage/v1/b", json.dumps({"name": "box"}), {"Content-Type": "application/json"})
            yield store

    @contextlib.contextmanager
    def front(self):
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Front,), {"store": self}))
        server.daemon_threads = True
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def environment(self, port=None):
        key = {"gcs_base_url": f"http://127.0.0.1:{port or self.port}", "disable_oauth": True}
        key |= {"client_email": "", "private_key": "", "private_key_id": ""}
        return os.environ | {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(key)}

    def run(self, *arguments, port=None, code=tool.DONE, **options):
        return tool.run(*arguments, code=code, env=self.environment(port), **options)

    def ask(self, method, path, body=b"", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def names(self, prefix=""):
        _, _, body = self.ask("GET", f"/storage/v1/b/box/o?prefix={quote(prefix)}")
        return sorted(item["name"] for item in json.loads(body).get("items", []))

    def put(self, bucket, key, content, metadata=None, generation=None):
        """Objects: insert (JSON API); only if the key holds this generation, where 0 is none."""
        mark = uuid.uuid4().hex
        head = f"--{mark}\r\nContent-Type: application/json\r\n\r\n{json.dumps({'metadata': metadata or {}})}\r\n"
        head += f"--{mark}\r\nContent-Type: application/octet-stream\r\n\r\n"
        path = f"/upload/storage/v1/b/{bucket}/o?uploadType=multipart&name={quote(key, safe='')}"
        if generation is not None:
            path += f"&ifGenerationMatch={generation}"
        kind = {"Content-Type": f"multipart/related; boundary={mark}"}
        status, _, body = self.ask("POST", path, head.encode() + content + f"\r\n--{mark}--\r\n".encode(), kind)
        return status, json.loads(body)


class Front(stores.Handler):
    """One request in the XML API: `/bucket/key`, the key escaped."""

    def handle_one(self):
        path, _, query = self.path.partition("?")
        self.bucket, _, key = path.removeprefix("/").partition("/")
        self.key = unquote(key)
        self.query = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        upload = self.store.uploads.get(self.query.get("uploadId"))
        match self.command:
            case _ if "uploadId" in self.query and upload is None:
                self.refuse(404, "NoSuchUpload")
            case "GET" if not self.key:
                self.list()
            case "GET" | "HEAD":
                self.read()
            case "POST" if "uploads" in self.query:
                self.begin()
            case "PUT" if upload:
                self.part(upload)
            case "POST" if upload:
                self.complete(upload)
            case "DELETE" if upload:
                del self.store.uploads[self.query["uploadId"]]
                self.answer(204, b"", {})
            case "DELETE":
                status, _, _ = self.store.ask("DELETE", f"/storage/v1/b/{self.bucket}/o/{quote(self.key, safe='')}")
                self.answer(204, b"", {}) if status < 300 else self.refuse(status, "NoSuchKey")
            case "PUT" if "x-goog-copy-source" in self.headers:
                self.copy()
            case "PUT":
                self.write(self.body, self.metadata())
            case _:
                self.refuse(400, "InvalidArgument")

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_one

    def refuse(self, status, code):
        self.answer(status, f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code></Error>".encode(), {})

    def metadata(self):
        begin = "x-goog-meta-"
        named = {name.lower(): value for name, value in self.headers.items()}
        return {name.removeprefix(begin): value for name, value in named.items() if name.startswith(begin)}

    def missing(self):
        """404: of the object, or of the bucket."""
        status, _, _ = self.store.ask("GET", f"/storage/v1/b/{self.bucket}")
        self.refuse(404, "NoSuchKey" if status == 200 else "NoSuchBucket")

    def list(self):
        """GET Bucket (List Objects), `list-type=2`: the server gives all there is; here it is cut into pages."""
        wanted = {name: self.query[name] for name in ("prefix", "delimiter") if name in self.query}
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in wanted.items())
        status, _, body = self.store.ask("GET", f"/storage/v1/b/{self.bucket}/o?{query}")
        if status != 200:
            return self.missing()
        found = json.loads(body)
        entries = {item["name"]: item for item in found.get("items", [])} | dict.fromkeys(found.get("prefixes", []))
        after = self.query.get("continuation-token", "")
        names = sorted(name for name in entries if name > after)
        page, is_cut = names[: self.store.page], len(names) > self.store.page
        listed = "".join(entry(name, entries[name]) for name in page)
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if is_cut else ""
        text = f"<ListBucketResult><IsTruncated>{str(is_cut).lower()}</IsTruncated>{listed}{token}</ListBucketResult>"
        return self.answer(200, text.encode(), {"Content-Type": "application/xml"})

    def read(self):
        """GET and HEAD Object, with `If-Match`."""
        passed = {name: self.headers[name] for name in ("Range",) if name in self.headers}
        status, headers, body = self.store.ask(self.command, f"/{self.bucket}/{quote(self.key, safe='')}", b"", passed)
        if status == 404:
            return self.missing()
        if self.headers.get("If-Match", headers.get("Etag")) != headers.get("Etag"):
            return self.refuse(412, "PreconditionFailed")
        return self.answer(status, body, headers)

    def write(self, content, metadata, text=b""):
        """PUT Object, on the condition that the request brings."""
        condition = self.headers.get("x-goog-if-generation-match")
        status, made = self.store.put(self.bucket, self.key, content, metadata, condition)
        if status == 412:
            return self.refuse(412, "PreconditionFailed")
        if status != 200:
            return self.missing()
        return self.answer(200, text, {"ETag": f'"{made["etag"]}"', "x-goog-generation": made["generation"]})

    def copy(self):
        """PUT Object (copy): content and metadata of the other one."""
        bucket, _, key = unquote(self.headers["x-goog-copy-source"]).removeprefix("/").partition("/")
        status, _, content = self.store.ask("GET", f"/{bucket}/{quote(key, safe='')}")
        if status != 200:
            return self.missing()
        _, _, told = self.store.ask("GET", f"/storage/v1/b/{bucket}/o/{quote(key, safe='')}")
        return self.write(content, json.loads(told).get("metadata"), b"<CopyObjectResult/>")

    def begin(self):
        """Initiate Multipart Upload: the metadata comes here."""
        if self.store.ask("GET", f"/storage/v1/b/{self.bucket}")[0] != 200:
            return self.missing()
        name = uuid.uuid4().hex
        self.store.uploads[name] = {"parts": {}, "metadata": self.metadata()}
        text = f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>"
        return self.answer(200, text.encode(), {})

    def part(self, upload):
        tag = f'"{hashlib.md5(self.body).hexdigest()}"'
        upload["parts"][int(self.query["partNumber"])] = (tag, self.body)
        self.answer(200, b"", {"ETag": tag})

    def complete(self, upload):
        """Complete Multipart Upload. It takes no condition."""
        told = [(int(part.findtext("PartNumber")), part.findtext("ETag")) for part in ElementTree.fromstring(self.body)]
        parts = upload["parts"]
        if told != sorted(told) or any(parts.get(number, (None,))[0] != tag for number, tag in told):
            return self.refuse(400, "InvalidPart")
        contents = [parts[number][1] for number, _ in told]
        if any(len(content) < LEAST_PART for content in contents[:-1]):
            return self.refuse(400, "EntityTooSmall")
        del self.store.uploads[self.query["uploadId"]]
        text = b"<CompleteMultipartUploadResult><ETag>whole</ETag></CompleteMultipartUploadResult>"
        return self.write(b"".join(contents), upload["metadata"], text)


def entry(name, item):
    if item is None:
        return f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
    return (
        f"<Contents><Key>{escape(name)}</Key><Generation>{item['generation']}</Generation><Size>{item['size']}</Size>"
        f'<LastModified>{item["updated"]}</LastModified><ETag>"{item["etag"]}"</ETag></Contents>'
    )
