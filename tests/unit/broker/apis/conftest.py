"""The fake broker that handlers of topics, configs and metadata are tested with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.unit.broker.apis.topic_fakes import FakeBroker


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[FakeBroker]:
    broker = FakeBroker(tmp_path)
    await broker.metadata.load()
    yield broker
    await broker.metadata.close()
