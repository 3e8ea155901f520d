"""What a tree may hold beside plain files with plain names."""

import json
import os
import socket
import subprocess

import tool

ODD = {b"not-utf8-\xff\xfe": b"a", b"two\nlines": b"b", b" blank ": b"c", b"-dash": b"d", b"dir\xff/in\nside": b"e"}


def test_odd_names_come_back(tmp_path, key):
    plain = tool.write_tree(tmp_path / "plain", ODD)
    tool.run("encrypt", plain, tmp_path / "sealed", "--key", key, "--bind-path")
    assert set(tool.read_tree(tmp_path / "sealed")) == set(ODD)
    tool.run("verify", tmp_path / "sealed", "--key", key, "--bind-path")
    tool.run("decrypt", tmp_path / "sealed", tmp_path / "back", "--key", key, "--bind-path")
    assert tool.read_tree(tmp_path / "back") == tool.read_tree(plain)


def test_a_newline_in_a_name_cannot_forge_a_line(tmp_path, key):
    plain = tool.write_tree(tmp_path / "plain", {b"two\nlines": b"a"})
    tool.run("encrypt", plain, tmp_path / "sealed", "--key", key)
    sealed = tmp_path / "sealed/two\nlines"
    sealed.write_bytes(b"damaged")
    done = tool.run("verify", tmp_path / "sealed", "--key", key, code=tool.UNAUTHENTIC)
    assert not any(line.startswith("lines") for line in tool.message(done).splitlines())


def test_what_is_no_file_is_skipped_with_a_count(tmp_path, key):
    plain = tool.write_tree(tmp_path / "plain", {"file": 10})
    os.mkfifo(plain / "pipe")
    (plain / "link").symlink_to("file")
    (plain / "out").symlink_to("/etc")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(plain / "socket"))
        done = tool.run("encrypt", plain, tmp_path / "sealed", "--key", key, "--json")
    summary = json.loads(done.stdout.splitlines()[-1])
    assert (summary["files"], summary["failed"]) == (1, 0), summary
    assert (summary["links_passed_over"], summary["special_passed_over"]) == (2, 2), summary
    assert tool.read_tree(tmp_path / "sealed").keys() == {b"file"}


def test_links_are_copied_when_told_to(tmp_path, key):
    plain = tool.write_tree(tmp_path / "plain", {"file": 10})
    (plain / "link").symlink_to("file")
    tool.run("encrypt", plain, tmp_path / "sealed", "--key", key, "--links", "copy")
    assert tool.read_tree(tmp_path / "sealed")[b"link"] == ("link", b"file")


def test_the_target_inside_the_source(tmp_path, key, tree):
    before = tool.read_tree(tree)
    for target in (tree / "sealed", tree / "deep", tree):
        done = tool.run("encrypt", tree, target, "--key", key, code=tool.USAGE)
        assert "the destination lies inside the source" in tool.message(done)
    assert tool.read_tree(tree) == before


def test_the_source_inside_the_target(tmp_path, key, tree):
    before = tool.read_tree(tree)
    done = tool.run("encrypt", tree, tmp_path, "--key", key, code=tool.USAGE)
    assert "inside" in tool.message(done)
    assert tool.read_tree(tree) == before


def test_a_linked_way_into_the_source_is_seen(tmp_path, key, tree):
    (tmp_path / "way").symlink_to(tree)
    tool.run("encrypt", tree, tmp_path / "way" / "sealed", "--key", key, code=tool.USAGE)
    assert not (tree / "sealed").exists()


def test_one_file_onto_itself(tmp_path, key, tree):
    before = tool.read_tree(tree)
    file = tree / "one"
    tool.run("encrypt", file, file, "--key", key, "--if-exists", "overwrite", code=tool.USAGE)
    # A second name for the source is replaced, not written through.
    os.link(file, tmp_path / "same")
    tool.run("encrypt", file, tmp_path / "same", "--key", key, "--if-exists", "overwrite")
    assert tool.read_tree(tree) == before


def test_modes_and_times_are_carried_over(tmp_path, key, tree):
    file = tree / "one"
    file.chmod(0o640)
    os.utime(file, ns=(1_000_000_000, 1_500_000_000_123_456_789))
    tool.run("encrypt", tree, tmp_path / "sealed", "--key", key)
    tool.run("decrypt", tmp_path / "sealed", tmp_path / "back", "--key", key)
    for place in ("sealed", "back"):
        found = (tmp_path / place / "one").stat()
        assert (found.st_mode & 0o777, found.st_mtime_ns) == (0o640, file.stat().st_mtime_ns), place


def with_umask(umask, *arguments):
    return tool.run(*arguments, preexec_fn=lambda: os.umask(umask))


def modes(root, *paths):
    return [(root / path).stat().st_mode & 0o7777 for path in paths]


def test_the_umask_limits_what_ciphertexts_say(tmp_path, key):
    """Whoever can write to the ciphertexts can open them to everybody, but not what they become."""
    plain = tool.write_tree(tmp_path / "plain", {"open/page": 10, "open/narrow": 10})
    tool.run("encrypt", plain, tmp_path / "sealed", "--key", key)
    sealed, paths = tmp_path / "sealed", ("open", "open/page", "open/narrow")
    for path, mode in zip(paths, (0o1777, 0o6777, 0o440), strict=True):
        (sealed / path).chmod(mode)
    with_umask(0o077, "decrypt", sealed, tmp_path / "private", "--key", key)
    assert modes(tmp_path / "private", *paths) == [0o1700, 0o700, 0o400]
    with_umask(0o027, "encrypt", sealed, tmp_path / "twice", "--key", key)
    assert modes(tmp_path / "twice", *paths) == [0o1750, 0o750, 0o440]
    with_umask(0o077, "decrypt", sealed, tmp_path / "exact", "--key", key, "--preserve", "modes")
    assert modes(tmp_path / "exact", *paths) == [0o1777, 0o777, 0o440]
    # A stream has no permissions: those of any new file.
    with open(sealed / "open/page", "rb") as stream:
        command = [tool.COMMAND, "decrypt", "-", tmp_path / "stream", "--key", key]
        subprocess.run(command, stdin=stream, check=True, preexec_fn=lambda: os.umask(0o027))
    assert modes(tmp_path, "stream") == [0o640]


def test_suffixes_and_globs(tmp_path, key, tree):
    sealed = tmp_path / "sealed"
    tool.run("encrypt", tree, sealed, "--key", key, "--suffix", ".enc", "--include", "**/*.xhtml")
    assert tool.read_tree(sealed).keys() == {b"deep/er/chapter.xhtml.enc"}
    tool.run("decrypt", sealed, tmp_path / "back", "--key", key, "--suffix", ".enc")
    assert tool.read_tree(tmp_path / "back").keys() == {b"deep/er/chapter.xhtml"}
