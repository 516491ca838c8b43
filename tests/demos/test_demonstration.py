"""Two election nights do not go into the same topics at once. No Spark here."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer

from caudal.demos.elections import demonstration as module
from caudal.demos.elections import topics
from caudal.demos.elections.application import APPLICATION_ID
from caudal.demos.elections.demonstration import Demonstration
from caudal.demos.elections.simulation import Country
from caudal.runtime.errors import StreamsError
from caudal.testing import embedded_broker

pytest.importorskip("pyspark")


def test_a_second_demonstration_is_refused_while_the_first_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ALONE_SECONDS", 0.5)
    with embedded_broker() as broker, Demonstration(broker.bootstrap, Country.of(1, 10_000)) as second:
        first = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": APPLICATION_ID})
        first.subscribe([topics.COUNTS])
        while not first.assignment():
            first.poll(0.1)
        with pytest.raises(StreamsError, match="under way"):
            second.start()
        first.close()
