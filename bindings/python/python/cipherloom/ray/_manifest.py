"""The manifest: records beside the output of what is done, from which a repeated run continues.

::

    <destination>.manifest/20261122T031500Z-1f8a0c42-0001.jsonl     one run's rows, in parts
        {"event": "run", "format": "cipherloom-manifest-1", "operation": …, "source": …, "key": …, "objects": …}
        {"event": "task", "task": 17, "attempt": 1, "node": …, "seconds": …, "objects": [[path, size, version] …],
         "failures": [[path, reason, exception, hint] …], …}
        {"event": "end", "done": …, "failed": …}

A row is written when its task has ended, and forced to stable storage; a row that a crash cut short is skipped.
The objects of a lost row are recognised by their outputs, and counted as skipped. A part may be turned into a table (Parquet)
when it is full or the run ends; it reads as its lines did. In a store the parts are objects, uploaded when a part is full and
when the run ends. A manifest holds names, never keys or plaintext.
"""

from __future__ import annotations

import datetime
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Literal, TypeAlias

from cipherloom import _native
from cipherloom._options import Options, Request
from cipherloom.exceptions import InvalidRequest
from cipherloom.ray import _parquet
from cipherloom.ray._listing import Listed
from cipherloom.ray._work import Receipt

__all__ = ["Manifest", "ManifestFormat"]

ManifestFormat: TypeAlias = Literal["jsonl", "parquet"]

FORMAT = "cipherloom-manifest-1"

PART_ROWS = 200
"""Rows of a part, after which it goes to the store."""


class Manifest:
    """The records of one destination: those of earlier runs, and this one's."""

    @staticmethod
    def beside(place: str) -> str | None:
        """Where the records of ``place`` are by default. ``None`` for a whole bucket, which has only other buckets beside it, and
        for the root."""
        place = place.rstrip("/")
        is_whole = "/" not in place.partition("://")[2] if _native.is_address(place) else not place
        return None if is_whole else f"{place}.manifest"

    def __init__(self, place: str, run: dict[str, Any], format: ManifestFormat = "jsonl") -> None:
        if format not in ("jsonl", "parquet"):
            raise InvalidRequest(f'manifest_format is "jsonl" or "parquet", not {format!r}')
        if format == "parquet":
            # Before there is anything to record.
            _parquet.pyarrow_asked()
        self.place = place
        self._run = run
        self._format = format
        self._is_stored = _native.is_address(place)
        # A store's records are written here first.
        self._folder = tempfile.mkdtemp(prefix="cipherloom-manifest-") if self._is_stored else place
        self._name = f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
        self._part = 0
        self._rows = 0
        self._file: Any = None

    def __enter__(self) -> Manifest:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._end_part()
        finally:
            if self._is_stored:
                shutil.rmtree(self._folder, ignore_errors=True)

    def done(self) -> dict[str, tuple[int, str | None]]:
        """Size and version of every object that earlier runs of this kind have done."""
        found: dict[str, tuple[int, str | None]] = {}
        for path in self._parts():
            self._read(path, found)
        return found

    def made(self) -> set[str]:
        """The names of all outputs below the destination that the runs recorded here have made."""
        names: set[str] = set()
        for path in self._parts():
            about: dict[str, Any] = {}
            for row in _rows(path):
                if row.get("event") == "run":
                    about = row
                elif row.get("event") == "task" and about.get("operation") in ("encrypt", "rekey"):
                    suffix = about["suffix"] if about["operation"] == "encrypt" else ""
                    failed = {failure[0] for failure in row["failures"]}
                    names.update(name + suffix for name, _, _ in row["objects"] if name not in failed)
        return names

    def begin(self, objects: int, size: int) -> None:
        """The run's first row."""
        self._write({"event": "run", "format": FORMAT, **self._run, "objects": objects, "bytes": size})

    def task(self, number: int, attempt: int, share: list[Listed], receipt: Receipt) -> None:
        """A task has ended."""
        told = {name: getattr(receipt, name) for name in Receipt.__dataclass_fields__}
        self._write({"event": "task", "task": number, "attempt": attempt, **told, "objects": share})

    def end(self, told: dict[str, Any]) -> None:
        """The run's last row."""
        self._write({"event": "end", **told})

    def _write(self, row: dict[str, Any]) -> None:
        if self._file is None:
            self._part += 1
            os.makedirs(self._folder, exist_ok=True)
            path = os.path.join(self._folder, f"{self._name}-{self._part:04}.jsonl")
            self._file = open(path, "x", encoding="utf-8")  # noqa: SIM115
            self._rows = 0
            if row["event"] != "run":
                # Each part can be read by itself.
                self._file.write(json.dumps({"event": "run", "format": FORMAT, **self._run}) + "\n")
        # Names that are no text are written as Python has them (surrogates), escaped.
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._rows += 1
        if self._rows >= PART_ROWS and self._is_stored:
            self._end_part()

    def _end_part(self) -> None:
        if self._file is None:
            return
        name = self._file.name
        self._file.close()
        self._file = None
        if self._format == "parquet":
            lines, name = name, f"{name.removesuffix('.jsonl')}.parquet"
            _parquet.write(name, _rows(lines))
            os.unlink(lines)
        if self._is_stored:
            self._copy(os.path.dirname(name), self.place, [(os.path.basename(name), os.path.getsize(name), None)])

    def _parts(self) -> list[str]:
        """All parts, by time. If a run broke off while it turned one into a table, the table."""
        self._fetch()
        names = os.listdir(self._folder) if os.path.isdir(self._folder) else []
        tables = {name.removesuffix(".parquet") for name in names if name.endswith(".parquet")}
        parts = [name for name in names if name.endswith(".jsonl") and name.removesuffix(".jsonl") not in tables]
        parts += [f"{name}.parquet" for name in tables]
        return [os.path.join(self._folder, name) for name in sorted(parts)]

    def _fetch(self) -> None:
        """Downloads a store's records."""
        if not self._is_stored:
            return
        try:
            objects, unlisted = _native.list_objects(self.place, Options())
        except FileNotFoundError:
            # Nothing has been recorded yet. That the bucket is missing, or refuses, is another error.
            return
        if unlisted:
            raise OSError(f"{self.place}: the manifest cannot be listed: {unlisted[0][1]}")
        self._copy(self.place, self._folder, objects)

    @staticmethod
    def _copy(source: str, destination: str, objects: list[_native.Listed]) -> None:
        options = Options(threads=1, durable=True)
        _, failed = _native.process(
            Request(operation="copy", source=source, destination=destination, options=options, objects=objects)
        )
        if failed:
            raise OSError(f"{failed[0][0]}: the manifest cannot be kept: {failed[0][1]}")

    def _read(self, path: str, found: dict[str, tuple[int, str | None]]) -> None:
        about: dict[str, Any] = {}
        for row in _rows(path):
            if row.get("event") == "run":
                if row.get("format") != FORMAT:
                    raise InvalidRequest(f"{path}: the manifest's format is not {FORMAT!r}; choose another manifest")
                about = row
                for name in ("operation", "source", "key", "suffix", "bind_path"):
                    if row.get(name) != self._run[name]:
                        raise InvalidRequest(
                            f"{path}: this manifest is of a run with another {name} ({row.get(name)!r}, not "
                            f"{self._run[name]!r}); choose another destination or manifest"
                        )
            elif row.get("event") == "task" and about:
                failed = {failure[0] for failure in row["failures"]}
                for name, size, version in row["objects"]:
                    if name not in failed:
                        found[name] = (size, version)


def _rows(path: str) -> Iterator[dict[str, Any]]:
    if path.endswith(".parquet"):
        yield from _parquet.rows(path)
        return
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                row = json.loads(line)
            except ValueError:
                # A crash cut it short: its objects are processed again.
                continue
            if isinstance(row, dict):
                yield row
