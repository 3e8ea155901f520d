"""LCP licenses: ours in the hands of Readium's license server code, its client and openssl; theirs in ours."""

import base64
import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest
import tool

GO = os.environ["CIPHERLOOM_LCP_LICENSES"]
READER = Path(os.environ["CIPHERLOOM_LCP_READER"])
MODULE = Path(os.environ["CIPHERLOOM_LCP_SERVER"])
CERTIFICATE = MODULE / "test/cert/cert-edrlab-test.pem"
KEY = MODULE / "test/cert/privkey-edrlab-test.pem"
PASSPHRASE = "the château's cat"


def run(*arguments, **options):
    done = subprocess.run([os.fspath(argument) for argument in arguments], capture_output=True, timeout=600, **options)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words"
    path.write_text(PASSPHRASE + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A root certificate, and provider certificates of both kinds that it confirms, made by openssl."""
    folder = tmp_path_factory.mktemp("authority")
    subject = lambda name: ["-subj", f"/O=Tests/CN={name}"]
    days = ["-days", "30"]
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "root.key", "-out",
        folder / "root.pem", *subject("root"), *days)
    kinds = {"rsa": ["rsa:2048"], "ecdsa": ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]}
    for kind, new_key in kinds.items():
        run("openssl", "req", "-newkey", *new_key, "-nodes", "-keyout", folder / f"{kind}.key", "-out",
            folder / f"{kind}.csr", *subject(kind))
        run("openssl", "x509", "-req", "-in", folder / f"{kind}.csr", "-CA", folder / "root.pem", "-CAkey",
            folder / "root.key", "-CAcreateserial", "-out", folder / f"{kind}.pem", *days)
    return folder


@pytest.fixture
def protected(tmp_path):
    """A protected sample, its source, and the key file."""
    source = MODULE / "test/samples/sample.epub"
    tool.run("lcp", "encrypt", source, "--out", tmp_path / "out", "--key-file", tmp_path / "keys.json")
    return tmp_path / "out" / "sample.epub", source, tmp_path / "keys.json"


def license(protected, words, certificate, key, *more, code=tool.DONE):
    book, _, keys = protected
    return tool.run(
        "lcp", "license", book, "--key-file", keys, "--passphrase-file", words, "--hint", "<b>&</b> \"quoted\" é 😀",
        "--provider", "https://provider.example.org", "--cert", certificate, "--private-key", key, *more, code=code,
    )


@pytest.mark.parametrize("kind", ["edrlab", "rsa", "ecdsa"])
def test_ours_verifies_with_theirs_and_with_openssl(tmp_path, protected, words, authority, kind):
    pair = (CERTIFICATE, KEY) if kind == "edrlab" else (authority / f"{kind}.pem", authority / f"{kind}.key")
    path = tmp_path / "book.lcpl"
    license(protected, words, *pair, "--out", path, "--user", "u1", "--user-name", "Ünal", "--user-email", "u@example.org",
            "--rights-print", "10", "--rights-end", "2099-01-01", "--status-url", "https://x.example/{license_id}/s")
    assert b"verified" in run(GO, "verify", path)
    text = json.loads(path.read_text())
    signature = text.pop("signature")
    (tmp_path / "canon").write_bytes(run(GO, "canon", input=json.dumps(text).encode()))
    value = base64.b64decode(signature["value"])
    if kind == "ecdsa":
        # openssl wants the two numbers as DER.
        number = lambda part: (b"\0" if part[0] & 128 else b"") + (part.lstrip(b"\0") if part[0] == 0 else part)
        ends = [number(value[:32]), number(value[32:])]
        body = b"".join(b"\x02" + bytes([len(end)]) + end for end in ends)
        value = b"\x30" + bytes([len(body)]) + body
    (tmp_path / "value").write_bytes(value)
    (tmp_path / "public").write_bytes(run("openssl", "x509", "-in", pair[0], "-noout", "-pubkey"))
    said = run("openssl", "dgst", "-sha256", "-verify", tmp_path / "public", "-signature", tmp_path / "value",
               tmp_path / "canon")
    assert b"Verified OK" in said
    if kind != "edrlab":
        tool.run("lcp", "check", path, "--passphrase-file", words, "--root-ca", authority / "root.pem")
        done = tool.run("lcp", "check", path, "--root-ca", CERTIFICATE, code=tool.UNAUTHENTIC)
        assert b"none of the given root certificates" in done.stdout


def test_theirs_opens_with_ours(tmp_path, protected, words):
    book, source, keys = protected
    key = json.loads(keys.read_text())["content_key"]
    theirs = tmp_path / "theirs.lcpl"
    theirs.write_bytes(run(GO, "make", CERTIFICATE, KEY, words, input=key.encode()))
    tool.run("lcp", "check", theirs, "--passphrase-file", words)
    tool.run("lcp", "check", book, "--license", theirs, "--passphrase-file", words)
    tool.run("lcp", "decrypt", book, "--license", theirs, "--passphrase-file", words, "--out", tmp_path / "back.epub")
    assert entries(tmp_path / "back.epub") == entries(source)
    shown = json.loads(tool.run("lcp", "inspect", theirs, "--json").stdout)["license"]
    assert shown["print"] == 7 and "fits the text" in shown["signature"]
    theirs.write_bytes(theirs.read_bytes().replace(b'"print": 7', b'"print": 8'))
    done = tool.run("lcp", "check", theirs, "--passphrase-file", words, code=tool.UNAUTHENTIC)
    assert b"signature does not fit" in done.stdout


def test_a_book_of_lcpencrypt_with_their_license(tmp_path, words):
    source = MODULE / "test/samples/sample.epub"
    run(os.environ["CIPHERLOOM_LCPENCRYPT"], "-input", source, "-output", tmp_path, "-filename", "theirs", "-contentid",
        "c1", "-verbose", cwd=tmp_path)
    # It keeps the key to itself, so only what needs no key can be checked.
    done = tool.run("lcp", "check", tmp_path / "theirs.epub")
    assert b"sound" in done.stdout and b"no license inside" in done.stdout


def entries(path):
    with zipfile.ZipFile(path) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def test_readiums_client_reads_every_resource(tmp_path, protected, words):
    book, source, _ = protected
    before = book.read_bytes()
    license(protected, words, CERTIFICATE, KEY, "--embed")
    assert book.read_bytes().startswith(before), "nothing of the publication may move"
    with zipfile.ZipFile(book) as archive:
        assert archive.testzip() is None
        assert archive.namelist().count("META-INF/license.lcpl") == 1
    said = json.loads(run("node", READER / "read.js", book, words, tmp_path / "read", cwd=READER))
    original, found = entries(source), tool.read_tree(tmp_path / "read")
    assert said["resources"] == len(found) > 3
    for name, content in found.items():
        assert content == original[name.decode()], name
    # A second license takes the first one's place, if it is asked to.
    license(protected, words, CERTIFICATE, KEY, "--embed", "--if-exists", "overwrite")
    with zipfile.ZipFile(book) as archive:
        assert archive.namelist().count("META-INF/license.lcpl") == 1
    tool.run("lcp", "check", book, "--passphrase-file", words)
    tool.run("lcp", "decrypt", book, "--passphrase-file", words, "--out", tmp_path / "back.epub")
    assert entries(tmp_path / "back.epub") == original


CANONICAL = [
    '{"b":[3,{"z":1,"a":null},1],"a":{"\\u0062":true,"a":false}}',
    '{"\\ud83d\\ude00":1,"\\ufb01":2,"é":3,"A":{"":0}}',
    '{"n":[0,-0,1.10,1E5,1e-7,12345678901234567890123,0.1]}',
    '{"s":"\\u0000\\b\\t\\n\\f\\r\\u001f\\"\\\\\\/\\u007f<>&\\u2028\\u2029\\u00e9\\ud83d\\ude00"}',
]


def test_the_canonical_form_is_theirs():
    """What the units of `canonical.rs` expect is what Go's package writes."""
    forms = [run(GO, "canon", input=text.encode()).decode() for text in CANONICAL]
    assert forms[0] == '{"a":{"a":false,"b":true},"b":[3,{"a":null,"z":1},1]}'
    assert forms[1] == '{"A":{"":0},"é":3,"\ufb01":2,"😀":1}'
    assert forms[2] == CANONICAL[2]
    assert forms[3] == '{"s":"\\u0000\\b\\t\\n\\f\\r\\u001f\\"\\\\/\x7f<>&\\u2028\\u2029é😀"}'


@pytest.mark.parametrize("weakness", ["rsa:1024", "sha1"])
def test_weak_authorities_confirm_nothing(tmp_path, protected, words, authority, weakness):
    key = weakness if weakness.startswith("rsa") else "rsa:2048"
    digest = "-sha1" if weakness == "sha1" else "-sha256"
    run("openssl", "req", "-x509", "-newkey", key, "-nodes", "-keyout", tmp_path / "weak.key", "-out",
        tmp_path / "weak.pem", "-subj", "/O=Tests/CN=weak", "-days", "30")
    run("openssl", "x509", "-req", "-in", authority / "rsa.csr", "-CA", tmp_path / "weak.pem", "-CAkey",
        tmp_path / "weak.key", "-CAcreateserial", digest, "-out", tmp_path / "leaf.pem", "-days", "30")
    path = tmp_path / "book.lcpl"
    license(protected, words, tmp_path / "leaf.pem", authority / "rsa.key", "--out", path)
    done = tool.run("lcp", "check", path, "--root-ca", tmp_path / "weak.pem", code=tool.UNAUTHENTIC)
    assert b"proves nothing" in done.stdout
    # A provider's own key must be long enough too.
    if weakness != "sha1":
        failed = license(protected, words, tmp_path / "weak.pem", tmp_path / "weak.key", "--out", path, code=tool.KEY)
        assert "RSA of 1024 bits" in tool.message(failed)


def test_what_is_not_confirmed_or_over_is_told(tmp_path, protected, words, authority):
    """And who else may read the private key."""
    (authority / "rsa.key").chmod(0o640)
    pair = (authority / "rsa.pem", authority / "rsa.key")
    said = tool.message(license(protected, words, *pair, "--out", tmp_path / "over.lcpl", "--rights-end", "2020-01-01"))
    (authority / "rsa.key").chmod(0o600)
    assert "the license ended at 2020-01-01" in said and "others may read the private key" in said
    said = tool.message(license(protected, words, *pair, "--embed"))
    assert "ended" not in said and "others" not in said
    decrypt = ["lcp", "decrypt", protected[0], "--passphrase-file", words]
    assert "not checked: who confirms" in tool.message(tool.run(*decrypt, "--out", tmp_path / "1.epub"))
    said = tool.message(tool.run(*decrypt, "--out", tmp_path / "2.epub", "--root-ca", authority / "root.pem"))
    assert "not checked" not in said


@pytest.mark.parametrize("if_exists", ["fail", "overwrite"])
def test_two_rows_with_one_output_are_refused(tmp_path, protected, words, if_exists):
    """Before anything is written: whose license was left, nobody could say."""
    manifest, out = tmp_path / "licenses.csv", tmp_path / "licenses"
    manifest.write_text("publication,output,user\nsample.epub,a.lcpl,one\nsample.epub,b.lcpl,two\n"
                        "sample.epub, a.lcpl ,three\n")
    command = ["lcp", "license", "--manifest", manifest, "--out", out, "--key-file", protected[2], "--hint", "h",
               "--passphrase-file", words, "--provider", "https://p.example", "--cert", CERTIFICATE, "--private-key", KEY,
               "--if-exists", if_exists]
    failed = tool.run(*command, code=tool.USAGE)
    assert "lines 2 and 4 have one output" in tool.message(failed) and not out.exists()
    # Nor is a column passed over that nobody knows.
    manifest.write_text("publication,outputs\nsample.epub,a.lcpl\n")
    assert '"outputs", which is unknown' in tool.message(tool.run(*command, code=tool.USAGE))
    # Who else may read passphrases is told.
    manifest.write_text("publication,output,passphrase\nsample.epub,a.lcpl,secret\n")
    manifest.chmod(0o644)
    assert "others may read the passphrases" in tool.message(tool.run(*command))


def test_thousands_from_a_manifest(tmp_path, protected, words):
    _, _, keys = protected
    rows = ["publication,output,passphrase,user,rights_end"]
    rows += [f"sample.epub,{number}.lcpl,secret {number},u{number},2099-01-01" for number in range(200)]
    rows.insert(51, "other.epub,x.lcpl,secret,u,")
    rows.insert(52, "sample.epub,../x.lcpl,secret,u,")
    rows.insert(53, "sample.epub,y.lcpl,secret,u,soon")
    rows.insert(54, "sample.epub,only three,fields")
    manifest = tmp_path / "licenses.csv"
    manifest.write_text("\n".join(rows) + "\n")
    done = tool.run(
        "lcp", "license", "--manifest", manifest, "--out", tmp_path / "licenses", "--key-file", keys, "--hint", "hint",
        "--provider", "https://provider.example.org", "--cert", CERTIFICATE, "--private-key", KEY, "--json",
        code=tool.PARTIAL,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1]["done"] == 200 and lines[-1]["failed"] == 4
    assert sorted(line["row"] for line in lines if line["event"] == "failed") == [52, 53, 54, 55]
    assert b"secret" not in done.stdout + done.stderr
    made = sorted(path.name for path in (tmp_path / "licenses").iterdir())
    assert made == sorted(f"{number}.lcpl" for number in range(200))
    assert b"verified" in run(GO, "verify", tmp_path / "licenses/117.lcpl")
    words.write_text("secret 117\n")
    tool.run("lcp", "check", tmp_path / "licenses/117.lcpl", "--passphrase-file", words)
    tool.run("lcp", "check", tmp_path / "licenses/118.lcpl", "--passphrase-file", words, code=tool.KEY)


@pytest.mark.parametrize("curve", ["prime256v1", "secp384r1", "secp521r1"])
@pytest.mark.parametrize("digest", ["sha256", "sha384", "sha512"])
def test_every_curve_confirms_with_every_digest(tmp_path, protected, words, authority, curve, digest):
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", f"ec_paramgen_curve:{curve}", "-nodes", "-keyout",
        tmp_path / "root.key", "-out", tmp_path / "root.pem", "-subj", "/O=Tests/CN=curve", "-days", "30")
    run("openssl", "x509", "-req", "-in", authority / "rsa.csr", "-CA", tmp_path / "root.pem", "-CAkey",
        tmp_path / "root.key", "-CAcreateserial", f"-{digest}", "-out", tmp_path / "leaf.pem", "-days", "30")
    license(protected, words, tmp_path / "leaf.pem", authority / "rsa.key", "--out", tmp_path / "book.lcpl")
    tool.run("lcp", "check", tmp_path / "book.lcpl", "--root-ca", tmp_path / "root.pem")
