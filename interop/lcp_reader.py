"""Reads publications protected with Readium LCP, with Python's zip and XML and pyca's AES: nothing of ours.

From the specification: AES-256-CBC with the IV in front; the last byte says how many bytes of padding end the text;
under it, where the publication says so, a raw deflate stream.
"""

import base64
import json
import urllib.parse
import xml.etree.ElementTree as ElementTree
import zipfile
import zlib

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

ENC = "{http://www.w3.org/2001/04/xmlenc#}"
DSIG = "{http://www.w3.org/2000/09/xmldsig#}"
COMPRESSION = "{http://www.idpf.org/2016/encryption#compression}Compression"
AES_256_CBC = "http://www.w3.org/2001/04/xmlenc#aes256-cbc"
KEY_TYPE = "http://readium.org/2014/01/lcp#EncryptedContentKey"


def protected(archive):
    """Entry's name to (is it deflated, its original length), of everything under LCP."""
    names = archive.namelist()
    if "META-INF/container.xml" in names:
        return of_epub(archive) if "META-INF/encryption.xml" in names else {}
    return of_readium(json.loads(archive.read("manifest.json")))


def of_epub(archive):
    found = {}
    for data in ElementTree.fromstring(archive.read("META-INF/encryption.xml")).iter(ENC + "EncryptedData"):
        retrieval = data.find(f"{DSIG}KeyInfo/{DSIG}RetrievalMethod")
        if retrieval is None or retrieval.get("Type") != KEY_TYPE:
            continue
        assert retrieval.get("URI") == "license.lcpl#/encryption/content_key"
        assert data.find(ENC + "EncryptionMethod").get("Algorithm") == AES_256_CBC
        uri = data.find(f"{ENC}CipherData/{ENC}CipherReference").get("URI")
        compression = data.find(f"{ENC}EncryptionProperties/{ENC}EncryptionProperty/{COMPRESSION}")
        length = int(compression.get("OriginalLength"))
        found[urllib.parse.unquote(uri)] = (compression.get("Method") == "8", length)
    return found


def of_readium(manifest):
    found = {}
    for link in manifest["readingOrder"] + manifest.get("resources", []):
        encrypted = link.get("properties", {}).get("encrypted")
        if encrypted:
            assert encrypted["scheme"] == "http://readium.org/2014/01/lcp"
            assert encrypted["algorithm"] == AES_256_CBC
            name = urllib.parse.unquote(link["href"])
            found[name] = (encrypted.get("compression") == "deflate", encrypted["originalLength"])
    return found


def decrypted(ciphertext, key, is_deflated):
    decryptor = Cipher(algorithms.AES(key), modes.CBC(ciphertext[:16])).decryptor()
    text = decryptor.update(ciphertext[16:]) + decryptor.finalize()
    assert 1 <= text[-1] <= 16, "padding"
    text = text[: -text[-1]]
    return zlib.decompress(text, wbits=-15) if is_deflated else text


def keys(path):
    """Output's name to its record in a key file."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return {record["protected"]["name"]: record for record in records}


def content_key(record):
    return base64.b64decode(record["content_key"])


def read(path, key):
    """Every entry's content (decrypted where protected), and the names of the protected ones."""
    with zipfile.ZipFile(path) as archive:
        listed = protected(archive)
        contents = {}
        for entry in archive.infolist():
            data = archive.read(entry)
            if entry.filename in listed:
                is_deflated, length = listed[entry.filename]
                assert entry.compress_type == zipfile.ZIP_STORED, entry.filename
                data = decrypted(data, key, is_deflated)
                assert len(data) == length, f"{entry.filename}: {len(data)} bytes, said {length}"
            contents[entry.filename] = data
        return contents, set(listed)
