"""Which record made the native query fail, and why: found by the interpreter, so the sentence is the task lane's own.

Spark says what failed but not on which record. The batch that failed is known by its offsets; its records are run
through the interpreter here, one by one, until one fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from caudal.plan.columns import columns_of
from caudal.runtime.errors import RecordError
from caudal.runtime.spark.native.frames import BAD_RECORD
from caudal.runtime.spark.native.progress import Places
from caudal.runtime.spark.settings import Cargo
from caudal.runtime.stores import TaskState
from caudal.runtime.task import Task

POLL_SECONDS = 30.0
# What ANSI mode raises for values, as Spark's error classes call it.
_OF_A_VALUE = (
    "ARITHMETIC_OVERFLOW",
    "AVRO_CANNOT_WRITE_NULL_FIELD",
    "BINARY_ARITHMETIC_OVERFLOW",
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "DIVIDE_BY_ZERO",
    "REMAINDER_BY_ZERO",
    "USER_RAISED_EXCEPTION",
    "SparkArithmeticException",
    "RecordTooLargeException",
)
_PLACE = re.compile(re.escape(BAD_RECORD) + r" (\{.*?\})")


def is_of_a_record(text: str) -> bool:
    """Whether another start would fail in the same way."""
    return any(sign in text for sign in _OF_A_VALUE)


def sentence(cargo: Cargo, text: str, begins: Places, planned: Places, reason: str) -> str:
    """One sentence on the record that failed; `text` is all that Spark said, `reason` its one line."""
    found = _PLACE.search(text)
    if found is not None:
        place = json.loads(found[1])
        begins = {(place["topic"], place["partition"]): place["offset"]}
        planned = {where: offset + 1 for where, offset in begins.items()}
    if "RecordTooLargeException" in text:
        return f"A result of '{cargo.application_id}' is larger than the broker or the producer allows: {reason}"
    if not any(columns_of(cargo.topology)):
        for task, message in _records(cargo, begins, planned):
            try:
                _interpret(task, message)
            except RecordError as error:
                return str(error)
    at = f" at {found[1]}" if found is not None else ""
    return (
        f"Spark cannot process a record of '{cargo.application_id}'{at}, which the task lane can: {reason} "
        "Start it with lane='task'."
    )


def _records(cargo: Cargo, begins: Places, planned: Places) -> Iterator[tuple[Task, Any]]:
    """The records from `begins` up to `planned`, each with a task that can run it."""
    consumer = Consumer(
        cargo.settings.librdkafka(
            **{
                "group.id": "caudal-streams-reader",  # never joined
                "isolation.level": cargo.settings.isolation_level,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
            }
        )
    )
    subs = {topic: sub for sub in cargo.topology.subtopologies for topic in sub.source_topics}
    try:
        for (topic, partition), end in planned.items():
            first = begins.get((topic, partition), end)
            if first >= end:
                continue
            state = TaskState(None, subs[topic].stores, partition)
            task = Task(cargo.topology, subs[topic], partition, state.stores, _nowhere)
            consumer.assign([TopicPartition(topic, partition, first)])
            while True:
                message = consumer.poll(POLL_SECONDS)
                if message is None:
                    return
                error = message.error()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                if message.offset() >= end or error is not None:
                    break
                yield task, message
    finally:
        consumer.close()


def _interpret(task: Task, message: Any) -> None:
    headers = tuple(message.headers() or ())
    key, value = message.key(), message.value()
    task.process(message.topic(), message.offset(), message.timestamp()[1], key, value, headers)


def _nowhere(*_: Any) -> None:
    """Results are not wanted here."""
