"""What the tests on one machine (`tests`) and on a cluster (`scale`) share: a keyset, Ctrl-C, and the servers and programs of the
command's own tests with foreign peers (`interop`)."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import cipherloom as cl
import pytest

sys.path.insert(0, os.fspath(Path(__file__).parents[2] / "interop"))


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """A script's job in the background ignores the signal, and so does all that it starts: Python then installs no handler, and
    nothing raises ``KeyboardInterrupt``."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.fixture(scope="session")
def key() -> cl.Keyset:
    return cl.Keyset.generate()
