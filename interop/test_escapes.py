"""Texts of strangers on their way to the terminal: nothing in them moves the cursor, colours the screen or forges a line."""

import json
import unicodedata
import zipfile

import tool

EVIL = "http://a#&#10;cipherloom: forged&#x9b;31m&#x202e;"

CONTAINER = """<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""

PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:x</dc:identifier><dc:title>T</dc:title>
<dc:language>en</dc:language></metadata>
<manifest><item id="one" href="one.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="one"/></spine></package>"""

ENCRYPTION = f"""<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:enc="http://www.w3.org/2001/04/xmlenc#">
<enc:EncryptedData><enc:EncryptionMethod Algorithm="{EVIL}"/>
<enc:CipherData><enc:CipherReference URI="one.xhtml"/></enc:CipherData></enc:EncryptedData></encryption>"""


def assert_harmless(text):
    for character in text:
        assert character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp"), repr(text)
    assert not any(line.startswith("cipherloom: forged") for line in text.splitlines()), text


def test_the_name_of_an_algorithm(tmp_path):
    book = tmp_path / "book.epub"
    with zipfile.ZipFile(book, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        for name, text in [
            ("META-INF/container.xml", CONTAINER),
            ("META-INF/encryption.xml", ENCRYPTION),
            ("book.opf", PACKAGE),
            ("one.xhtml", "<html/>"),
        ]:
            archive.writestr(name, text, zipfile.ZIP_DEFLATED)
    arguments = ["lcp", "encrypt", book, "--out", tmp_path / "out", "--key-file", tmp_path / "keys.jsonl"]
    done = tool.run(*arguments, code=tool.FAILED)
    assert_harmless(tool.message(done) + done.stdout.decode())
    assert "http://a#\\ncipherloom: forged\\u{9b}31m\\u{202e}" in tool.message(done)
    done = tool.run(*arguments, "--json", code=tool.FAILED)
    assert_harmless(tool.message(done) + done.stdout.decode())
    errors = [line["error"] for line in map(json.loads, done.stdout.splitlines()) if "error" in line]
    assert "http://a#\ncipherloom: forged\x9b31m\u202e" in errors[0]
