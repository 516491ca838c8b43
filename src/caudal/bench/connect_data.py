"""The rows of `caudal bench connect`: orders of eight columns, made by number, as tables and as records of topics."""

from __future__ import annotations

import datetime
import json
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

TABLE = "orders"
COLUMNS = ("id", "customer", "product", "quantity", "price", "weight", "is_gift", "created_at")
CUSTOMERS = 5_000
PRODUCTS = 200
BEGIN = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
PRECISION, SCALE = 10, 2
PARTITIONS = 2

SQLITE_TABLE = f"""CREATE TABLE {TABLE} (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, product TEXT NOT NULL,
quantity INTEGER NOT NULL, price DECIMAL({PRECISION}, {SCALE}) NOT NULL, weight REAL, is_gift BOOLEAN NOT NULL,
created_at TIMESTAMP NOT NULL)"""
POSTGRES_TABLE = f"""CREATE TABLE {TABLE} (id bigint PRIMARY KEY, customer text NOT NULL, product text NOT NULL,
quantity int NOT NULL, price numeric({PRECISION}, {SCALE}) NOT NULL, weight double precision, is_gift boolean NOT NULL,
created_at timestamptz NOT NULL)"""
AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "product", "type": "string"},
        {"name": "quantity", "type": "int"},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": PRECISION, "scale": SCALE},
        },
        {"name": "weight", "type": ["null", "double"], "default": None},
        {"name": "is_gift", "type": "boolean"},
        {"name": "created_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
_DECIMAL = {
    "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "version": 1,
    "parameters": {"scale": str(SCALE), "connect.decimal.precision": str(PRECISION)},
}  # fmt: skip
_TIMESTAMP = {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
# For plain JSON, whose records do not say what they are.
CONNECT = {
    "type": "struct",
    "fields": [
        {"field": "id", "type": "int64"},
        {"field": "customer", "type": "string"},
        {"field": "product", "type": "string"},
        {"field": "quantity", "type": "int32"},
        {"field": "price", **_DECIMAL},
        {"field": "weight", "type": "double", "optional": True},
        {"field": "is_gift", "type": "boolean"},
        {"field": "created_at", **_TIMESTAMP},
    ],
}


def row(number: int) -> tuple[Any, ...]:
    return (
        number,
        f"customer {number * 7919 % CUSTOMERS:05}",
        f"a product of the catalogue, number {number * 31 % PRODUCTS}",
        number % 9 + 1,
        Decimal(number * 37 % 1_000_000).scaleb(-SCALE),
        None if number % 10 == 0 else number % 1000 / 8 + 0.125,
        number % 5 == 0,
        BEGIN + datetime.timedelta(seconds=number, milliseconds=number % 1000),
    )


def fill_sqlite(path: Path, count: int) -> None:
    """WAL, so that whoever counts the rows does not hold up whoever writes them."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        if not count:
            return
        connection.execute(SQLITE_TABLE)
        rows = ((*one[:4], str(one[4]), *one[5:7], one[7].isoformat(" ")) for one in map(row, range(1, count + 1)))
        connection.executemany(f"INSERT INTO {TABLE} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    connection.close()


def fill_postgres(conninfo: str, table: str, count: int) -> None:
    import psycopg

    with psycopg.connect(conninfo) as connection:
        connection.execute(POSTGRES_TABLE.replace(TABLE, table, 1).encode())
        with connection.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
            for number in range(1, count + 1):
                copy.write_row(row(number))


def avro_values(schema_id: int, count: int) -> Iterator[bytes]:
    """In the registry's wire format."""
    from fastavro import parse_schema, schemaless_writer

    parsed = parse_schema(AVRO)
    head = b"\0" + schema_id.to_bytes(4, "big")
    for number in range(1, count + 1):
        out = BytesIO()
        out.write(head)
        schemaless_writer(out, parsed, dict(zip(COLUMNS, row(number), strict=True)))
        yield out.getvalue()


def json_values(count: int) -> Iterator[bytes]:
    """As SqlSource and the JsonConverter write them, decimals as numbers, times as milliseconds."""
    for number in range(1, count + 1):
        value = dict(zip(COLUMNS, row(number), strict=True))
        value["price"] = float(value["price"])
        value["created_at"] = round(value["created_at"].timestamp() * 1000)
        yield json.dumps(value, separators=(",", ":")).encode()


def fill_topic(bootstrap: str, topic: str, values: Iterator[bytes]) -> None:
    """In turn over the partitions, so that all have as many."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 500_000})
    for number, value in enumerate(values):
        while True:
            try:
                producer.produce(topic, value, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush()


def sum_of_ids(count: int) -> int:
    return count * (count + 1) // 2
