"""Topics and messages on Apache Kafka: what the pages ask is public protocol, answered there as here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from caudal import jars
from caudal.bench.servers import ApacheKafkaServer
from caudal.ui.services import messages, topic_changes
from caudal.ui.services.filters import Filter
from caudal.ui.services.kafka import Kafka
from caudal.ui.services.message_query import Query, QueryError
from caudal.ui.services.producing import JSON, Draft, Written, produce
from caudal.ui.services.topic_changes import NewTopicForm, config_rows
from caudal.ui.services.topics import TopicQuery, Topics

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[ApacheKafkaServer]:
    server = ApacheKafkaServer(tmp_path / "kafka", jars.fetch("kafka-server"))
    server.start()
    yield server
    server.remove()


def test_a_topic_lives_and_is_read_on_apache_kafka(kafka: ApacheKafkaServer) -> None:
    asyncio.run(_life(Kafka({}, kafka.bootstrap)))


async def _life(kafka: Kafka) -> None:
    topics = Topics(kafka)
    await topic_changes.create(kafka, NewTopicForm("orders", "2", "1", {"retention.ms": "60000"}))
    with pytest.raises(QueryError) as taken:
        await topic_changes.create(kafka, NewTopicForm("orders", "2", "1"))
    assert taken.value.field == "name"
    for number in range(20):
        await produce(kafka, None, "orders", Draft(Written(), Written(JSON, f'{{"n": {number}}}'), "", number % 2))

    (row,) = (await topics.page(TopicQuery())).rows
    assert (row.name, row.partitions, row.messages, row.retention) == ("orders", 2, 20, 60_000)
    assert row.size is not None
    assert row.size > 0
    assert [(one.first, one.end) for one in await topics.partitions("orders")] == [(0, 10), (0, 10)]
    setting = next(one for one in config_rows(await kafka.topic_configs("orders")) if one.is_set)
    assert (setting.name, setting.value, setting.default) == ("retention.ms", "60000", "604800000")

    search = await messages.begin(kafka, None, "orders", Query(filter=Filter(expression="n >= 18")))
    assert [message.value.value for message in await search.more(10)] == [{"n": 19}, {"n": 18}]
    await search.close()

    form = await topic_changes.clone_form(kafka, "orders", "copy")
    copying = await topic_changes.clone(kafka, "orders", form, with_data=True)
    assert copying is not None
    await copying.run()
    assert copying.copied == 20
    await topic_changes.add_partitions(kafka, "copy", 3)
    assert await topic_changes.empty(kafka, "orders") == 20
    assert await topics.message_counts(["orders", "copy"]) == {"orders": 0, "copy": 20}
    await topic_changes.delete(kafka, "copy")
    await kafka.close()
