"""Fixtures: keysets by template, and a small tree of many sizes."""

import os
import signal
import subprocess

import pytest
import stores
import tool


@pytest.fixture(scope="session", autouse=True)
def signals_are_heard():
    """What starts the tests may ignore signals (`nohup`, a script's job in the background), and so would all that they start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for number in (signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    """A gateway for the tests of one file."""
    with stores.S3.running(tmp_path_factory.mktemp("s3")) as store:
        yield store


@pytest.fixture
def key(tmp_path):
    return tool.keygen(tmp_path / "key.json")


@pytest.fixture
def tree(tmp_path):
    """Empty, small, larger than a segment, nested, with a blank in a name."""
    files = {"empty": 0, "one": 1, "a book.epub": 300_000, "deep/er/chapter.xhtml": 5_000, "large.bin": 3_500_000}
    return tool.write_tree(tmp_path / "tree", files)


@pytest.fixture
def folding_disk(tmp_path):
    """An exFAT file system, which folds case, through FUSE: the kernel may lack the driver."""
    assert os.geteuid() == 0, "mounting the file system of these tests needs root"
    image, place = tmp_path / "image", tmp_path / "disk"
    with image.open("wb") as file:
        file.truncate(16 << 20)
    place.mkdir()
    subprocess.run(["mkfs.exfat", image], check=True, capture_output=True)
    loop = subprocess.run(["losetup", "--find", "--show", image], check=True, capture_output=True, text=True)
    device = loop.stdout.strip()
    try:
        subprocess.run(["mount.exfat-fuse", device, place], check=True, capture_output=True)
        yield place
        subprocess.run(["umount", place], check=True)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)
