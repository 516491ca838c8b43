"""The longest acknowledged prefix of each source partition, against a model that knows every record."""

from __future__ import annotations

import random
from typing import Any

import pytest

from caudal.connect.runtime.tasks.acknowledgements import SPAN, Acknowledgements, Span, partition_key


def refuse(error: Any, message: Any) -> bool:
    return False


def submit(acks: Acknowledgements, source: str, n: int) -> Span:
    span = acks.span({"source": source})
    span.sent += 1
    span.offset = {"n": n}
    return span


def committed(acks: Acknowledgements) -> dict[str, int]:
    return {partition["source"]: offset["n"] for partition, offset in acks.committable().values()}


def test_an_offset_waits_for_all_before_it() -> None:
    acks = Acknowledgements(refuse)
    first = submit(acks, "a", 1)
    acks.seal()
    second = submit(acks, "a", 2)
    acks.seal()
    second(None, None)
    assert committed(acks) == {}
    assert acks.pending == 1
    first(None, None)
    assert committed(acks) == {"a": 2}
    assert committed(acks) == {}


def test_source_partitions_do_not_wait_for_each_other() -> None:
    acks = Acknowledgements(refuse)
    submit(acks, "slow", 1)
    submit(acks, "quick", 7)(None, None)
    acks.seal()
    assert committed(acks) == {"quick": 7}


def test_what_is_still_being_sent_is_not_committed() -> None:
    acks = Acknowledgements(refuse)
    submit(acks, "a", 1)(None, None)
    assert committed(acks) == {}, "the rest of the poll may belong to it"
    acks.seal()
    assert committed(acks) == {"a": 1}


def test_a_refused_record_holds_its_partition_back_for_ever() -> None:
    acks = Acknowledgements(refuse)
    submit(acks, "a", 1)("error", None)
    acks.seal()
    submit(acks, "a", 2)(None, None)
    acks.seal()
    assert committed(acks) == {}


def test_a_refused_record_that_is_tolerated_counts_as_written() -> None:
    acks = Acknowledgements(lambda error, message: True)
    submit(acks, "a", 1)("error", None)
    acks.seal()
    assert committed(acks) == {"a": 1}


def test_dropped_records_move_the_offset() -> None:
    acks = Acknowledgements(refuse)
    sent = submit(acks, "a", 1)
    acks.span({"source": "a"}).offset = {"n": 2}
    acks.seal()
    assert committed(acks) == {}
    sent(None, None)
    assert committed(acks) == {"a": 2}


def test_the_order_of_a_partitions_fields_does_not_matter() -> None:
    assert partition_key({"a": 1, "b": 2}) == partition_key({"b": 2, "a": 1})
    assert partition_key({"a": 1}) != partition_key({"a": True})
    assert partition_key({"a": 2**70}) != partition_key({"a": 2**71})


@pytest.mark.parametrize("seed", range(6))
def test_any_order_of_acknowledgements_commits_only_acknowledged_prefixes(seed: int) -> None:
    dice = random.Random(seed)
    acks = Acknowledgements(refuse)
    sources = ["a", "b", "c"]
    next_of = dict.fromkeys(sources, 0)
    acknowledged: dict[str, set[int]] = {source: set() for source in sources}
    waiting: list[tuple[str, int, Span]] = []
    last = dict.fromkeys(sources, -1)
    for _ in range(60):
        for _ in range(dice.choice([1, 10, SPAN + 50])):
            source = dice.choice(sources)
            waiting.append((source, next_of[source], submit(acks, source, next_of[source])))
            next_of[source] += 1
        if dice.random() < 0.7:
            acks.seal()
        dice.shuffle(waiting)
        for _ in range(dice.randrange(len(waiting) + 1)):
            source, n, span = waiting.pop()
            span(None, None)
            acknowledged[source].add(n)
        for source, n in committed(acks).items():
            assert n > last[source]
            assert all(one in acknowledged[source] for one in range(last[source] + 1, n + 1))
            last[source] = n
    acks.seal()
    for source, n, span in waiting:
        span(None, None)
        acknowledged[source].add(n)
    last.update(committed(acks))
    assert last == {source: end - 1 for source, end in next_of.items()}
    assert acks.pending == 0
