"""Views against a real broker: they say what the stores say, only what is committed, and go on after a restart."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions
from tests.unit.views.changelogs import Tasks, records_taken, tasks

from caudal.runtime.record import Windowed
from caudal.runtime.spark.settings import Settings
from caudal.runtime.stores import StateError
from caudal.serde import Json, Long, SerdeError, String
from caudal.streams import StreamsBuilder, in_memory, persistent, session, tumbling
from caudal.testing import EmbeddedBroker, embedded_broker
from caudal.views import (
    ApplicationViews,
    NoChangelog,
    NotCaughtUp,
    UnknownStore,
    ViewError,
    follower,
    index,
    open_view,
)

Open = Callable[..., ApplicationViews]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker() as started:
        yield started


@pytest.fixture
def views(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Open]:
    """Views of a topology, as an application has them; closed after the test."""
    opened: list[ApplicationViews] = []

    def open_views(topology: Any, **settings: Any) -> ApplicationViews:
        made = Settings(bootstrap=broker.bootstrap, state_dir=str(tmp_path), **settings)
        opened.append(ApplicationViews(topology, made))
        return opened[-1]

    yield open_views
    for made in opened:
        made.close()


def counting(application_id: str, **keep: Any) -> StreamsBuilder:
    builder = StreamsBuilder(application_id)
    group = builder.stream("words", key=String(), value=String()).group_by_key()
    group.count(store=persistent("n", **keep))
    return builder


def windows(application_id: str) -> StreamsBuilder:
    builder = StreamsBuilder(application_id)
    group = builder.stream("words", key=String(), value=String()).group_by_key()
    group.windowed_by(tumbling("10 seconds")).count(store=persistent("per-window", retention="1 minute"))
    return builder


def sessions(application_id: str) -> StreamsBuilder:
    builder = StreamsBuilder(application_id)
    group = builder.stream("words", key=String(), value=String()).group_by_key()
    group.windowed_by(session("5 seconds")).count(store=persistent("per-session", retention="1 hour"))
    return builder


def count(made: Tasks, *words: str, partition: int = 0, timestamp: int = 0) -> None:
    for word in words:
        made.drivers[partition].pipe_input("words", word, "", timestamp)


@pytest.mark.parametrize("engine", ["lmdb", "rocksdb"])
def test_keys_are_found_and_ranges_go_over_all_partitions_in_order(
    broker: EmbeddedBroker, views: Open, engine: str
) -> None:
    with tasks(broker, counting(f"keys-{engine}"), 3) as made:
        for number in range(1000):
            count(made, f"k{number:03d}", partition=number % 3, timestamp=number)
        count(made, "k007", "k007", partition=1, timestamp=5000)
        made.commit()
        view = views(made.topology, engine=engine).open("n").wait(20)
        assert view.get("k007") == 3
        assert view.get_with_timestamp("k007") == (3, 5000)
        assert view.get("nobody") is None
        everything = [(f"k{number:03d}", 3 if number == 7 else 1) for number in range(1000)]
        assert list(view.all()) == everything
        assert list(view.all(reverse=True)) == everything[::-1]
        assert list(view.range("k010", "k500")) == everything[10:501]
        assert list(view.range(last="k003", reverse=True)) == everything[3::-1]
        assert list(view.range("k998")) == everything[998:]
        assert list(view.range("k5", "k4")) == []
        assert view.approximate_count == pytest.approx(1000, abs=20)
        assert view.lag.total == 0 and set(view.lag.partitions) == {0, 1, 2}
        with pytest.raises(SerdeError, match="cannot write int 7"):
            view.get(7)


def test_it_says_what_the_store_says_for_every_kind_of_window(broker: EmbeddedBroker, views: Open) -> None:
    with tasks(broker, windows("windows")) as made:
        for number in range(300):
            count(made, f"w{number % 7}", timestamp=number * 500)
        made.commit()
        store, view = made.drivers[0].store("per-window"), views(made.topology).open("per-window").wait(20)
        assert list(view.all()) == list(store.all()), "retention included"
        assert next(view.all())[0].start == 90_000, "what is older than a minute has gone"
        assert list(view.fetch("w3", 100_000, 130_000)) == list(store.fetch_range("w3", 100_000, 130_000)) != []
        assert list(view.fetch("w3", reverse=True)) == list(store.backward_fetch_range("w3")) != []
        assert list(view.fetch_all(100_000, 110_000)) == list(store.fetch_all(100_000, 110_000)) != []
        assert list(view.fetch_all(reverse=True)) == list(store.backward_fetch_all())
        assert view.get("w3", 140_000) == store.fetch("w3", 140_000) is not None
        assert view.get("w3", 0) is None


def test_windows_of_several_partitions_come_in_the_order_of_time(broker: EmbeddedBroker, views: Open) -> None:
    with tasks(broker, windows("windows-2"), 2) as made:
        for number in range(40):
            count(made, f"w{number}", partition=number % 2, timestamp=number * 1000)
        made.commit()
        view = views(made.topology).open("per-window").wait(20)
        starts = [(row.start, row.key) for row, _ in view.all()]
        assert starts == sorted(starts) and len(starts) == 40
        assert [(row.start, row.key) for row, _ in view.all(reverse=True)] == starts[::-1]


def test_sessions_are_those_of_the_store(broker: EmbeddedBroker, views: Open) -> None:
    with tasks(broker, sessions("sessions")) as made:
        for timestamp in (0, 2000, 4000, 20_000, 21_000, 24_000):
            count(made, "a", timestamp=timestamp)
        count(made, "b", timestamp=21_500)
        made.commit()
        store, view = made.drivers[0].store("per-session"), views(made.topology).open("per-session").wait(20)
        assert list(view.fetch("a")) == list(store.fetch("a"))
        assert list(view.fetch("a")) == [(Windowed("a", 0, 4000), 3), (Windowed("a", 20_000, 24_000), 3)]
        assert list(view.fetch("a", reverse=True)) == list(store.backward_fetch("a"))
        assert list(view.all()) == list(store.all()) and len(list(view.all())) == 3
        assert view.get("a", 0, 4000) == 3 and view.get("a", 0, 2000) is None, "merged sessions have gone"


def test_only_what_is_committed_is_seen(broker: EmbeddedBroker, views: Open) -> None:
    with tasks(broker, counting("committed")) as made:
        count(made, "a")
        made.commit()
        view = views(made.topology).open("n").wait(20)
        count(made, "a", "b")
        made.produce()
        time.sleep(0.5)
        assert (view.get("a"), view.get("b")) == (1, None)
        assert view.get("a", wait=5) == 1, "an open transaction is not waited for: nothing of it is committed"
        made.end(commit=False)
        assert view.get("b", wait=5) is None, "and what is aborted is never seen"
        count(made, "a")
        made.commit()
        assert view.get("a", wait=5) == 3, "what was committed before the question is in the answer"


def test_deletions_arrive(broker: EmbeddedBroker, tmp_path: Path) -> None:
    broker.create_topic("deletions", 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("deletions", b"1", b"a")
    producer.produce("deletions", b"2", b"b")
    producer.produce("deletions", b"no key")
    producer.flush(10)
    with open_view("deletions", bootstrap=broker.bootstrap, key=String(), value=Json(), state_dir=tmp_path) as view:
        assert list(view.all(wait=20)) == [("a", 1), ("b", 2)]
        producer.produce("deletions", None, b"a")
        producer.produce("deletions", b"{not json", b"b")
        producer.flush(10)
        assert list(view.all(wait=20)) == [("b", 2)], "a record that does not parse changes nothing, as in a table"
        assert view.unreadable == 1


def test_a_restart_reads_only_the_tail(broker: EmbeddedBroker, views: Open) -> None:
    with tasks(broker, counting("restart"), 2) as made:
        for number in range(500):
            count(made, f"k{number}", partition=number % 2)
        made.commit()
        first = views(made.topology)
        assert first.open("n").get("k1", wait=20) == 1
        first.close()
        count(made, "k1", "new", partition=1)
        made.commit()
        second = views(made.topology)
        with records_taken() as taken:
            assert second.open("n").get("k1", wait=20) == 2
        assert len(list(second.open("n").all())) == 501
        assert sum(taken) == 2, "the two records that came after, no more"


def test_a_topic_made_anew_empties_the_view(
    broker: EmbeddedBroker, views: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "LOOK_SECONDS", 0.3)
    with tasks(broker, counting("anew")) as made:
        count(made, "a", "b", "c")
        made.commit()
        first = views(made.topology)
        assert len(list(first.open("n").all(wait=20))) == 3
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.delete_topics(["anew-n-changelog"])["anew-n-changelog"].result(10)
        deadline = time.monotonic() + 20
        while first.open("n").is_ready:
            assert time.monotonic() < deadline, "a deleted topic is noticed while it is followed"
            time.sleep(0.1)
        with pytest.raises(NotCaughtUp, match=r"does not exist|was deleted|[Uu]nknown topic"):
            first.open("n").get("a")
        broker.create_topic("anew-n-changelog", 1)
        count(made, "d")
        made.commit()
        assert list(first.open("n").all(wait=20)) == [("d", 1)]
        first.close()
        assert list(views(made.topology).open("n").all(wait=20)) == [("d", 1)]


def test_two_followers_of_one_store_do_not_disturb_each_other(broker: EmbeddedBroker, views: Open) -> None:
    with tasks(broker, counting("two")) as made:
        count(made, "a")
        made.commit()
        first, second = views(made.topology), views(made.topology)
        assert first.open("n").get("a", wait=20) == second.open("n").get("a", wait=20) == 1
        count(made, "a")
        made.commit()
        assert first.open("n").get("a", wait=20) == second.open("n").get("a", wait=20) == 2


def test_errors_say_what_to_do(broker: EmbeddedBroker, views: Open) -> None:
    builder = counting("errors")
    group = builder.stream("others", key=String(), value=String()).group_by_key()
    group.count(store=in_memory("fleeting", logged=False))
    topology = builder.build()
    made = views(topology)
    assert made.names == ("n",) and list(made) == ["n"] and "fleeting" not in made
    with pytest.raises(UnknownStore, match=r"'errors' has no store 'm' that can be asked; it has: 'n'\."):
        made.open("m")
    with pytest.raises(NoChangelog, match="Store 'fleeting' cannot be asked: it has no changelog"):
        made.open("fleeting")
    view = made.open("n")
    with pytest.raises(NotCaughtUp, match=r"topic 'errors-n-changelog'.* does not exist"):
        view.wait(2)
    with pytest.raises(NotCaughtUp):
        view.get("a")
    made.close()
    with pytest.raises(ViewError, match="'errors' was stopped"):
        made.open("n")
    with pytest.raises(ViewError, match="The view of store 'n' cannot be asked: it was closed"):
        view.get("a")


def test_a_lag_that_is_too_large_is_refused(broker: EmbeddedBroker, views: Open) -> None:
    with tasks(broker, counting("lagging")) as made:
        count(made, "a")
        made.commit()
        view = views(made.topology).open("n").wait(20)
        view._progress.measured({0: view._progress.positions[0] + 5})  # as if five had come that were not read yet
        assert view.lag.total == 5 and view.lag.partitions == {0: 5}
        assert view.get("a", max_lag=5) == 1
        with pytest.raises(NotCaughtUp, match="5 records behind"):
            view.get("a", max_lag=4)


def test_without_a_broker_it_answers_from_what_it_has(tmp_path: Path) -> None:
    with embedded_broker(data=tmp_path / "data") as broker, tasks(broker, counting("away")) as made:
        count(made, "a")
        made.commit()
        settings = Settings(bootstrap=broker.bootstrap, state_dir=str(tmp_path / "state"))
        away = ApplicationViews(made.topology, settings)
        try:
            view = away.open("n").wait(20)
            broker.stop()
            assert view.get("a") == 1
            with pytest.raises(NotCaughtUp, match="the cluster does not say"):
                view.get("a", wait=1)
            broker.start()
            assert view.get("a", wait=20) == 1
        finally:
            away.close()


def test_two_stores_on_one_topic_share_its_records(broker: EmbeddedBroker, views: Open, tmp_path: Path) -> None:
    broker.create_topic("shared", 2)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(100):
        producer.produce("shared", Long().serialize(number), f"k{number}".encode(), number % 2)
    producer.flush(10)
    builder = StreamsBuilder("sharing")
    builder.global_table("shared", key=String(), value=Long(), store="once")
    made = views(builder.build())
    assert len(list(made.open("once").all(wait=20))) == 100
    follower = made._follower
    second = open_view(
        "shared",
        bootstrap=broker.bootstrap,
        key=String(),
        value=Long(),
        follower=follower,
        state_dir=tmp_path / "second",
    )
    assert len(list(second.all(wait=20))) == 100, "from the beginning, though the other was at the end"
    producer.produce("shared", Long().serialize(7), b"k0", 0)
    producer.flush(10)
    assert made.open("once").get("k0", wait=20) == second.get("k0", wait=20) == 7
    second.close()
    with pytest.raises(ViewError, match="it was closed"):
        second.get("k0")
    producer.produce("shared", Long().serialize(8), b"k0", 0)
    producer.flush(10)
    assert made.open("once").get("k0", wait=20) == 8, "the other one goes on"


def test_partitions_that_are_added_are_followed(
    broker: EmbeddedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "LOOK_SECONDS", 0.3)
    broker.create_topic("wider", 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("wider", b"1", b"a", 0)
    producer.flush(10)
    with open_view("wider", bootstrap=broker.bootstrap, key=String(), value=Json(), state_dir=tmp_path) as view:
        assert view.get("a", wait=20) == 1
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_partitions([NewPartitions("wider", 3)])["wider"].result(10)
        producer.list_topics("wider", 10)
        producer.produce("wider", b"2", b"b", 2)
        producer.flush(10)
        deadline = time.monotonic() + 20
        with records_taken() as taken:
            while len(view.lag.partitions) != 3:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert list(view.all(wait=20)) == [("a", 1), ("b", 2)]
        assert sum(taken) == 1, "what was there is kept"


def test_a_view_that_cannot_be_written_fails_alone(
    broker: EmbeddedBroker, views: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = counting("full")
    builder.stream("words-2", key=String(), value=String()).group_by_key().count(store="m")
    with tasks(broker, builder) as made:
        count(made, "a")
        made.drivers[0].pipe_input("words-2", "a", "", 0)
        made.commit()
        opened = views(made.topology)
        good, bad = opened.open("n").wait(20), opened.open("m").wait(20)
        before = index.ViewIndex.apply

        def apply(self: Any, records: Any, offsets: Any) -> None:
            if self.name == "m" and records:
                raise StateError("The disk is full.")
            before(self, records, offsets)

        monkeypatch.setattr(index.ViewIndex, "apply", apply)
        count(made, "a")
        made.drivers[0].pipe_input("words-2", "a", "", 1)
        made.commit()
        assert good.get("a", wait=20) == 2
        with pytest.raises(ViewError, match="The view of store 'm' cannot be asked: The disk is full"):
            bad.get("a", wait=20)


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        ({}, None),
        ({"topic_id": "one", "offsets": {"0": 7, "1": 3}, "written": time.time()}, None),
        ({"topic_id": "one", "offsets": {"0": 10, "1": 5}, "written": 0}, None),  # old, but nothing came since
        ({"topic_id": "two", "offsets": {"0": 7}, "written": time.time()}, "deleted and made anew"),
        ({"topic_id": "one", "offsets": {"0": 11}, "written": time.time()}, "but the topic ends at 10"),
        ({"topic_id": "one", "offsets": {"1": 1}, "written": time.time()}, "but the topic begins at 2"),
        ({"topic_id": "one", "offsets": {"0": 7}, "written": time.time() - 86_400}, "24 hours old"),
    ],
)
def test_an_index_is_trusted_where_the_log_explains_it(tmp_path: Path, meta: dict[str, Any], why: str | None) -> None:
    spec = counting("trust").build().stores["n"]
    made = index.ViewIndex(tmp_path, spec, 2, "lmdb")
    made.meta = meta
    said = follower.doubt(made, "one", {0: 0, 1: 2}, {0: 10, 1: 5})
    made.close()
    assert said is None if why is None else said is not None and why in said


def test_an_index_is_as_old_as_the_last_time_it_was_as_the_log(tmp_path: Path) -> None:
    spec = counting("age").build().stores["n"]
    made = index.ViewIndex(tmp_path, spec, 1, "lmdb")
    made.begin("one", {0: 0}, anew=False)
    made.apply({0: [(b"a", Long().serialize(1), 0)]}, {0: 1})
    made._commit({**made.meta, "written": time.time() - 100})
    made.close()
    again = index.ViewIndex(tmp_path, spec, 1, "lmdb")
    assert again.offsets == {0: 1} and again.age > 99
    again.begin("one", again.offsets, anew=False)
    assert again.age > 99, "that somebody looked at it makes it no younger"
    again.apply({}, {0: 1})
    assert again.age < 50
    again.begin("two", {0: 0}, anew=True)
    with again.reading() as stores:
        assert stores[0].get("a") is None and again.offsets == {0: 0}
    again.close()
