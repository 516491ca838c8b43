"""A broker for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from caudal.testing import EmbeddedBroker, embedded_broker


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker({"group.min.session.timeout.ms": "500"}) as running:
        yield running
