"""Killed at any moment, resumed with `--if-exists skip`: the result equals an undisturbed run."""

import json
import random
import subprocess
import time

import pytest
import tool


def started(*arguments):
    command = [tool.COMMAND, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def plain(tmp_path):
    files = {f"folder-{number % 7}/file-{number}": 200 + 1_500 * (number % 40) for number in range(600)}
    files |= {f"large-{number}": 9_000_000 for number in range(8)}
    return tool.write_tree(tmp_path / "plain", files)


def test_a_hundred_kills(tmp_path, plain):
    # A fixed initialisation vector makes two runs comparable byte for byte.
    key = tmp_path / "key.hex"
    key.write_text("000102030405060708090a0b0c0d0e0f")
    key.chmod(0o600)
    flags = ["--format", "raw", "--cipher", "aes-128-cbc", "--raw-key", key, "--iv", "0f" * 16]
    times = []
    for number in range(3):
        start = time.monotonic()
        tool.run("encrypt", plain, tmp_path / f"undisturbed-{number}", *flags)
        times.append(time.monotonic() - start)
    # The quickest: what else runs on this machine may end at any moment.
    whole = min(times)
    undisturbed = tool.read_tree(tmp_path / "undisturbed-0")
    chance = random.Random(1)
    cut_short, target, series = 0, tmp_path / "target-0", 0
    for _ in range(100):
        running = started("encrypt", plain, target, *flags, "--if-exists", "skip")
        time.sleep(chance.uniform(0.0005, whole))
        running.kill()
        is_late = running.wait() == 0
        cut_short += not is_late
        # What else ran when the time was taken may have ended since.
        whole *= 0.95 if is_late else 1.03
        if target.exists():
            found = tool.read_tree(target)
            wrong = [name for name, data in found.items() if undisturbed.get(name) != data]
            assert not wrong, f"a partial or stray file: {wrong[:3]}"
            if len(found) == len(undisturbed):
                series += 1
                target = tmp_path / f"target-{series}"
    assert cut_short > 20, "the kills came too late to say anything"
    tool.run("encrypt", plain, target, *flags, "--if-exists", "skip")
    assert tool.read_tree(target) == undisturbed


def test_the_default_format_resumes(tmp_path, key, plain):
    target = tmp_path / "target"
    chance = random.Random(2)
    for _ in range(5):
        running = started("encrypt", plain, target, "--key", key, "--if-exists", "skip")
        time.sleep(chance.uniform(0.002, 0.05))
        running.kill()
        running.wait()
    tool.run("encrypt", plain, target, "--key", key, "--if-exists", "skip")
    tool.run("decrypt", target, tmp_path / "back", "--key", key)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_rekeying_in_place_leaves_every_file_with_one_of_both_keys(tmp_path, key, plain):
    sealed, new = tmp_path / "sealed", tool.keygen(tmp_path / "new.json")
    both = tmp_path / "both.json"
    keyset, other = (json.loads(path.read_text()) for path in (key, new))
    both.write_text(json.dumps(keyset | {"key": keyset["key"] + other["key"]}))
    both.chmod(0o600)
    tool.run("encrypt", plain, sealed, "--key", key)
    chance = random.Random(3)
    rekey = ["rekey", sealed, sealed, "--key", key, "--to", new, "--if-exists", "overwrite"]
    cut_short = 0
    for _ in range(12):
        running = started(*rekey)
        time.sleep(chance.uniform(0.002, 0.1))
        running.kill()
        cut_short += running.wait() != 0
        tool.run("verify", sealed, "--key", both)
    assert cut_short > 2, "the kills came too late to say anything"
    tool.run(*rekey)
    # A name that a killed run used for a moment is taken away by the next one.
    assert not list(sealed.rglob(".cipherloom-*"))
    tool.run("decrypt", sealed, tmp_path / "back", "--key", new)
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


@pytest.mark.parametrize("call", ["write", "pwrite64", "fsync", "linkat"])
def test_a_key_file_is_whole_or_not_there(tmp_path, call):
    """Killed when it makes one of its first such calls: an empty key file would be taken for the key, and stay."""
    killed_while_naming = False
    for when in (1, 2, 3):
        place, trace = tmp_path / f"at-{when}", tmp_path / "trace"
        place.mkdir()
        path = place / "key.json"
        inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={when}"]
        command = ["strace", "-f", "-o", trace, *inject, tool.COMMAND, "keygen", "-o", path]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        # The first one may only try whether a name can be given.
        killed_while_naming |= done.returncode != 0 and "key.json" in trace.read_text()
        if not path.exists():
            tool.keygen(path)
        (place / "plain").write_bytes(b"text")
        tool.run("encrypt", place / "plain", place / "sealed", "--key", path)
        assert {found.name for found in place.iterdir()} == {"key.json", "plain", "sealed"}
    assert killed_while_naming or call != "linkat"
