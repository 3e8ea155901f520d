"""A manifest's part as a Parquet table: one row for each object of a task, one group of rows for each task. The content is that
of the JSON lines, and reads back as the same rows. Needs pyarrow: ``pip install cipherloom[parquet]``.

::

    columns       task  attempt  node  path  size  version  reason  error  hint     (the last three: why the object failed)
    metadata      "cipherloom-manifest" -> the rows in JSON, in their order, without what is in the columns

>>> pandas.read_parquet("sealed.manifest")                                                         # doctest: +SKIP

Parquet's strings are UTF-8. A name that is no text is written as in JSON, with ``json:`` before it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["pyarrow_asked", "rows", "write"]

METADATA = b"cipherloom-manifest"

ESCAPED = "json:"
"""Before a name that is written as in JSON."""


def pyarrow_asked() -> Any:
    """The library, or an error that says how to get it."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("manifests in Parquet need pyarrow: pip install cipherloom[parquet]") from error
    return pyarrow


def write(path: str, rows: Iterable[dict[str, Any]]) -> None:
    """Writes a part with these rows, complete or not at all. One task's objects are in memory at a time."""
    pyarrow = pyarrow_asked()
    text, count = pyarrow.string(), pyarrow.int64()
    schema = pyarrow.schema(
        {
            "task": count, "attempt": count, "node": text, "path": text, "size": count, "version": text, "reason": text,
            "error": text, "hint": text,
        }
    )  # fmt: skip
    others = []
    with (
        open(f"{path}.part", "xb") as file,
        pyarrow.parquet.ParquetWriter(file, schema, compression="zstd", store_schema=False) as writer,
    ):
        for row in rows:
            if row["event"] == "task":
                writer.write_table(_table(pyarrow, schema, row))
                row = {name: value for name, value in row.items() if name not in ("objects", "failures")}
            others.append(row)
        writer.add_key_value_metadata({METADATA: json.dumps(others).encode()})
        writer.close()
        file.flush()
        os.fsync(file.fileno())
    os.rename(f"{path}.part", path)


def rows(path: str) -> Iterator[dict[str, Any]]:
    """The rows, as in lines of JSON."""
    pyarrow = pyarrow_asked()
    with pyarrow.parquet.ParquetFile(path) as file:
        group = 0
        for row in json.loads(file.metadata.metadata.get(METADATA, b"[]")):
            if row["event"] == "task":
                columns = file.read_row_group(group).to_pydict()
                group += 1
                names = [_name(name) for name in columns["path"]]
                row["objects"] = [list(each) for each in zip(names, columns["size"], columns["version"], strict=True)]
                hints = columns.get("hint") or [None] * len(names)
                whys = zip(names, columns["reason"], columns["error"], hints, strict=True)
                row["failures"] = [list(why) for why in whys if why[2] is not None]
            yield row


def _table(pyarrow: Any, schema: Any, row: dict[str, Any]) -> Any:
    objects = row["objects"]
    whys = {path: why for path, *why in row["failures"]}
    nothing = (None, None, None)
    return pyarrow.table(
        {
            "task": [row["task"]] * len(objects),
            "attempt": [row["attempt"]] * len(objects),
            "node": [row["node"]] * len(objects),
            "path": [_escaped(path) for path, _, _ in objects],
            "size": [size for _, size, _ in objects],
            "version": [version for _, _, version in objects],
            "reason": [whys.get(path, nothing)[0] for path, _, _ in objects],
            "error": [whys.get(path, nothing)[1] for path, _, _ in objects],
            "hint": [whys.get(path, nothing)[2] for path, _, _ in objects],
        },
        schema=schema,
    )


def _escaped(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        return ESCAPED + json.dumps(name)
    return ESCAPED + json.dumps(name) if name.startswith(ESCAPED) else name


def _name(escaped: str) -> str:
    if not escaped.startswith(ESCAPED):
        return escaped
    name: str = json.loads(escaped.removeprefix(ESCAPED))
    return name
