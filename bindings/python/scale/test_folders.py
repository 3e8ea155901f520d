"""Folders on a cluster of this machine: even tasks, the index, lost workers, keys, Ctrl-C."""

import os
import shutil
import signal
import threading
import time
from pathlib import Path

import cipherloom as cl
import pytest
from cipherloom import _native
from cipherloom import ray as scale
from cipherloom._report import Failure, IndexReport
from cipherloom.ray._index import Index
from cipherloom.ray._listing import OBJECT_BYTES, Listed, cut, listed
from books import entries, epub
from conftest import a_worker_killed, indexed, workers, write

MB = 1 << 20


def content(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".cipherloom" not in path.parts
    }


def journals(root: Path) -> list[Path]:
    return sorted(root.glob(".cipherloom/index/journals/*"))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = {f"d{number % 11}/e{number % 3}/{number:05}": number % 5000 for number in range(1000)}
    return write(tmp_path_factory.mktemp("many") / "in", sizes | {"top": 1, "large": 40 * MB})


@pytest.mark.usefixtures("cluster")
def test_a_run_its_index_and_its_repetition(many: Path, tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile) -> None:
    out = tmp_path / "out"
    report = scale.encrypt(many, out, key_file, chunk_bytes=20 * MB)
    total = len(content(many))
    assert (report.files, report.failed, report.skipped, report.recorded) == (total, 0, 0, 0)
    assert report.tasks > 4 and report.retried == 0
    assert indexed(out, key) == {name: len(data) for name, data in content(many).items()}
    assert report.index is not None and report.index.generation == 2 and journals(out) == []
    found = cl.verify_tree(out, key)
    assert found.index is not None and found.files == total
    compared = scale.verify(out, key_file)
    assert (compared.files, compared.index) == (total, found.index)
    # A second run starts nothing, and writes no index.
    again = scale.encrypt(many, out, key_file)
    assert (again.files, again.tasks, again.recorded) == (0, 0, total)
    assert again.index is not None and again.index.generation == 2
    # One more file, in a folder that is listed, is all that a third one does.
    (many / "d0/late").write_bytes(b"late")
    try:
        third = scale.encrypt(many, out, key_file)
        assert (third.files, third.recorded) == (1, total)
        assert third.index is not None and third.index.generation == 3
        back = scale.decrypt(out, tmp_path / "back", key_file)
        assert back.files == total + 1 and content(tmp_path / "back") == content(many)
    finally:
        (many / "d0/late").unlink()


@pytest.mark.usefixtures("cluster")
def test_a_run_whose_end_was_lost_goes_on(
    tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver is gone before it writes the root: what journals list is not given out, the rest is recognised."""
    source, out = write(tmp_path / "in", {f"{number % 3}/{number}": 1000 for number in range(60)}), tmp_path / "out"

    def killed(self: Index, found: list[Failure], missing: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Index, "finish", killed)
        with pytest.raises(KeyboardInterrupt):
            scale.encrypt(source, out, key_file, chunk_bytes=20 * (64 << 10))
    made = journals(out)
    assert len(made) > 2 and indexed(out, key) == {}
    before = content(out)
    # One share's journal never came to be, and of another share nothing is there: somebody removed both. Some list folders only.
    for journal in made:
        # Whoever opens an index merges its journals.
        copy = shutil.copytree(out, tmp_path / journal.name)
        (copy / journal.relative_to(out)).unlink()
        listed = {path for path, *_ in _native.Gathering(copy, key, "").recorded()}
        unlisted = sorted(before.keys() - listed)
        if unlisted:
            journal.unlink()
            break
    (out / unlisted[0]).unlink()
    report = scale.encrypt(source, out, key_file)
    assert (report.recorded, report.files, report.skipped) == (len(listed), 1, len(unlisted) - 1)
    after = content(out)
    assert {name for name in after if after[name] != before[name]} == {unlisted[0]}
    assert len(indexed(out, key)) == 60 and journals(out) == []
    assert cl.verify_tree(out, key).files == 60


@pytest.mark.usefixtures("cluster")
def test_who_lacks_the_key_has_nothing_left_out(
    tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = write(tmp_path / "in", {"a": 100, "b": 100, "c": 100}), tmp_path / "out"
    monkeypatch.setattr(Index, "finish", lambda self, found, missing: None)
    scale.encrypt(source, out, key_file)
    (journal,) = journals(out)
    # A journal of another tree, under a name that fits: the sources look the same.
    other = tmp_path / "other"
    scale.encrypt(source, other, key_file)
    forged = journal.with_name(journal.name[:17] + "0" * 16)
    shutil.copy(journals(other)[0], forged)
    with pytest.raises(cl.InvalidTag, match=forged.name) as raised:
        scale.encrypt(source, out, key_file)
    assert "remove it" in raised.value.__notes__[0]
    forged.unlink()
    # An object in the place of another one, which no journal lists any more.
    journal.unlink()
    shutil.copy(out / "a", out / "b")
    monkeypatch.undo()
    report = scale.encrypt(source, out, key_file, check=False)
    assert [(str(failure.path), failure.error) for failure in report.failures] == [("b", "FileExistsError")]
    assert (report.files, report.skipped, report.retried) == (0, 2, 0)
    assert indexed(out, key).keys() == {"a", "c"}
    (out / "b").unlink()
    assert scale.encrypt(source, out, key_file).files == 1
    # A journal that is removed while the run goes on.
    finish = Index.finish

    def robbed(self: Index, found: list[Failure], missing: int) -> IndexReport | None:
        for each in journals(tmp_path / "third"):
            each.unlink()
        return finish(self, found, missing)

    with monkeypatch.context() as patch:
        patch.setattr(Index, "finish", robbed)
        report = scale.encrypt(source, tmp_path / "third", key_file, check=False)
    assert {(str(failure.path), failure.error) for failure in report.failures} == {(name, "FileNotFoundError") for name in "abc"}
    again = scale.encrypt(source, tmp_path / "third", key_file)
    assert (again.files, again.skipped, again.failed) == (0, 3, 0)
    # A root that no key opens.
    root = out / ".cipherloom/index/root"
    root.write_bytes(root.read_bytes()[::-1])
    with pytest.raises(cl.InvalidTag, match="index/root: no key opens"):
        scale.encrypt(source, out, key_file)


@pytest.mark.usefixtures("cluster")
def test_a_killed_worker_loses_nothing(tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile) -> None:
    source = write(tmp_path / "in", {f"{number % 7}/{number}": 4 * MB for number in range(150)})
    with a_worker_killed("encrypt") as killed:
        report = scale.encrypt(source, tmp_path / "out", key_file, chunk_bytes=100 * MB)
    assert len(killed) == 1, "a worker was at work and was killed"
    assert report.files + report.skipped == 150 and report.failed == 0
    assert len(indexed(tmp_path / "out", key)) == 150
    assert cl.verify_tree(tmp_path / "out", key).files == 150
    assert scale.verify(tmp_path / "out", key_file).files == 150


@pytest.mark.usefixtures("cluster")
def test_verification_compares_with_the_index(tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile) -> None:
    source, out = write(tmp_path / "in", {"a/one": 10, "a/two": 20, "three": 30, "four": 40, "five": 40}), tmp_path / "out"
    scale.encrypt(source, out, key_file, suffix=".enc")
    assert scale.verify(out, key_file, suffix=".enc").files == 5
    (out / "a/two.enc").unlink()
    shutil.copy(out / "three.enc", out / "six.enc")
    (out / "four.enc").rename(out / "swap")
    (out / "five.enc").rename(out / "four.enc")
    (out / "swap").rename(out / "five.enc")
    report = scale.verify(out, key_file, suffix=".enc", check=False)
    failures = {str(failure.path): failure.error for failure in report.failures}
    assert failures == {
        "a/two.enc": "FileNotFoundError", "six.enc": "FileExistsError", "four.enc": "InvalidTag", "five.enc": "InvalidTag"
    }  # fmt: skip
    assert report.files == 2
    # A selection cannot tell what is missing.
    assert scale.verify(out, key_file, suffix=".enc", include="three*").files == 1
    # A passphrase from a file opens the same key.
    key.write(tmp_path / "key.age", passphrase="a passphrase")
    (tmp_path / "passphrase").write_text("a passphrase\n")
    locked = scale.KeyFile(tmp_path / "key.age", passphrase_file=tmp_path / "passphrase")
    assert scale.verify(out, locked, suffix=".enc", include="three*").files == 1


@pytest.mark.usefixtures("cluster")
def test_ctrl_c_stops_and_a_later_run_goes_on(tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile) -> None:
    source = write(tmp_path / "in", {"0/0": 32 * MB})
    for number in range(1, 60):
        os.link(source / "0/0", source / f"0/{number}")

    over = threading.Event()

    def send() -> None:
        while not over.wait(0.01):
            if any((tmp_path / "out").rglob("*/*")):
                signal.raise_signal(signal.SIGINT)
                return

    sender = threading.Thread(target=send, daemon=True)
    try:
        with pytest.raises(KeyboardInterrupt):
            sender.start()
            scale.encrypt(source, tmp_path / "out", key_file, chunk_bytes=300 * MB)
    finally:
        over.set()
        sender.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    for _ in range(12000):
        if not workers("encrypt"):
            break
        time.sleep(0.01)
    assert not workers("encrypt"), "what ran on nodes was cancelled"
    sealed = list((tmp_path / "out").rglob("*/*"))
    assert 0 < len(sealed) < 60
    report = scale.encrypt(source, tmp_path / "out", key_file)
    assert report.files + report.skipped + report.recorded == 60
    assert cl.verify_tree(tmp_path / "out", key).files == 60


@pytest.mark.usefixtures("cluster")
def test_nothing_counts_as_done_under_a_key_that_opens_nothing(tmp_path: Path, key_file: scale.KeyFile) -> None:
    """Each task ends after the first objects, and names one of them: the others are no less failed. So is the index."""
    source = write(tmp_path / "in", {f"{number}": 10 for number in range(50)})
    scale.encrypt(source, tmp_path / "out", key_file)
    cl.Keyset.generate().write(tmp_path / "other.json")
    with pytest.raises(cl.TreeFailed, match="51 of 51 failed: .*/index/root: no key opens"):
        scale.verify(tmp_path / "out", scale.KeyFile(tmp_path / "other.json"))


@pytest.mark.usefixtures("cluster")
def test_damage_is_told_object_by_object_and_is_not_tried_again(tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile) -> None:
    source = write(tmp_path / "in", {f"{number}": 1000 for number in range(50)})
    scale.encrypt(source, tmp_path / "out", key_file)
    (tmp_path / "out" / "7").write_bytes(b"damage")
    with pytest.raises(cl.TreeFailed, match="1 of 50 failed: 7: ") as raised:
        scale.decrypt(tmp_path / "out", tmp_path / "back", key_file)
    report = raised.value.report
    assert isinstance(report, scale.ScaleReport)
    assert (report.files, report.retried, report.failures[0].error) == (49, 0, "InvalidTag")
    assert list(report.to_pandas()["path"]) == ["7"]
    (tmp_path / "in" / "9").write_bytes(b"changed")
    changed = scale.encrypt(source, tmp_path / "out", key_file, check=False)
    assert [(str(failure.path), failure.error) for failure in changed.failures] == [
        ("7", "FileExistsError"), ("9", "FileExistsError")
    ]  # fmt: skip


@pytest.mark.usefixtures("cluster")
def test_rekey_suffix_and_globs(tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile) -> None:
    source = write(tmp_path / "in", {"a.txt": 10, "b/c.txt": 20, "b/d.bin": 30})
    new = cl.Keyset.generate()
    new.write(tmp_path / "new.json")
    first = scale.encrypt(source, tmp_path / "old", key_file, include="*.txt", suffix=".enc", bind_path=True)
    assert first.files == 2 and (tmp_path / "old/b/c.txt.enc").exists()
    with pytest.warns(UserWarning, match="the destination gets no index"):
        scale.rekey(tmp_path / "old", tmp_path / "new", key_file, scale.KeyFile(tmp_path / "new.json"), suffix=".enc", bind_path=True)
    cl.decrypt_tree(tmp_path / "new", tmp_path / "back", new, suffix=".enc", bind_path=True)
    assert content(tmp_path / "back") == {
        name: data for name, data in content(source).items() if name.endswith(".txt")
    }  # fmt: skip
    # An index under another key is not that of this run.
    with pytest.raises(cl.InvalidTag, match="no key opens"):
        scale.encrypt(source, tmp_path / "old", scale.KeyFile(tmp_path / "new.json"))


@pytest.mark.usefixtures("cluster")
def test_a_cluster_of_others_gets_no_keyset_in_memory(tmp_path: Path, key: cl.Keyset, key_file: scale.KeyFile) -> None:
    import ray

    source = write(tmp_path / "in", {"one": 10, "two": 20})
    with pytest.raises(cl.InvalidRequest, match="KeyFile"):
        scale.encrypt(source, tmp_path / "out", key)
    assert scale.encrypt(source, tmp_path / "out", key_file, threads=1).files == 2
    assert ray.is_initialized(), "the cluster is not ours to end"


@pytest.mark.usefixtures("cluster")
def test_numbers_and_names_for_those_who_look(tmp_path: Path, key_file: scale.KeyFile, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray
    from ray.util.metrics import Counter, Gauge

    counted: dict[str, float] = {}
    left: list[float] = []

    def inc(self: Counter, value: float = 1.0, tags: object = None) -> None:
        counted[self.info["name"]] = counted.get(self.info["name"], 0) + value

    names: list[str] = []
    options = ray.remote_function.RemoteFunction.options

    def named(self: object, **given: object) -> object:
        names.append(str(given["name"]))
        return options(self, **given)

    monkeypatch.setattr(Counter, "inc", inc)
    monkeypatch.setattr(Gauge, "set", lambda self, value, tags=None: left.append(value))
    monkeypatch.setattr(ray.remote_function.RemoteFunction, "options", named)
    source = write(tmp_path / "in", {"a": 10, "b": 20, "c": 30, os.fsdecode(b"\xff"): 40})
    scale.encrypt(source, tmp_path / "out", key_file, include=["a", "b"])
    scale.encrypt(source, tmp_path / "out", key_file)
    assert counted == {"cipherloom_objects_done": 4, "cipherloom_bytes_done": 100}
    assert left == [2, 0, 2, 0]
    assert names == ["cipherloom encrypt 1: 2 objects from a", "cipherloom encrypt 1: 2 objects from c"]


@pytest.mark.usefixtures("cluster")
def test_publications(tmp_path: Path) -> None:
    # Of two books of one name the content differs: the same one again would be refused.
    for name, audio in (("a/moby.epub", 50_000), ("a/omoo.epub", 50_000), ("b/moby.epub", 40_000), ("typee.epub", 50_000)):
        epub(tmp_path / "in" / name, audio)
    (tmp_path / "in" / "notes.txt").write_text("no book")
    report = scale.lcp_encrypt(tmp_path / "in", tmp_path / "out", tmp_path / "keys.json", chunk_bytes=100_000)
    assert (report.files, report.failed) == (4, 0) and report.tasks > 1
    assert len((tmp_path / "keys.json").read_text().splitlines()) == 4
    assert cl.lcp.check(tmp_path / "out").sound == 4
    assert entries(tmp_path / "out/a/moby.epub").keys() > entries(tmp_path / "in/a/moby.epub").keys()
    assert scale.lcp_encrypt(tmp_path / "in", tmp_path / "out", tmp_path / "keys.json").skipped == 4
    with pytest.raises(cl.InvalidRequest, match="in folders"):
        scale.lcp_encrypt("s3://bucket/in", tmp_path / "out", tmp_path / "keys.json")
    with pytest.raises(cl.InvalidRequest, match="suffix is not for publications"):
        scale.lcp_encrypt(tmp_path / "in", tmp_path / "out", tmp_path / "keys.json", suffix=".lcp")


def test_tasks_are_even_and_complete(many: Path) -> None:
    objects, failures, reserved = listed(many, cl.Options())
    assert failures == [] and reserved == 0 and len(objects) == len(content(many))
    by_glob, _, _ = listed(many, cl.Options(include="*"))
    assert by_glob == objects, "many prefixes at once give what one walk gives"
    weight = lambda share: sum(each.size + OBJECT_BYTES for each in share)  # noqa: E731
    small = [each for each in objects if each.size < MB]
    tasks = cut(small, 10 * MB)
    assert [each for task in tasks for each in task] == small
    weights = [weight(task) for task in tasks]
    assert max(weights) < 1.1 * min(weights)
    assert cut([], MB) == [] and len(cut([Listed("one", 10**12, None)], MB)) == 1


@pytest.mark.usefixtures("cluster")
def test_what_cannot_be_asked(tmp_path: Path, key_file: scale.KeyFile) -> None:
    source = write(tmp_path / "in", {"one": 10})
    for refused in (
        lambda: scale.encrypt(source, tmp_path / "out", key_file, chunk_bytes=0),
        lambda: scale.encrypt(source, tmp_path / "out", key_file, max_retries=-1),
        lambda: scale.encrypt(source, tmp_path / "out", key_file, threads=0),
        lambda: scale.encrypt(source, source / "inside", key_file),
    ):
        with pytest.raises((cl.InvalidRequest, cl.TreeFailed)):
            refused()
    with pytest.raises(TypeError, match="chunks"):
        scale.encrypt(source, tmp_path / "out", key_file, chunks=3)  # type: ignore[call-arg]
    with pytest.raises(FileNotFoundError):
        scale.encrypt(tmp_path / "missing", tmp_path / "out", key_file)
