"""The index of an encrypted folder: what it lists, and what it finds."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import cipherloom as cl
import pytest
from conftest import files


@pytest.fixture
def sealed(tree: Path, tmp_path: Path, key: cl.Keyset) -> Path:
    report = cl.encrypt_tree(tree, tmp_path / "sealed", key, suffix=".enc", index=True, anchor=tmp_path / "anchor")
    assert report.index == cl.IndexReport(1, report.index.time if report.index else 0, 5 + folders(tree), 0, 0)
    return tmp_path / "sealed"


def folders(tree: Path) -> int:
    return sum(path.is_dir() for path in tree.rglob("*"))


def findings(report: cl.Report) -> dict[str, str]:
    return {Path(failure.path).name: failure.error for failure in report.failures}


def test_a_listing_has_what_was_encrypted(tree: Path, sealed: Path, tmp_path: Path, key: cl.Keyset) -> None:
    listing = cl.list_tree(sealed, key, anchor=tmp_path / "anchor")
    entries = list(listing)
    assert listing.index.generation == 1 and listing.index.entries == len(entries)
    assert next(listing, None) is None
    listed = {entry.path.as_posix(): entry for entry in entries if entry.kind == "file"}
    assert listed.keys() == files(tree).keys()
    for name, entry in listed.items():
        found = (tree / name).stat()
        assert (entry.size, entry.modified_ns, entry.mode) == (found.st_size, found.st_mtime_ns, found.st_mode & 0o7777)
        assert entry.encrypted_size == (sealed / entry.encrypted_path).stat().st_size
        assert entry.key_id == key.primary_id and entry.target is None
    with pytest.raises(cl.InvalidTag):
        cl.list_tree(sealed, cl.Keyset.generate())
    with pytest.raises(cl.InvalidRequest, match="no index") as raised:
        cl.list_tree(tree, key)
    assert "index_tree" in raised.value.__notes__[0]


@pytest.mark.parametrize("quick", [False, True])
def test_what_differs_is_named(sealed: Path, tmp_path: Path, key: cl.Keyset, quick: bool) -> None:
    assert cl.verify_tree(sealed, key, quick=quick, anchor=tmp_path / "anchor").failed == 0
    (sealed / "one.enc").rename(sealed / "moved.enc")
    (sealed / "empty.enc").unlink()
    report = cl.verify_tree(sealed, key, quick=quick, check=False)
    assert findings(report) == {"one.enc": "FileNotFoundError", "empty.enc": "FileNotFoundError", "moved.enc": "InvalidTag"}
    assert report.index and (report.index.missing, report.index.extra) == (2, 0)
    (sealed / "moved.enc").unlink()
    cl.encrypt_tree(sealed.parent / "tree" / "one", sealed / "extra", key)
    report = cl.verify_tree(sealed, key, quick=quick, check=False)
    assert findings(report)["extra"] == "FileExistsError" and report.unauthentic == 0


def test_a_rollback_is_refused(tree: Path, sealed: Path, tmp_path: Path, key: cl.Keyset) -> None:
    shutil.copytree(sealed, tmp_path / "old")
    (tree / "one").write_bytes(b"another text")
    again = cl.encrypt_tree(
        tree, sealed, key, suffix=".enc", index=True, anchor=tmp_path / "anchor", if_exists="overwrite"
    )  # fmt: skip
    assert again.index and again.index.generation == 2
    report = cl.verify_tree(tmp_path / "old", key, anchor=tmp_path / "anchor", check=False)
    assert "rolled back" in report.failures[0].reason
    with pytest.raises(cl.InvalidTag, match="rolled back"):
        cl.decrypt_tree(tmp_path / "old", tmp_path / "out", key, only="one", anchor=tmp_path / "anchor")


def test_a_part_is_decrypted(tree: Path, sealed: Path, tmp_path: Path, key: cl.Keyset) -> None:
    cl.decrypt_tree(sealed, tmp_path / "some", key, only=["one", "deep/**"])
    expected = {name: text for name, text in files(tree).items() if name == "one" or name.startswith("deep/")}
    assert files(tmp_path / "some") == expected and len(expected) > 1
    shutil.copy(sealed / "empty.enc", sealed / "one.enc")
    with pytest.raises(cl.TreeFailed):
        cl.decrypt_tree(sealed, tmp_path / "none", key, only="one")
    assert not (tmp_path / "none" / "one").exists()


def test_an_index_is_made_of_files(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    sealed = tmp_path / "sealed"
    cl.encrypt_tree(tree, sealed, key)
    (sealed / "README").write_text("What this is.")
    report = cl.index_tree(sealed, key, check=False)
    assert report.index is None and report.failed > 0
    hints = [failure.hint or "" for failure in report.failures]
    assert any("skip_unopened=True" in hint for hint in hints)
    assert cl.index_tree(sealed, key, skip_unopened=True, check=False).index
    with pytest.raises(cl.InvalidRequest, match="has an index already"):
        cl.index_tree(sealed, key, exclude="README")
    report = cl.index_tree(sealed, key, exclude="README", replace=True)
    assert report.index and report.index.generation == 2
    assert cl.verify_tree(sealed, key, exclude="README").index
    assert findings(cl.verify_tree(sealed, key, check=False)).keys() == {"README"}


def test_rekeying_carries_the_index(tree: Path, sealed: Path, tmp_path: Path, key: cl.Keyset) -> None:
    new = cl.Keyset.generate()
    copied = cl.rekey_tree(sealed, tmp_path / "copy", key, new)
    assert copied.index and copied.index.generation == 1
    (sealed / "one.enc").rename(tmp_path / "kept")
    os.symlink("nowhere", sealed / "one.enc")
    report = cl.rekey_tree(
        sealed, sealed, key, new, if_exists="overwrite", anchor=tmp_path / "anchor", check=False
    )  # fmt: skip
    assert report.files == 4 and findings(report).keys() == {"one.enc"}
    (sealed / "one.enc").unlink()
    (tmp_path / "kept").rename(sealed / "one.enc")
    report = cl.rekey_tree(sealed, sealed, key, new, if_exists="overwrite", anchor=tmp_path / "anchor")
    assert (report.files, report.skipped) == (1, 4)
    for place in (sealed, tmp_path / "copy"):
        verified = cl.verify_tree(place, new)
        assert verified.files == 5 and verified.index
    cl.decrypt_tree(sealed, tmp_path / "back", new, suffix=".enc")
    assert files(tmp_path / "back") == files(tree)


def test_what_has_no_effect_is_refused(tree: Path, sealed: Path, tmp_path: Path, key: cl.Keyset) -> None:
    out, anchor = tmp_path / "out", tmp_path / "other"
    calls: list[Callable[[], object]] = [
        lambda: cl.encrypt_tree(tree, out, key, anchor=anchor),
        lambda: cl.decrypt_tree(sealed, out, key, anchor=anchor),
        lambda: cl.decrypt_tree(sealed, out, key, only="*", include="*"),
        lambda: cl.encrypt_tree(tree / "one", out, key, index=True),
        lambda: cl.encrypt_tree(tree, "s3://bucket", key, index=True),
        lambda: cl.verify_tree("s3://bucket", key, quick=True),
    ]
    for call in calls:
        with pytest.raises(cl.InvalidRequest):
            call()
    assert not out.exists() and not anchor.exists()
    with pytest.raises(cl.InvalidRequest, match="no index"):
        cl.rekey_tree(tree, out, key, key, anchor=anchor)


def test_hidden_names(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    sealed = tmp_path / "hidden"
    with pytest.raises(cl.InvalidRequest, match="index=True"):
        cl.encrypt_tree(tree, sealed, key, hide_names=True)
    report = cl.encrypt_tree(tree, sealed, key, index=True, hide_names=True)
    assert report.files == len(files(tree))
    assert cl.verify_tree(sealed, key).failed == 0
    listed = {entry.path.as_posix(): entry.encrypted_path for entry in cl.list_tree(sealed, key) if entry.kind == "file"}
    assert listed.keys() == files(tree).keys()
    assert all((sealed / path).is_file() and path.as_posix() not in listed for path in listed.values())
    assert cl.decrypt_tree(sealed, tmp_path / "opened", key).failed == 0
    assert files(tmp_path / "opened") == files(tree)
    assert cl.decrypt_tree(sealed, tmp_path / "part", key, only="one").files == 1
    with pytest.raises(cl.InvalidRequest, match="names are hidden") as raised:
        cl.encrypt_tree(tree, sealed, key, index=True, if_exists="skip")
    assert "hide_names=True" in raised.value.__notes__[0]
    for index in (sealed / ".cipherloom", sealed / "00/.cipherloom"):
        shutil.rmtree(index)
    with pytest.raises(cl.InvalidTag, match="both copies"):
        cl.verify_tree(sealed, key)
    assert cl.index_tree(sealed, key).failed == 0
    assert cl.verify_tree(sealed, key).files == len(listed)
