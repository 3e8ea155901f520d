"""Ctrl-C while Ray works: held until the run checks for it, so that it is neither lost nor raised inside Ray.

Python runs a signal's handler wherever the main thread is. In Ray that may be a destructor or a call from native code, where
an exception is dropped: the run would continue as if nobody had pressed a key. So the handler only records the signal, and the
run, which checks often, calls the former handler.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

__all__ = ["Interrupt"]


class Interrupt:
    """Holds SIGINT while it is entered. Outside of the main thread, and where Python does not handle that signal, it does nothing,
    since nothing is raised there."""

    def __init__(self) -> None:
        self._former: Callable[[int, FrameType | None], object] | None = None
        self._is_heard = False

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            former = signal.getsignal(signal.SIGINT)
            # Not where the signal is ignored (a background job), ends the process, or has a handler outside of Python.
            if callable(former):
                self._former = former
                signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._former is not None:
            signal.signal(signal.SIGINT, self._former)
        if error is None:
            self.look()

    def look(self) -> None:
        """Raises what a signal that arrived would have raised: usually ``KeyboardInterrupt``."""
        if self._is_heard and self._former is not None:
            self._is_heard = False
            self._former(signal.SIGINT, None)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._is_heard and self._former is not None:
            # Pressed again before the run has checked: raise at once.
            self._former(number, frame)
        self._is_heard = True
