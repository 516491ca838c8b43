"""Records that the broker refuses, on a lane with a real broker and without Spark: the one bad record is found among
good ones, named or handed to its handler, and nothing else is lost or written twice."""

from __future__ import annotations

import base64
import itertools
import pickle
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from caudal.runtime.errors import Handlers, OnError
from caudal.runtime.spark import lane as lanes
from caudal.runtime.spark.lane import Freight, Lane
from caudal.runtime.spark.parcels import packed
from caudal.runtime.spark.rows import COLUMNS
from caudal.runtime.spark.settings import Cargo, Guarantee, Settings
from caudal.runtime.spark.slots import Slot, assign
from caudal.runtime.spark.topics import ClusterTopics
from caudal.serde import String
from caudal.streams import StreamsBuilder
from caudal.testing import EmbeddedBroker, embedded_broker

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

FUTURE = 4_102_444_800_000  # the year 2100


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker() as started:
        yield started


class Driver:
    """Answers a lane as the host would."""

    def __init__(self, settings: Settings, application_id: str) -> None:
        self.group: Any = Consumer(
            settings.librdkafka(group_id=application_id, isolation_level="read_committed", enable_auto_commit=False)
        )
        self.application_id = application_id
        self.failures: list[str] = []
        self.dropped: dict[str, int] = {}

    def ask(self, request: str, /, **fields: Any) -> dict[str, Any]:
        if request in ("begin", "orders"):
            groups = {self.application_id: base64.b64encode(self.group.consumer_group_metadata()).decode()}
            return {"drain": False, "groups": {} if self.failures else groups}
        if request == "committed":
            found = self.group.committed([TopicPartition(*place) for place in fields["places"]], 10)
            return {"offsets": [(place.topic, max(place.offset, 0), place.metadata or "") for place in found]}
        if request == "commit":
            self.group.commit(offsets=[TopicPartition(*place) for place in fields["offsets"]], asynchronous=False)
        if request == "failed":
            self.failures.append(fields["text"])
        if request == "end":
            for report in fields["tasks"].get(self.application_id, {}).values():
                self.dropped = report["dropped"]
        return {}

    def close(self) -> None:
        """The lane's side; the group is the test's."""


class Bench:
    """One application with one task, whose output topic refuses timestamps in the future."""

    def __init__(self, broker: EmbeddedBroker, name: str, state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.broker, self.name, self.monkeypatch, self.state_dir = broker, name, monkeypatch, state_dir
        self.source, self.target, self.letters = f"{name}-in", f"{name}-out", f"{name}-letters"
        broker.create_topic(self.source, 1)
        broker.create_topic(self.target, 1, message_timestamp_after_max_ms=60_000)
        broker.create_topic(self.letters, 1, message_timestamp_after_max_ms=60_000)

    def run(
        self,
        stamps: list[int],
        production: OnError = OnError.FAIL,
        guarantee: Guarantee = Guarantee.EXACTLY_ONCE,
        describe: Callable[[StreamsBuilder], None] | None = None,
        processing: OnError = OnError.FAIL,
    ) -> Driver:
        """One batch of rows with these timestamps; key and value are the offset."""
        builder = StreamsBuilder(self.name, key=String(), value=String())
        (describe or (lambda builder: builder.stream(self.source).to(self.target)))(builder)
        handlers = Handlers(production=production, processing=processing, dead_letter_topic=self.letters)
        settings = Settings(
            bootstrap=self.broker.bootstrap, state_dir=str(self.state_dir), handlers=handlers, guarantee=guarantee
        )
        topics = ClusterTopics(builder.build(), settings)
        topics.prepare()
        cargo = Cargo(topics.topology, settings, topics.partitions, frozenset())
        driver = Driver(settings, self.name)
        self.monkeypatch.setattr(lanes, "Link", lambda address, token: driver)
        slot = assign([cargo], 1)[0]
        freight = pickle.dumps(Freight("run", slot, {self.name: packed(cargo)}, ("", 0), ""))
        lane = Lane(pickle.loads(freight))
        assert lane.begin()
        lane.take(self._rows(stamps))
        lane.finish()
        lane.close()
        return driver

    def _rows(self, stamps: list[int]) -> Any:
        count = len(stamps)
        names = [str(number).encode() for number in range(count)]
        headers = pyarrow.list_(pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())]))
        columns = [
            pyarrow.array([0] * count, pyarrow.int32()),
            pyarrow.array([self.source] * count),
            pyarrow.array([0] * count, pyarrow.int32()),
            pyarrow.array(range(count), pyarrow.int64()),
            pyarrow.array(stamps, pyarrow.int64()),
            pyarrow.array(names),
            pyarrow.array(names),
            pyarrow.nulls(count, headers),
        ]
        return pyarrow.record_batch(columns, names=list(COLUMNS))

    def read(self, topic: str) -> list[Any]:
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": "x", "enable.partition.eof": True})
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        found = []
        while (message := consumer.poll(10)).error() is None:
            found.append(message)
        consumer.close()
        return found


@pytest.fixture
def bench(
    broker: EmbeddedBroker, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Bench:
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name.removeprefix("test_"))
    return Bench(broker, name[-60:].strip("-"), tmp_path, monkeypatch)


def stamps(count: int, *bad: int) -> list[int]:
    now = int(time.time() * 1000)
    return [FUTURE if number in bad else now for number in range(count)]


@pytest.mark.parametrize("guarantee", [Guarantee.EXACTLY_ONCE, Guarantee.AT_LEAST_ONCE])
def test_the_sentence_names_output_topic_cause_and_input_record(bench: Bench, guarantee: Guarantee) -> None:
    driver = bench.run(stamps(700, 600), guarantee=guarantee)
    assert driver.failures == [
        f"Writing to topic '{bench.target}' failed for the record at offset 600 of topic '{bench.source}', partition 0"
        f": Topic '{bench.target}' does not take the record: Broker: Invalid timestamp (see its "
        "message.timestamp.after.max.ms and message.timestamp.before.max.ms)."
    ]
    # What was before it is committed; the next start goes on at the bad record.
    committed = driver.ask("committed", places=[(bench.source, 0)])["offsets"][0][1]
    assert 512 <= committed <= 600
    if guarantee is Guarantee.EXACTLY_ONCE:
        assert [int(message.key()) for message in bench.read(bench.target)] == list(range(committed))


@pytest.mark.parametrize("guarantee", [Guarantee.EXACTLY_ONCE, Guarantee.AT_LEAST_ONCE])
def test_skip_drops_the_bad_ones_and_no_other(bench: Bench, guarantee: Guarantee) -> None:
    bad = (0, 299, 300, 699)
    driver = bench.run(stamps(700, *bad), OnError.SKIP, guarantee)
    assert driver.failures == []
    written = [int(message.key()) for message in bench.read(bench.target)]
    good = [number for number in range(700) if number not in bad]
    if guarantee is Guarantee.EXACTLY_ONCE:
        assert written == good
        assert driver.dropped == {"production error": 4}
    else:
        assert sorted(set(written)) == good
    assert driver.ask("committed", places=[(bench.source, 0)])["offsets"][0][1] == 700


def test_the_dead_letter_is_written_though_its_timestamp_is_refused_too(bench: Bench) -> None:
    driver = bench.run(stamps(10, 3), OnError.DEAD_LETTER)
    assert driver.failures == []
    (letter,) = bench.read(bench.letters)
    assert letter.key() == b"3"
    assert dict(letter.headers())["__streams.errors.offset"] == b"3"
    assert b"Invalid timestamp" in dict(letter.headers())["__streams.errors.message"]
    assert [int(message.key()) for message in bench.read(bench.target)] == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_refused_results_are_known_again_even_if_values_differ_from_call_to_call(bench: Bench) -> None:
    calls = itertools.count()

    def describe(builder: StreamsBuilder) -> None:
        stream = builder.stream(bench.source)
        stream.map_values(lambda value: f"{value} {next(calls)}").to(bench.target)
        stream.to(bench.target)

    driver = bench.run(stamps(5, 2), OnError.SKIP, describe=describe)
    assert driver.failures == []
    assert [int(message.key()) for message in bench.read(bench.target)] == [0, 0, 1, 1, 3, 3, 4, 4]
    assert driver.dropped == {"production error": 2}


def test_produce_errors_are_not_the_processing_handlers_business(bench: Bench) -> None:
    driver = bench.run(stamps(5, 2), OnError.FAIL, processing=OnError.SKIP)
    assert len(driver.failures) == 1
    assert "offset 2 of topic" in driver.failures[0]


def test_state_that_its_changelog_refuses_names_the_record(bench: Bench) -> None:
    def describe(builder: StreamsBuilder) -> None:
        builder.stream(bench.source).group_by_key().count(store="n")

    changelog = f"{bench.name}-n-changelog"
    bench.broker.create_topic(changelog, 1, cleanup_policy="compact", message_timestamp_after_max_ms=60_000)
    driver = bench.run(stamps(5, 2), OnError.SKIP, describe=describe)
    (sentence,) = driver.failures
    assert sentence.startswith("Writing the change of state failed for the record at offset 2 of topic")
    assert "Invalid timestamp" in sentence


def test_a_program_that_a_worker_cannot_load_is_said_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(Settings(bootstrap=bench.broker.bootstrap), "broken")
    monkeypatch.setattr(lanes, "Link", lambda address, token: driver)
    parcel = b"cno_such_module\nf\n."
    lane = Lane(Freight("run", Slot(0), {"broken": parcel}, ("", 0), ""))
    assert lane.begin() is False
    lane.close()
    (sentence,) = driver.failures
    assert "The program of 'broken' cannot be loaded in a Spark worker: ModuleNotFoundError: No module" in sentence
