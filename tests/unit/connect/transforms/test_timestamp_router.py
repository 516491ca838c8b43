"""TimestampRouter: topics by time."""

from __future__ import annotations

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, check, check_bad_config, configured, record_of

from caudal.connect.data import STRING
from caudal.connect.transforms.timestamp_router import TimestampRouter


def route(
    name: str, new: str, topic_format: str | None = None, format: str | None = None, timestamp: int | None = None
) -> Case:
    config = {"topic.format": topic_format, "timestamp.format": format}
    record = {} if timestamp is None else {"timestamp": timestamp}
    given = {key: value for key, value in config.items() if value is not None}
    return Case(name, given, "v", STRING, record=record, changes={"topic": new})


CASES = [
    route("by default", "orders-20231114"),
    route("by month", "orders-2023-11", format="yyyy-MM"),
    route("by hour", "orders-2023111422", format="yyyyMMddHH"),
    route("milliseconds", "orders-123", format="SSS"),
    route("another form", "2023/orders/x", "${timestamp}/${topic}/x", "yyyy"),
    route("neither", "all", "all"),
    route("twice", "orders-orders", "${topic}-${topic}"),
    route("texts in quotes", "orders-day 14", format="'day' d"),
    route("weeks", "orders-2023 46 3", format="YYYY w W"),
    route("the last week of a year", "orders-2024 01", format="YYYY ww", timestamp=1_704_000_000_000),
    route("the turn of a year", "orders-20231231", timestamp=1_704_067_199_999),
    route("before 1970", "orders-19691231", timestamp=-1),
    route("names", "orders-Tue Tuesday Nov November PM AD", format="E EEEE MMM MMMM a G"),
    route("other numbers", "orders-23 318 2 2 22 10 10", format="yy D F u k K h"),
    route("zones", "orders-UTC +0000 Z Z Z", format="z Z X XX XXX"),
    Case(
        "no timestamp", {}, "v", STRING, record={"timestamp": None}, error="needs a timestamp, and the record has none"
    ),
    Case("a tombstone", {}, changes={"topic": "orders-20231114"}),
    Case("a source's record", {}, "v", STRING, is_source=True, changes={"topic": "orders-20231114"}),
]
BAD_CONFIGS = [
    BadConfig(
        "an unknown letter",
        {"timestamp.format": "yyyy-bb"},
        "the letter b has no meaning",
        java="Kafka finds out with the first record",
    ),
    BadConfig(
        "an open quote",
        {"timestamp.format": "yyyy'T"},
        "a quote is not closed",
        java="Kafka finds out with the first record",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_timestamp_router(case: Case) -> None:
    check(TimestampRouter, case)


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(TimestampRouter, case)


def test_the_text_of_a_second_is_kept_for_it_alone() -> None:
    transform = configured(TimestampRouter, {"timestamp.format": "ss"})
    topics = [
        transform.apply(record_of(Case("", {}, "v", STRING, record={"topic": topic, "timestamp": at}), "value"))
        for topic, at in [("a", 999), ("a", 1000), ("a", 1999), ("b", 1999), ("a", 999)]
    ]
    assert [record.topic for record in topics if record is not None] == ["a-00", "a-01", "a-01", "b-01", "a-00"]
