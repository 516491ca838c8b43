"""The peer of `caudal bench connect`: the same by hand, with kafka-python, as a script that an engineer would write.

One process, plain loops, the batch sizes that its documentation recommends for throughput. Sources end with `flush`,
sinks commit the group's offsets after each file or transaction. It leaves out what Connect does beside that: offsets of
the source, errors, schemas that change, two records of one offset after a crash.
"""

from __future__ import annotations

import datetime
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

from caudal.bench.connect_data import AVRO, COLUMNS, PRECISION, SCALE, TABLE

FETCH = 5_000  # rows, of a cursor
POLL = 10_000  # records, of a consumer
HEAD = 5  # bytes, of the registry's wire format
UNIT = Decimal(1).scaleb(-SCALE)

Row = tuple[Any, ...]
Record = dict[str, Any]


# ------------------------------------------------------------------ database to topic


def produce(bootstrap: str, topic: str, values: Iterable[bytes]) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(
        bootstrap_servers=bootstrap, acks="all", linger_ms=5, batch_size=262_144, max_request_size=4_000_000
    )
    for value in values:
        producer.send(topic, value)
    producer.flush()
    producer.close()


def sqlite_rows(path: str) -> Iterator[Row]:
    cursor = sqlite3.connect(path).execute(f"SELECT {', '.join(COLUMNS)} FROM {TABLE} ORDER BY id")
    while rows := cursor.fetchmany(FETCH):
        for id, customer, product, quantity, price, weight, is_gift, created_at in rows:
            yield (
                id, customer, product, quantity, Decimal(str(price)).quantize(UNIT), weight, bool(is_gift),
                datetime.datetime.fromisoformat(created_at),
            )  # fmt: skip


def postgres_rows(conninfo: str) -> Iterator[Row]:
    import psycopg

    with psycopg.connect(conninfo) as connection, connection.cursor("orders") as cursor:
        cursor.itersize = FETCH
        cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM {TABLE} ORDER BY id".encode())
        yield from cursor


def as_avro(rows: Iterable[Row], schema_id: int) -> Iterator[bytes]:
    from fastavro import parse_schema, schemaless_writer

    parsed = parse_schema(AVRO)
    head = b"\0" + schema_id.to_bytes(4, "big")
    for row in rows:
        out = BytesIO()
        out.write(head)
        schemaless_writer(out, parsed, dict(zip(COLUMNS, row, strict=True)))
        yield out.getvalue()


def as_json(rows: Iterable[Row]) -> Iterator[bytes]:
    for row in rows:
        value = dict(zip(COLUMNS, row, strict=True))
        value["price"] = float(value["price"])
        value["created_at"] = round(value["created_at"].timestamp() * 1000)
        yield json.dumps(value, separators=(",", ":")).encode()


# ------------------------------------------------------------------ topic to files and databases


def consume(bootstrap: str, topic: str, group: str, partitions: list[int]) -> Any:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest",
        max_poll_records=POLL, max_partition_fetch_bytes=8_000_000,
    )  # fmt: skip
    consumer.assign([TopicPartition(topic, partition) for partition in partitions])
    return consumer


def of_avro() -> Callable[[bytes], Record]:
    from fastavro import parse_schema, schemaless_reader

    parsed = parse_schema(AVRO)

    def read(data: bytes) -> Record:
        source = BytesIO(data)
        source.seek(HEAD)
        record: Record = schemaless_reader(source, parsed, None)  # type: ignore[assignment]
        return record

    return read


def of_json(data: bytes) -> Record:
    record: Record = json.loads(data)
    record["price"] = Decimal(str(record["price"])).quantize(UNIT)
    return record


def to_parquet(consumer: Any, read: Callable[[bytes], Record], folder: str, rows_of_a_file: int, count: int) -> None:
    """Files of so many rows of one partition, put in their place by a rename, then committed."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from kafka import OffsetAndMetadata

    types = (pa.int64(), pa.string(), pa.string(), pa.int32(), pa.decimal128(PRECISION, SCALE), pa.float64(),
             pa.bool_(), pa.timestamp("ms", "UTC"))  # fmt: skip
    schema = pa.schema(list(zip(COLUMNS, types, strict=True)))
    waiting: dict[Any, list[Record]] = {}
    begins: dict[Any, int] = {}
    written = 0
    while written < count:
        for place, messages in consumer.poll(1000).items():
            rows = waiting.setdefault(place, [])
            for message in messages:
                if not rows:
                    begins[place] = message.offset
                rows.append(read(message.value))
                if len(rows) == rows_of_a_file:
                    path = Path(folder, f"{place.topic}+{place.partition}+{begins[place]:010}.parquet")
                    pq.write_table(pa.Table.from_pylist(rows, schema), path.with_suffix(".part"))
                    os.replace(path.with_suffix(".part"), path)
                    consumer.commit({place: OffsetAndMetadata(message.offset + 1, "", -1)})
                    written += len(rows)
                    rows.clear()


def to_database(consumer: Any, read: Callable[[bytes], Record], connection: Any, mark: str, count: int) -> None:
    """Each poll is a transaction, then its offsets are committed."""
    columns = ", ".join(COLUMNS)
    changes = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS[1:])
    statement = (
        f"INSERT INTO {TABLE} ({columns}) VALUES ({', '.join([mark] * len(COLUMNS))}) "
        f"ON CONFLICT (id) DO UPDATE SET {changes}"
    )
    written = 0
    while written < count:
        polled = consumer.poll(1000)
        rows = [tuple(read(message.value).values()) for messages in polled.values() for message in messages]
        if not rows:
            continue
        if mark == "?":
            rows = [(*row[:4], str(row[4]), *row[5:7], row[7].isoformat(" ")) for row in rows]
        connection.cursor().executemany(statement, rows)
        connection.commit()
        consumer.commit()
        written += len(rows)


# ------------------------------------------------------------------ the process


def run(job: dict[str, Any]) -> None:
    bootstrap, topic = job["bootstrap"], job["topic"]
    if "from" in job:
        rows = sqlite_rows(job["place"]) if job["from"] == "sqlite" else postgres_rows(job["place"])
        produce(bootstrap, topic, as_avro(rows, job["schema_id"]) if job["format"] == "avro" else as_json(rows))
        return
    consumer = consume(bootstrap, topic, job["group"], job["partitions"])
    read = of_avro() if job["format"] == "avro" else of_json
    if job["to"] == "parquet":
        to_parquet(consumer, read, job["place"], job["rows_of_a_file"], job["count"])
    elif job["to"] == "sqlite":
        to_database(consumer, read, sqlite3.connect(job["place"]), "?", job["count"])
    else:
        import psycopg

        to_database(consumer, read, psycopg.connect(job["place"]), "%s", job["count"])


def main() -> None:
    """The job is the first line of stdin; it stays until stdin is closed, so that its CPU time can be read."""
    run(json.loads(sys.stdin.readline()))
    sys.stdin.read()


if __name__ == "__main__":
    main()
