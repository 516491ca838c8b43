"""One application with a bit of everything, and random records for it: what several partitions give must be what one
gives. Every record has a time of its own and grace is ample, so there is one right answer for every table.
"""

from __future__ import annotations

import random
from typing import Any

import orjson

from caudal.runtime.batch.tables import entries, is_table
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.serde import Json, Long, String
from caudal.streams import StreamsBuilder, hopping, session, sliding, tumbling

TOPICS = ("orders", "returns", "users", "cities")
Record = tuple[str, str, Any, int]  # topic, key, value, time


def build(name: str = "wide", prefix: str = "") -> StreamsBuilder:
    builder = StreamsBuilder(name)
    orders = builder.stream(f"{prefix}orders", key=String(), value=Json())
    returns = builder.stream(f"{prefix}returns", key=String(), value=Json())
    users = builder.table(f"{prefix}users", key=String(), value=Json(), store="users")
    cities = builder.table(f"{prefix}cities", key=String(), value=Json(), store="cities")

    orders.group_by_key().count(store="by-order")
    by_user = orders.select_key("user")
    grouped = by_user.group_by_key()
    counts = grouped.count(store="by-user")
    _windows(grouped)

    # Joins of a stream: with a table as it was then, and with another stream.
    placed = by_user.join(users, lambda order, user: {**order, "city": user["city"]})
    placed.select_key("city").group_by_key().count(store="by-city")
    placed.to(f"{prefix}placed")
    both = orders.left_join(
        returns,
        lambda order, back: {"back": None if back is None else back["n"], "amount": order["amount"]},
        within="20 seconds",
        grace="1 hour",
    )
    both.group_by_key().reduce(lambda old, new: {"back": [old, new], "amount": new["amount"]}, store="with-returns")

    # Joins of tables: on the key, and on a foreign key there and back, with what comes behind it.
    richer = users.left_join(counts, lambda user, count: {**user, "orders": count}, value=Json(), store="richer")
    richer.group_by(lambda user, row: (row["city"], row), value=Json()).aggregate(
        lambda: 0,
        lambda city, row, total: total + (row["orders"] or 0),
        lambda city, row, total: total - (row["orders"] or 0),
        value=Long(),
        store="orders-of-city",
    )
    located = users.left_join(
        cities,
        lambda user, city: {"in": None if city is None else city["region"]},
        key_extractor="city",
        store="located",
    )
    there = located.to_stream().filter(lambda user, row: row is not None)
    there.group_by(lambda user, row: str(row["in"])).count(store="regions")
    return builder


def _windows(grouped: Any) -> None:
    def total(key: str, order: Any, so_far: int) -> int:
        return int(so_far + order["amount"])

    def merged(key: str, one: int, two: int) -> int:
        return one + two

    for name, windows in {
        "tumbling": tumbling("1 minute", grace="1 hour"),
        "hopping": hopping("1 minute", "20 seconds", grace="1 hour"),
        "sliding": sliding("30 seconds", grace="1 hour"),
    }.items():
        grouped.windowed_by(windows).aggregate(lambda: 0, total, value=Long(), store=name)
    grouped.windowed_by(session("15 seconds", grace="1 hour")).aggregate(
        lambda: 0, total, merged, value=Long(), store="sessions"
    )


def records(seed: int, count: int = 600, first: int = 1_000_000) -> list[Record]:
    """In the order of time, one a second."""
    chance = random.Random(seed)
    made: list[Record] = []
    for number in range(count):
        time = first + number * 1000 + chance.randrange(900)
        kind = chance.random()
        user, city = f"u{chance.randrange(12)}", f"c{chance.randrange(5)}"
        if kind < 0.55:
            made.append(("orders", f"o{chance.randrange(80)}", {"user": user, "amount": chance.randrange(100)}, time))
        elif kind < 0.75:
            made.append(("returns", f"o{chance.randrange(80)}", {"n": number}, time))
        elif kind < 0.92:
            gone = chance.random() < 0.1
            made.append(("users", user, None if gone else {"city": city, "n": number}, time))
        else:
            made.append(("cities", city, None if chance.random() < 0.2 else {"region": f"r{number % 3}"}, time))
    return made


def encoded(record: Record) -> tuple[bytes, bytes | None, int]:
    _, key, value, time = record
    return key.encode(), None if value is None else orjson.dumps(value), time


def expected_tables(seed: int, first: int = 1_000_000) -> dict[str, dict[bytes, tuple[bytes, int]]]:
    """Of the in-process host, which has one partition and takes one record after the other."""
    topology = build().build()
    with TopologyTestDriver(topology) as driver:
        for record in records(seed, first=first):
            driver.pipe_bytes(record[0], *encoded(record))
        return {
            spec.name: {key: (value, time) for key, value, time in entries(spec, driver.store(spec.name))}
            for sub in topology.subtopologies
            for spec in sub.stores
            if is_table(spec)
        }
