"""Keepers of one application: one owns it for as long as it lives, the others stand by."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from caudal.runtime.spark.keeper import Keeper
from caudal.runtime.spark.settings import Settings, keeper_topic

from .conftest import Kafka


@pytest.fixture
def keeper(kafka: Kafka, unique: Callable[[str], str]) -> Iterator[Callable[[], Keeper]]:
    application, source = unique("app"), unique("orders")
    kafka.create(source, partitions=3)
    kafka.create(keeper_topic(application), partitions=1)
    made: list[Keeper] = []

    def start() -> Keeper:
        made.append(Keeper(application, Settings(bootstrap=kafka.bootstrap), [source], lambda: None))
        made[-1].start()
        return made[-1]

    yield start
    for one in made:
        one.close()


def owners(keepers: list[Keeper]) -> list[bool]:
    return [one.settled for one in keepers]


def test_an_owner_stays_the_owner_when_another_comes(kafka: Kafka, keeper: Callable[[], Keeper]) -> None:
    first = keeper()
    kafka.until(lambda: first.settled, True, 30)
    second = keeper()
    kafka.until(lambda: second.joined, True, 30)
    deadline = time.monotonic() + 6
    while time.monotonic() < deadline:  # the assignor used to take it away after a second or two
        assert owners([first, second]) == [True, False]
        time.sleep(0.05)
    first.close()
    kafka.until(lambda: second.settled, True, 30)


def test_of_several_that_come_together_one_owns(kafka: Kafka, keeper: Callable[[], Keeper]) -> None:
    keepers = [keeper() for _ in range(3)]
    kafka.until(lambda: sum(owners(keepers)), 1, 60)
    settled: Any = None
    since = time.monotonic()
    deadline = since + 60
    while time.monotonic() - since < 4:  # for so long the same one
        now = owners(keepers)
        if now != settled or sum(now) != 1:
            settled, since = now, time.monotonic()
        assert time.monotonic() < deadline, f"the ownership does not settle: {now}"
        time.sleep(0.05)
