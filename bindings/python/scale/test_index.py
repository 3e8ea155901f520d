"""What a repeated run on a cluster believes of the index, and what two runs at once do to it."""

import os
import shutil
from pathlib import Path

import cipherloom as cl
import pytest
from cipherloom import ray as scale
from cipherloom._report import Failure, IndexReport
from cipherloom.ray._index import Index
from conftest import indexed, write

pytestmark = pytest.mark.usefixtures("cluster")


def failed(report: scale.ScaleReport) -> dict[str, str]:
    return {str(failure.path): failure.error for failure in report.failures}


def test_an_output_that_is_lost_is_made_again(tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile) -> None:
    # With the suffix, the first two have another order.
    source = write(tmp_path / "in", {"a": 100, "a.b": 100, "b/c": 100, "b/d": 100, "e": 100})
    out = tmp_path / "out"
    assert scale.encrypt(source, out, key_file, suffix=".enc").files == 5
    (out / "a.enc").unlink()
    os.truncate(out / "b/c.enc", 50)
    report = scale.verify(out, key_file, suffix=".enc", check=False)
    assert report.index is not None and (report.index.missing, report.index.extra) == (1, 0)
    report = scale.encrypt(source, out, key_file, suffix=".enc", check=False)
    assert (report.recorded, report.files, failed(report)) == (3, 1, {"b/c": "FileExistsError"})
    assert report.failures[0].hint is not None and "remove the output" in report.failures[0].hint
    (out / "b/c.enc").unlink()
    assert scale.encrypt(source, out, key_file, suffix=".enc").files == 1
    # The index lists the new outputs in the place of those before.
    assert scale.verify(out, key_file, suffix=".enc").files == 5
    assert scale.encrypt(source, out, key_file, suffix=".enc").recorded == 5
    shutil.rmtree(out / "b")
    again = scale.encrypt(source, out, key_file, suffix=".enc")
    assert (again.recorded, again.files) == (3, 2)
    assert cl.verify_tree(out, key, suffix=".enc").files == 5


def test_a_source_of_another_time_has_changed(tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile) -> None:
    source, out = write(tmp_path / "in", {"a": 100, "old": 100, "older": 100}), tmp_path / "out"
    # Before 1970, with and without a part of a second.
    os.utime(source / "old", ns=(0, -5_000_000_001))
    os.utime(source / "older", ns=(0, -7_000_000_000))
    scale.encrypt(source, out, key_file)
    assert scale.encrypt(source, out, key_file).recorded == 3
    for name in ("a", "old"):
        os.utime(source / name, ns=(0, (source / name).stat().st_mtime_ns + 1))
    report = scale.encrypt(source, out, key_file, check=False)
    assert (report.recorded, failed(report)) == (1, {"a": "FileExistsError", "old": "FileExistsError"})
    (out / "a").unlink()
    report = scale.encrypt(source, out, key_file, check=False)
    assert (report.recorded, report.files, failed(report)) == (1, 1, {"old": "FileExistsError"})


def test_trees_with_hidden_names_are_refused(tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile) -> None:
    source, out = write(tmp_path / "in", {"a": 100}), tmp_path / "out"
    cl.encrypt_tree(source, out, key, index=True, hide_names=True)
    with pytest.raises(cl.CipherloomError, match="names are hidden"):
        scale.encrypt(source, out, key_file)
    # Either copy of the index shows it.
    for lost in (None, "00/.cipherloom", ".cipherloom"):
        tree = tmp_path / "sealed"
        shutil.copytree(out, tree)
        if lost is not None:
            shutil.rmtree(tree / lost)
        for operation in (
            lambda: scale.decrypt(tree, tmp_path / "back", key_file),
            lambda: scale.verify(tree, key_file),
            lambda: scale.rekey(tree, tmp_path / "other", key_file, key_file),
        ):
            with pytest.raises(cl.InvalidRequest, match="its names are hidden"):
                operation()
        shutil.rmtree(tree)
    assert not (out / "a").exists() and not (tmp_path / "back").exists()


def test_an_output_of_another_time_is_recognised_by_its_mark(
    tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile
) -> None:
    source, out = write(tmp_path / "in", {"a": 100, "b": 100}), tmp_path / "out"
    scale.encrypt(source, out, key_file)
    # The times of outputs are those of a file system that did not take them from their sources.
    os.utime(out / "a", ns=(0, 10**18))
    cl.index_tree(out, key, replace=True)
    report = scale.encrypt(source, out, key_file)
    assert (report.recorded, report.skipped, report.files) == (1, 1, 0)
    assert scale.encrypt(source, out, key_file).recorded == 2
    assert scale.verify(out, key_file).files == 2


def test_outputs_of_other_settings_are_no_outputs_of_a_run(tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile) -> None:
    source, out = write(tmp_path / "in", {"a": 100, "b": 90}), tmp_path / "out"
    scale.encrypt(source, out, key_file)
    report = scale.encrypt(source, out, key_file, suffix=".enc")
    assert (report.recorded, report.files) == (0, 2)
    assert {path.name for path in out.iterdir()} == {"a", "b", "a.enc", "b.enc", ".cipherloom"}
    assert len(indexed(out, key)) == 2, "of two plaintexts"
    with pytest.raises(cl.InvalidRequest, match="out/b: an earlier run has made it with another bind_path") as raised:
        scale.encrypt(source, out, key_file, bind_path=True)
    assert "bind_path=False" in raised.value.__notes__[0]
    # While somebody keeps the exception, the next run has the index.
    assert scale.encrypt(source, out, key_file).recorded == 2
    write(source, {"new": 80})
    with pytest.raises(cl.InvalidRequest, match="with another bind_path"):
        scale.encrypt(source, out, key_file, include="new", bind_path=True)
    scale.encrypt(source, tmp_path / "bound", key_file, bind_path=True)
    assert scale.encrypt(source, tmp_path / "bound", key_file, bind_path=True).recorded == 3
    with pytest.raises(cl.InvalidRequest, match="with another bind_path"):
        scale.encrypt(source, tmp_path / "bound", key_file)
    # One that is damaged is no output of other settings.
    smallest = tmp_path / "bound/new"
    smallest.write_bytes(bytes(smallest.stat().st_size))
    assert scale.encrypt(source, tmp_path / "bound", key_file, bind_path=True).recorded == 3


def test_a_folder_that_cannot_be_made_fails_what_is_below_it(tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile) -> None:
    source, out = write(tmp_path / "in", {"a/1": 100, "b/1": 100, "c": 100}), tmp_path / "out"
    write(out, {"b": 1})
    report = scale.encrypt(source, out, key_file, check=False)
    assert report.files == 2 and "b/1" in failed(report) and not {"a/1", "c"} & failed(report).keys()
    assert indexed(out, key).keys() == {"a/1", "c"}


def test_nothing_is_left_out_for_its_name(tmp_path: Path, key_file: scale.KeyFile) -> None:
    for number, name in enumerate((".cipherloom/one", ".Cipherloom", "a/b/.CIPHERLOOM/one")):
        source = write(tmp_path / str(number), {"file": 1, name: 1})
        with pytest.raises(cl.InvalidRequest, match="reserved for indexes") as raised:
            scale.encrypt(source, tmp_path / "out", key_file)
        assert "exclude" in raised.value.__notes__[0]
    assert not (tmp_path / "out").exists()
    assert scale.encrypt(tmp_path / "0", tmp_path / "out", key_file, exclude=".cipherloom").files == 1


def test_verification_says_whether_there_was_an_index(tmp_path: Path, key_file: scale.KeyFile) -> None:
    source, out, anchor = write(tmp_path / "in", {"a": 100, "b": 90}), tmp_path / "out", tmp_path / "anchor"
    made = scale.encrypt(source, out, key_file, anchor=anchor)
    assert made.index is not None and scale.verify(out, key_file, anchor=anchor).index == made.index
    shutil.copytree(out, tmp_path / "before")
    write(source, {"c": 80})
    scale.encrypt(source, out, key_file, anchor=anchor)
    report = scale.verify(tmp_path / "before", key_file, anchor=anchor, check=False)
    assert failed(report) == {os.fspath(tmp_path / "before/.cipherloom"): "InvalidTag"}
    with pytest.raises(cl.InvalidTag, match="rolled back"):
        scale.encrypt(source, tmp_path / "before", key_file, anchor=anchor)
    shutil.rmtree(out / ".cipherloom")
    assert scale.verify(out, key_file).index is None
    report = scale.verify(out, key_file, anchor=anchor, check=False)
    assert failed(report) == {os.fspath(out / ".cipherloom"): "InvalidTag"}
    with pytest.raises(cl.InvalidTag, match="was removed"):
        scale.encrypt(source, out, key_file, anchor=anchor)
    with pytest.raises(cl.InvalidRequest, match="anchor is for"):
        scale.decrypt(out, tmp_path / "back", key_file, anchor=anchor)


def test_journals_of_killed_runs_are_merged_by_the_next_one(
    tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = write(tmp_path / "in", {"a": 100, "b": 100}), tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(Index, "finish", lambda self, found, missing: None)
        scale.encrypt(source, out, key_file)
        # An output was lost, and made again.
        (out / "a").unlink()
        assert scale.encrypt(source, out, key_file).files == 1
    report = scale.encrypt(source, out, key_file)
    assert (report.recorded, report.skipped, report.failed) == (2, 0, 0)
    assert cl.verify_tree(out, key).files == 2


def test_of_two_runs_at_once_one_writes_the_index(
    tmp_path: Path, key_file: scale.KeyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = write(tmp_path / "in", {"a": 100}), tmp_path / "out"
    finish = Index.finish

    def meanwhile(self: Index, found: list[Failure], missing: int) -> IndexReport | None:
        with pytest.raises(OSError, match="another process is using the tree's index"):
            scale.encrypt(source, out, key_file)
        return finish(self, found, missing)

    monkeypatch.setattr(Index, "finish", meanwhile)
    assert scale.encrypt(source, out, key_file).files == 1
