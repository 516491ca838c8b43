"""A topology gives the same in batch over the whole topics as in streaming: the golden cases in one batch on Spark.

Every case has its own topics and stores; all are one application, so the batch has a few jobs in all. A ninth of them,
and all with global tables, in every run; the rest in `make test-all` (every Kafka partition costs Spark a consumer;
without Spark all of them are in tests/golden/test_in_batch.py). Outputs must be
what Kafka Streams put out (where the case's steps are in the order of time), tables those of the in-process host.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaProducer

from caudal.plan.topology import SourceNode
from caudal.runtime.batch import rows
from caudal.runtime.batch.result import BatchResult
from caudal.streams import StreamsBuilder
from caudal.testing import EmbeddedBroker
from tests.golden.bounded import CASES, Expected, Inputs, expected_of, inputs_of
from tests.golden.topologies import Prepared, prepare

pytestmark = pytest.mark.timeout(600)  # the first test waits for all of them
CALL_SECONDS = 30.0


def _is_slow(number: int) -> bool:
    return number % 18 != 0 and CASES[number].area != "global table"


class Run:
    """Some cases, and what came of them."""

    def __init__(self, broker: EmbeddedBroker, numbers: list[int]) -> None:
        builder = StreamsBuilder(f"golden-batch-{numbers[0]}")
        self.place = {number: place for place, number in enumerate(numbers)}
        self.prepared = [prepare(CASES[number], f"b{number}-", builder) for number in numbers]
        inputs = [inputs_of(prepared) for prepared in self.prepared]
        self.expected = [
            expected_of(prepared, of_case) for prepared, of_case in zip(self.prepared, inputs, strict=True)
        ]
        topology = builder.build()
        _create(broker, {topic for node in topology.nodes if isinstance(node, SourceNode) for topic in node.topics})
        _produce(broker, inputs)
        # Stores without a name of their own have a number, which is another one in the application of all cases.
        theirs = [(number, name) for number, one in enumerate(self.prepared) for name in one.topology.stores]
        owner = dict(zip(topology.stores, theirs, strict=True))
        result: BatchResult
        with builder.run_batch(bootstrap=broker.bootstrap) as result:
            self.read = result.figures.read
            self.outputs: dict[str, list[Any]] = {}
            self.tables: dict[tuple[int, str], dict[bytes, tuple[bytes, int]]] = {}
            for frame in result.frames:
                for row in frame.filter("kind < 2").orderBy("kind", "name", "queue", "offset").collect():
                    if row["kind"] == rows.RECORD:
                        self.outputs.setdefault(row["name"], []).append(row)
                    else:
                        entry = {bytes(row["key"]): (bytes(row["value"]), row["timestamp"])}
                        self.tables.setdefault(owner[row["name"]], {}).update(entry)

    def outputs_of(self, prepared: Prepared) -> dict[str, list[Any]]:
        return {
            topic: [
                prepared.decode(topic, _bytes(row["key"]), _bytes(row["value"]), row["timestamp"], _headers(row))
                for row in self.outputs.get(topic, ())
            ]
            for topic in prepared.sinks
        }


def _bytes(data: bytearray | None) -> bytes | None:
    return None if data is None else bytes(data)


def _headers(row: Any) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((header["key"], _bytes(header["value"])) for header in row["headers"] or ())


def _create(broker: EmbeddedBroker, topics: set[str]) -> None:
    admin: Any = AdminClient({"bootstrap.servers": broker.bootstrap})
    # Records of 1970 are older than any retention.
    wanted = [
        NewTopic(topic, 1, 1, config={"retention.ms": "-1"})
        for topic in sorted(topics)
        if not topic.endswith("-repartition")
    ]
    for future in admin.create_topics(wanted).values():
        future.result(CALL_SECONDS)


def _produce(broker: EmbeddedBroker, inputs: list[Inputs]) -> None:
    """confluent-kafka cannot write timestamp 0, kafka-python no record without key and value: each where it can."""
    refused: list[Any] = []
    producer: Any = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    zero: Any = KafkaProducer(bootstrap_servers=broker.bootstrap, linger_ms=0, retry_backoff_ms=5)
    for of_case in inputs:
        for (topic, partition), records in of_case.items():
            for key, value, timestamp, headers in records:
                if timestamp:
                    producer.produce(
                        topic,
                        value,
                        key,
                        partition,
                        timestamp=timestamp,
                        headers=list(headers),
                        on_delivery=lambda error, _: refused.append(error) if error else None,
                    )
                else:
                    assert producer.flush(CALL_SECONDS) == 0
                    zero.send(topic, value, key, list(headers), partition, 0).get(CALL_SECONDS)
    assert producer.flush(CALL_SECONDS) == 0
    zero.close(5)
    assert not refused


@pytest.fixture(scope="module")
def runs(spark: Any, broker: EmbeddedBroker) -> Callable[[bool], Run]:
    """One batch for the cases of every run, another for the others."""

    @functools.cache
    def run(slow: bool) -> Run:
        return Run(broker, [number for number in range(len(CASES)) if _is_slow(number) == slow])

    return run


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, id=case.id, marks=[pytest.mark.slow] if _is_slow(number) else [])
        for number, case in enumerate(CASES)
    ],
)
def test_a_batch_on_spark_gives_what_a_stream_gives(runs: Callable[[bool], Run], number: int) -> None:
    run = runs(_is_slow(number))
    place = run.place[number]
    expected: Expected = run.expected[place]
    assert run.outputs_of(run.prepared[place]) == expected.outputs
    assert {name: run.tables.get((place, name), {}) for name in expected.tables} == expected.tables


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_most_cases_are_measured_by_kafka_streams_itself(runs: Callable[[bool], Run], slow: bool) -> None:
    run = runs(slow)
    assert sum(expected.by_kafka_streams for expected in run.expected) > len(run.expected) / 2
    assert sum(bool(table) for table in run.tables.values()) > len(run.expected) / 5
