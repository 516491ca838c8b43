"""The schema of a topic's values before a query is made: of the newest record in each partition, by the converter.

A query's columns are fixed when it starts, and a registry alone cannot tell which schema a topic's records have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from caudal.connect.connector import JobContext
from caudal.connect.connector_config import worker_settings
from caudal.connect.connectors.spark.decoding import as_struct, union, value_converter
from caudal.connect.data import Schema
from caudal.connect.errors import ConnectError

BACK = 100  # offsets: of the last ones some may be markers or tombstones
LOOK_SECONDS = 1.0
ANSWER_SECONDS = 30.0


def peek(config: Mapping[str, Any], texts: Mapping[str, str], context: JobContext) -> Schema | None:
    """Waits for the first record; None when the task is to stop before there is one."""
    from confluent_kafka import Consumer, KafkaException

    properties = {
        "group.id": "caudal-peek",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "log_level": 3,
    }
    consumer = Consumer(worker_settings(config).librdkafka(**properties))
    try:
        while not context.stopping.is_set():
            found = _peek(consumer, config, texts)
            if found is not None:
                return found
            context.stopping.wait(LOOK_SECONDS)
        return None
    except KafkaException as error:
        raise ConnectError(f"The topics cannot be read: {error.args[0].str()}.") from None
    finally:
        consumer.close()


def _peek(consumer: Any, config: Mapping[str, Any], texts: Mapping[str, str]) -> Schema | None:
    from confluent_kafka import TopicPartition

    converter = value_converter(json.dumps(dict(texts)))
    found: Schema | None = None
    for topic, partitions in _places(consumer, config).items():
        for partition in partitions:
            place = TopicPartition(topic, partition)
            low, high = consumer.get_watermark_offsets(place, timeout=ANSWER_SECONDS)
            data = _last_value(consumer, place, max(low, high - BACK)) if high > low else None
            if data is None and high - BACK > low:
                data = _last_value(consumer, place, low)
            if data is not None:
                schema, value = converter.decode(topic, data)
                if value is not None:
                    found = union(found, as_struct(schema, value))
    return found


def _places(consumer: Any, config: Mapping[str, Any]) -> dict[str, list[int]]:
    import re

    known = consumer.list_topics(timeout=ANSWER_SECONDS).topics
    if config.get("topics.regex"):
        names = [name for name in known if re.fullmatch(config["topics.regex"], name)]
    else:
        given = config["topics"]
        names = [name.strip() for name in (given.split(",") if isinstance(given, str) else given)]
    if missing := [name for name in names if name not in known]:
        raise ConnectError(f"There is no topic {missing[0]}; make it, or correct `topics`.")
    return {name: sorted(known[name].partitions) for name in names}


def _last_value(consumer: Any, place: Any, begin: int) -> bytes | None:
    place.offset = begin
    consumer.assign([place])
    value: bytes | None = None
    while (message := consumer.poll(ANSWER_SECONDS)) is not None:
        if message.error() is not None:  # the end
            break
        if message.value() is not None:
            value = message.value()
    return value
