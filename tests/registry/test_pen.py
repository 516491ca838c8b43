"""The fence: who takes the pen ends what the one before had open, and that one writes nothing any more."""

from __future__ import annotations

import pytest

from caudal.registry.errors import RegistryError
from caudal.registry.index import Entry
from caudal.registry.reader import Reader
from caudal.registry.topic import ensure_topic
from caudal.registry.writer import Pen, PenLost, WriteFailed
from caudal.testing import EmbeddedBroker
from tests.registry.test_chaos import records_of

ID = "the-one-pen"


@pytest.fixture
def topic(broker: EmbeddedBroker, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name)
    ensure_topic({"bootstrap.servers": broker.bootstrap}, name)
    return name


def pen(broker: EmbeddedBroker, topic: str) -> Pen:
    return Pen({"bootstrap.servers": broker.bootstrap, "log_level": 0}, topic, ID)


def test_a_predecessor_is_fenced(broker: EmbeddedBroker, topic: str) -> None:
    old = pen(broker, topic)
    assert old.append([(b"a", b"1"), (b"b", None)]) == 1
    new = pen(broker, topic)
    with pytest.raises((PenLost, WriteFailed)):
        old.append([(b"a", b"2")])
    with pytest.raises((PenLost, WriteFailed)):
        old.append([(b"a", b"3")])
    assert new.append([(b"c", b"1")]) > 1
    assert records_of(broker.bootstrap, topic) == [(b"a", b"1"), (b"b", None), (b"c", b"1")]
    old.close()
    new.close()


def test_what_a_predecessor_left_open_is_not_read(broker: EmbeddedBroker, topic: str) -> None:
    old = pen(broker, topic)
    old._producer.begin_transaction()
    old._producer.produce(topic, key=b"a", value=b"1", partition=0)
    assert old._producer.flush(10) == 0
    new = pen(broker, topic)
    new.append([(b"b", b"1")])
    assert records_of(broker.bootstrap, topic) == [(b"b", b"1")]
    old.close()
    new.close()


def test_all_of_a_write_or_nothing(broker: EmbeddedBroker, topic: str) -> None:
    one = pen(broker, topic)
    with pytest.raises(RegistryError) as refused:
        one.append([(b"small", b"1"), (b"large", b"x" * 2_000_000)])
    assert refused.value.code == 42209
    one.close()
    another = pen(broker, topic)
    another.append([(b"b", b"1")])
    assert records_of(broker.bootstrap, topic) == [(b"b", b"1")]
    another.close()


def test_the_reader_says_how_far_it_is_markers_included(broker: EmbeddedBroker, topic: str) -> None:
    seen: list[Entry] = []
    positions: list[int] = []

    def deliver(entries: list[Entry], position: int) -> None:
        seen.extend(entries)
        positions.append(position)

    one = pen(broker, topic)
    last = one.append([(b"a", b"1"), (b"b", b"2")])
    reader = Reader({"bootstrap.servers": broker.bootstrap}, topic, deliver)
    reader.start()
    end = reader.end()
    assert end == last + 2, "the commit has an offset too"
    while not positions or positions[-1] < end:
        assert reader.trouble is None
    reader.stop()
    one.close()
    assert [(entry.offset, entry.key, entry.value) for entry in seen] == [(0, b"a", b"1"), (1, b"b", b"2")]
