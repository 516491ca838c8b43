"""Fetch sessions: what a client need not repeat, what it is not told twice, and when a session ends."""

from __future__ import annotations

from caudal.broker.errors import ErrorCode
from caudal.broker.fetch_sessions import FetchSessions
from caudal.broker.wire.fetch import FetchRequest, PartitionRequest, PartitionResponse


def asks(*partitions: int, session: int = 0, epoch: int = 0, forgotten: tuple[int, ...] = ()) -> FetchRequest:
    items = [PartitionRequest("t", number, -1, 10 * number, -1, 1000) for number in partitions]
    return FetchRequest(-1, 0, 1, 1000, 0, session, epoch, items, [("t", number) for number in forgotten], "")


def answer(number: int, high_watermark: int = 5, records: bytes = b"") -> PartitionResponse:
    return PartitionResponse("t", number, ErrorCode.none, high_watermark, high_watermark, 0, None, records)


def test_a_session_remembers_what_was_asked() -> None:
    sessions = FetchSessions(10)
    first = sessions.open(asks(1, 2, 3))
    assert first.session is not None and not first.incremental
    second = sessions.open(asks(session=first.session.id, epoch=1, forgotten=(2,)))
    assert second.incremental
    assert [item.partition for item in second.partitions] == [1, 3]


def test_only_news_is_told() -> None:
    session = FetchSessions(10).open(asks(1, 2)).session
    assert session is not None
    assert len(session.filter([answer(1), answer(2)])) == 2
    assert session.filter([answer(1), answer(2)]) == []
    assert [item.partition for item in session.filter([answer(1), answer(2, high_watermark=6)])] == [2]
    assert [item.partition for item in session.filter([answer(1, records=b"x"), answer(2, high_watermark=6)])] == [1]


def test_a_partition_that_was_served_goes_to_the_end_of_the_row() -> None:
    sessions = FetchSessions(10)
    session = sessions.open(asks(1, 2)).session
    assert session is not None
    session.filter([answer(1, records=b"x"), answer(2)])
    assert [item.partition for item in sessions.open(asks(session=session.id, epoch=1)).partitions] == [2, 1]


def test_a_wrong_epoch_or_an_unknown_session_is_said() -> None:
    sessions = FetchSessions(10)
    session = sessions.open(asks(1)).session
    assert session is not None
    assert sessions.open(asks(session=session.id, epoch=7)).error is ErrorCode.invalid_fetch_session_epoch
    assert sessions.open(asks(session=session.id + 1, epoch=1)).error is ErrorCode.fetch_session_id_not_found


def test_a_final_epoch_ends_the_session() -> None:
    sessions = FetchSessions(10)
    session = sessions.open(asks(1)).session
    assert session is not None
    assert sessions.open(asks(1, session=session.id, epoch=-1)).session is None
    assert sessions.sessions == {}


def test_a_full_cache_serves_newcomers_without_a_session_and_gives_way_to_them_later() -> None:
    sessions = FetchSessions(1)
    old = sessions.open(asks(1)).session
    assert old is not None
    assert sessions.open(asks(2)).session is None
    old.last_used -= sessions.EVICTABLE_SECONDS + 1
    assert sessions.open(asks(2)).session is not None
    assert old.id not in sessions.sessions
