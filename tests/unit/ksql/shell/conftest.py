from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.ksql.shell.fake_server import FakeServer, fake_server
from tests.unit.ksql.shell.seen import Seen

from caudal.ksql.shell.client import Server
from caudal.ksql.shell.session import Session


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server() as running:
        yield running


@pytest.fixture
def screen() -> Seen:
    return Seen()


@pytest.fixture
def session(server: FakeServer, screen: Seen) -> Iterator[Session]:
    asked = Server(server.url)
    yield Session(asked, screen)
    asked.close()
