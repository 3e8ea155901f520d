"""Options: one object or names, what they do, and the remedies that errors come with."""

import base64
import json
from dataclasses import FrozenInstanceError
from pathlib import Path

import cipherloom as cl
import pytest
from conftest import files


def test_options_are_taken_together_or_by_name(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    options = cl.Options(threads=2, suffix=".enc", include="*.epub", bind_path=True)
    assert options.include == ("*.epub",)
    assert cl.encrypt_tree(tree, tmp_path / "out", key, options=options).files == 1
    assert cl.verify_tree(tmp_path / "out", key, suffix=".enc", bind_path=True).files == 1
    assert cl.verify_tree(tmp_path / "out", key, options=options, include="*.enc").files == 1
    # A name beside `options` has the last word.
    cl.decrypt_tree(tmp_path / "out", tmp_path / "back", key, options=options, include="*.enc", durable=True)
    assert set(files(tmp_path / "back")) == {"a book.epub"}
    with pytest.raises(FrozenInstanceError):
        options.threads = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        cl.Options(3)  # type: ignore[misc]
    with pytest.raises(cl.InvalidRequest):
        cl.Options(threads=0)


def test_names_that_no_function_has(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    for refused in (
        lambda: cl.encrypt_tree(tree, tmp_path / "out", key, thread=3),  # type: ignore[call-arg]
        lambda: cl.verify_tree(tree, key, if_exists="skip"),  # type: ignore[call-arg]
        lambda: cl.lcp.encrypt(tree, tmp_path / "out", key_file=tmp_path / "keys", suffix=".x"),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            refused()


def test_permissions_are_preserved_if_asked(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    (tree / "one").chmod(0o666)
    for preserve_modes, mode in ((False, 0o644), (True, 0o666)):
        out = tmp_path / str(preserve_modes)
        cl.encrypt_tree(tree, out, key, preserve_modes=preserve_modes, non_atomic=True)
        assert (out / "one").stat().st_mode & 0o777 == mode


def test_a_destination_has_one_key(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    out, other = tmp_path / "out", cl.Keyset.generate()
    cl.encrypt_tree(tree, out, key, include="one")
    before = files(out)
    with pytest.raises(cl.InvalidKey, match="encrypted with another key") as mixed:
        cl.encrypt_tree(tree, out, other, exclude="one")
    assert mixed.value.__notes__ == ["hint: allow_mixed_keys=True does so anyway"]
    assert files(out) == before
    assert cl.encrypt_tree(tree, out, other, exclude="one", allow_mixed_keys=True).files == 4
    # Nothing of the old key would be left.
    assert cl.rekey_tree(out, tmp_path / "new", key, other, include="one").files == 1
    cl.encrypt_tree(tree, tmp_path / "whole", key)
    assert cl.encrypt_tree(tree, tmp_path / "whole", other, if_exists="overwrite").files == 5


def test_larger_segments_are_allowed_by_name(tmp_path: Path) -> None:
    """A key that asks for 100 MiB of memory on each thread."""
    text = json.loads(cl.Keyset.generate("AES128_GCM_HKDF_1MB").to_json())
    data = text["key"][0]["keyData"]
    value = base64.b64decode(data["value"])
    # The field of the segment's size: 1 MiB, as a varint.
    assert value.count(b"\x08\x80\x80\x40") == 1
    data["value"] = base64.b64encode(value.replace(b"\x08\x80\x80\x40", b"\x08\x80\x80\x80\x32")).decode()
    # The message around it is one byte longer.
    changed = bytearray(base64.b64decode(data["value"]))
    assert changed[0] == 0x12
    changed[1] += 1
    data["value"] = base64.b64encode(changed).decode()
    key = cl.Keyset.from_json(json.dumps(text))
    (tmp_path / "in").write_bytes(b"text")
    with pytest.raises(cl.InvalidKey, match="segments of 104857600 bytes") as refused:
        cl.encrypt_tree(tmp_path / "in", tmp_path / "out", key)
    assert any("max_segment_size=" in note for note in refused.value.__notes__)
    cl.encrypt_tree(tmp_path / "in", tmp_path / "out", key, max_segment_size=100 << 20)
    cl.decrypt_tree(tmp_path / "out", tmp_path / "back", key, max_segment_size=100 << 20)
    assert (tmp_path / "back").read_bytes() == b"text"


def test_errors_come_with_remedies(tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    out = tmp_path / "out"
    cl.encrypt_tree(tree, out, key)
    report = cl.encrypt_tree(tree, out, key, check=False)
    hint = 'if_exists="skip" continues an earlier run, if_exists="overwrite" replaces outputs'
    assert {failure.hint for failure in report.failures} == {hint}
    with pytest.raises(cl.TreeFailed) as failed:
        report.raise_if_failed()
    assert failed.value.__notes__ == [f"hint: {hint}"]
    for refused, hint in {
        lambda: cl.encrypt_tree(tree, tree / "inside", key): "choose a folder outside of the source",
        lambda: cl.encrypt_tree(tree, out, key, include="a["): "put a special character in [brackets]",
        lambda: cl.encrypt_tree(tree, out, key, threads=0): "leave it out to have the planner choose",
        lambda: cl.plan(tree, template="AES512"): f"the templates are {', '.join(cl.TEMPLATES)}",
        lambda: cl.encrypt_tree(tree / "one", tmp_path / "other", key, bind_path=True): (
            "with bind_path name a folder as destination, in a store a prefix that ends in /, so that the name is kept"
        ),
    }.items():
        with pytest.raises(cl.InvalidRequest) as raised:
            refused()
        assert raised.value.__notes__ == [f"hint: {hint}"]
