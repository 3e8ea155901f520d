"""What holds in every kind of store. The tests of each kind hand in a place of theirs (``az://box/prefix``)."""

import errno
from contextlib import contextmanager
from collections.abc import Iterator, Mapping
from pathlib import Path

import cipherloom as cl
import pytest
from cipherloom.ray._listing import Listed
from cipherloom.ray._manifest import Manifest
from cipherloom.ray._work import Receipt
from conftest import SIZES, files


@contextmanager
def reachable(environment: Mapping[str, str]) -> Iterator[None]:
    """A store is found by this environment, meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield


def there_and_back(home: str, tree: Path, tmp_path: Path, key: cl.Keyset) -> None:
    """Created once, recognised, verified, told by address where it does not open, re-keyed in place, and decrypted."""
    sealed, new = f"{home}/sealed", cl.Keyset.generate()
    report = cl.encrypt_tree(tree, sealed, key, bind_path=True)
    assert (report.files, report.bytes, report.failed) == (len(SIZES), sum(SIZES.values()), 0)
    report = cl.encrypt_tree(tree, sealed, key, bind_path=True, check=False)
    assert [failure.error for failure in report.failures] == ["FileExistsError"] * len(SIZES)
    assert cl.encrypt_tree(tree, sealed, key, bind_path=True, if_exists="skip").skipped == len(SIZES)

    assert cl.verify_tree(sealed, key, bind_path=True).output_bytes == sum(SIZES.values())
    report = cl.verify_tree(sealed, new, bind_path=True, check=False)
    assert {failure.path for failure in report.failures} == {f"{sealed}/{name}" for name in SIZES}
    assert {failure.error for failure in report.failures} == {"InvalidTag"}
    plan = cl.plan(sealed)
    assert isinstance(plan, cl.StorePlan) and plan.objects == len(SIZES)

    assert cl.rekey_tree(sealed, f"{home}/books", key, new, bind_path=True, include="*.epub").files == 1
    assert cl.rekey_tree(sealed, sealed, key, new, bind_path=True, if_exists="overwrite").files == len(SIZES)
    assert cl.decrypt_tree(sealed, tmp_path / "back", new, bind_path=True, threads=1).files == len(SIZES)
    assert files(tmp_path / "back") == files(tree)


def a_manifest_is_kept(home: str, missing: str) -> None:
    """Records that are not there yet are none; those that cannot be had are an error. ``missing``: in no bucket."""
    about = {"operation": "encrypt", "source": "in", "key": 1, "suffix": "", "bind_path": False}
    share = [Listed("a/one", 1, "version"), Listed("two", 2, None)]
    receipt = Receipt("node", 1, 0.5, 1, 0, 1, 50, [("two", "refused", "OSError", None)])
    place = f"{home}/sealed.manifest"
    for _ in range(2):
        with Manifest(place, about) as manifest:
            done = manifest.done()
            manifest.begin(2, 3)
            manifest.task(1, 1, share, receipt)
            manifest.end({"files": 1})
    assert done == {"a/one": (1, "version")}
    with Manifest(place, about) as manifest:
        assert manifest.made() == {"a/one"}

    with pytest.raises(FileNotFoundError, match="nothing is there") as nothing:
        cl.plan(f"{home}/mistyped")
    assert (nothing.value.errno, nothing.value.filename) == (errno.ENOENT, f"{home}/mistyped")
    with pytest.raises(OSError, match="no such (bucket|container)") as refused, Manifest(missing, about) as manifest:
        manifest.done()
    assert not isinstance(refused.value, FileNotFoundError)
