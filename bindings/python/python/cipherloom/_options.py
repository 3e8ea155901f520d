"""How a run goes: the options that trees, clusters and publications share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from cipherloom.exceptions import InvalidRequest

if TYPE_CHECKING:
    from cipherloom._native import AgeKeys, Keyset, Listed

__all__ = [
    "Globs",
    "IfExists",
    "IndexOptions",
    "Links",
    "Options",
    "Request",
    "RunSettings",
    "StrPath",
    "TreeSettings",
    "choose_options",
    "list_globs",
]

StrPath: TypeAlias = str | os.PathLike[str]
Globs: TypeAlias = str | Iterable[str]
IfExists: TypeAlias = Literal["fail", "skip", "overwrite"]
Links: TypeAlias = Literal["skip", "copy", "copy-all"]
Progress: TypeAlias = Callable[[int, int], Callable[[int, int], None]]


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a run goes. Every function that takes ``options=`` also takes these by name; a name given beside ``options`` has
    the last word."""

    threads: int | None = None
    """How many threads; the planner chooses if this is left out."""
    if_exists: IfExists = "fail"
    """Where an output's name is taken: ``"fail"`` that file, ``"skip"`` it, or ``"overwrite"``. In a store, ``"skip"`` skips only
    what was made from the same source under the same key; anything else there fails."""
    include: Globs = ()
    """Globs (one, or several): only files that match one take part. A glob without ``/`` is compared with names."""
    exclude: Globs = ()
    """Globs: files that match one do not take part, folders that match one are not entered."""
    links: Links = "skip"
    """Symbolic links are skipped, or made again with the same target (``"copy"``). Links are not authenticated, so decryption
    refuses those that could lead out of the output tree; ``"copy-all"`` makes them too. Stores have no links."""
    suffix: str = ""
    """Added to every name when encrypting, removed when decrypting."""
    bind_path: bool = False
    """Binds each file's relative path to its content, which then opens under that path only."""
    durable: bool = False
    """Forces each output to stable storage before it gets its name; stores always do."""
    preserve_modes: bool = False
    """Gives outputs and folders exactly their source's permissions; otherwise the umask applies."""
    non_atomic: bool = False
    """Lets a run go on where the file system can rename only by replacing: a file that another program creates at the same
    moment could be lost."""
    max_segment_size: int | None = None
    """The largest segment that a key may ask for, in bytes; 64 MiB if this is left out. Each thread needs memory for one."""
    allow_mixed_keys: bool = False
    """Encrypts also into a destination that holds files under another key."""
    progress: bool = False
    """Shows a progress bar, if tqdm is installed and there is a terminal or notebook."""
    check: bool = True
    """Raises when the run has ended, if a file failed."""

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            error = InvalidRequest(f"threads is 1 or more, not {self.threads}")
            error.add_note("hint: leave it out to have the planner choose")
            raise error
        for name in ("include", "exclude"):
            object.__setattr__(self, name, list_globs(getattr(self, name)))


def list_globs(globs: Globs) -> tuple[str, ...]:
    """One glob, or several."""
    return (globs,) if isinstance(globs, str) else tuple(globs)


class RunSettings(TypedDict, total=False):
    """The fields of :class:`Options` that runs over publications have."""

    threads: int | None
    if_exists: IfExists
    durable: bool
    progress: bool
    check: bool


class ReadSettings(TypedDict, total=False):
    """The fields of :class:`Options` that runs without outputs have."""

    threads: int | None
    include: Globs
    exclude: Globs
    suffix: str
    bind_path: bool
    max_segment_size: int | None
    progress: bool
    check: bool


class TreeSettings(ReadSettings, total=False):
    """The fields of :class:`Options` that runs with outputs have: all of them."""

    if_exists: IfExists
    links: Links
    durable: bool
    preserve_modes: bool
    non_atomic: bool
    allow_mixed_keys: bool


def choose_options(options: Options | None, settings: object, known: type) -> Options:
    """The options with these settings, all of which ``known`` (one of the dictionaries above) has."""
    assert isinstance(settings, dict)
    for name in settings.keys() - known.__annotations__.keys():
        raise TypeError(f"unexpected keyword argument {name!r}")
    return replace(options or Options(), **settings)


@dataclass(frozen=True, kw_only=True)
class IndexOptions:
    """What a run does with the index of an encrypted folder, as the native module takes it."""

    use_as: Literal["update", "rebuild", "compare", "journal", "expect"]
    anchor: StrPath | None = None
    quick: bool = False
    replace: bool = False
    skip_unopened: bool = False
    only: tuple[str, ...] = ()
    hide_names: bool = False
    root: bytes | None = None
    expected: list[bytes | None] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Request:
    """A run over a tree, as the native module takes it."""

    operation: Literal["encrypt", "decrypt", "verify", "rekey", "copy"]
    source: str
    destination: str | None = None
    key: Keyset | AgeKeys | None = None
    new_key: Keyset | AgeKeys | None = None
    options: Options = Options()
    index: IndexOptions | None = None
    objects: list[Listed] | None = None
    progress: Progress | None = None
