"""Golden cases on Spark: what Kafka Streams put out for each step must come out of a real broker here as well.

Cases share a query. A case has its own topics and stores, told apart by a prefix; some thirty cases share an
application, because every application is a consumer group of its own. All run exactly once; a few run again with
another guarantee or another store engine. Step k of all cases is produced, drained, read and compared, then step k+1.

A timestamp of 0 comes out as 1: librdkafka takes 0 for "now", so the product writes the next millisecond (outputs.py).
"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, IsolationLevel, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from kafka import KafkaProducer

from caudal.plan.topology import SourceNode
from caudal.runtime.spark.host import SparkHost
from caudal.streams import StreamsBuilder
from caudal.streams.application import Application, start_all
from caudal.testing import EmbeddedBroker
from tests.golden import case_files
from tests.golden.case_files import Case, Row
from tests.golden.topologies import Prepared, prepare

CASES_PER_APPLICATION = 30
DRAIN_SECONDS = 240.0  # of a busy machine
CALL_SECONDS = 30.0
AGAIN = ("aggregate", "windows tumbling", "windows session", "suppress", "stream-stream outer", "foreign key")

Place = tuple[str, int]


def _chosen() -> Iterator[tuple[str, dict[str, str], Case]]:
    """(what is special, settings, case): every case once, and two of each area in AGAIN for the other settings."""
    cases = [case for case in case_files.load() if "spark" in case.hosts]
    yield from (("", {}, case) for case in cases)
    few = [case for area in AGAIN for case in [case for case in cases if case.area == area][:2]]
    for what, settings in {
        "rocksdb": {"engine": "rocksdb"},
        "at least once": {"guarantee": "at_least_once"},
    }.items():
        yield from ((what, settings, case) for case in few)


CHOSEN = list(_chosen())
IDS = [f"{what}: {case.id}" if what else case.id for what, _, case in CHOSEN]


class Run:
    """Cases on one host, by their numbers in CHOSEN; `wrong` says what came out otherwise, by number of the case."""

    def __init__(self, broker: EmbeddedBroker, folder: Path, numbers: Sequence[int], mode: str = "micro-batch") -> None:
        self._numbers = numbers
        self._mode = mode
        self._bootstrap = broker.bootstrap
        self._folder = folder
        self._admin: Any = AdminClient({"bootstrap.servers": broker.bootstrap})
        self._producer: Any = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
        # confluent-kafka cannot write timestamp 0, kafka-python no record without key and value: each where it can.
        self._zero_producer: Any = KafkaProducer(bootstrap_servers=broker.bootstrap, linger_ms=0, retry_backoff_ms=5)
        self._consumer: Any = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "golden",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 10,
            }
        )
        self.prepared: dict[int, Prepared] = {}
        self.applications: list[Application] = []
        self.application_of: dict[int, Application] = {}
        self.wrong: dict[int, str] = {}
        self._refused: list[str] = []  # inputs that were not written
        self.seconds: dict[str, float] = {}
        self._sources: dict[str, list[str]] = {}  # group → topics it reads
        self._outputs: dict[str, int] = {}  # topic → number of the case
        self._read: dict[str, int] = defaultdict(int)  # topic → offset up to which it was read

    # -- before the first step -----------------------------------------------------------------------------------------

    def start(self, host: SparkHost) -> None:
        begun = time.monotonic()
        numbered = [(number, CHOSEN[number]) for number in self._numbers]
        for _, group in itertools.groupby(numbered, lambda entry: entry[1][0]):
            for part in _dealt(list(group)):
                builder = StreamsBuilder(f"golden-{self._mode}-{part[0][0]}")
                for number, (_, _, case) in part:
                    self.prepared[number] = prepare(case, f"{self._mode}-{number}-", builder)
                application = Application(
                    builder,
                    host=host,
                    mode=self._mode,
                    bootstrap=self._bootstrap,
                    state_dir=str(self._folder),
                    **part[0][1][1],
                )
                self.applications.append(application)
                self.application_of |= {number: application for number, _ in part}
        self._create_topics()
        self._lap("prepared", begun)
        begun = time.monotonic()
        start_all(self.applications, host=host)
        self._lap("started", begun)
        for application in self.applications:
            application.raise_failure()

    def _create_topics(self) -> None:
        topics: set[str] = set()
        for application in self.applications:
            plan = application.topology
            self._sources[application.application_id] = [
                topic for sub in plan.subtopologies for topic in sub.source_topics
            ]
            for node in plan.nodes:
                if isinstance(node, SourceNode):
                    topics |= set(node.topics) - plan.internal_topics.keys()
        for number, prepared in self.prepared.items():
            self._outputs |= dict.fromkeys(prepared.sinks, number)
        # Records of 1970 are older than any retention: the broker would take them away, soon or in five minutes.
        forever = {"retention.ms": "-1"}
        wanted = [NewTopic(topic, 1, 1, config=forever) for topic in sorted(topics | self._outputs.keys())]
        for future in self._admin.create_topics(wanted).values():
            future.result(CALL_SECONDS)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def perform(self) -> None:
        for step in range(max(len(prepared.steps) for prepared in self.prepared.values())):
            begun = time.monotonic()
            self._produce(step)
            self._drain()
            self._compare(step, self._new_rows())
            self._lap(f"step {step + 1}", begun)

    def _lap(self, what: str, begun: float) -> None:
        self.seconds[what] = round(time.monotonic() - begun, 1)

    def _produce(self, step: int) -> None:
        for prepared in self.prepared.values():
            if step >= len(prepared.steps):
                continue
            topic, rows = prepared.steps[step].topic, prepared.steps[step].records
            assert topic is not None
            for row in rows:
                key, value, timestamp, headers = prepared.encode(topic, row)
                if timestamp:
                    self._producer.produce(
                        topic, value, key, 0, timestamp=timestamp, headers=list(headers), on_delivery=self._delivered
                    )
                else:  # in the order of the case, whoever writes
                    assert self._producer.flush(CALL_SECONDS) == 0
                    self._zero_producer.send(topic, value, key, list(headers), 0, 0).get(CALL_SECONDS)
        assert self._producer.flush(CALL_SECONDS) == 0
        assert not self._refused, self._refused

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self._refused.append(f"{message.topic()}: {error}")

    def _drain(self) -> None:
        """Until every group has read its topics to their ends and no transaction is open, twice in a row."""
        deadline = time.monotonic() + DRAIN_SECONDS
        before: Any = None
        while True:
            waiting = {}
            committed = self._committed()
            ends = self._ends({topic for topic, _ in committed} | self._outputs.keys(), committed_only=True)
            heads = self._ends(self._outputs, committed_only=False)
            waiting = {
                place: (offset, ends[place[0]]) for place, offset in committed.items() if offset < ends[place[0]]
            }
            waiting |= {(topic, 0): (ends[topic], head) for topic, head in heads.items() if ends[topic] < head}
            if not waiting and before == ends:
                return
            before = None if waiting else ends
            states = {application.application_id: application.failure for application in self.applications}
            assert time.monotonic() < deadline, f"not drained: {waiting}, {states}"
            time.sleep(0.03)

    def _committed(self) -> dict[Place, int]:
        """What the groups of applications that still run have committed."""
        asked = [
            ConsumerGroupTopicPartitions(application.application_id, [TopicPartition(topic, 0) for topic in topics])
            for application in self.applications
            if application.failure is None and (topics := self._sources[application.application_id])
        ]
        found = {}
        for request in [self._admin.list_consumer_group_offsets([one], require_stable=True) for one in asked]:
            for future in request.values():
                for place in future.result(CALL_SECONDS).topic_partitions:
                    found[place.topic, place.partition] = place.offset
        return found

    def _ends(self, topics: Any, *, committed_only: bool) -> dict[str, int]:
        level = IsolationLevel.READ_COMMITTED if committed_only else IsolationLevel.READ_UNCOMMITTED
        wanted = {TopicPartition(topic, 0): OffsetSpec.latest() for topic in sorted(topics)}
        futures = self._admin.list_offsets(wanted, isolation_level=level, request_timeout=CALL_SECONDS)
        return {place.topic: future.result(CALL_SECONDS).offset for place, future in futures.items()}

    def _new_rows(self) -> Mapping[int, Mapping[str, list[Row]]]:
        """What was put out since the last step: number of the case → topic → rows."""
        ends = self._ends(self._outputs, committed_only=True)
        missing = {topic for topic, end in ends.items() if end > self._read[topic]}
        self._consumer.assign([TopicPartition(topic, 0, self._read[topic]) for topic in sorted(missing)])
        found: dict[int, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
        deadline = time.monotonic() + CALL_SECONDS
        while missing:
            assert time.monotonic() < deadline, f"the ends of {sorted(missing)} cannot be reached"
            for message in self._consumer.consume(1000, 0.05):
                topic, error = message.topic(), message.error()
                if error is None:
                    if message.offset() < self._read[topic]:
                        continue  # of the assignment before
                    number = self._outputs[topic]
                    headers = tuple(message.headers() or ())
                    row = self.prepared[number].decode(
                        topic, message.key(), message.value(), message.timestamp()[1], headers
                    )
                    found[number][topic].append(row)
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    if message.offset() >= ends[topic]:  # else it is an end that was told before the last step
                        missing.discard(topic)
        self._read.update(ends)
        return found

    def _compare(self, step: int, found: Mapping[int, Mapping[str, list[Row]]]) -> None:
        for number, prepared in self.prepared.items():
            if number in self.wrong:
                continue
            failure = self.application_of[number].failure
            expected = {} if step >= len(prepared.steps) else prepared.steps[step].expect
            wanted = {topic: _without_zero(rows) for topic, rows in expected.items()}
            got = dict(found.get(number, {}))
            if got != wanted:
                why = f" ({failure})" if failure else ""
                self.wrong[number] = f"step {step + 1}: expected {wanted}, came {got}{why}; {self._places(prepared)}"

    def _places(self, prepared: Prepared) -> str:
        """Where everything stands: what was not written, not read, not committed."""
        topics = {step.topic for step in prepared.steps if step.topic} | prepared.sinks.keys()
        ends = self._ends(topics, committed_only=False)
        committed = {topic: offset for (topic, _), offset in self._committed().items() if topic in topics}
        return f"ends {ends}, committed {committed}"

    def close(self) -> None:
        self._zero_producer.close(5)
        self._consumer.close()


def _dealt(entries: Sequence[Any]) -> list[list[Any]]:
    return [
        list(entries[first : first + CASES_PER_APPLICATION]) for first in range(0, len(entries), CASES_PER_APPLICATION)
    ]


def _without_zero(rows: list[Row]) -> list[Row]:
    return [[row[0], row[1], row[2] or 1, *row[3:]] for row in rows]
