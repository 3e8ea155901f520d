"""Publications that were sold: new editions under the old key, and license servers that are told, late or again.

The server here checks requests as edrlab/lcp-server 2.0.0 does (`pkg/stor/publication.go`, `pkg/api/publication_handler.go`),
which Go's module proxy does not have. What it accepts was tried with the real one.
"""

import base64
import json
import os
import re
import threading
import urllib.parse
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import lcp_reader
import pytest
import tool

SAMPLE = Path(os.environ["CIPHERLOOM_LCP_SERVER"]) / "test/samples/sample.epub"
CERTIFICATE = Path(os.environ["CIPHERLOOM_LCP_SERVER"]) / "test/cert/cert-edrlab-test.pem"
PRIVATE_KEY = Path(os.environ["CIPHERLOOM_LCP_SERVER"]) / "test/cert/privkey-edrlab-test.pem"
PUBLIC = ["--public-url", "https://books.example/a"]


def is_valid(publication):
    """What the server's `validate` tags and types ask for."""
    href = urllib.parse.urlsplit(publication.get("href", ""))
    return (
        re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", publication["uuid"])
        and publication.get("title")
        and publication.get("content_type")
        and len(base64.b64decode(publication["encryption_key"], validate=True)) == 32
        and href.scheme in ("http", "https")
        and href.netloc
        and 0 < publication["size"] < 1 << 32
        and re.fullmatch(r"([A-Za-z0-9+/]{4})+", publication["checksum"])
        and (not publication.get("provider") or urllib.parse.urlsplit(publication["provider"]).scheme)
    )


class LicenseServer:
    """Publications by identifier, every request's method, path and status, and whether answers get lost."""

    def __init__(self):
        self.publications, self.requests, self.is_broken, self.loses_answers = {}, [], False, False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.answer(lambda publication: 500 if publication["uuid"] in outer.publications else 201)

            def do_PUT(self):
                name = self.path.rsplit("/", 1)[1]
                self.answer(lambda publication: 200 if name in outer.publications else 404)

            def answer(self, judge):
                publication = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status = 503 if outer.is_broken else judge(publication) if is_valid(publication) else 400
                outer.requests.append((self.command, self.path, status))
                if status < 300:
                    outer.publications[publication["uuid"]] = publication
                if outer.loses_answers:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server():
    server = LicenseServer()
    yield server
    server.http.shutdown()
    server.http.server_close()


def records(keys):
    return [json.loads(line) for line in keys.read_text().splitlines()]


def new_edition(path):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("erratum.txt", "The date on page 7 was wrong.")


def test_a_sold_book_is_updated(tmp_path, server):
    """Licenses that were made before open the new edition, and the server keeps its publication."""
    book, out, keys = tmp_path / "book.epub", tmp_path / "out", tmp_path / "keys.json"
    book.write_bytes(SAMPLE.read_bytes())
    encrypt = ["lcp", "encrypt", book, "--out", out, "--key-file", keys, "--notify", server.url, *PUBLIC]
    tool.run(*encrypt)
    words, license = tmp_path / "words", tmp_path / "sold.lcpl"
    words.write_text("open\n")
    tool.run("lcp", "license", out / "book.epub", "--key-file", keys, "--passphrase-file", words, "--hint", "h",
             "--provider", "https://p.example", "--cert", CERTIFICATE, "--private-key", PRIVATE_KEY, "--out", license)
    first = records(keys)[-1]
    before = (out / "book.epub").read_bytes()
    new_edition(book)
    # Without --update a second key would be made: by any way to the same output, and to another one.
    refused = tool.run(*encrypt, "--if-exists", "overwrite", code=tool.FAILED)
    assert first["id"] in tool.message(refused) and "--update" in tool.message(refused)
    (out / "book.epub").rename(tmp_path / "elsewhere.epub")
    assert first["id"] in tool.message(tool.run(*encrypt, code=tool.FAILED))
    (tmp_path / "elsewhere.epub").rename(out / "book.epub")
    assert (out / "book.epub").read_bytes() == before and len(records(keys)) == 2
    tool.run(*encrypt, "--update")
    last = records(keys)[-1]
    assert (last["id"], last["content_key"]) == (first["id"], first["content_key"])
    assert last["protected"]["sha256"] != first["protected"]["sha256"]
    contents, _ = lcp_reader.read(out / "book.epub", lcp_reader.content_key(first))
    assert contents["erratum.txt"].startswith(b"The date")
    tool.run("lcp", "decrypt", out / "book.epub", "--license", license, "--passphrase-file", words, "--out",
             tmp_path / "opened.epub")
    assert server.requests == [("POST", "/publications", 201), ("PUT", f"/publications/{first['id']}", 200)]
    assert server.publications[first["id"]]["checksum"] == last["protected"]["sha256"]


def test_the_same_book_for_another_folder_is_refused_by_name(tmp_path):
    book, keys = tmp_path / "book.epub", tmp_path / "keys.json"
    book.write_bytes(SAMPLE.read_bytes())
    encrypt = ["lcp", "encrypt", book, "--key-file", keys, "--out"]
    tool.run(*encrypt, tmp_path / "one")
    refused = tool.run(*encrypt, tmp_path / "two", code=tool.FAILED)
    assert "book.epub" in tool.message(refused) and records(keys)[0]["id"] in tool.message(refused)
    assert len(records(keys)) == 1 and not (tmp_path / "two/book.epub").exists()
    # A run that was stopped before the output had its name leaves a record: it is taken up again.
    (tmp_path / "one/book.epub").unlink()
    tool.run(*encrypt, tmp_path / "one", "--if-exists", "skip")
    first, second = records(keys)
    assert (first["id"], first["content_key"]) == (second["id"], second["content_key"])


def test_identifiers_and_keys_that_are_given(tmp_path, server):
    """What another program protected and sold is updated by its identifier and key."""
    key, keys = bytes(range(32)), tmp_path / "keys.json"
    (tmp_path / "key").write_bytes(base64.b64encode(key) + b"\n")
    (tmp_path / "key").chmod(0o644)
    book = tmp_path / "book.epub"
    book.write_bytes(SAMPLE.read_bytes())
    name = "3f1c52c4-1dd1-4bd5-8d9a-6bb9dfdf4f0a"
    encrypt = ["lcp", "encrypt", book, "--out", tmp_path / "out", "--key-file", keys, "--notify", server.url, *PUBLIC]
    single = ["--id", name, "--alt-id", "978-3-16-148410-0", "--content-key-file", tmp_path / "key"]
    tool.run(*encrypt, "--id", "ISBN", code=tool.USAGE)
    tool.run(*encrypt[:2], SAMPLE, *encrypt[2:], *single, code=tool.USAGE)
    assert not keys.exists()
    done = tool.run(*encrypt, *single, "--update")
    assert "others may read the content key" in tool.message(done)
    # The server does not know it yet, so the update becomes an addition.
    assert [request[0::2] for request in server.requests] == [("PUT", 404), ("POST", 201)]
    told = server.publications[name]
    assert (told["alt_id"], base64.b64decode(told["encryption_key"])) == ("978-3-16-148410-0", key)
    lcp_reader.read(tmp_path / "out/book.epub", key)
    assert name in tool.message(tool.run(*encrypt, "--id", name, "--if-exists", "overwrite", code=tool.FAILED))
    (tmp_path / "key").write_bytes(base64.b64encode(bytes(32)))
    failed = tool.run(*encrypt, *single, "--update", code=tool.KEY)
    assert "another content key" in tool.message(failed)
    tool.run(*encrypt, "--id", name, "--update")
    assert records(keys)[-1]["alt_id"] == "978-3-16-148410-0"


def test_what_the_server_would_refuse_is_refused_before_work_begins(tmp_path, server):
    keys = tmp_path / "keys.json"
    encrypt = ["lcp", "encrypt", "--out", tmp_path / "out", "--key-file", keys, "--notify", server.url]
    assert "--public-url" in tool.message(tool.run(*encrypt, SAMPLE, code=tool.USAGE))
    tool.run(*encrypt, SAMPLE, "--public-url", "/srv/books", code=tool.USAGE)
    large = tmp_path / "large.pdf"
    with open(large, "wb") as file:
        file.write(b"%PDF-1.7\n")
        file.truncate(4 << 30)
    failed = tool.run(*encrypt, large, *PUBLIC, code=tool.FAILED)
    assert "less than 4 GiB" in tool.message(failed)
    assert not keys.exists() and not list((tmp_path / "out").glob("*")) and server.requests == []


def test_keys_never_cross_the_network_in_clear(tmp_path):
    encrypt = ["lcp", "encrypt", SAMPLE, "--out", tmp_path / "out", "--key-file", tmp_path / "keys.json", *PUBLIC]
    refused = tool.run(*encrypt, "--notify", "http://lcp.example", code=tool.USAGE)
    assert "--allow-http" in tool.message(refused) and not (tmp_path / "keys.json").exists()
    # What is allowed expressly is tried; nobody is there.
    tool.run(*encrypt, "--notify", "http://lcp.invalid", "--allow-http", code=tool.PARTIAL)
    # Nor when it is sent again.
    again = ["lcp", "notify", "--key-file", tmp_path / "keys.json", "--pending"]
    assert "--allow-http" in tool.message(tool.run(*again, code=tool.FAILED))


def test_failed_notifications_are_sent_again(tmp_path, server):
    shelves, out, keys = tmp_path / "shelves", tmp_path / "out", tmp_path / "keys.json"
    for shelf in ("a", "b"):
        (shelves / shelf).mkdir(parents=True)
        (shelves / shelf / "book.epub").write_bytes(SAMPLE.read_bytes())
    (shelves / "other.epub").write_bytes(SAMPLE.read_bytes())
    encrypt = ["lcp", "encrypt", shelves, "--out", out, "--key-file", keys, "--notify", server.url, *PUBLIC]
    notify = ["lcp", "notify", "--key-file", keys, "--json"]
    server.is_broken = True
    login = tmp_path / "login"
    login.write_text("me:secret\n")
    login.chmod(0o644)
    encrypt += ["--notify-login", login]
    failed = tool.run(*encrypt, code=tool.PARTIAL)
    assert "others may read the login file" in tool.message(failed)
    assert "lcp notify --pending" in tool.message(failed) and server.publications == {}
    made = {record["id"]: record for record in records(keys)}
    tool.run(*notify, "--pending", code=tool.FAILED)
    # The server takes them, and its answers get lost: it has them, and nobody knows.
    server.is_broken, server.loses_answers = False, True
    tool.run(*notify, "--pending", code=tool.FAILED)
    server.loses_answers = False
    moved = next(record for record in made.values() if record["source"]["name"] == "other.epub")
    Path(moved["output"]).rename(tmp_path / "moved.epub")
    partial = tool.run(*notify, "--pending", code=tool.PARTIAL)
    assert json.loads(partial.stdout.splitlines()[-1]) == {"event": "summary", "sent": 2, "failed": 1}
    tool.run(*notify, moved["id"])
    assert json.loads(tool.run(*notify, "--pending").stdout) == {"event": "summary", "sent": 0, "failed": 0}
    assert {name: told["encryption_key"] for name, told in server.publications.items()} == {
        name: record["content_key"] for name, record in made.items()
    }
    # Two books of one name are two for the shop too.
    assert sorted(told["alt_id"] for told in server.publications.values()) == ["a-book", "b-book", "other"]
    tool.run(*notify, "nobody", code=tool.KEY)


def test_a_notification_counts_as_written_when_it_is_in_the_file(tmp_path, server):
    def encrypt(number, file, *more, code=tool.DONE):
        book, keys = tmp_path / f"{number}.epub", tmp_path / f"{number}.json"
        book.write_bytes(SAMPLE.read_bytes())
        done = tool.run("lcp", "encrypt", book, "--out", tmp_path / "out", "--key-file", keys, "--notify-file", file,
                        *PUBLIC, *more, code=code)
        return records(keys)[-1], tool.message(done)

    lines = tmp_path / "lines"
    first, _ = encrypt(1, lines)
    assert first["notice"]["sent"] and json.loads(lines.read_text())["uuid"] == first["id"]
    lost, said = encrypt(2, "/dev/full", code=tool.PARTIAL)
    assert not lost["notice"]["sent"] and "notification file" in said and "1 NOT NOTIFIED" in said
    # One is done whatever becomes of the other.
    told, said = encrypt(3, "/dev/full", "--notify", server.url, code=tool.PARTIAL)
    assert told["notice"]["sent"] and told["id"] in server.publications and "1 NOT NOTIFIED" in said
    server.is_broken = True
    written, _ = encrypt(4, lines, "--notify", server.url, code=tool.PARTIAL)
    assert not written["notice"]["sent"]
    assert json.loads(lines.read_text().splitlines()[-1])["uuid"] == written["id"]


def test_only_a_file_is_skipped_as_an_output(tmp_path):
    book, keys, words, out = tmp_path / "book.pdf", tmp_path / "keys.json", tmp_path / "words", tmp_path / "out"
    book.write_bytes(b"%PDF-1.7\n")
    words.write_text("open\n")
    tool.run("lcp", "encrypt", book, "--out", out, "--key-file", keys)
    license = ["lcp", "license", out / "book.lcpdf", "--key-file", keys, "--passphrase-file", words, "--hint", "h",
               "--provider", "https://p.example", "--cert", CERTIFICATE, "--private-key", PRIVATE_KEY, "--if-exists",
               "skip", "--out"]
    decrypt = ["lcp", "decrypt", out / "book.lcpdf", "--license", tmp_path / "l.lcpl", "--passphrase-file", words,
               "--if-exists", "skip", "--out"]
    tool.run(*license, tmp_path / "l.lcpl")
    (tmp_path / "dangling").symlink_to("nowhere")
    for command in (license, decrypt):
        for taken in (out, tmp_path / "dangling"):
            tool.run(*command, taken, code=tool.FAILED)
        assert "skipped" in tool.message(tool.run(*command, words))
