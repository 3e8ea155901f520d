"""Destinations whose file system does not tell `File` from `file`: no output is replaced or skipped in silence."""

import os
from pathlib import Path

import pytest
import tool

NAMES = ["D/File", "D/file", "D/other", "E/x", "e/x", "e/y"]


def write(place):
    for number, name in enumerate(NAMES):
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode() * (number + 1))
    return place


def check(done, opened, plain):
    """Every file either failed by its name or has its own output."""
    said = tool.message(done)
    assert "name collides with" in said
    failed = {name for name in NAMES if f"/plain/{name}: " in said}
    assert len(failed & {"D/File", "D/file"}) == 1
    # The second of two folders is left alone with all that is in it.
    assert failed & {"E/x", "e/x"} and "D/other" not in failed
    for name in set(NAMES) - failed:
        assert (opened / name).read_bytes() == (plain / name).read_bytes()


@pytest.mark.parametrize("threads", [1, 2])
def test_names_that_differ_by_case_never_share_an_output(tmp_path, key, folding_disk, threads):
    plain = write(tmp_path / "plain")
    sealed = folding_disk / "sealed"
    arguments = ["encrypt", plain, sealed, "--key", key, "--threads", str(threads), "--if-exists"]
    for if_exists in ["overwrite", "overwrite", "skip"]:
        # Some versions rename only by replacing.
        accepted = ["--non-atomic"] if if_exists == "skip" else []
        done = tool.run(*arguments, if_exists, *accepted, code=tool.PARTIAL)
        opened = tmp_path / f"opened-{if_exists}"
        tool.run("decrypt", sealed, opened, "--key", key, "--if-exists", "overwrite")
        if if_exists == "overwrite":
            check(done, opened, plain)
        said = tool.message(done)
        assert said.count("name collides with") >= 2, said


def test_decryption_tells_names_apart_too(tmp_path, key, folding_disk):
    plain = write(tmp_path / "plain")
    tool.run("encrypt", plain, tmp_path / "sealed", "--key", key)
    opened = folding_disk / "opened"
    done = tool.run("decrypt", tmp_path / "sealed", opened, "--key", key, "--if-exists", "overwrite", code=tool.PARTIAL)
    assert "/sealed/D/" in tool.message(done) and "name collides with" in tool.message(done)
    assert (opened / "D/File").read_bytes() in [(plain / name).read_bytes() for name in ("D/File", "D/file")]


def test_books_and_licenses_that_differ_by_case_never_share_a_place(tmp_path, folding_disk):
    books, words = tmp_path / "books", tmp_path / "words"
    tool.write_tree(books, {name: b"%PDF-1.7\n" + name.encode() for name in ("Book.pdf", "book.pdf", "other.pdf")})
    words.write_text("open\n")
    for number, if_exists in enumerate(["overwrite", "overwrite", "skip"]):
        done = tool.run("lcp", "encrypt", books, "--out", folding_disk / "out", "--if-exists", if_exists,
                        "--key-file", tmp_path / f"keys-{number}.json", code=tool.PARTIAL)
        assert tool.message(done).count("name collides with") == 1, tool.message(done)
        assert len(os.listdir(folding_disk / "out")) == 2
    licenses, rows = folding_disk / "licenses", tmp_path / "rows.csv"
    rows.write_text("publication,output\n" + "".join(f"other.lcpdf,{name}.lcpl\n" for name in ("A", "a", "b")))
    certificates = Path(os.environ["CIPHERLOOM_LCP_SERVER"]) / "test/cert"
    made = []
    for if_exists in ["overwrite", "overwrite", "skip"]:
        done = tool.run("lcp", "license", "--manifest", rows, "--key-file", tmp_path / "keys-0.json", "--out", licenses,
                        "--passphrase-file", words, "--hint", "h", "--provider", "https://p.example",
                        "--cert", certificates / "cert-edrlab-test.pem", "--if-exists", if_exists,
                        "--private-key", certificates / "privkey-edrlab-test.pem", code=tool.PARTIAL)
        assert tool.message(done).count("name collides with") == 1, tool.message(done)
        made.append([path.read_bytes() for path in sorted(licenses.iterdir())])
    assert [len(texts) for texts in made] == [2, 2, 2] and made[0] != made[1] == made[2]
