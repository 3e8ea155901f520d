"""The sealed index of the encrypted tree in a run: what is done already, what must exist, and at the end what was made."""

from __future__ import annotations

import os
from pathlib import Path

from cipherloom import _native
from cipherloom._options import IndexOptions, Options
from cipherloom._report import Failure, IndexReport, failures
from cipherloom.exceptions import CipherloomError, InvalidRequest
from cipherloom.ray._listing import INDEX, Listed
from cipherloom.ray._work import Operation

__all__ = ["Index"]


class Index:
    """What a run does with the index: encryption extends it, verification compares with it, other runs have none."""

    def __init__(
        self, operation: Operation, source: str, destination: str | None, key: _native.Keyset | None, options: Options
    ) -> None:
        self.recorded = 0
        """Objects that need not be encrypted again."""
        self.failures: list[Failure] = []
        self._gathering: _native.Gathering | None = None
        self._expected: dict[str, tuple[int, bytes]] | None = None
        self._place = source if destination is None else destination
        self._key, self._options = key, options
        self._todo: set[str] = set()
        if operation == "encrypt":
            assert destination is not None and key is not None
            if not _native.is_address(source) and os.path.lexists(os.path.join(source, INDEX)):
                raise InvalidRequest(f"{source}: the name {INDEX} is reserved for indexes")
            _refuse_containment(source, destination)
            if not _native.is_address(destination):
                os.makedirs(destination, exist_ok=True)
            self._gathering = _native.Gathering(destination, key, options.suffix, options.max_segment_size)
        elif operation == "verify":
            assert key is not None
            try:
                found = _native.list_recorded(source, key, options.max_segment_size)
                if found is not None:
                    self._expected = {path: (size, stream) for _, path, _, size, _, stream in found}
            except (CipherloomError, OSError) as error:
                # The objects may be sound.
                self._fail(error)

    def compare(self, objects: list[Listed]) -> list[Listed]:
        """The objects that are to be processed, each with the stream that the index lists there."""
        if self._gathering is not None:
            done = {path: (size, modified) for path, _, size, _, modified, _ in self._gathering.recorded()}
            known = [each for each in objects if each.path in done]
            changed = [each for each in known if done[each.path] != (each.size, each.modified)]
            self.recorded = len(known) - len(changed)
            self.failures += map(_changed, changed)
            todo = [each for each in objects if each.path not in done]
            self._todo = {each.path for each in todo}
            return todo
        if self._expected is not None:
            nothing = (0, None)
            return [each._replace(stream=self._expected.get(each.path, nothing)[1]) for each in objects]
        return objects

    def missing(self, objects: list[Listed]) -> set[str]:
        """What the index lists and is not there."""
        return (self._expected or {}).keys() - {each.path for each in objects}

    def of_tasks(self) -> IndexOptions | None:
        """What tasks do for it."""
        if self._gathering is not None:
            return IndexOptions(use_as="journal", root=self._gathering.root())
        return None if self._expected is None else IndexOptions(use_as="expect")

    def finish(self, failed: set[str]) -> IndexReport | None:
        """Has the index list what the tasks have made, which is all but what failed."""
        if self._gathering is None:
            return None
        assert self._key is not None
        try:
            numbers, found = self._gathering.finish()
            # Somebody may have removed a journal meanwhile.
            made = self._todo - failed
            if made:
                listed = _native.list_recorded(self._place, self._key, self._options.max_segment_size)
                made.difference_update(path for path, *_ in listed or ())
        except (CipherloomError, OSError) as error:
            self._fail(error)
            return None
        self.failures += failures(found)
        self.failures += map(_unlisted, sorted(made))
        return None if numbers is None else IndexReport(**numbers)

    def close(self) -> None:
        """Leaves it to other runs."""
        if self._gathering is not None:
            self._gathering.close()

    def _fail(self, error: Exception) -> None:
        hint = next((note.removeprefix("hint: ") for note in getattr(error, "__notes__", [])), None)
        place, reason = f"{self._place.rstrip('/')}/{INDEX}", str(error)
        if reason.startswith(place):
            # No name in an index has a colon.
            below, _, reason = reason.removeprefix(place).partition(": ")
            place += below
        self.failures += failures([(place, reason, type(error).__name__, hint)])


def _refuse_containment(source: str, destination: str) -> None:
    """Before an index is begun inside the source, or around it."""
    places = [place if _native.is_address(place) else os.path.realpath(place) for place in (source, destination)]
    one, other = (f"{place.rstrip('/')}/" for place in places)
    if one.startswith(other) or other.startswith(one):
        raise InvalidRequest(f"{destination}: source and destination contain each other")


def _unlisted(name: str) -> Failure:
    reason = "it was made, and the index does not list it: its journal is gone"
    return Failure(Path(name), reason, "FileNotFoundError", "repeat the run, which lists it")


def _changed(each: Listed) -> Failure:
    hint = "remove the output, make the index again (index_tree with replace=True) and repeat the run; or choose another destination"
    return Failure(Path(each.path), "the source has changed since its output was made", "FileExistsError", hint)
