"""Readium LCP from Python, beside the command: each opens what the other makes."""

import json
import os
import subprocess
from pathlib import Path

import cipherloom as cl
import pytest
from cipherloom import lcp
from books import entries, epub
from conftest import interrupted

COMMAND = os.environ["CIPHERLOOM"]

def command(*arguments: object, code: int = 0) -> str:
    done = subprocess.run([COMMAND, "lcp", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A provider's certificate, made by openssl."""
    folder = tmp_path_factory.mktemp("provider")
    made = {"certificate": folder / "cert.pem", "private_key": folder / "key.pem"}
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Provider", "-days", "30",
         "-out", made["certificate"], "-keyout", made["private_key"]],
        check=True, capture_output=True,
    )  # fmt: skip
    return made


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    for name in ("a/moby.epub", "b/typee.epub", "omoo.epub"):
        epub(tmp_path / "shelf" / name)
    (tmp_path / "shelf" / "notes.txt").write_text("no book")
    return tmp_path / "shelf"


def test_python_protects_and_the_command_opens(shelf: Path, tmp_path: Path, provider: dict[str, Path]) -> None:
    keys, out = tmp_path / "keys.json", tmp_path / "out"
    report = lcp.encrypt(shelf, out, key_file=keys, threads=2)
    assert (report.protected, report.failed, report.passed_over) == (3, 0, 1)
    assert [book.title for book in report.books] == ["Book moby", "Book typee", "Book omoo"]
    assert all(book.encrypted == 2 and not book.is_skipped for book in report.books)
    assert keys.stat().st_mode & 0o777 == 0o600
    assert len(report.to_pandas()) == 3
    issued = lcp.license(
        out / "omoo.epub", key_file=keys, passphrase="call me", hint="his name", provider="https://p.example",
        embed=True, user="7", user_name="Ada", rights_print=3, **provider,
    )  # fmt: skip
    assert issued.output == out / "omoo.epub"
    with pytest.raises(cl.LibraryFailed) as refused:
        lcp.license(
            out / "omoo.epub", key_file=keys, passphrase="another", hint="h", provider="https://p.example",
            embed=True, **provider,
        )  # fmt: skip
    assert refused.value.__notes__ == ['hint: if_exists="overwrite" replaces it']
    told = lcp.inspect(out / "omoo.epub")
    assert told.license is not None
    assert (told.license["id"], told.resources, told.problem) == (issued.id, 2, None)
    assert told.license["rights"]["print"] == 3 and told.signed_by == "CN=Provider"
    with pytest.warns(DeprecationWarning, match="spelled `license`"):
        assert told.licence == told.license
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("call me\n")
    verdict = json.loads(command("check", out / "omoo.epub", "--passphrase-file", passphrase, "--json").splitlines()[0])
    assert (verdict["event"], verdict["opened"]) == ("sound", 2)
    command("decrypt", out / "omoo.epub", "--passphrase-file", passphrase, "--out", tmp_path / "back.epub")
    assert entries(tmp_path / "back.epub") == entries(shelf / "omoo.epub")


def test_the_command_protects_and_python_opens(shelf: Path, tmp_path: Path, provider: dict[str, Path]) -> None:
    keys, out = tmp_path / "keys.json", tmp_path / "out"
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("call me\n")
    command("encrypt", shelf, "--out", out, "--key-file", keys)
    command(
        "license", out / "a/moby.epub", "--key-file", keys, "--passphrase-file", passphrase, "--hint", "his name",
        "--provider", "https://p.example", "--cert", provider["certificate"], "--private-key", provider["private_key"],
    )  # fmt: skip
    license = out / "a/moby.lcpl"
    checked = lcp.check([out / "a/moby.epub", license], passphrase="call me", license=license)
    assert (checked.sound, checked.unsound) == (2, 0)
    assert checked.files[0].opened == 2 and checked.files[1].kind == "license"
    assert checked.files[0].unchecked == ("who confirms the certificate (root_ca=)",)
    table = checked.to_pandas()
    assert list(table["is_sound"]) == [True, True]
    back = tmp_path / "back.epub"
    assert lcp.decrypt(out / "a/moby.epub", back, passphrase="call me", license=license).resources == 2
    assert entries(back) == entries(shelf / "a/moby.epub")
    with pytest.raises(FileExistsError):
        lcp.decrypt(out / "a/moby.epub", back, passphrase="call me", license=license)


def test_licenses_by_the_dozen(shelf: Path, tmp_path: Path, provider: dict[str, Path]) -> None:
    keys, out = tmp_path / "keys.json", tmp_path / "out"
    lcp.encrypt(shelf, out, key_file=keys)
    requests = [
        lcp.LicenseRequest(
            publication=out / "omoo.epub", passphrase=f"reader {number}", hint="?", out=tmp_path / f"{number}.lcpl"
        )
        for number in range(12)
    ]
    assert "reader" not in repr(requests), "no passphrase shows itself"
    wrong = lcp.LicenseRequest(publication=shelf / "omoo.epub", passphrase="x", hint="?")
    given = {"key_file": keys, "provider": "https://p.example", **provider}
    report = lcp.license_many([*requests, wrong], check=False, threads=2, **given)  # type: ignore[arg-type]
    assert [issued.output.name for issued in report.issued] == [f"{number}.lcpl" for number in range(12)]
    assert len({issued.id for issued in report.issued}) == 12
    assert [failure.error for failure in report.failures] == ["InvalidPublication"]
    with pytest.raises(cl.LibraryFailed, match="1 of 1 failed"):
        lcp.license_many([wrong], **given)  # type: ignore[arg-type]
    for issued, request in zip(report.issued, requests, strict=True):
        found = lcp.check(out / "omoo.epub", passphrase=request.passphrase, license=issued.output)
        assert found.unsound == 0
    assert lcp.check(out / "omoo.epub", passphrase="other", license=report.issued[0].output).unsound == 1
    with pytest.raises(cl.InvalidKey, match="passphrase"):
        lcp.decrypt(out / "omoo.epub", tmp_path / "no", passphrase="other", license=report.issued[0].output)


def test_what_fails_is_told_book_by_book(shelf: Path, tmp_path: Path) -> None:
    (shelf / "broken.epub").write_bytes(b"PK no archive")
    keys, out = tmp_path / "keys.json", tmp_path / "out"
    with pytest.raises(cl.LibraryFailed, match="1 of 4 failed: .*broken.epub") as raised:
        lcp.encrypt(shelf, out, key_file=keys)
    assert isinstance(raised.value.report, lcp.EncryptReport)
    assert [failure.error for failure in raised.value.report.failures] == ["InvalidPublication"]
    again = lcp.encrypt(shelf, out, key_file=keys, if_exists="skip", check=False)
    assert (again.protected, again.skipped, again.failed) == (0, 3, 1)
    assert all(book.is_skipped for book in again.books)
    for refused in (
        lambda: lcp.encrypt(shelf, shelf / "out", key_file=keys),
        lambda: lcp.encrypt(shelf, out, key_file=keys, if_exists="ask"),  # type: ignore[arg-type]
        lambda: lcp.encrypt(shelf, out, key_file=keys, threads=0),
        lambda: lcp.encrypt(shelf, out, key_file=keys, level=11),
        lambda: lcp.check(shelf / "a", threads=0),
        lambda: lcp.inspect(shelf / "notes.txt"),
    ):
        with pytest.raises(ValueError):
            refused()
    with pytest.raises(FileNotFoundError):
        lcp.encrypt(tmp_path / "missing", out, key_file=keys)
    with pytest.raises(FileNotFoundError):
        lcp.inspect(tmp_path / "missing")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Links to one audiobook: more than any run gets through before it is told to stop."""
    folder = tmp_path_factory.mktemp("large")
    first = epub(folder / "shelf" / "0.epub", audio=64 << 20)
    for number in range(1, 200):
        os.link(first, folder / "shelf" / f"{number}.epub")
    return folder


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_leaves_only_whole_books_with_their_keys(large: Path, threads: int) -> None:
    keys, out = large / f"keys-{threads}.json", large / f"out-{threads}"
    interrupted(lambda: lcp.encrypt(large / "shelf", out, key_file=keys, threads=threads), 0.2)
    # The first key makes the file.
    lines = keys.read_text().splitlines() if keys.exists() else []
    known = {json.loads(line)["protected"]["name"] for line in lines}
    # The signal may come before anything is made.
    books = sorted(out.iterdir()) if out.exists() else []
    assert {path.name for path in books} <= known, "no book without its key, no temporary name"
    assert lcp.check(books).unsound == 0


def test_ctrl_c_stops_checks_and_decryption(tmp_path: Path, provider: dict[str, Path]) -> None:
    keys, out = tmp_path / "keys.json", tmp_path / "out"
    # A call looks for signals every 40 ms. This one takes longer on any machine.
    source = epub(tmp_path / "0.epub", audio=240 << 20)
    lcp.encrypt(source, out, key_file=keys)
    book = out / "0.epub"
    lcp.license(book, key_file=keys, passphrase="p", hint="h", provider="https://p.example", embed=True, **provider)

    back, during = tmp_path / "back.epub", False

    def forever() -> None:
        nonlocal during
        while True:
            during = True
            lcp.decrypt(book, back, passphrase="p")
            during = False
            back.unlink()

    # An interrupted call gives its output no name. A signal may also come between two calls, or so late in one that it ends
    # first: once is enough.
    for attempt in range(60):
        interrupted(forever, 0.01 + 0.007 * attempt)
        if during and not back.exists():
            break
        back.unlink(missing_ok=True)
    else:
        pytest.fail("no call was interrupted before its end")
    interrupted(lambda: lcp.check([book] * 10_000, passphrase="p"), 0.2)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
