"""Publications under Readium LCP: real ones, checked by programs of others."""

import hashlib
import io
import json
import os
import random
import subprocess
import sys
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import lcp_reader
import pytest
import tool

SAMPLES = [Path(folder) for folder in os.environ["CIPHERLOOM_LCP_SAMPLES"].split(os.pathsep)]
LCPENCRYPT = os.environ["CIPHERLOOM_LCPENCRYPT"]
EPUBCHECK = Path(os.environ["CIPHERLOOM_EPUBCHECK"])
ERRORS_OF = str(Path(__file__).parent.parent / "peers/epubcheck/ErrorsOf.java")

# What the protection itself writes.
MADE = {"META-INF/encryption.xml", "manifest.json", "mimetype"}


def books(*extensions):
    """Every sample once, by content."""
    found = {}
    for folder in SAMPLES:
        for path in sorted(folder.rglob("*")):
            if path.suffix in extensions and path.is_file() and path.stat().st_size > 0:
                found.setdefault(hashlib.sha256(path.read_bytes()).digest(), path)
    return sorted(found.values())


@pytest.fixture(scope="module")
def protected(tmp_path_factory):
    """All samples in one run: pairs of source and output, and the key file."""
    folder = tmp_path_factory.mktemp("lcp")
    sources = books(".epub", ".webpub")
    assert len(sources) >= 12, "too few samples to say anything"
    named = []
    for number, source in enumerate(sources):
        # Samples of the same name come from different places.
        link = folder / "sources" / f"{number:02}-{source.name}"
        link.parent.mkdir(exist_ok=True)
        link.write_bytes(source.read_bytes())
        named.append(link)
    out, keys = folder / "out", folder / "keys.json"
    tool.run("lcp", "encrypt", folder / "sources", "--out", out, "--key-file", keys)
    outputs = {path.name.split("-")[0]: path for path in out.iterdir()}
    return [(source, outputs[source.name.split("-")[0]]) for source in named], keys


def test_every_resource_comes_back(protected):
    pairs, key_file = protected
    records = lcp_reader.keys(key_file)
    assert oct(key_file.stat().st_mode & 0o777) == "0o600"
    resources = 0
    for source, output in pairs:
        record = records[output.name]
        assert record["protected"]["sha256"] == hashlib.sha256(output.read_bytes()).hexdigest()
        assert record["source"]["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
        contents, listed = lcp_reader.read(output, lcp_reader.content_key(record))
        with zipfile.ZipFile(source) as archive:
            for entry in archive.infolist():
                if entry.filename not in MADE:
                    assert contents.pop(entry.filename) == archive.read(entry), f"{source}: {entry.filename}"
            assert set(contents) <= MADE
            assert archive.testzip() is None
        resources += len(listed)
    assert resources > 1000


def test_mimetype_is_first_and_stored(protected):
    for _, output in (pair for pair in protected[0] if pair[1].suffix == ".epub"):
        with zipfile.ZipFile(output) as archive:
            first = archive.infolist()[0]
            assert (first.filename, first.compress_type, first.header_offset) == ("mimetype", zipfile.ZIP_STORED, 0)
            assert output.read_bytes()[30:58] == b"mimetypeapplication/epub+zip"


def errors(books):
    """What epubcheck finds wrong in each of these books, by kind."""
    done = subprocess.run(
        ["java", "-Xmx1g", "-XX:TieredStopAtLevel=1", "-cp", f"{EPUBCHECK}/*", ERRORS_OF],
        input="".join(f"{book}\n" for book in books),
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    kinds = [set(filter(None, line.split("\t"))) for line in done.stdout.splitlines()]
    assert len(kinds) == len(books), done.stderr
    return kinds


def lcpencrypt(source, folder, name):
    done = subprocess.run(
        [LCPENCRYPT, "-input", str(source), "-output", str(folder), "-filename", name, "-contentid", name],
        capture_output=True,
        cwd=folder,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return folder / f"{name}.epub"


def test_epubcheck_finds_nothing_new(protected, tmp_path):
    """Not every sample is without fault: no error may be new. Two cannot be helped, and epubcheck finds them in what
    lcpencrypt makes of the same book too: the navigation, which stays clear, leads to a place inside of an encrypted
    chapter (RSC-012); and for EPUB 2 its schema of encryption.xml has no Compression (RSC-005), which LCP requires."""
    # A large one takes epubcheck many seconds.
    most = 2_000_000 if tool.IS_LONG else 1_000_000
    small = [pair for pair in protected[0] if pair[1].suffix == ".epub" and pair[0].stat().st_size <= most]
    found = errors([path for pair in small for path in pair])
    new = {pair: after - before for pair, before, after in zip(small, found[::2], found[1::2]) if after - before}
    assert all(kinds <= {"RSC-012 ERROR", "RSC-005 ERROR"} for kinds in new.values()), new
    theirs = [lcpencrypt(source, tmp_path, f"book-{number}") for number, (source, _) in enumerate(new)]
    for (source, _), ours, of_theirs in zip(new, new.values(), errors(theirs)):
        assert ours <= of_theirs, source.name
    assert len(small) >= 5 and len(small) - len(new) >= 3, new


def test_what_stays_clear_is_what_lcpencrypt_leaves_clear(protected, tmp_path):
    """The same books through Readium's own command: the same resources are encrypted, in the same way but for what
    its source deflates anyway, and we can tell both apart from an unprotected book."""
    compared = 0
    for number, (source, output) in enumerate(protected[0]):
        if output.suffix != ".epub" or source.stat().st_size > 2_000_000:
            continue
        name = f"book-{number}"
        lcpencrypt(source, tmp_path, name)
        with zipfile.ZipFile(tmp_path / f"{name}.epub") as theirs, zipfile.ZipFile(output) as ours:
            their_list, our_list = lcp_reader.protected(theirs), lcp_reader.protected(ours)
        assert our_list == their_list, source.name
        # Ours refuses to protect it a second time, by what it reads in it.
        failed = tool.run("lcp", "encrypt", tmp_path / f"{name}.epub", "--out", tmp_path / "again", code=tool.FAILED)
        assert "protected with LCP already" in tool.message(failed)
        compared += 1
    assert compared >= 5


def package(path, manifest, files, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(manifest))
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_audiobook_keeps_unknown_keys_and_can_be_sought_in(tmp_path, method):
    files = {f"track {number}.mp3": tool.content(300_000 + number, number) for number in range(5)}
    files |= {"cover.jpg": b"\xff\xd8" + bytes(100), "text/notes.html": b"<p>note</p>" * 20_000, "extra.bin": b"x"}
    manifest = {
        "@context": "https://readium.org/webpub-manifest/context.jsonld",
        "x-unknown": {"kept": [1, 2.5, None]},
        "metadata": {"title": "Sounds", "conformsTo": "https://readium.org/webpub-manifest/profiles/audiobook"},
        "readingOrder": [
            {"href": f"track%20{number}.mp3", "type": "audio/mpeg", "properties": {"x-kept": number}}
            for number in range(5)
        ],
        "resources": [
            {"href": "cover.jpg", "type": "image/jpeg", "rel": "cover"},
            {"href": "text/notes.html", "type": "text/html"},
        ],
    }
    source = package(tmp_path / "sounds.audiobook", manifest, files, method)
    keys = tmp_path / "keys.json"
    tool.run("lcp", "encrypt", source, "--out", tmp_path / "out", "--key-file", keys)
    output = tmp_path / "out" / "sounds.lcpa"
    contents, listed = lcp_reader.read(output, lcp_reader.content_key(lcp_reader.keys(keys)[output.name]))
    assert {name: data for name, data in contents.items() if name != "manifest.json"} == files
    assert listed == {f"track {number}.mp3" for number in range(5)} | {"text/notes.html"}
    with zipfile.ZipFile(output) as archive:
        protected = lcp_reader.protected(archive)
    assert not any(protected[f"track {number}.mp3"][0] for number in range(5)), "audio must not be deflated"
    assert protected["text/notes.html"] == (True, len(files["text/notes.html"]))
    written = json.loads(contents["manifest.json"])
    for link in written["readingOrder"] + written["resources"]:
        link.get("properties", {}).pop("encrypted", None)
        if link.get("properties") == {}:
            del link["properties"]
    assert written == manifest


def test_pdf_is_wrapped(tmp_path):
    content = b"%PDF-1.7\n" + tool.content(500_000)
    (tmp_path / "A_Fine-Book.pdf").write_bytes(content)
    keys = tmp_path / "keys.json"
    tool.run("lcp", "encrypt", tmp_path / "A_Fine-Book.pdf", "--out", tmp_path, "--key-file", keys)
    record = lcp_reader.keys(keys)["A_Fine-Book.lcpdf"]
    contents, listed = lcp_reader.read(tmp_path / "A_Fine-Book.lcpdf", lcp_reader.content_key(record))
    assert contents["publication.pdf"] == content and listed == {"publication.pdf"}
    assert json.loads(contents["manifest.json"])["metadata"]["title"] == "A Fine Book" == record["title"]


def test_servers_of_both_generations_are_told(tmp_path):
    told = []

    class Server(BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.append((self.command, self.path, self.headers["Authorization"], json.loads(body)))
            self.send_response(500 if "broken" in self.path else 201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_PUT = do_POST = answer

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    login = tmp_path / "login"
    login.write_text("me:secret\n")
    book = next(path for path in books(".epub") if path.name == "lorem.epub")

    def encrypt(number, *more, **options):
        keys = tmp_path / f"{number}.json"
        common = ["--out", tmp_path / f"{number}", "--key-file", keys, "--public-url", "https://books.example/a"]
        done = tool.run("lcp", "encrypt", book, *common, *more, **options)
        return done, json.loads(keys.read_text().splitlines()[0])

    _, first = encrypt(1, "--notify", url, "--notify-version", "v1")
    _, second = encrypt(2, "--notify", url + "/", "--notify-login", login, "--provider", "https://p")
    assert told[0] == ("PUT", f"/contents/{first['id']}", None, {
        "content-id": first["id"],
        "content-encryption-key": first["content_key"],
        "storage-mode": 2,
        "protected-content-location": "https://books.example/a/lorem.epub",
        "protected-content-disposition": "lorem.epub",
        "protected-content-type": "application/epub+zip",
        "protected-content-length": first["protected"]["size"],
        "protected-content-sha256": first["protected"]["sha256"],
    })
    assert told[1][:3] == ("POST", "/publications", "Basic bWU6c2VjcmV0")
    assert told[1][3]["encryption_key"] == second["content_key"] and told[1][3]["provider"] == "https://p"
    # A server that refuses leaves the book and its key where they are, and is told of.
    failed, _ = encrypt(3, "--notify", url + "/broken", code=tool.PARTIAL)
    assert "status 500" in tool.message(failed) and "secret" not in tool.message(failed)
    assert (tmp_path / "3" / "lorem.epub").exists()
    server.shutdown()
    server.server_close()


def test_killed_at_any_moment_no_book_is_without_its_key(tmp_path):
    """And none is half written: what bears its final name opens, with a key of the key file."""
    source = tmp_path / "catalogue"
    sample = next(path for path in books(".epub") if path.name == "moby-dick.epub")
    for number in range(60):
        (source / f"shelf-{number % 4}").mkdir(parents=True, exist_ok=True)
        (source / f"shelf-{number % 4}" / f"book-{number}.epub").write_bytes(sample.read_bytes())
    out, keys = tmp_path / "out", tmp_path / "keys.json"
    command = ["lcp", "encrypt", source, "--out", out, "--key-file", keys, "--if-exists", "skip", "--quiet"]
    chance, cut_short = random.Random(7), 0
    for _ in range(20):
        running = subprocess.Popen([tool.COMMAND, *map(str, command)])
        time.sleep(chance.uniform(0.002, 0.08))
        running.kill()
        cut_short += running.wait() != 0
        by_sum = {record["protected"]["sha256"]: record for record in records_of(keys)}
        for output in out.rglob("*.*") if out.exists() else []:
            assert output.suffix == ".epub", f"left behind: {output}"
            assert hashlib.sha256(output.read_bytes()).hexdigest() in by_sum, output
    assert cut_short > 5, "the kills came too late to say anything"
    tool.run(*command)
    outputs = sorted(out.rglob("*.epub"))
    assert len(outputs) == 60
    by_sum = {record["protected"]["sha256"]: record for record in records_of(keys)}
    for output in outputs[::7]:
        record = by_sum[hashlib.sha256(output.read_bytes()).hexdigest()]
        lcp_reader.read(output, lcp_reader.content_key(record))


def records_of(keys):
    """The whole lines: a kill may have cut the last one short."""
    text = keys.read_text() if keys.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def test_memory_does_not_grow_with_the_book(tmp_path):
    """A long audiobook of zeros, one track and the end beyond what zip without zip64 can say: the command's peak stays
    below 64 MiB, and another zip reader finds both tracks whole."""
    sizes = [(4 << 30) + 12_345, 54_321]
    manifest = {
        "metadata": {"title": "Long", "conformsTo": "https://readium.org/webpub-manifest/profiles/audiobook"},
        "readingOrder": [{"href": f"{number}.mp3", "type": "audio/mpeg"} for number in range(len(sizes))],
    }
    source = tmp_path / "long.audiobook"
    zeros = bytes(1 << 20)

    class Sparse(io.FileIO):
        """Leaves holes where zeros would be written: gigabytes of them take a disk most of a minute."""

        def write(self, data):
            if data != zeros:
                return super().write(data)
            self.seek(len(data), io.SEEK_CUR)
            return len(data)

    with Sparse(source, "w") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for number, size in enumerate(sizes):
            with archive.open(f"{number}.mp3", "w", force_zip64=True) as track:
                for start in range(0, size, len(zeros)):
                    track.write(zeros[: size - start])
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [tool.COMMAND, "lcp", "encrypt", str(source), "--out", str(tmp_path), "--key-file", str(tmp_path / "keys")]
    command += ["--jobs", "2", "--quiet"]
    done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, check=True)
    assert int(done.stdout) < 64 << 10, f"{int(done.stdout)} KiB"
    with zipfile.ZipFile(tmp_path / "long.lcpa") as archive:
        # An IV in front, and padding to whole blocks behind.
        stored = [archive.getinfo(f"{number}.mp3").file_size for number in range(len(sizes))]
        assert stored == [16 + (size // 16 + 1) * 16 for size in sizes]
        assert archive.testzip() is None
