"""The REST API of a worker on a port of its own, in a thread, for tests that talk to it with blocking clients."""

from __future__ import annotations

from contextlib import AbstractContextManager

from tests.server_thread import serving

from caudal.connect.runtime.model import Herder
from caudal.connect.server.server import ConnectServer


def running_worker(herder: Herder) -> AbstractContextManager[str]:
    """Its address."""
    return serving(lambda listener, host, url: ConnectServer(herder, listener, host, url))
