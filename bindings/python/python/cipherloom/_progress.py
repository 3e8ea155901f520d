"""A progress bar for long runs: tqdm's, if it is installed and somebody can see it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["bar"]

Told = Callable[[int, int], None]
"""Called with the bytes and the files that are done."""


def _is_seen() -> bool:
    """Whether standard error is a terminal, or this runs in a notebook."""
    if "ipykernel" in sys.modules:
        return True
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def bar(verb: str, wanted: bool, unit: str = "files") -> Iterator[Callable[[int, int], Told] | None]:
    """Yields a function for the totals, called once they are known; it returns the function for the counts so far."""
    shown: list[Any] = []
    try:
        tqdm = _tqdm() if wanted and _is_seen() else None
        if tqdm is None:
            yield None
            return

        def start(total_bytes: int, total_files: int) -> Told:
            line = tqdm(total=total_bytes, unit="B", unit_scale=True, unit_divisor=1024, desc=verb, leave=False)
            shown.append(line)

            def tell(bytes_done: int, files_done: int) -> None:
                line.set_postfix_str(f"{files_done}/{total_files} {unit}", refresh=False)
                line.update(min(bytes_done, total_bytes) - line.n)

            return tell

        yield start
    finally:
        for line in shown:
            line.close()


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return None
    return tqdm
