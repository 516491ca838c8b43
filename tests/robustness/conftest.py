"""The broker that is abused: one process for all, and after every test it must be as it was before."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from tests.chaos.process import BrokerProcess, running_broker

from .raw import Raw, serves

# What a test may leave behind in memory: buffers of the allocator, not of the broker.
MAY_GROW = 40 << 20
# The broker counts and groups; a test that makes it complain more often than it asked for has found a flood.
PROPERTIES = {"auto.create.topics.enable": "false", "log.segment.bytes": str(8 << 20)}


@pytest.fixture(scope="package")
def abused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path_factory.mktemp("robustness") / "data", PROPERTIES) as broker:
        yield broker


@pytest.fixture
def broker(abused: BrokerProcess) -> Iterator[BrokerProcess]:
    """Alive before; alive, serving and not much larger afterwards, and without a stack trace in its log."""
    before, said = abused.resident_bytes(), len(abused.said())
    yield abused
    assert abused.is_alive, f"the broker died:\n{abused.said()[-3000:]}"
    assert serves(abused.port)
    grown = abused.resident_bytes() - before
    assert grown < MAY_GROW, f"the broker grew by {grown >> 20} MB"
    assert "Traceback" not in abused.said()[said:], abused.said()[said:][-3000:]


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[Raw]:
    with Raw(broker.port) as connection:
        yield connection


_numbers = itertools.count(1)


@pytest.fixture
def topic(client: Raw) -> str:
    return new_topic(client)()


def new_topic(client: Raw) -> Callable[..., str]:
    def create(**configs: str) -> str:
        name = f"topic-{next(_numbers)}"
        code = client.create_topic(name, {key.replace("_", "."): value for key, value in configs.items()})
        assert code == 0, code
        return name

    return create
