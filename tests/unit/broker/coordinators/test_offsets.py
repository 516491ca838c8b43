"""Committed and pending offsets in memory: the newest record wins, transactions count when they end, retention."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

import pytest

from caudal.broker.coordinators.group import Group, State
from caudal.broker.coordinators.offsets import Committed, Offsets

DAY = 86_400_000
PRODUCER = (0, 77)


def entry(offset: int, at: int = 0, commit_timestamp: int = 0, expire_timestamp: int = -1) -> Committed:
    return Committed(offset, -1, "", commit_timestamp, expire_timestamp, None, at)


def test_the_newest_record_wins() -> None:
    offsets = Offsets()
    offsets.put("g", "t", 0, entry(5, at=10))
    offsets.put("g", "t", 0, entry(4, at=9))
    assert offsets.get("g", "t", 0) == entry(5, at=10)
    assert list(offsets) == [("g", "t", 0, 5)]


def test_a_transaction_counts_when_it_commits() -> None:
    offsets = Offsets()
    offsets.put("g", "t", 0, entry(1, at=1))
    offsets.put_pending(PRODUCER, "g", "t", 0, entry(9, at=2))
    assert offsets.is_unstable("g", "t", 0) and not offsets.is_unstable("g", "t", 1)
    assert offsets.get("g", "t", 0) == entry(1, at=1)
    offsets.complete(PRODUCER, commit=True)
    assert not offsets.is_unstable("g", "t", 0)
    assert offsets.get("g", "t", 0) == entry(9, at=2)
    offsets.complete(PRODUCER, commit=True)  # the marker again, after a crash


def test_an_aborted_transaction_leaves_nothing() -> None:
    offsets = Offsets()
    offsets.put_pending(PRODUCER, "g", "t", 0, entry(9, at=2))
    offsets.complete(PRODUCER, commit=False)
    assert not offsets.has_any("g")


def test_a_plain_commit_after_the_transactional_one_is_not_undone_by_the_marker() -> None:
    offsets = Offsets()
    offsets.put_pending(PRODUCER, "g", "t", 0, entry(9, at=2))
    offsets.put("g", "t", 0, entry(20, at=3))
    offsets.complete(PRODUCER, commit=True)
    assert offsets.get("g", "t", 0) == entry(20, at=3)


def test_two_producers_in_one_group_end_one_by_one() -> None:
    offsets = Offsets()
    offsets.put_pending((0, 1), "g", "t", 0, entry(1, at=1))
    offsets.put_pending((0, 2), "g", "t", 1, entry(2, at=2))
    offsets.complete((0, 1), commit=True)
    assert offsets.get("g", "t", 0) and offsets.get("g", "t", 1) is None
    assert offsets.is_unstable("g", "t", 1)


def test_a_tombstone_voids_what_a_transaction_holds() -> None:
    offsets = Offsets()
    offsets.put("g", "t", 0, entry(1, at=1))
    offsets.put_pending(PRODUCER, "g", "t", 0, entry(9, at=2))
    assert offsets.of_topic("t") == {"g": [0]}
    assert offsets.remove("g", "t", 0)
    offsets.complete(PRODUCER, commit=True)
    assert offsets.get("g", "t", 0) is None


def test_removing_a_group_removes_its_transactions() -> None:
    offsets = Offsets()
    offsets.put_pending(PRODUCER, "g", "t", 0, entry(9, at=2))
    offsets.put_pending(PRODUCER, "h", "t", 0, entry(8, at=3))
    offsets.remove_group("g")
    offsets.complete(PRODUCER, commit=True)
    assert offsets.get("g", "t", 0) is None and offsets.get("h", "t", 0) == entry(8, at=3)


def test_an_offset_of_another_topic_with_the_same_name() -> None:
    ours, other = uuid4(), uuid4()
    assert entry(1)._replace(topic_id=ours).belongs_to(ours)
    assert not entry(1)._replace(topic_id=ours).belongs_to(other)
    assert entry(1).belongs_to(other) and entry(1)._replace(topic_id=ours).belongs_to(None)


@dataclass
class Case:
    says: str
    state: State
    protocol_type: str | None
    state_timestamp: int | None
    commit_timestamp: int
    expires: bool
    subscribed: frozenset[str] | None = None
    expire_timestamp: int = -1


@pytest.mark.parametrize(
    "case",
    [
        Case("simple consumer: from its commit", State.EMPTY, None, 10 * DAY, 2 * DAY, expires=True),
        Case("simple consumer, recent", State.EMPTY, None, 0, 9 * DAY, expires=False),
        Case("empty for long", State.EMPTY, "consumer", 2 * DAY, 0, expires=True, subscribed=frozenset()),
        Case(
            "empty since a short time, old commit",
            State.EMPTY,
            "consumer",
            9 * DAY,
            0,
            expires=False,
            subscribed=frozenset(),
        ),
        Case("empty, time not known", State.EMPTY, "consumer", None, 2 * DAY, expires=True, subscribed=frozenset()),
        Case("still read", State.STABLE, "consumer", 0, 0, expires=False, subscribed=frozenset({"t"})),
        Case("no longer read", State.STABLE, "consumer", 0, 0, expires=True, subscribed=frozenset({"x"})),
        Case("no longer read, recent", State.STABLE, "consumer", 0, 9 * DAY, expires=False, subscribed=frozenset()),
        Case("rebalancing", State.PREPARING_REBALANCE, "consumer", 0, 0, expires=False, subscribed=frozenset()),
        Case("another protocol with members", State.STABLE, "connect", 0, 0, expires=False),
        Case("own retention, over", State.EMPTY, None, 0, 9 * DAY, expires=True, expire_timestamp=9 * DAY + 5),
        Case("own retention, not over", State.EMPTY, None, 0, 0, expires=False, expire_timestamp=11 * DAY),
    ],
    ids=lambda case: case.says,
)
def test_expiry_after_seven_days_at_day_ten(case: Case) -> None:
    group = Group("g", case.state_timestamp)
    group.state, group.protocol_type, group.subscribed_topics = case.state, case.protocol_type, case.subscribed
    offsets = Offsets()
    offsets.put("g", "t", 0, entry(1, commit_timestamp=case.commit_timestamp, expire_timestamp=case.expire_timestamp))
    assert offsets.expired(group, 10 * DAY, 7 * DAY) == ([("t", 0)] if case.expires else [])


def test_what_a_transaction_may_still_change_does_not_expire() -> None:
    offsets = Offsets()
    offsets.put("g", "t", 0, entry(1))
    offsets.put_pending(PRODUCER, "g", "t", 0, entry(2, at=1))
    assert offsets.expired(Group("g", 0), 10 * DAY, 7 * DAY) == []
