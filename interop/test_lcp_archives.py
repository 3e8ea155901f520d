"""Protected publications in the hands of other zip readers: unzip, Python, Java, Go."""

import functools
import json
import os
import resource
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

import pytest
import tool

PEERS = Path(__file__).parent.parent / "peers/zip"
CERTIFICATES = Path(os.environ["CIPHERLOOM_LCP_SERVER"]) / "test/cert"
CONTAINER = '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>'
PACKAGE = "<package><metadata><title>A book</title></metadata><manifest/></package>"


def by_python(path):
    try:
        with zipfile.ZipFile(path) as archive:
            return "ok" if archive.testzip() is None else "CRC-32"
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        return repr(error)


def by_unzip(path):
    # 1: with a warning, such as of bytes that it passes over.
    return "ok" if subprocess.run(["unzip", "-tqq", path], capture_output=True).returncode in (0, 1) else "refused"


@functools.cache
def by_go():
    """The Go program, built."""
    built = Path(tempfile.mkdtemp()) / "entries"
    subprocess.run(["go", "build", "-o", built, PEERS / "entries.go"], check=True)
    return built


def refused(paths):
    """What others say of those archives that one of them refuses."""
    said = {path: {"python": by_python(path), "unzip": by_unzip(path)} for path in paths}
    for name, command in {"java": ["java", PEERS / "Entries.java"], "go": [by_go()]}.items():
        lines = subprocess.run([*command, *paths], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
        for path, line in zip(paths, lines, strict=True):
            said[path][name] = line
    return {path.name: answers for path, answers in said.items() if set(answers.values()) != {"ok"}}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A folder with two protected books, one of them of so many entries that its directory exceeds 64 KiB."""
    folder = tmp_path_factory.mktemp("library")
    for name, chapters in {"short": 2, "long": 2600}.items():
        with zipfile.ZipFile(folder / f"{name}.epub", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
            archive.writestr("META-INF/container.xml", CONTAINER)
            archive.writestr("book.opf", PACKAGE)
            for chapter in range(chapters):
                archive.writestr(f"text/{chapter}.xhtml", f"<p>{chapter}</p>" * 30)
    (folder / "words").write_text("a passphrase\n")
    (folder / "words").chmod(0o600)
    tool.run("lcp", "encrypt", folder / "short.epub", folder / "long.epub", "--out", folder / "out", "--key-file", folder / "keys")
    return folder


def embed(library, book, **options):
    arguments = ["--key-file", library / "keys", "--passphrase-file", library / "words", "--hint", "x", "--provider"]
    arguments += ["https://provider.example.org", "--cert", CERTIFICATES / "cert-edrlab-test.pem"]
    arguments += ["--private-key", CERTIFICATES / "privkey-edrlab-test.pem"]
    return subprocess.run([tool.COMMAND, "lcp", "license", book, "--embed", *arguments], capture_output=True, **options)


def is_sound(path):
    return subprocess.run([tool.COMMAND, "lcp", "check", path], capture_output=True).returncode == tool.DONE


def test_what_is_sound_here_opens_elsewhere(library, tmp_path):
    good = (library / "out/short.epub").read_bytes()
    end, record = len(good) - 22, good.index(b"PK\1\2")
    variants = {"good": good, "byte": good + b"x", "noise": good + os.urandom(100_000), "zeros": good + bytes(70_000)}
    variants |= {"front": b"x" + good, "gap": good[:end] + b"x" + good[end:]}
    for at in [*range(end, end + 22), *range(record, record + 46), *range(30)]:
        for value in (good[at] ^ 1, good[at] ^ 0x30):
            variants[f"{at}-{value}"] = good[:at] + bytes([value]) + good[at + 1 :]
    for name, content in variants.items():
        (tmp_path / f"{name}.epub").write_bytes(content)
    checked = subprocess.run([tool.COMMAND, "lcp", "check", "--json", tmp_path], capture_output=True)
    lines = [json.loads(line) for line in checked.stdout.splitlines()]
    sound = [Path(line["path"]) for line in lines if line["event"] == "sound"]
    assert tmp_path / "good.epub" in sound
    assert refused(sound) == {}
    assert not {path.stem for path in sound} & {"byte", "noise", "zeros", "gap"}


def test_a_torn_append_leaves_the_book_to_others(library, tmp_path):
    """In place: everything up to the end record, cut anywhere, with what the file system leaves as zeros."""
    book = tmp_path / "short.epub"
    book.write_bytes(before := (library / "out/short.epub").read_bytes())
    inode = book.stat().st_ino
    assert embed(library, book).returncode == 0 and book.stat().st_ino == inode
    tail = book.read_bytes().removeprefix(before)
    torn = [tmp_path / f"torn-{cut}.epub" for cut in (1, 3, 29, 30, 60, 1000, len(tail) - 23, len(tail) - 22)]
    for path in torn:
        cut = int(path.stem.split("-")[1])
        path.write_bytes(before + tail[:cut] + (bytes(22) if cut == len(tail) - 22 else b""))
    assert refused([book, *torn]) == {}
    for path in torn:
        assert not is_sound(path), path
        assert embed(library, path).returncode == 0
        assert path.read_bytes().startswith(before) and is_sound(path), path


def test_an_embed_that_is_killed_leaves_a_long_book_to_others(library, tmp_path):
    """No reader finds an end record behind a directory of this length: the system kills whoever appends so much."""
    book = tmp_path / "long.epub"
    book.write_bytes(before := (library / "out/long.epub").read_bytes())
    book.chmod(0o640)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 70_000,) * 2)
    assert embed(library, book, preexec_fn=limit).returncode != 0
    assert refused([book]) == {} and is_sound(book)
    assert embed(library, book).returncode == 0
    assert refused([book]) == {} and is_sound(book)
    assert book.read_bytes().startswith(before) and book.stat().st_mode & 0o777 == 0o640
    with zipfile.ZipFile(book) as archive:
        assert len(archive.namelist()) == 2605
    assert [path.name for path in tmp_path.iterdir()] == ["long.epub"], "nothing else is left"


def test_a_pipe_is_no_publication(library, tmp_path):
    """Nobody writes to it: whoever waits for that waits for ever."""
    os.mkfifo(pipe := tmp_path / "book.epub")
    for command in ("check", "inspect"):
        done = subprocess.run([tool.COMMAND, "lcp", command, pipe], capture_output=True, timeout=60)
        assert done.returncode == tool.FAILED and b"not a file" in done.stdout + done.stderr, done


def test_without_another_thread_it_says_so():
    """A user who may have two threads has one for signals, and gets no other; no panic, and nothing under the output's name."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    try:
        book = folder / "book.pdf"
        book.write_bytes(b"%PDF-1.4 text")
        def nobody():
            resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))
            os.setgroups([])
            # Nobody else's processes count.
            os.setgid(64001)
            os.setuid(64001)
        command = [tool.COMMAND, "lcp", "encrypt", book, "--out", folder / "out", "--key-file", folder / "keys"]
        done = subprocess.run(command, capture_output=True, preexec_fn=nobody, timeout=60, env={"HOME": str(folder)})
        assert done.returncode == tool.FAILED and b"start the thread" in done.stderr, done
        assert not (folder / "out/book.lcpdf").exists()
    finally:
        shutil.rmtree(folder)


def test_durable_outputs_below_folders(library, tmp_path):
    (tmp_path / "in/shelf").mkdir(parents=True)
    shutil.copy(library / "short.epub", tmp_path / "in/shelf/a.epub")
    tool.run("lcp", "encrypt", tmp_path / "in", "--out", tmp_path / "new/out", "--key-file", tmp_path / "keys", "--durable")
    assert is_sound(tmp_path / "new/out/shelf/a.epub")
