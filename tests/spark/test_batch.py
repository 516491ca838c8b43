"""run_batch, table_df and static tables on Spark with a real broker: several partitions, bounds, typed columns."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from confluent_kafka import Producer
from pyarrow import parquet
from typer.testing import CliRunner

from caudal.cli.main import build_app
from caudal.runtime.batch.rows import TABLE
from caudal.runtime.errors import StreamsError
from caudal.serde import Json, Long, String
from caudal.streams import StreamsBuilder, session, tumbling
from caudal.streams.application import Application
from tests.examples.test_headers import parse
from tests.golden import wide
from tests.spark.conftest import Kafka

Unique = Callable[[str], str]
USERS = 5
START = (int(time.time()) // 60 - 60) * 60_000  # an hour ago: retention lets it be


def orders(kafka: Kafka, topic: str, count: int = 200, **create: Any) -> None:
    """Order i of user i % 5 with amount i, one per second."""
    kafka.create(topic, partitions=3, retention_ms="-1", **create)
    producer: Any = Producer({"bootstrap.servers": kafka.bootstrap, "partitioner": "murmur2"})
    for number in range(count):
        value = json.dumps({"user": f"u{number % USERS}", "amount": number})
        producer.produce(topic, value, f"o{number}", timestamp=START + number * 1000)
    assert producer.flush(30) == 0


def pipeline(name: str, topic: str) -> StreamsBuilder:
    """Counts per user, sums per user and minute, sessions, through a repartition topic."""
    builder = StreamsBuilder(name)
    by_user = builder.stream(topic, key=String(), value=Json()).select_key("user").group_by_key()
    by_user.count(store="counts").to(f"{name}-out", value=Long())
    minutes = by_user.windowed_by(tumbling("1 minute", grace="1 minute"))
    minutes.aggregate(lambda: 0, lambda key, order, total: total + order["amount"], value=Long(), store="minutes").to(
        f"{name}-minutes"
    )
    by_user.windowed_by(session("2 seconds", grace="1 hour")).count(store="sessions")
    by_user.aggregate(
        lambda: {"n": 0, "most": 0.0},
        lambda key, order, total: {"n": total["n"] + 1, "most": max(total["most"], order["amount"] / 2)},
        value=Json(),
        store="summaries",
    )
    return builder


TABLES = ("counts", "minutes", "sessions", "summaries")


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_a_batch_gives_the_tables_and_topics_of_a_stream(
    kafka: Kafka, unique: Unique, start: Callable[..., Application]
) -> None:
    topic, name = unique("orders"), unique("shop")
    orders(kafka, topic)
    kafka.create(f"{name}-out", f"{name}-minutes")
    builder = pipeline(name, topic)
    app = start(builder)
    kafka.until(lambda: sum(kafka.table(f"{name}-out").values()), 200)
    app.stop()
    with app.run_batch() as result:
        for table in TABLES:
            assert rows(result.table(table)) == rows(app.table_df(table)), table
        assert {row.key: row.value for row in result.table("counts").collect()} == {f"u{n}": 40 for n in range(USERS)}
        assert result.figures.read[topic] == 200
        assert result.table("minutes").columns == ["key", "window_start", "window_end", "value", "timestamp"]
        assert result.table("sessions").columns == ["key", "window_start", "window_end", "value"]
        # The last word of each key in the output topic, too.
        last: dict[str, tuple[int, int]] = {}
        for row in result.topic(f"{name}-out").collect():
            last[row.key] = max(last.get(row.key, (-1, 0)), (row.number, row.value))
        assert {key: value for key, (_, value) in last.items()} == kafka.table(f"{name}-out")
        places = {(row.key, row.partition) for row in result.topic(f"{name}-out").collect()}
        assert places == {(m.key().decode(), m.partition()) for m in kafka.read(f"{name}-out")}
        windows = result.topic(f"{name}-minutes")
        assert windows.columns[:5] == ["key", "window_start", "window_end", "value", "timestamp"]
        assert windows.filter(f"key = 'u0' AND window_start = timestamp_millis({START})").count() == 12
        struct = result.table("summaries", value_schema="n bigint, most double").select("key", "value.n", "value.most")
        assert rows(struct) == [(f"u{n}", 40, (195 + n) / 2) for n in range(USERS)]


def test_everything_at_once_over_several_partitions(kafka: Kafka, unique: Unique, spark: Any) -> None:
    """Windows, sessions, every kind of join, tables grouped anew: the tables are those of one partition in process."""
    prefix = unique("wide") + "-"
    kafka.create(*(prefix + topic for topic in wide.TOPICS), partitions=4)
    producer: Any = Producer({"bootstrap.servers": kafka.bootstrap, "partitioner": "murmur2"})
    for record in wide.records(9, first=START):
        key, value, timestamp = wide.encoded(record)
        producer.produce(prefix + record[0], value, key, timestamp=timestamp)
    assert producer.flush(30) == 0
    found: dict[str, dict[bytes, tuple[bytes, int]]] = {}
    with wide.build(unique("app"), prefix).run_batch(bootstrap=kafka.bootstrap) as result:
        for frame in result.frames:
            for row in frame.filter(f"kind = {TABLE}").collect():
                table = found.setdefault(row["name"], {})
                assert bytes(row["key"]) not in table  # a key belongs to one task
                table[bytes(row["key"])] = (bytes(row["value"]), row["timestamp"])
        assert result.table("sessions").count() == len(found["sessions"])
    assert found == wide.expected_tables(9, first=START)


def test_bounds_cut_the_input_and_writing_is_asked_for(kafka: Kafka, unique: Unique) -> None:
    topic, name = unique("orders"), unique("bounded")
    orders(kafka, topic)
    kafka.create(f"{name}-out", f"{name}-minutes")
    app = Application(pipeline(name, topic), bootstrap=kafka.bootstrap)
    first = datetime.fromtimestamp(START / 1000 + 50, UTC)
    with app.run_batch(starting=first, ending=START + 150_000) as result:
        amounts = [json.loads(row.value)["n"] for row in result.table("summaries").collect()]
        assert sum(amounts) == 100
        assert kafka.read(f"{name}-out") == []  # nothing is written unless it is asked for
    offsets = dict.fromkeys(range(3), 2)
    with app.run_batch(ending={topic: offsets}, write=True) as result:
        assert result.figures.read[topic] == 6
    written = kafka.read(f"{name}-out")
    assert len(written) == 6
    assert sum(kafka.table(f"{name}-out").values()) == 6
    assert all(message.timestamp()[1] >= START for message in written)


def test_only_committed_records_are_read(kafka: Kafka, unique: Unique) -> None:
    topic, name = unique("orders"), unique("committed")
    orders(kafka, topic, 10)
    aborted: Any = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": unique("writer")})
    aborted.init_transactions()
    aborted.begin_transaction()
    for number in range(20):
        aborted.produce(topic, b"{not even json", f"o{number}")
    aborted.flush()
    aborted.abort_transaction()
    with pipeline(name, topic).run_batch(bootstrap=kafka.bootstrap) as result:
        assert result.figures.read[topic] == 10
        assert result.table("counts").count() == USERS


def test_a_stream_joins_a_parquet_file_in_both_modes(
    kafka: Kafka, unique: Unique, start: Callable[..., Application], tmp_path: Path
) -> None:
    topic, name = unique("orders"), unique("parquet")
    orders(kafka, topic, 30)
    kafka.create(f"{name}-out")
    path = tmp_path / "users.parquet"
    parquet.write_table(pyarrow.table({"id": [f"u{n}" for n in range(4)], "city": list("abcd")}), path)
    builder = StreamsBuilder(name)
    customers = builder.static_table(path, key="id")
    placed = builder.stream(topic, key=String(), value=Json()).join(
        customers, lambda order, row: {"city": row["city"], "amount": order["amount"]}, key_selector="user"
    )
    placed.to(f"{name}-out")
    expected = sorted((f"o{n}", "abcd"[n % USERS], n) for n in range(30) if n % USERS < 4)
    with builder.run_batch(bootstrap=kafka.bootstrap) as result:
        frame = result.topic(f"{name}-out", value_schema="city string, amount int")
        assert rows(frame.select("key", "value.city", "value.amount")) == expected
    start(builder)
    found = [(m.key().decode(), json.loads(m.value())) for m in kafka.read(f"{name}-out", len(expected))]
    assert sorted((key, value["city"], value["amount"]) for key, value in found) == expected


def test_a_global_table_is_whole_wherever_the_streams_begin(kafka: Kafka, unique: Unique) -> None:
    topic, table, name = unique("orders"), unique("users"), unique("global")
    orders(kafka, topic, 30)
    kafka.create(table, partitions=2)
    kafka.send(table, *((f"u{number}", json.dumps({"city": f"c{number}"})) for number in range(USERS)))
    builder = StreamsBuilder(name)
    users = builder.global_table(table, key=String(), value=Json())
    joined = builder.stream(topic, key=String(), value=Json()).join(
        users, lambda order, user: user["city"], key_selector="user"
    )
    joined.to(f"{name}-out")
    with builder.run_batch(bootstrap=kafka.bootstrap, starting=START + 20_000) as result:
        cities = [json.loads(row.value) for row in result.topic(f"{name}-out").collect()]
    assert sorted(cities) == sorted(f"c{number % USERS}" for number in range(20, 30))


def test_a_failing_record_and_a_missing_table_are_said_in_one_sentence(kafka: Kafka, unique: Unique) -> None:
    topic, name = unique("orders"), unique("failing")
    orders(kafka, topic, 10)
    kafka.send(topic, ("bad", "{"), partition=1)
    builder = pipeline(name, topic)
    with pytest.raises(StreamsError, match=rf"offset \d+ of topic '{topic}', partition 1: SerdeError") as caught:
        builder.run_batch(bootstrap=kafka.bootstrap)
    assert "\n" not in str(caught.value)
    with builder.run_batch(bootstrap=kafka.bootstrap, on_bad_record="skip") as result:
        assert result.figures.dropped == {"deserialization error": 1}
        with pytest.raises(
            StreamsError, match=r"has no table 'nothing' \(it has: counts, minutes, sessions, summaries\)"
        ):
            result.table("nothing")
        with pytest.raises(StreamsError, match=r"writes no topic 'nothing'"):
            result.topic("nothing")
        with pytest.raises(StreamsError, match="The value is bigint by its serde: a schema is for JSON"):
            result.table("counts", value_schema="a int")
    app = Application(builder, bootstrap=kafka.bootstrap)
    with pytest.raises(StreamsError, match=r"has no changelog topic .* on the cluster yet"):
        app.table_df("counts")
    with pytest.raises(StreamsError, match="does not exist"):
        pipeline(name, unique("nowhere")).run_batch(bootstrap=kafka.bootstrap)


def test_a_table_of_a_running_application_has_neither_tombstones_nor_old_values(
    kafka: Kafka, unique: Unique, start: Callable[..., Application]
) -> None:
    topic, name = unique("users"), unique("table")
    kafka.create(topic, f"{name}-out")
    kafka.send(topic, ("a", "1"), ("b", "2"), ("c", "3"), ("a", "4"), ("b", None))
    builder = StreamsBuilder(name)
    builder.table(topic, key=String(), value=Json(), store="users").to_stream().to(f"{name}-out")
    app = start(builder)
    kafka.read(f"{name}-out", 5)
    frame = app.table_df("users")
    assert frame.columns == ["key", "value", "timestamp"]
    assert sorted((row.key, row.value) for row in frame.collect()) == [("a", "4"), ("c", "3")]
    assert all(abs(row.timestamp.timestamp() - time.time()) < 300 for row in frame.collect())
    assert app.state == "RUNNING"


def test_nothing_of_the_application_is_touched(kafka: Kafka, unique: Unique) -> None:
    from confluent_kafka.admin import AdminClient

    topic, name = unique("orders"), unique("quiet")
    orders(kafka, topic, 10)
    admin: Any = AdminClient({"bootstrap.servers": kafka.bootstrap})
    before = set(admin.list_topics(timeout=10).topics)
    pipeline(name, topic).run_batch(bootstrap=kafka.bootstrap).close()
    assert set(admin.list_topics(timeout=10).topics) == before
    groups = admin.list_consumer_groups(request_timeout=10).result()
    assert not [group for group in groups.valid if group.group_id.startswith(name)]


def test_the_command_line_runs_a_batch(kafka: Kafka, unique: Unique, tmp_path: Path, spark: Any) -> None:
    topic, name = unique("orders"), unique("shell")
    orders(kafka, topic, 40)
    kafka.create(f"{name}-out")
    file = tmp_path / "app.py"
    file.write_text(
        "from caudal.serde import Json, Long, String\n"
        "from caudal.streams import StreamsBuilder\n"
        f"builder = StreamsBuilder({name!r})\n"
        f"orders = builder.stream({topic!r}, key=String(), value=Json()).group_by('user')\n"
        f"orders.count(store='counts').to({name + '-out'!r}, value=Long())\n"
        "if __name__ == '__main__':\n    builder.run()\n"
    )
    flags = ["--bootstrap", kafka.bootstrap, "-q"]
    runner = CliRunner()
    done = runner.invoke(build_app(["run"]), ["run", str(file), *flags, "--batch", "--to", f"{topic}:0=0", "--write"])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert f"table    counts: {USERS} rows" in lines
    (written,) = [line for line in lines if line.startswith("written")]
    read = sum(kafka.table(f"{name}-out").values())
    assert written == f"written  {name}-out: {read}"
    assert lines[0] == f"read     {topic}: {read}"
    assert 0 < read < 40
    refused = runner.invoke(build_app(["run"]), ["run", str(file), *flags, "--write"])
    assert refused.exit_code != 0
    assert "--from, --to and --write go with --batch" in str(refused.exception or refused.output)


@pytest.mark.slow
def test_the_page_is_true(
    kafka: Kafka, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spark: Any
) -> None:
    """The code of docs/batch.md, from top to bottom."""
    page = (Path(__file__).parents[2] / "docs" / "batch.md").read_text()
    blocks = re.findall(r"^```python[^\n]*\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    kafka.create("orders")
    users = ["ana", "eva", "ana", "leo"]
    kafka.send("orders", *((str(n), json.dumps({"user": user, "amount": n})) for n, user in enumerate(users, 1)))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"bootstrap": kafka.bootstrap}
    for number, block in enumerate(blocks):
        exec(compile(block, f"block {number} of docs/batch.md", "exec"), names)
    said = capsys.readouterr().out
    assert re.search(r"\|ana\|\s+2\|", said)
    assert "table    orders-per-user: 3 rows" in said
    assert "['key', 'value', 'timestamp']" in said
    assert '"city":"Soria"' in said
    commands = re.findall(r"^(caudal run .*)$", page, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        parse(command)
