"""Streams on Spark under `kill -9`: of the driver, a Python worker, the JVM and the broker, at random moments.

The application has a repartition, a count with its changelog and a join with a table (tests/spark/apps/order_book.py);
orders keep coming while it is killed. What came out is compared with what was acknowledged to the feeder. A run prints
its seed and how many kills hit inside a transaction: `CAUDAL_CHAOS_SEED=123 pytest tests/chaos/test_streams_kills.py`.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from caudal.plan.naming import changelog_topic

from .process import BrokerProcess
from .streams import CLIENT, PARTITIONS, Feeder, Markers, Supervised, Watcher, kill_all
from .verify import check_files

pytest.importorskip("pyspark")
pytestmark = [pytest.mark.chaos, pytest.mark.spark]

KINDS = ("worker", "broker", "driver", "jvm")
SESSION_MS = 3000  # how long a killed driver keeps its successor waiting
RECOVERY_SECONDS = 60.0  # beyond the start of a driver, which takes what the first one took on this machine: a hang
PATIENCE_SECONDS = 400.0
AIMED = 0.6  # so many kills wait until a transaction is open; the others come at any moment
PROPERTIES = {"group.min.session.timeout.ms": "1000", "log.segment.bytes": str(8 << 20)}


@pytest.mark.timeout(1200)
def test_four_kills_and_every_order_counts_once(tmp_path: Path) -> None:
    with playing(tmp_path, "exactly_once") as play:
        play.kill(["worker", "broker", "driver", "worker"])
        play.end()
        play.check_exactly_once()
        assert play.hits() >= 1, "no kill hit inside a transaction"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_thirty_kills_and_every_order_counts_once(tmp_path: Path) -> None:
    with playing(tmp_path, "exactly_once") as play:
        kinds = ["worker"] * 12 + ["broker"] * 11 + ["driver"] * 5 + ["jvm"] * 2
        play.dice.shuffle(kinds)
        play.kill(kinds, overlap=0.2)
        play.end()
        play.check_exactly_once()
        assert play.hits() >= 5, "fewer than 5 kills hit inside a transaction"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_twenty_kills_in_real_time(tmp_path: Path) -> None:
    with playing(tmp_path, "exactly_once", "real-time") as play:
        kinds = ["worker"] * 8 + ["broker"] * 7 + ["driver"] * 4 + ["jvm"]
        play.dice.shuffle(kinds)
        play.kill(kinds, overlap=0.2)
        play.end()
        play.check_exactly_once()
        assert play.hits() >= 3, "fewer than 3 kills hit inside a transaction"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_at_least_once_loses_nothing(tmp_path: Path) -> None:
    with playing(tmp_path, "at_least_once") as play:
        play.kill(["worker", "worker", "driver", "worker"])
        play.end()
        orders = Counter(order["n"] for _, order in play.enriched())
        assert set(orders) == play.feeder.acknowledged
        print(f"{sum(orders.values()) - len(orders)} of {len(orders)} orders came again")
        expected, table = play.feeder.expected(), play.table()
        assert {user for user, count in expected.items() if table.get(user, 0) < count} == set(), "counts were lost"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_at_most_once_does_nothing_twice(tmp_path: Path) -> None:
    with playing(tmp_path, "at_most_once") as play:
        play.kill(["worker", "worker", "driver", "worker"])
        play.end()
        orders = Counter(order["n"] for _, order in play.enriched())
        assert [number for number, count in orders.items() if count > 1] == []
        assert set(orders) <= play.feeder.acknowledged
        print(f"{play.feeder.sent - len(orders)} of {play.feeder.sent} orders were lost")
        expected, table = play.feeder.expected(), play.table()
        assert {user for user, count in table.items() if count > expected[user]} == set(), "orders were counted twice"


@dataclass
class Kill:
    kind: str
    at: float  # seconds since 1970
    open: int = 0  # transactions that were open when the broker died
    recovery: float | None = None  # None: the next kill came first


@contextmanager
def playing(folder: Path, guarantee: str, mode: str = "micro-batch") -> Iterator[Play]:
    seed = int(os.environ.get("CAUDAL_CHAOS_SEED") or random.randrange(1 << 32))
    print(f"CAUDAL_CHAOS_SEED={seed}")
    play = Play(folder, guarantee, mode, seed)
    try:
        play.begin()
        yield play
    except BaseException:
        print("".join(f"{line}\n" for line in play.said().splitlines()[-60:]))
        raise
    finally:
        play.close()


class Play:
    def __init__(self, folder: Path, guarantee: str, mode: str, seed: int) -> None:
        self.dice = random.Random(seed)
        self.kills: list[Kill] = []
        self.guarantee = guarantee
        self._mode = mode
        self._folder = folder
        self._orphans: list[psutil.Process] = []
        self._app: Supervised | None = None
        self._started = time.monotonic()
        self._first_start = 0.0
        self.broker = BrokerProcess(folder / "data", PROPERTIES)

    # -- the play ----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self.broker.start()
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, **CLIENT})
        topics = [NewTopic(topic, PARTITIONS, 1) for topic in ("orders", "counts", "enriched")]
        topics.append(NewTopic("customers", PARTITIONS, 1, config={"cleanup.policy": "compact"}))
        for made in admin.create_topics(topics).values():
            made.result()
        arguments = ["--guarantee", self.guarantee, "--mode", self._mode, "-X", f"session.timeout.ms={SESSION_MS}"]
        self._app = Supervised(self.broker.bootstrap, self._folder, *arguments, seconds_per_order=0.003)
        isolation = "read_committed" if self.guarantee == "exactly_once" else "read_uncommitted"
        self.watcher = Watcher(self.broker.bootstrap, isolation)
        self.feeder = Feeder(self.broker.bootstrap, random.Random(self.dice.random()), orders_per_second=100)
        self._wait_for(lambda: "is RUNNING" in self.said(), "the start")
        self.feeder.start()
        self._wait_until_past(0)
        self._first_start = time.monotonic() - self._started
        self._say("running")

    @property
    def app(self) -> Supervised:
        assert self._app is not None
        return self._app

    def kill(self, kinds: Sequence[str], overlap: float = 0.0) -> None:
        """Kills one after the other. `overlap`: how often the next comes before this one is recovered from."""
        for number, kind in enumerate(kinds, 1):
            time.sleep(self.dice.uniform(0.2, 1.5))
            kill = self._kill(kind, aimed=self.dice.random() < AIMED)
            began = time.monotonic()
            if kind in ("worker", "broker") and self.dice.random() < overlap:
                self._say(f"kill {number} ({kind}); the next follows at once")
                continue
            self._wait_until_past(self.feeder.sent)
            kill.recovery = time.monotonic() - began
            self._check_processes()
            self._say(f"kill {number} ({kind}): recovered in {kill.recovery:.1f} s")

    def _wait_for_transaction(self) -> None:
        """Until one is open, or for a few seconds: other guarantees have none, and a recovery may be under way."""
        deadline = time.monotonic() + 5
        while not Markers(self.broker.data).open and time.monotonic() < deadline:
            time.sleep(0.005)

    def _kill(self, kind: str, aimed: bool) -> Kill:
        victim = {
            "worker": lambda: self._any_worker(),
            "driver": lambda: self.app.driver,
            "jvm": lambda: self._wait_for(self.app.jvm, "the JVM"),
        }.get(kind)
        process = victim() if victim is not None else None
        if kind == "driver":
            self._orphans = self.app.descendants()
        if aimed:
            self._wait_for_transaction()
        if process is None:
            return self._kill_broker()
        exits = len(self.app.exits)
        kill = Kill(kind, time.time())
        self.kills.append(kill)
        process.kill()
        if kind in ("driver", "jvm"):
            self._wait_for(lambda: len(self.app.exits) > exits, f"the driver's end after the death of the {kind}")
            self._say(f"the driver ended {time.time() - kill.at:.1f} s after the {kind} was killed")
        return kill

    def _kill_broker(self) -> Kill:
        kill = Kill("broker", time.time())
        self.kills.append(kill)
        self.broker.kill()
        kill.open = len({producer for *_, producer in Markers(self.broker.data).open})
        time.sleep(self.dice.choice((0.0, 0.5)))
        self.broker.start()
        return kill

    def _any_worker(self) -> psutil.Process:
        return self.dice.choice(self._wait_for(self.app.workers, "a Python worker"))

    def _wait_until_past(self, number: int) -> None:
        self._wait_for(lambda: self.watcher.is_past(number), f"an order after {number} on every path")

    def _wait_for(self, question: Callable[[], Any], what: str) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (answer := question()):
            assert time.monotonic() < deadline, f"{what} did not come in {PATIENCE_SECONDS:.0f} s"
            assert self.feeder.failure is None, self.feeder.failure
            time.sleep(0.02)
        return answer

    def _check_processes(self) -> None:
        """The driver ended only where it was killed or lost its JVM, and a killed driver leaves nobody behind."""
        deadly = sum(kill.kind in ("driver", "jvm") for kill in self.kills)
        assert len(self.app.exits) == deadly, (
            f"the application ended by itself: {self.app.exits}\n{self.said()[-3000:]}"
        )
        left = [process for process in self._orphans if process.is_running()]
        assert not left, f"a killed driver left processes behind: {left}"

    def end(self) -> None:
        """All input acknowledged and processed, the application stopped in good order."""
        self.feeder.stop()
        if self.guarantee != "at_most_once":
            wanted = self.feeder.acknowledged
            self._wait_for(lambda: len(self.watcher.seen) >= len(wanted), "the last order")
        self._wait_for(lambda: self._committed() == self._ends(), "the commit of all input")
        self._check_processes()
        assert self.app.stop() == 0
        self.watcher.stop()
        self._say("stopped")
        self._report()

    def _report(self) -> None:
        for kind in KINDS:
            took = [kill.recovery for kill in self.kills if kill.kind == kind and kill.recovery is not None]
            if took:
                print(f"{kind}: {len(took)} recoveries, median {statistics.median(took):.1f} s, max {max(took):.1f} s")
        print(f"{(time.monotonic() - self._started) / len(self.kills):.1f} s per kill; {self.feeder.sent} orders")
        limit = RECOVERY_SECONDS + 2 * self._first_start
        stuck = [kill for kill in self.kills if (kill.recovery or 0) > limit]
        assert not stuck, f"recoveries that took longer than {limit:.0f} s: {stuck}"

    def check_exactly_once(self) -> None:
        expected = self.feeder.expected()
        seen: dict[str, list[int]] = defaultdict(list)
        for message in self._read("counts"):
            seen[message.key().decode()].append(_number(message.value()))
        wrong = {user: _oddities(counts, expected.get(user, 0)) for user, counts in seen.items()}
        assert not any(wrong.values()), wrong
        assert self.table() == expected
        logged = {m.key().decode(): m.value() for m in self._read(changelog_topic("order-book", "counts"))}
        assert {user: _number(value) for user, value in logged.items()} == expected, "the changelog is another table"
        orders, versions = Counter[int](), defaultdict[str, int](int)
        for user, order in self.enriched():
            orders[order["n"]] += 1
            assert versions[user] <= order["version"] <= self.feeder.versions[user], f"{order} met an old customer"
            versions[user] = order["version"]
        assert [number for number, count in orders.items() if count > 1] == [], "orders were joined twice"
        assert set(orders) == self.feeder.acknowledged, "orders were not joined"
        assert self.broker.stop() == 0
        assert check_files(self.broker.data) > 0

    def hits(self) -> int:
        """Kills inside a transaction: rolled back afterwards, or open when the broker died."""
        markers = Markers(self.broker.data)
        ends = [kill.at for kill in self.kills[1:]] + [time.time()]
        hits = 0
        for kill, end in zip(self.kills, ends, strict=True):
            aborted = markers.aborted(kill.at, end)
            hits += bool(aborted or kill.open)
            print(f"{kill.kind}: {aborted} transactions rolled back, {kill.open} open at the broker's death")
        print(f"{hits} of {len(self.kills)} kills hit inside a transaction; {markers.rolled_back} records rolled back")
        return hits

    def enriched(self) -> list[tuple[str, dict[str, Any]]]:
        return [(message.key().decode(), json.loads(message.value())) for message in self._read("enriched")]

    def table(self) -> dict[str, int]:
        return {message.key().decode(): _number(message.value()) for message in self._read("counts")}

    def _consumer(self, group: str) -> Consumer:
        isolation = "read_committed" if self.guarantee == "exactly_once" else "read_uncommitted"
        return Consumer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "group.id": group,
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                **CLIENT,
            }
        )

    def _read(self, topic: str) -> list[Any]:
        """Every record, partition by partition."""
        consumer = self._consumer("verification")
        found: list[Any] = []
        ended: set[int] = set()
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)])
        deadline = time.monotonic() + 60
        while len(ended) < PARTITIONS:
            assert time.monotonic() < deadline, f"{topic} cannot be read to its end"
            for message in consumer.consume(1000, 0.1):
                if message.error() is None:
                    found.append(message)
                else:
                    assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                    ended.add(message.partition())
        consumer.close()
        return sorted(found, key=lambda message: (message.partition(), message.offset()))

    def _places(self) -> list[TopicPartition]:
        return [TopicPartition(topic, number) for topic in ("orders", "customers") for number in range(PARTITIONS)]

    def _committed(self) -> dict[tuple[str, int], int]:
        consumer = self._consumer("order-book")
        try:
            return {(place.topic, place.partition): place.offset for place in consumer.committed(self._places(), 30)}
        finally:
            consumer.close()

    def _ends(self) -> dict[tuple[str, int], int]:
        consumer = self._consumer("verification")
        try:
            return {
                (place.topic, place.partition): consumer.get_watermark_offsets(place, 30)[1] for place in self._places()
            }
        finally:
            consumer.close()

    # -- around it ---------------------------------------------------------------------------------------------------

    def said(self) -> str:
        return self._app.said() if self._app is not None else ""

    def _say(self, text: str) -> None:
        print(f"{time.monotonic() - self._started:6.1f} s: {text}")

    def close(self) -> None:
        if self._app is not None:
            self._app.close()
        kill_all(self._orphans)
        self.broker.close()


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def _oddities(counts: list[int], expected: int) -> list[str]:
    """What is not 1, 2, 3 … up to the expected."""
    if counts == list(range(1, expected + 1)):
        return []
    found = Counter(counts)
    return [
        f"missing {[n for n in range(1, expected + 1) if n not in found][:10]}",
        f"twice {[n for n, count in found.items() if count > 1][:10]}",
        f"{len(counts)} counts, {expected} expected",
    ]
