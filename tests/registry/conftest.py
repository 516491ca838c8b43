"""A broker and a registry for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from caudal.testing import EmbeddedBroker, embedded_broker
from tests.registry.process import RegistryProcess

# Sessions of members that were killed end soon: on a broker of everyday they last six seconds at least.
QUICK_SESSIONS = {"group.min.session.timeout.ms": "500"}
QUICK_MEMBER = ("-c", "session.timeout.ms=1000", "-c", "heartbeat.interval.ms=300")


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker(QUICK_SESSIONS) as running:
        yield running


@pytest.fixture(scope="module")
def registry(broker: EmbeddedBroker) -> Iterator[RegistryProcess]:
    process = RegistryProcess(broker.bootstrap).wait()
    yield process
    process.stop()
