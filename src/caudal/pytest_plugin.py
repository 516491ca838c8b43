"""The pytest fixtures `caudal_broker` (a fresh broker per test) and `caudal_session_broker` (one for the whole run).

Found by pytest through the entry point `pytest11`, so it is imported in every pytest run of a machine that has
Caudal: the broker itself is imported only when a fixture is used. Properties come from a marker:
`@pytest.mark.caudal(num_partitions=3)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from caudal.testing import EmbeddedBroker


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "caudal(**properties): Kafka properties for the broker of the caudal_broker fixture"
    )


@pytest.fixture
def caudal_broker(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """A Kafka broker of its own for this test; `caudal_broker.bootstrap` is its address."""
    from caudal.testing import embedded_broker

    marker = request.node.get_closest_marker("caudal")
    mapping = marker.args[0] if marker and marker.args else {}
    with embedded_broker(mapping, **(marker.kwargs if marker else {})) as broker:
        yield broker


@pytest.fixture(scope="session")
def caudal_session_broker() -> Iterator[EmbeddedBroker]:
    """One Kafka broker for the whole run; give topics and groups names of their own."""
    from caudal.testing import embedded_broker

    with embedded_broker() as broker:
        yield broker
