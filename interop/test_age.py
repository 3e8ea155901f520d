"""Files of age, both ways, with Go's age: every type of recipient, armor, several gigabytes, and files that are cut."""

import json
import os
import subprocess

import age_keys
import peers
import pytest
import tool
from age_keys import BATCHPASS, CHUNK, SIZES, TYPES, WORDS, age, age_with_passphrase

LONG = (1 << 32 if tool.IS_LONG else 1 << 28) + CHUNK + 1


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A key of each type, and the trial plugin in PATH."""
    folder = tmp_path_factory.mktemp("keys")
    age_keys.link_plugin(folder)
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{folder}:{path}"
    yield {kind: age_keys.make(kind, folder) for kind in TYPES}
    os.environ["PATH"] = path


@pytest.fixture
def plain(tmp_path):
    return tool.write_tree(tmp_path / "plain", {f"deep/size-{size}": size for size in SIZES})


def each(tree):
    """Path and content of each file, sorted."""
    return sorted((os.fsdecode(name), content) for name, content in tool.read_tree(tree).items())


def passphrase_file(tmp_path, words=WORDS):
    return age_keys.write_secret(tmp_path / "words.txt", words.encode() + b"\n")


@pytest.mark.parametrize("kind", TYPES)
def test_age_opens_ours(tmp_path, keys, plain, kind):
    key = keys[kind]
    tool.run("encrypt", plain, tmp_path / "ours", "--format", "age", "--recipient", key.recipient, "--suffix", ".age")
    for name, content in each(plain):
        assert age("-d", "-i", key.identity, tmp_path / "ours" / f"{name}.age") == content, name
    tool.run("verify", tmp_path / "ours", "--identity", key.identity)


@pytest.mark.parametrize("kind", TYPES)
def test_we_open_theirs(tmp_path, keys, plain, kind):
    key = keys[kind]
    theirs = tmp_path / "theirs"
    for name, content in each(plain):
        (theirs / name).parent.mkdir(parents=True, exist_ok=True)
        (theirs / name).write_bytes(age("-r", key.recipient, content=content))
    tool.run("verify", theirs, "--identity", key.identity)
    tool.run("decrypt", theirs, tmp_path / "back", "--identity", key.identity)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_age_opens_our_passphrase(tmp_path):
    """Each file takes a second of scrypt."""
    words, plain = passphrase_file(tmp_path), tool.write_tree(tmp_path / "plain", {"empty": 0, "long": CHUNK + 1})
    tool.run("encrypt", plain, tmp_path / "ours", "--format", "age", "--passphrase-file", words)
    name, content = each(plain)[-1]
    assert age_with_passphrase("-d", (tmp_path / "ours" / name).read_bytes()) == content
    tool.run("decrypt", tmp_path / "ours", tmp_path / "back", "--format", "age", "--passphrase-file", words)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_age_opens_our_passphrase_at_a_terminal(tmp_path):
    plain = tool.write_tree(tmp_path / "plain", {"file": 1000}) / "file"
    sealed, opened = tmp_path / "sealed", tmp_path / "opened"
    peers.on_a_terminal(tool.COMMAND, "encrypt", plain, sealed, "--format", "age", "--passphrase", passphrase=WORDS)
    peers.on_a_terminal("age", "-d", "-o", opened, sealed, passphrase=WORDS)
    assert opened.read_bytes() == plain.read_bytes()
    again = tmp_path / "again"
    peers.on_a_terminal(tool.COMMAND, "decrypt", sealed, again, "--passphrase", passphrase=WORDS)
    assert again.read_bytes() == plain.read_bytes()


def test_we_open_the_passphrase_of_age(tmp_path, plain):
    theirs, words = tmp_path / "theirs", passphrase_file(tmp_path)
    for name, content in each(plain):
        (theirs / name).parent.mkdir(parents=True, exist_ok=True)
        (theirs / name).write_bytes(age_with_passphrase("-e", content))
    tool.run("decrypt", theirs, tmp_path / "back", "--format", "age", "--passphrase-file", words)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_each_of_several_recipients_opens_ours(tmp_path, keys, plain):
    """Hybrid keys are never combined with others: whoever breaks the others would open the file."""
    together = [kind for kind in TYPES if kind != "hybrid"]
    listed = tmp_path / "recipients.txt"
    listed.write_text("# our readers\n\n" + "".join(f"{keys[kind].recipient}\n" for kind in together[1:]))
    flags = ["--format", "age", "-r", keys[together[0]].recipient, "-R", listed]
    tool.run("encrypt", plain, tmp_path / "ours", *flags)
    for kind in together:
        for name, content in each(plain)[:2]:
            assert age("-d", "-i", keys[kind].identity, tmp_path / "ours" / name) == content, kind
        tool.run("verify", tmp_path / "ours", "-i", keys[kind].identity)


def test_hybrid_recipients_stand_alone(tmp_path, keys, plain):
    flags = ["--format", "age", "-r", keys["hybrid"].recipient, "-r", keys["x25519"].recipient]
    refused = tool.run("encrypt", plain, tmp_path / "ours", *flags, code=tool.KEY)
    assert "cannot be mixed" in tool.message(refused)
    assert not (tmp_path / "ours").exists()


def test_one_of_several_identities_opens(tmp_path, keys, plain):
    name, content = each(plain)[-1]
    (tmp_path / "sealed").write_bytes(age("-r", keys["ssh-rsa"].recipient, content=content))
    identities = [option for kind in TYPES if kind != "plugin" for option in ("--identity", keys[kind].identity)]
    tool.run("decrypt", tmp_path / "sealed", tmp_path / "opened", *identities)
    assert (tmp_path / "opened").read_bytes() == content


@pytest.mark.parametrize("size", SIZES)
def test_armor(tmp_path, keys, size):
    key, plain = keys["x25519"], tmp_path / "plain"
    plain.write_bytes(tool.content(size))
    flags = ["--format", "age", "--recipient", key.recipient, "--armor"]
    with plain.open("rb") as source:
        done = subprocess.run([tool.COMMAND, "encrypt", "-", "-", *flags], stdin=source, capture_output=True, check=True)
    assert done.stdout.startswith(b"-----BEGIN AGE ENCRYPTED FILE-----\n")
    assert age("-d", "-i", key.identity, content=done.stdout) == plain.read_bytes()
    tool.run("encrypt", plain, tmp_path / "ours", *flags)
    assert age("-d", "-i", key.identity, tmp_path / "ours") == plain.read_bytes()
    (tmp_path / "theirs").write_bytes(age("-a", "-r", key.recipient, plain))
    tool.run("decrypt", tmp_path / "theirs", tmp_path / "back", "--identity", key.identity)
    assert (tmp_path / "back").read_bytes() == plain.read_bytes()


def test_encrypted_identity_files(tmp_path, keys):
    key, words = keys["x25519"], passphrase_file(tmp_path)
    locked = age_keys.write_secret(tmp_path / "locked", age_with_passphrase("-e", key.identity.read_bytes()))
    (tmp_path / "sealed").write_bytes(age("-r", key.recipient, content=b"told"))
    flags = ["--identity", locked, "--passphrase-file", words]
    assert tool.run("decrypt", tmp_path / "sealed", "-", *flags).stdout == b"told"
    other = age_keys.write_secret(tmp_path / "other.txt", b"another passphrase\n")
    flags = ["--identity", locked, "--passphrase-file", other]
    assert "passphrase" in tool.message(tool.run("decrypt", tmp_path / "sealed", "-", *flags, code=tool.KEY))


@pytest.mark.parametrize("kind, form", [("ssh-rsa", "TraditionalOpenSSL"), ("ssh-rsa", "PKCS8"), ("ssh-ed25519", "PKCS8")])
def test_ssh_keys_in_the_forms_of_openssl(tmp_path, keys, kind, form):
    key, identity = keys[kind], tmp_path / "key.pem"
    age_keys.write_secret(identity, age_keys.converted(key.identity, form))
    sealed = tmp_path / "sealed"
    sealed.write_bytes(age("-r", key.recipient, content=b"told"))
    assert age("-d", "-i", identity, sealed) == b"told"
    assert tool.run("decrypt", sealed, "-", "--identity", identity).stdout == b"told"
    identity.write_bytes(age_keys.converted(key.identity, form, WORDS))
    said = tool.message(tool.run("decrypt", sealed, "-", "--identity", identity, code=tool.KEY))
    assert "encrypted in another way" in said and "ssh-keygen -p" in said


def test_encrypting_for_the_recipient_of_an_identity(tmp_path, keys, plain):
    """As `age -e -i`; an encrypted identity file is opened with its passphrase."""
    key, words = keys["x25519"], passphrase_file(tmp_path)
    locked = age_keys.write_secret(tmp_path / "locked", age_with_passphrase("-e", key.identity.read_bytes()))
    other = keys["ssh-ed25519"]
    flags = ["--identity", locked, "--passphrase-file", words, "--recipient", other.recipient]
    tool.run("encrypt", plain, tmp_path / "ours", *flags)
    for name, content in each(plain)[:2]:
        for reader in (key, other):
            assert age("-d", "-i", reader.identity, tmp_path / "ours" / name) == content


def test_the_plugin_of_age(tmp_path, plain, monkeypatch):
    """age-plugin-batchpass, run by both commands: its identity is a recipient too."""
    identity = age_keys.write_secret(tmp_path / "batchpass.txt", f"{BATCHPASS}\n".encode())
    monkeypatch.setenv("AGE_PASSPHRASE", WORDS)
    monkeypatch.setenv("AGE_PASSPHRASE_WORK_FACTOR", "10")
    tool.run("encrypt", plain, tmp_path / "ours", "--identity", identity)
    theirs = tmp_path / "theirs"
    for name, content in each(plain):
        assert age("-d", "-j", "batchpass", tmp_path / "ours" / name) == content, name
        (theirs / name).parent.mkdir(parents=True, exist_ok=True)
        (theirs / name).write_bytes(age("-e", "-j", "batchpass", content=content))
    for place in ("ours", "theirs"):
        tool.run("verify", tmp_path / place, "--identity", identity)
        tool.run("decrypt", tmp_path / place, tmp_path / f"{place}-back", "--identity", identity)
        assert tool.read_tree(tmp_path / f"{place}-back") == tool.read_tree(plain)
    monkeypatch.setenv("AGE_PASSPHRASE", "battery horse")
    said = tool.message(tool.run("verify", theirs, "--identity", identity, code=tool.FAILED))
    assert "age-plugin-batchpass" in said and "incorrect passphrase" in said
    monkeypatch.delenv("AGE_PASSPHRASE")
    said = tool.message(tool.run("verify", theirs, "--identity", identity, code=tool.FAILED))
    assert "age-plugin-batchpass" in said and "AGE_PASSPHRASE" in said


def test_the_post_quantum_plugin_of_age(tmp_path, keys, plain):
    """age-plugin-pq, made for versions of age without such keys, reads and writes what we do without a plugin."""
    key, plugin = keys["hybrid"], tmp_path / "plugin.txt"
    subprocess.run(["age-plugin-pq", "-identity", "-o", plugin, key.identity], check=True, capture_output=True)
    plugin.chmod(0o600)
    tool.run("encrypt", plain, tmp_path / "by-us", "--recipient", key.recipient)
    tool.run("encrypt", plain, tmp_path / "by-plugin", "--identity", plugin)
    for place, identity in (("by-us", plugin), ("by-plugin", key.identity), ("by-plugin", plugin)):
        opened = tmp_path / f"{place}-{identity.stem}"
        tool.run("decrypt", tmp_path / place, opened, "--identity", identity)
        assert tool.read_tree(opened) == tool.read_tree(plain)
    flags = ["--identity", plugin, "--recipient", keys["x25519"].recipient]
    said = tool.message(tool.run("encrypt", plain, tmp_path / "mixed", *flags, code=tool.FAILED))
    assert "mixed" in said and tool.read_tree(tmp_path / "mixed") == {}


def test_a_plugin_may_refuse_to_be_combined(tmp_path, keys, plain, monkeypatch):
    """A passphrase is alone in its file: the plugin says so with a label."""
    identity = age_keys.write_secret(tmp_path / "batchpass.txt", f"{BATCHPASS}\n".encode())
    monkeypatch.setenv("AGE_PASSPHRASE", WORDS)
    monkeypatch.setenv("AGE_PASSPHRASE_WORK_FACTOR", "10")
    flags = ["--identity", identity, "--recipient", keys["x25519"].recipient]
    said = tool.message(tool.run("encrypt", plain, tmp_path / "ours", *flags, code=tool.FAILED))
    assert "combined" in said
    assert tool.read_tree(tmp_path / "ours") == {}


def test_rekeying_gives_files_to_another_recipient(tmp_path, keys, plain):
    sealed, old, new = tmp_path / "sealed", keys["x25519"], keys["hybrid"]
    tool.run("encrypt", plain, sealed, "--format", "age", "--recipient", old.recipient)
    flags = ["--identity", old.identity, "--recipient", new.recipient, "--if-exists", "overwrite"]
    tool.run("rekey", sealed, sealed, *flags)
    for name, content in each(plain):
        assert age("-d", "-i", new.identity, sealed / name) == content, name
    tool.run("verify", sealed, "--identity", old.identity, code=tool.UNAUTHENTIC)


def test_inspection_agrees_with_age(tmp_path, keys, plain):
    flags = ["--format", "age", "-r", keys["x25519"].recipient, "-r", keys["ssh-ed25519"].recipient]
    tool.run("encrypt", plain, tmp_path / "ours", *flags)
    for name, content in each(plain):
        path = tmp_path / "ours" / name
        theirs = json.loads(subprocess.run(["age-inspect", "--json", path], check=True, capture_output=True).stdout)
        finding = json.loads(tool.run("inspect", path, "--json").stdout)["findings"][0]
        assert finding["recipients"] == theirs["stanza_types"]
        assert finding["plaintext_bytes"] == len(content)


def test_a_long_stream(tmp_path, keys):
    """A sparse file goes through pipes: age encrypts, we re-encrypt, age decrypts; beyond 4 GiB on request."""
    key, plain = keys["x25519"], tmp_path / "sparse"
    with plain.open("wb") as file:
        file.truncate(LONG)
        file.seek(LONG - CHUNK)
        file.write(b"in the last chunks")
    flags = ["--identity", key.identity, "--recipient", key.recipient, "--quiet"]
    pipeline = [
        ["age", "-r", key.recipient, plain],
        [tool.COMMAND, "rekey", "-", "-", *flags],
        ["age", "-d", "-i", key.identity],
        ["cmp", "-", plain],
    ]
    assert run_pipeline(pipeline) == b""


def run_pipeline(commands):
    """What the last of them says, when all have succeeded."""
    running = []
    for command in commands:
        source = running[-1].stdout if running else subprocess.DEVNULL
        running.append(subprocess.Popen(list(map(os.fsencode, command)), stdin=source, stdout=subprocess.PIPE))
        if len(running) > 1:
            running[-2].stdout.close()
    said, _ = running[-1].communicate(timeout=600)
    assert [process.wait(timeout=60) for process in running] == [0] * len(running)
    return said


@pytest.mark.parametrize("armor", [[], ["-a"]])
def test_cut_files_are_refused_and_leave_nothing(tmp_path, keys, armor):
    """Cut at the ends of header, nonce and chunks, and one byte before and behind; age writes what came before the cut."""
    key = keys["x25519"]
    whole = age("-r", key.recipient, content=tool.content(3 * CHUNK + 5))
    header = age_keys.header_length(whole)
    ends = [header, header + 16, *(header + 16 + count * (CHUNK + 16) for count in (1, 2, 3))]
    cuts = sorted({0, 21, *(end + step for end in ends for step in (-1, 0, 1)), len(whole) - 1})
    sealed = tmp_path / "sealed"
    sealed.mkdir()
    for cut in cuts:
        (sealed / f"cut-{cut}").write_bytes(whole[:cut])
    if armor:
        text = age(*armor, "-r", key.recipient, content=tool.content(CHUNK))
        lines = text.splitlines(keepends=True)
        for cut in (1, 2, len(lines) // 2, len(lines) - 1):
            (sealed / f"armor-{cut}").write_bytes(b"".join(lines[:cut]))
    done = tool.run("decrypt", sealed, tmp_path / "back", "--identity", key.identity, code=tool.UNAUTHENTIC)
    assert tool.read_tree(tmp_path / "back") == {}, tool.message(done)
    for path in sealed.iterdir():
        tool.run("decrypt", path, tmp_path / "one", "--identity", key.identity, code=tool.UNAUTHENTIC)
        assert not (tmp_path / "one").exists(), path.name


def test_lengthened_files_are_refused_and_leave_nothing(tmp_path, keys):
    key = keys["x25519"]
    sealed = tmp_path / "sealed"
    sealed.mkdir()
    for size in (0, CHUNK, CHUNK + 1):
        whole = age("-r", key.recipient, content=tool.content(size))
        for added in (b"\0", bytes(16), bytes(17), whole[-17:], bytes(CHUNK + 16)):
            (sealed / f"{size}-{len(added)}-{added[:1].hex()}").write_bytes(whole + added)
    tool.run("decrypt", sealed, tmp_path / "back", "--identity", key.identity, code=tool.UNAUTHENTIC)
    assert tool.read_tree(tmp_path / "back") == {}
