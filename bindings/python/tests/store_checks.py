"""What holds in every kind of store. The tests of each kind hand in a place of theirs (``az://box/prefix``)."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from collections.abc import Iterator, Mapping
from pathlib import Path

import cipherloom as cl
import pytest
from cipherloom import _native
from cipherloom._options import IndexOptions, Request
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


def an_index_is_gathered(home: str, missing: str, tree: Path, key: cl.Keyset) -> None:
    """Of what shares have made, as on a cluster. ``missing``: in no bucket."""
    sealed = f"{home}/gathered"
    objects, _, _ = _native.list_objects(tree, cl.Options())

    def encrypt(index: _native.Gathering, share: list[_native.Listed]) -> tuple[int, int]:
        request = Request(
            operation="encrypt", source=os.fspath(tree), destination=sealed, key=key, objects=share,
            options=cl.Options(if_exists="skip"), index=IndexOptions(use_as="journal", root=index.root()),
        )  # fmt: skip
        numbers, failed = _native.process(request)
        assert failed == []
        return numbers["files"], numbers["skipped"]

    assert _native.list_recorded(sealed, key) is None
    killed = _native.Gathering(sealed, key, "")
    assert encrypt(killed, objects[:2]) == (2, 0)
    killed.close()
    # The next run begins with a generation that lists what the killed one has made.
    index = _native.Gathering(sealed, key, "")
    assert {path for path, *_ in index.recorded()} == {path for path, *_ in objects[:2]}
    # Outputs that no journal lists are recognised.
    assert encrypt(index, objects) == (len(objects) - 2, 2)
    numbers, unlisted = index.finish([path for path, *_ in objects])
    assert unlisted == [] and numbers is not None and numbers["generation"] == 3
    found = _native.list_recorded(sealed, key)
    assert found is not None and found[0] == numbers
    assert {(path, size) for path, _, size, *_ in found[1]} == {each[:2] for each in objects}
    again = _native.Gathering(sealed, key, "")
    assert again.finish([]) == (numbers, [])
    # Of two runs at once the second one to end fails.
    first, second = _native.Gathering(sealed, key, ""), _native.Gathering(sealed, key, "")
    assert encrypt(first, objects[:1]) == (0, 1)
    assert first.finish([])[1] == []
    with pytest.raises(OSError, match="another run has written the tree's index meanwhile"):
        second.finish([objects[0][0]])

    with pytest.raises(FileNotFoundError, match="nothing is there") as nothing:
        cl.plan(f"{home}/mistyped")
    assert (nothing.value.errno, nothing.value.filename) == (errno.ENOENT, f"{home}/mistyped")
    with pytest.raises(OSError, match="no such (bucket|container)") as refused:
        _native.Gathering(missing, key, "")
    assert not isinstance(refused.value, FileNotFoundError)
