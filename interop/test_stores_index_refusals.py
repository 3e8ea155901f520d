"""What a store refuses, or does not show, changes no index and hides none."""

import shutil

import stores
import tool
from test_stores_index import SIZES, plain, proxied, sealed, summary

__all__ = ["plain", "sealed"]


def denied(request):
    """As S3 answers for an absent key to credentials that may list the prefix alone."""
    return stores.refuse(403, "AccessDenied") if ".cipherloom/" in request.path else None


def test_a_tree_without_an_index_is_verified_by_who_may_list_its_prefix_alone(s3, plain, key):
    place = f"s3://{s3.bucket()}/sealed"
    s3.run("encrypt", plain, place, "--key", key)
    done, _ = proxied(s3, denied, "verify", place, "--key", key, "--json")
    assert summary(done)["files"] == len(SIZES)
    # An index that is there, and cannot be read, is not passed over.
    s3.run("index", place, "--key", key)
    done, _ = proxied(s3, denied, "verify", place, "--key", key, code=tool.PARTIAL)
    assert "the credentials do not allow this" in tool.message(done)


def test_an_index_that_cannot_be_read_is_not_left_behind(s3, tmp_path, sealed, key):
    place, folder = sealed
    new, before = tool.keygen(tmp_path / "new.json"), tool.read_tree(folder)
    rekey = ["rekey", place, place, "--key", key, "--to", new, "--if-exists", "overwrite"]
    proxied(s3, denied, *rekey, code=tool.FAILED)

    def no_listing(request):
        return stores.refuse(403, "AccessDenied") if request.is_listing and "cipherloom" in request.query else None

    proxied(s3, no_listing, *rekey, code=tool.FAILED)
    (folder / ".cipherloom/index/root").rename(tmp_path / "root")
    (folder / ".cipherloom/index/root.previous").write_bytes(b"x")
    assert "its root is missing" in tool.message(s3.run(*rekey, code=tool.UNAUTHENTIC))
    (folder / ".cipherloom/index/root.previous").unlink()
    (tmp_path / "root").rename(folder / ".cipherloom/index/root")
    assert tool.read_tree(folder) == before
    s3.run(*rekey, "--exclude", ".cipherloom")


def test_an_empty_source_writes_no_index(s3, tmp_path, sealed, plain, key):
    place, folder = sealed
    before = tool.read_tree(folder)
    (tmp_path / "empty").mkdir()
    empty = f"s3://{s3.bucket()}/sealed"
    for command in (
        ["encrypt", tmp_path / "empty", place, "--index"],
        ["encrypt", plain, place, "--index", "--include", "typo"],
        ["index", place, "--replace", "--exclude", "*"],
        ["encrypt", tmp_path / "empty", empty, "--index"],
    ):
        said = tool.message(s3.run(*command, "--key", key, code=tool.FAILED))
        assert "there is nothing to be" in said, said
    made = tmp_path / "made.json"
    s3.run("encrypt", tmp_path / "empty", empty, "--index", "--new-key", made, code=tool.FAILED)
    assert not made.exists()
    s3.run("encrypt", tmp_path / "empty", place, "--key", key, "--index", "--allow-empty")
    assert tool.read_tree(folder) == before


def test_what_could_not_be_listed_is_not_missing(s3, tmp_path, key):
    # So many that the bucket is listed for them.
    names = ["first/file", *(f"second/{number}" for number in range(1_000))]
    tool.write_tree(tmp_path / "plain", dict.fromkeys(names, 0))
    tool.run("encrypt", tmp_path / "plain", tmp_path / "sealed", "--key", key, "--index")
    bucket = s3.bucket()
    shutil.copytree(tmp_path / "sealed", s3.data / bucket / "sealed")

    def rule(request):
        return stores.refuse(403, "AccessDenied") if request.is_listing and "second" in request.query else None

    command = ["decrypt", f"s3://{bucket}/sealed", tmp_path / "back", "--key", key, "--only", "**"]
    done, _ = proxied(s3, rule, *command, code=tool.PARTIAL)
    said = tool.message(done)
    assert f"s3://{bucket}/sealed/second: " in said and "AccessDenied" in said and "missing" not in said
    assert set(tool.read_tree(tmp_path / "back")) == {b"first/file"}
