"""Whole trees: there and back, with Tink between, and every kind of trouble."""

import os
import sys
from pathlib import Path
from typing import Any

import cipherloom as cl
import pandas
import pytest
from conftest import files, write_tree
from test_streaming import tink_decrypt, tink_encrypt


def test_there_and_back(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    report = cl.encrypt_tree(tree, tmp_path / "out", key)
    assert (report.files, report.failed, report.skipped, report.failures) == (5, 0, 0, ())
    assert report.bytes == sum(map(len, files(tree).values())) and report.output_bytes > report.bytes
    assert report.seconds > 0
    assert cl.verify_tree(str(tmp_path / "out"), key).output_bytes == report.bytes
    cl.decrypt_tree(os.fspath(tmp_path / "out"), str(tmp_path / "back"), key, threads=3)
    assert files(tmp_path / "back") == files(tree)


def test_tink_opens_every_file(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    cl.encrypt_tree(tree, tmp_path / "out", key, suffix=".enc", bind_path=True)
    for name, plaintext in files(tree).items():
        sealed = (tmp_path / "out" / f"{name}.enc").read_bytes()
        assert tink_decrypt(key, sealed, name.encode()) == plaintext
    made = tmp_path / "by tink"
    made.mkdir()
    for name, plaintext in {"a": b"from another house", "b": bytes(3_000_000)}.items():
        (made / name).write_bytes(tink_encrypt(key, plaintext, b""))
    cl.decrypt_tree(made, tmp_path / "from tink", key)
    assert files(tmp_path / "from tink") == {"a": b"from another house", "b": bytes(3_000_000)}


def test_rekey(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    new = cl.Keyset.generate("AES128_GCM_HKDF_4KB")
    cl.encrypt_tree(tree, tmp_path / "old", key, bind_path=True)
    report = cl.rekey_tree(tmp_path / "old", tmp_path / "new", key, new, bind_path=True)
    assert report.files == 5
    cl.decrypt_tree(tmp_path / "new", tmp_path / "back", new, bind_path=True)
    assert files(tmp_path / "back") == files(tree)
    with pytest.raises(cl.TreeFailed) as raised:
        cl.verify_tree(tmp_path / "new", key, bind_path=True)
    assert raised.value.report.unauthentic == 5


def test_globs_suffix_and_links(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    (tree / "link").symlink_to("one")
    report = cl.encrypt_tree(tree, tmp_path / "epubs", key, include="*.epub", suffix=".enc")
    assert set(files(tmp_path / "epubs")) == {"a book.epub.enc"} and report.files == 1
    cl.encrypt_tree(tree, tmp_path / "rest", key, exclude=["deep", "*.bin"], links="copy")
    assert set(files(tmp_path / "rest")) == {"a book.epub", "empty", "one", "link"}
    assert (tmp_path / "rest" / "link").readlink() == Path("one")
    cl.decrypt_tree(tmp_path / "epubs", tmp_path / "back", key, suffix=".enc")
    assert set(files(tmp_path / "back")) == {"a book.epub"}


def test_a_single_file(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    cl.encrypt_tree(tree / "one", tmp_path / "sealed.bin", key)
    cl.decrypt_tree(tmp_path / "sealed.bin", tmp_path / "opened.bin", key)
    assert (tmp_path / "opened.bin").read_bytes() == (tree / "one").read_bytes()
    (tmp_path / "folder").mkdir()
    cl.encrypt_tree(tree / "one", tmp_path / "folder", key)
    assert set(files(tmp_path / "folder")) == {"one"}
    with pytest.raises(cl.InvalidRequest, match="bind_path"):
        cl.encrypt_tree(tree / "one", tmp_path / "other name", key, bind_path=True)


def test_outputs_that_are_there(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    out = tmp_path / "out"
    cl.encrypt_tree(tree, out, key)
    first = files(out)
    with pytest.raises(cl.TreeFailed, match="the output exists already") as raised:
        cl.encrypt_tree(tree, out, key)
    assert {failure.error for failure in raised.value.report.failures} == {"FileExistsError"}
    assert files(out) == first
    (out / "one").unlink()
    report = cl.encrypt_tree(tree, out, key, if_exists="skip")
    assert (report.files, report.skipped) == (1, 4)
    assert cl.encrypt_tree(tree, out, key, if_exists="overwrite", durable=True).files == 5
    assert all(files(out)[name] != content for name, content in first.items())


def test_damage_is_told_file_by_file(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    out = tmp_path / "out"
    cl.encrypt_tree(tree, out, key)
    damaged = bytearray((out / "large.bin").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (out / "large.bin").write_bytes(damaged)
    (out / "one").write_bytes(b"not encrypted at all")
    for report in (
        cl.verify_tree(out, key, check=False),
        cl.decrypt_tree(out, tmp_path / "back", key, check=False),
    ):
        assert (report.files, report.failed, report.unauthentic) == (3, 2, 2)
        assert [failure.path for failure in report.failures] == [out / "large.bin", out / "one"]
        assert {failure.error for failure in report.failures} == {"InvalidTag"}
        assert "damaged" in report.failures[0].reason
        with pytest.raises(cl.TreeFailed, match="2 of 5 failed") as raised:
            report.raise_if_failed()
        assert raised.value.report is report
        table = report.to_pandas()
        assert isinstance(table, pandas.DataFrame)
        assert list(table.columns) == ["path", "reason", "error", "hint"] and len(table) == 2
    assert set(files(tmp_path / "back")) == {"a book.epub", "deep/er/chapter.xhtml", "empty"}
    assert len(cl.verify_tree(out, key, include="empty").to_pandas()) == 0
    with pytest.raises(cl.TreeFailed, match="the key is another one"):
        cl.decrypt_tree(out, tmp_path / "other", cl.Keyset.generate())
    assert files(tmp_path / "other") == {}


def test_what_cannot_be_asked(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    out = tmp_path / "out"
    for refused in (
        lambda: cl.encrypt_tree(tree, tree / "inside", key),
        lambda: cl.encrypt_tree(tree, tmp_path, key),
        lambda: cl.encrypt_tree(tree, out, key, if_exists="ask"),  # type: ignore[arg-type]
        lambda: cl.encrypt_tree(tree, out, key, links="follow"),  # type: ignore[arg-type]
        lambda: cl.encrypt_tree(tree, out, key, include="a["),
        lambda: cl.encrypt_tree(tree, out, key, threads=0),
        lambda: cl.encrypt_tree("/dev/null", out, key),
        lambda: cl.plan(tree, template="AES512"),
    ):
        with pytest.raises(cl.InvalidRequest):
            refused()
    for wrong in (
        lambda: cl.encrypt_tree(3, out, key),  # type: ignore[arg-type]
        lambda: cl.encrypt_tree(tree, None, key),  # type: ignore[arg-type]
        lambda: cl.encrypt_tree(tree, out, "key"),  # type: ignore[arg-type]
        lambda: cl.rekey_tree(tree, out, key, "key"),  # type: ignore[arg-type]
        lambda: cl.encrypt_tree(tree, out, key, include=[3]),  # type: ignore[list-item]
        lambda: cl.encrypt_tree(tree, out, key, threads="two"),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(FileNotFoundError) as missing:
        cl.encrypt_tree(tmp_path / "missing", out, key)
    assert missing.value.filename == str(tmp_path / "missing")
    (tmp_path / "a file").write_bytes(b"")
    with pytest.raises(OSError):
        cl.encrypt_tree(tree, tmp_path / "a file" / "out", key)
    assert not out.exists()


def test_plan_explains_itself(tree: Path) -> None:
    plan = cl.plan(tree, threads=2)
    assert (plan.entries, plan.threads) == (5, 2)
    text = plan.explain()
    assert text == str(plan)
    for words in ("files     5, ", "threads   2", "because   ", "as asked for"):
        assert words in text
    assert cl.plan(tree, exclude="*.bin").bytes == plan.bytes - 9_500_000


def test_progress_is_told(tree: Path, tmp_path: Path, key: cl.Keyset, monkeypatch: pytest.MonkeyPatch) -> None:
    import tqdm.auto

    seen: list[tuple[int, int, bool]] = []

    class Bar:
        def __init__(self, **options: object) -> None:
            self.n, self.total, self.desc = 0, options["total"], options["desc"]

        def set_postfix_str(self, text: str, refresh: bool) -> None:
            assert text.endswith("/5 files") and not refresh

        def update(self, count: int) -> None:
            assert count >= 0
            self.n += count

        def close(self) -> None:
            assert isinstance(self.total, int)
            seen.append((self.n, self.total, True))

    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    cl.encrypt_tree(tree, tmp_path / "quiet", key, progress=True)
    assert seen == [], "no terminal, no bar"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    report = cl.encrypt_tree(tree, tmp_path / "out", key, progress=True)
    assert seen == [(report.bytes, report.bytes, True)]
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    cl.encrypt_tree(tree, tmp_path / "without tqdm", key, progress=True)
    assert len(seen) == 1


def test_what_the_progress_bar_raises_ends_the_run(
    tree: Path, tmp_path: Path, key: cl.Keyset, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cipherloom import _native
    from cipherloom._options import Request

    def start(total_bytes: int, total_files: int) -> Any:
        raise ZeroDivisionError("from the bar")

    with pytest.raises(ZeroDivisionError):
        _native.process(
            Request(
                operation="encrypt", source=str(tree), destination=str(tmp_path / "out"), key=key,
                options=cl.Options(threads=2), progress=start,
            )
        )  # fmt: skip
    assert not (tmp_path / "out").exists()


def test_names_that_are_no_text(tmp_path: Path, key: cl.Keyset) -> None:
    source = write_tree(tmp_path / "source", {"plain": 5})
    odd = os.path.join(os.fsencode(source), b"\xff\xfe.txt")
    with open(odd, "wb") as file:
        file.write(b"odd name")
    cl.encrypt_tree(source, tmp_path / "out", key)
    os.truncate(os.path.join(os.fsencode(tmp_path / "out"), b"\xff\xfe.txt"), 10)
    report = cl.decrypt_tree(tmp_path / "out", tmp_path / "back", key, check=False)
    assert [os.fsencode(Path(failure.path).name) for failure in report.failures] == [b"\xff\xfe.txt"]
    assert isinstance(report.to_pandas(), pandas.DataFrame)


def test_a_key_that_opens_nothing_ends_the_run(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    for number in range(50):
        (plain / f"{number}.txt").write_text(str(number))
    cl.encrypt_tree(plain, tmp_path / "sealed", cl.Keyset.generate())
    report = cl.verify_tree(tmp_path / "sealed", cl.Keyset.generate(), check=False)
    assert report.files == 0 and report.failed >= 20 and report.failed + report.untried == 50
    assert "opened none of the first 20 files" in report.failures[-1].reason
    with pytest.raises(cl.TreeFailed):
        report.raise_if_failed()
