"""How Ctrl-C waits while Ray is at work: neither lost nor raised where nobody hears it. Without Ray."""

import signal
import threading
from collections.abc import Callable, Iterator

import pytest
from cipherloom.ray._interrupt import Interrupt


@pytest.fixture(autouse=True)
def handler() -> Iterator[Callable[..., object]]:
    """What handles the signal must be what it was."""
    former = signal.getsignal(signal.SIGINT)
    assert callable(former)
    yield former
    assert signal.getsignal(signal.SIGINT) is former


def press() -> None:
    signal.raise_signal(signal.SIGINT)


class Destructor:
    def __del__(self) -> None:
        press()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_a_destructor_would_drop_is_heard() -> None:
    # So it is without: nothing is raised.
    Destructor()
    with Interrupt() as interrupt:
        Destructor()
        with pytest.raises(KeyboardInterrupt):
            interrupt.look()
        interrupt.look()


def test_it_comes_at_the_end_if_nobody_has_looked() -> None:
    with pytest.raises(KeyboardInterrupt), Interrupt():
        press()


def test_what_has_failed_already_goes_first() -> None:
    with pytest.raises(ZeroDivisionError), Interrupt():
        press()
        raise ZeroDivisionError


def test_pressed_twice_it_does_not_wait() -> None:
    with pytest.raises(KeyboardInterrupt), Interrupt():
        press()
        press()
        pytest.fail("it waited")


def test_other_handlers_are_asked_in_their_turn(handler: Callable[..., object]) -> None:
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with Interrupt() as interrupt:
            press()
            assert heard == []
            interrupt.look()
            assert heard == [signal.SIGINT]
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with Interrupt() as interrupt:
            press()
            interrupt.look()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, handler)


def test_another_thread_changes_nothing(handler: Callable[..., object]) -> None:
    seen: list[object] = []

    def run() -> None:
        with Interrupt() as interrupt:
            seen.append(signal.getsignal(signal.SIGINT))
            interrupt.look()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [handler]
