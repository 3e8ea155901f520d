"""The sealed index of the encrypted tree in a run: what is done already, what must exist, and at the end what was made."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from cipherloom import _native
from cipherloom._options import IndexOptions, Options, Request, StrPath
from cipherloom._report import Failure, IndexReport, failures
from cipherloom.exceptions import CipherloomError, InvalidRequest
from cipherloom.ray._listing import Listed, listed, order
from cipherloom.ray._work import Operation

__all__ = ["Index"]

RECENT = 60
"""Seconds within which an object of a bucket may be replaced by one of the same time, which has whole seconds only; and by which
the clocks of the store and of this machine may differ."""


class Index:
    """What a run does with the index: encryption extends it, verification compares with it, other runs have none."""

    def __init__(
        self,
        operation: Operation,
        source: str,
        destination: str | None,
        key: _native.Keyset | None,
        options: Options,
        anchor: StrPath | None,
    ) -> None:
        self.recorded = 0
        """Objects that need not be encrypted again."""
        self.failures: list[Failure] = []
        self.missing: list[str] = []
        """What the index lists and is not there."""
        self.has_outputs = False
        """Whether the key that encrypts has sealed outputs at the destination before, as the index says."""
        self._gathering: _native.Gathering | None = None
        self._expected: tuple[dict[str, Any], _native.RecordedFiles] | None = None
        self._source, self._place = source, source if destination is None else destination
        self._key, self._options = key, options
        self._todo: list[Listed] = []
        if operation == "encrypt":
            assert destination is not None and key is not None
            _refuse_containment(source, destination)
            if not _native.is_address(destination):
                os.makedirs(destination, exist_ok=True)
            self._gathering = _native.Gathering(destination, key, options.suffix, options.max_segment_size, anchor)
        elif operation == "verify":
            assert key is not None
            try:
                self._expected = _native.list_recorded(source, key, options.max_segment_size, anchor)
            except (CipherloomError, OSError) as error:
                # The objects may be sound.
                self._fail(error)

    def compare(self, objects: list[Listed], began: float) -> list[Listed]:
        """The objects that are to be processed, each with the stream that the index lists there. ``began``: when they were listed."""
        if self._gathering is not None:
            # An exception keeps this frame, and the entries keep the index locked.
            with closing(self._gathering.recorded()) as entries:
                self._todo = self._choose(objects, entries, began)
            return self._todo
        number = 0
        try:
            for each, entry in _aligned(objects, "", self._expected[1]) if self._expected else ():
                if each is not None:
                    objects[number] = each._replace(stream=None if entry is None else entry[5])
                    number += 1
                elif entry is not None:
                    self.missing.append(entry[1])
        except (CipherloomError, OSError) as error:
            self._fail(error)
            self._expected, self.missing = None, []
        else:
            self.close()
        return objects

    def of_tasks(self) -> IndexOptions | None:
        """What tasks do for it."""
        if self._gathering is not None:
            return IndexOptions(use_as="journal", root=self._gathering.root())
        return None if self._expected is None else IndexOptions(use_as="expect")

    def finish(self, found: list[Failure], missing: int) -> IndexReport | None:
        """Has the index list what the tasks have made, which is all but what failed."""
        if self._expected is not None:
            extra = sum(failure.error == "FileExistsError" for failure in found)
            return IndexReport(**(self._expected[0] | {"missing": missing, "extra": extra}))
        if self._gathering is None:
            return None
        failed = {str(failure.path) for failure in found}
        suffix = self._options.suffix
        try:
            numbers, unlisted = self._gathering.finish(
                [each.path + suffix for each in self._todo if each.path not in failed]
            )  # fmt: skip
        except (CipherloomError, OSError) as error:
            self._fail(error)
            return None
        self.failures += (_unlisted(path.removesuffix(suffix)) for path in unlisted)
        return None if numbers is None else IndexReport(**numbers)

    def close(self) -> None:
        """Leaves it to other runs."""
        if self._gathering is not None:
            self._gathering.close()
        if self._expected is not None:
            self._expected[1].close()

    def _choose(self, objects: list[Listed], entries: Iterable[_native.Recorded], began: float) -> list[Listed]:
        """What is to be encrypted, or looked at: all but what is listed, as it is in the source, and is there in its length."""
        is_bucket = _native.is_address(self._source)
        there: dict[str, int] | None = None
        least: tuple[bool, int, str, str] | None = None
        todo = []
        for each, entry in _aligned(objects, self._options.suffix, entries):
            is_there = False
            if entry is not None:
                self.has_outputs = True
                path, encrypted_path, size, encrypted_size, modified, _ = entry
                if each is not None and path == each.path:
                    there = _sizes(self._place) if there is None else there
                    is_there = there.get(encrypted_path) == encrypted_size
                # One that is known to be there, if there is one; then the smallest.
                found = not is_there, encrypted_size, encrypted_path, encrypted_path.removeprefix(path)
                if encrypted_path.startswith(path) and (least is None or found < least):
                    least = found
            if each is None:
                continue
            if entry is not None:
                # One of another time may be the same: the output says of which version it was made.
                if is_there and modified is not None and (size, modified) == (each.size, each.modified):
                    self.recorded += 1
                    continue
            if is_bucket and each.modified is not None and each.modified[0] > began - RECENT:
                # Another version may have the same time: the next run looks at it once more.
                each = each._replace(modified=None)
            todo.append(each)
        if least is not None:
            _, size, encrypted_path, suffix = least
            self._check_binding(encrypted_path, size, suffix)
        return todo

    def _check_binding(self, path: str, size: int, suffix: str) -> None:
        """Fails if an output of an earlier run opens with the other ``bind_path`` alone: nothing else shows how it was made."""

        def opens(bind_path: bool) -> bool | None:
            options = Options(suffix=suffix, bind_path=bind_path, max_segment_size=self._options.max_segment_size)
            request = Request(
                operation="verify", source=self._place, key=self._key, options=options, objects=[(path, size, None, None)]
            )  # fmt: skip
            report, failed = _native.process(request)
            if any(error == "InvalidTag" for _, _, error, _ in failed):
                return False
            return True if report["files"] == 1 else None

        # What a store refuses, and a damaged output, is for the tasks.
        if opens(self._options.bind_path) is False and opens(not self._options.bind_path):
            place = f"{self._place.rstrip('/')}/{path}"
            error = InvalidRequest(f"{place}: an earlier run has made it with another bind_path")
            error.add_note(f"hint: use bind_path={not self._options.bind_path}, as in that run; or choose another destination")
            raise error

    def _fail(self, error: Exception) -> None:
        hint = next((note.removeprefix("hint: ") for note in getattr(error, "__notes__", [])), None)
        place, reason = f"{self._place.rstrip('/')}/.cipherloom", str(error)
        if reason.startswith(place):
            # No name in an index has a colon.
            below, _, reason = reason.removeprefix(place).partition(": ")
            place += below
        self.failures += failures([(place, reason, type(error).__name__, hint)])


def _aligned(
    objects: Iterable[Listed], suffix: str, entries: Iterable[_native.Recorded]
) -> Iterator[tuple[Listed | None, _native.Recorded | None]]:
    """Objects, and what is listed at the paths of their outputs. Both are in the order of an index."""
    rest = iter(entries)
    entry = next(rest, None)
    for each in objects:
        name = each.path + suffix
        place = order(name)
        while entry is not None and order(entry[1]) < place:
            yield None, entry
            entry = next(rest, None)
        if entry is not None and entry[1] == name:
            yield each, entry
            entry = next(rest, None)
        else:
            yield each, None
    while entry is not None:
        yield None, entry
        entry = next(rest, None)


def _sizes(place: str) -> dict[str, int]:
    """What is at the destination. What cannot be listed counts as missing: a task looks at it."""
    try:
        objects, _, _ = listed(place, Options())
    except FileNotFoundError:
        return {}
    return {each.path: each.size for each in objects}


def _refuse_containment(source: str, destination: str) -> None:
    """Before an index is begun inside the source, or around it."""
    places = [place if _native.is_address(place) else os.path.realpath(place) for place in (source, destination)]
    one, other = (f"{place.rstrip('/')}/" for place in places)
    if one.startswith(other) or other.startswith(one):
        raise InvalidRequest(f"{destination}: source and destination contain each other")


def _unlisted(name: str) -> Failure:
    reason = "the index does not list it: its journal is gone, or another one lists another output"
    return Failure(Path(name), reason, "FileNotFoundError", "repeat the run, which looks at it and lists it")
