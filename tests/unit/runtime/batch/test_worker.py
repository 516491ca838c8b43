"""Batches over several partitions, without Spark: where records go, in which order, and what stops a batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.unit.runtime.batch import in_process

from caudal.runtime.batch import rows, spool
from caudal.runtime.batch.partitioner import partition_of
from caudal.runtime.errors import Handlers, OnError, StreamsError
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.serde import Json, Long, String
from caudal.streams import Processor, StreamsBuilder, tumbling

pytest.importorskip("pyspark")
PARTITIONS = 3


def record(key: str | None, value: Any, timestamp: int) -> in_process.Input:
    return (None if key is None else key.encode(), None if value is None else orjson.dumps(value), timestamp, ())


def spread(topic: str, *records: in_process.Input) -> dict[tuple[str, int], list[in_process.Input]]:
    """Each record in the partition of its key, as a producer does it."""
    found: dict[tuple[str, int], list[in_process.Input]] = {}
    for one in records:
        partition = 0 if one[0] is None else partition_of(one[0], PARTITIONS)
        found.setdefault((topic, partition), []).append(one)
    return found


def values(result: in_process.Result, topic: str) -> list[Any]:
    return [orjson.loads(row["value"]) for row in result.topic(topic)]


def counts(result: in_process.Result, store: str) -> dict[str, int]:
    table = result.table(store)
    return {key.decode(): Long().deserialize(value) for key, (value, _) in table.items()}


ORDERS = [record(f"o{number}", {"user": f"u{number % 7}", "amount": number}, 1000 + number) for number in range(100)]


def test_records_of_a_new_key_meet_in_one_task() -> None:
    builder = StreamsBuilder("app")
    orders = builder.stream("orders", key=String(), value=Json())
    orders.group_by("user").count(store="counts").to("out", value=Long())
    result = in_process.run(builder.build(), spread("orders", *ORDERS), PARTITIONS)
    assert counts(result, "counts") == {f"u{number}": 15 if number < 2 else 14 for number in range(7)}
    assert result.figures(rows.READ)["orders"] == 100
    for row in result.topic("out"):
        assert row["partition"] == partition_of(row["key"], PARTITIONS)


def test_what_several_tasks_wrote_is_read_by_time() -> None:
    class Seen(Processor):
        def init(self, context: Any) -> None:
            self.context: Any = context

        def process(self, record: Any) -> None:
            met = self.context.record_metadata
            self.context.forward(record.with_value({"t": record.timestamp, "offset": met.offset}))

    builder = StreamsBuilder("app")
    orders = builder.stream("orders", key=String(), value=Json()).select_key(lambda key, value: "one")
    orders.repartition().process(Seen).to("out")
    result = in_process.run(builder.build(), spread("orders", *ORDERS), PARTITIONS)
    assert values(result, "out") == [{"t": 1000 + number, "offset": number} for number in range(100)]


def test_a_stream_meets_the_table_as_it_was_then() -> None:
    builder = StreamsBuilder("app")
    users = builder.table("users", key=String(), value=Json())
    orders = builder.stream("orders", key=String(), value=Json()).select_key("user")
    orders.join(users, lambda order, user: {"amount": order["amount"], "city": user["city"]}).to("out")
    cities = [record(f"u{number}", {"city": "before"}, 0) for number in range(7)]
    cities += [record(f"u{number}", {"city": "after"}, 1049) for number in range(7)]
    inputs = {**spread("orders", *ORDERS), **spread("users", *cities)}
    found = values(in_process.run(builder.build(), inputs, PARTITIONS), "out")
    assert len(found) == 100
    assert all((row["city"] == "after") == (row["amount"] > 49) for row in found if row["amount"] != 49)


def test_a_foreign_key_join_answers_over_partitions() -> None:
    builder = StreamsBuilder("app")
    orders = builder.table("orders", key=String(), value=Json())
    users = builder.table("users", key=String(), value=Json())
    joined = orders.join(
        users, lambda order, user: [order["amount"], user["city"]], key_extractor="user", store="joined"
    )
    joined.to_stream().group_by(lambda key, value: value[1]).count(store="cities")
    cities = [record(f"u{number}", {"city": f"c{number % 2}"}, 1050 + number) for number in range(7)]
    inputs = {**spread("orders", *ORDERS), **spread("users", *cities)}
    result = in_process.run(builder.build(), inputs, PARTITIONS)
    table = {key.decode(): orjson.loads(value) for key, (value, _) in result.table("joined").items()}
    assert table == {f"o{number}": [number, f"c{number % 7 % 2}"] for number in range(100)}
    assert counts(result, "cities") == {"c0": 57, "c1": 43}


def test_an_application_that_feeds_itself_runs_to_its_end() -> None:
    builder = StreamsBuilder("app")
    steps = builder.stream("steps", key=String(), value=Json())
    steps.map_values(lambda value: {"left": value["left"] - 1}).filter("left >= 0").to("steps")
    steps.group_by_key().count(store="seen")
    result = in_process.run(builder.build(), spread("steps", record("a", {"left": 4}, 1)), PARTITIONS)
    # What lies in the topic was written by the application when it ran: only what this batch writes is read.
    assert result.rows == []
    feed = StreamsBuilder("app")
    feed.stream("begin", key=String(), value=Json()).to("steps")
    steps = feed.stream("steps", key=String(), value=Json())
    steps.map_values(lambda value: {"left": value["left"] - 1}).filter("left >= 0").to("steps")
    steps.group_by_key().count(store="seen")
    result = in_process.run(feed.build(), spread("begin", record("a", {"left": 4}, 1)), PARTITIONS)
    assert counts(result, "seen") == {"a": 5}
    assert [value["left"] for value in values(result, "steps")] == [4, 3, 2, 1, 0]


def test_queues_that_do_not_fit_in_memory_go_to_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = StreamsBuilder("app")
    left, right = (builder.stream(topic, key=String(), value=Json()) for topic in ("left", "right"))
    left.merge(right).group_by_key().count(store="counts").to_stream().to("out")
    inputs = {**spread("left", *ORDERS), **spread("right", *ORDERS)}
    expected = in_process.run(builder.build(), inputs, PARTITIONS)
    written: list[Path] = []
    writing = spool.Spool._write
    monkeypatch.setattr(spool, "MEMORY_BYTES", 500)

    def write(self: spool.Spool) -> None:
        written.append(self._path)
        writing(self)

    monkeypatch.setattr(spool.Spool, "_write", write)
    result = in_process.run(builder.build(), inputs, PARTITIONS)
    assert written
    assert result.rows == expected.rows
    assert counts(result, "counts") == {f"o{number}": 2 for number in range(100)}
    assert not any(path.exists() for path in written)


def test_records_without_a_key_go_round() -> None:
    builder = StreamsBuilder("app")
    builder.stream("orders", key=String(), value=Json()).to("out")
    inputs = {("orders", 0): [record(None, {"n": number}, number) for number in range(6)]}
    result = in_process.run(builder.build(), inputs, PARTITIONS)
    assert [row["partition"] for row in result.topic("out")] == [0, 1, 2, 0, 1, 2]


def test_a_failing_function_says_which_record_it_was() -> None:
    builder = StreamsBuilder("app")
    builder.stream("orders", key=String(), value=Json()).map_values(lambda value: 1 / value["n"]).to("out")
    inputs = {("orders", 2): [record("a", {"n": 1}, 1), record("a", {"n": 0}, 2)]}
    with pytest.raises(StreamsError, match=r"offset 1 of topic 'orders', partition 2: ZeroDivisionError"):
        in_process.run(builder.build(), inputs, PARTITIONS)


def test_handlers_act_as_in_a_stream() -> None:
    builder = StreamsBuilder("app")
    builder.stream("orders", key=String(), value=Json()).map_values(lambda value: 1 / value["n"]).to("out")
    handlers = Handlers(OnError.SKIP, OnError.DEAD_LETTER, OnError.FAIL, "letters")
    inputs = {("orders", 0): [(b"a", b"{", 1, ()), record("a", {"n": 0}, 2), record("a", {"n": 2}, 3)]}
    result = in_process.run(builder.build(), inputs, handlers=handlers)
    assert values(result, "out") == [0.5]
    (letter,) = result.topic("letters")
    assert dict(in_process.headers_of(letter))["__streams.errors.offset"] == b"1"
    assert result.figures(rows.DROPPED) == {"deserialization error": 1, "processing error": 1}


def test_a_topic_that_a_function_chooses_must_not_be_read() -> None:
    builder = StreamsBuilder("app")
    builder.stream("orders", key=String(), value=Json()).to(lambda key, value: "back")
    builder.stream("back", key=String(), value=Json()).to("out")
    with pytest.raises(StreamsError, match=r"A function sends a record to topic 'back', .* Write it with to\('back'\)"):
        in_process.run(builder.build(), {("orders", 0): [record("a", {}, 1)]})


def test_wall_clock_punctuators_do_not_run_and_are_told() -> None:
    class Ticking(Processor):
        def init(self, context: Any) -> None:
            context.schedule("1 ms", "wall_clock_time", lambda now: 1 / 0)

        def process(self, record: Any) -> None:
            pass

    builder = StreamsBuilder("app")
    builder.stream("orders", key=String(), value=Json()).process(Ticking)
    result = in_process.run(builder.build(), {("orders", 1): [record("a", {}, 1)]}, PARTITIONS)
    assert result.figures(rows.WALL_CLOCK) == {"0_1": 1}


def test_much_state_goes_to_disk_between(monkeypatch: pytest.MonkeyPatch) -> None:
    from caudal.runtime.batch import worker

    monkeypatch.setattr(worker, "LOOK_ROWS", 10)
    monkeypatch.setattr(worker, "PENDING", 5)
    builder = StreamsBuilder("app")
    orders = builder.stream("orders", key=String(), value=Json())
    orders.group_by_key().windowed_by(tumbling("10 ms", grace="50 ms")).count(store="windows").to_stream().to("out")
    topology = builder.build()
    result = in_process.run(topology, {("orders", 0): ORDERS})
    with TopologyTestDriver(topology) as driver:
        for key, value, timestamp, _ in ORDERS:
            driver.pipe_bytes("orders", key, value, timestamp)
        expected = {window.start: count for window, count in driver.store("windows").all() if window.key == "o77"}
        assert len(result.table("windows")) == len(list(driver.store("windows").all()))
    found = {
        int.from_bytes(key[3:11], "big"): value
        for key, (value, _) in result.table("windows").items()
        if key[:3] == b"o77"
    }
    assert {start: Long().deserialize(value) for start, value in found.items()} == expected
