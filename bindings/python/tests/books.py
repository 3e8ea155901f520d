"""Books that tests protect: small EPUBs, made here."""

import random
import zipfile
from pathlib import Path

CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
PACKAGE = """<?xml version="1.0"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:{name}</dc:identifier>
<dc:title>Book {name}</dc:title><dc:language>en</dc:language></metadata>
<manifest><item id="one" href="one.xhtml" media-type="application/xhtml+xml"/>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="audio" href="audio.mp3" media-type="audio/mpeg"/></manifest>
<spine><itemref idref="one"/></spine></package>"""


def epub(path: Path, audio: int = 50_000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("EPUB/package.opf", PACKAGE.format(name=path.stem))
        page = "<html xmlns='http://www.w3.org/1999/xhtml'><body>" + "Call me Ishmael. " * 500 + "</body></html>"
        for name in ("one.xhtml", "nav.xhtml"):
            archive.writestr(f"EPUB/{name}", page, zipfile.ZIP_DEFLATED)
        archive.writestr("EPUB/audio.mp3", random.Random(path.name).randbytes(audio))
    return path


def entries(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
