"""What the kill tests of Streams run: the application as processes under a supervisor, its feeder, its watcher.

`Supervised` starts `caudal run` again whenever it ends, as systemd would. `Feeder` keeps the books of what went in,
`Watcher` sees what came out. `Markers` reads from the broker's files which transactions were open or rolled back.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from caudal.broker.log.store import iter_partition_folders
from caudal.broker.wire.batch import iter_batches, read_marker, records

APP = Path(__file__).parents[1] / "spark" / "apps" / "order_book.py"
USERS = [f"user{number}" for number in range(10)]
PARTITIONS = 2
RESTART_SECONDS = 0.2  # of the supervisor
CLIENT = {"metadata.recovery.strategy": "none", "reconnect.backoff.max.ms": 500, "log_level": 0}


class Supervised:
    """`caudal run` in a process of its own, started again when it ends."""

    def __init__(self, bootstrap: str, folder: Path, *arguments: str, seconds_per_order: float) -> None:
        self.output = folder / "application.output"
        self.exits: list[int] = []
        self._code = 0  # of the last exit
        self._command = [sys.executable, "-m", "caudal.cli.main", "run", str(APP), "--bootstrap", bootstrap]
        self._command += ["--threads", "2", "--state-dir", str(folder / "state"), *arguments]
        self._environment = {
            **os.environ,
            "SECONDS_PER_ORDER": str(seconds_per_order),
            # A JVM that lives for seconds gains nothing from the optimising compiler, and tests share the machine.
            "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        self._stopping = threading.Event()
        self._begin()
        self._thread = threading.Thread(target=self._supervise, name="supervisor", daemon=True)
        self._thread.start()

    def _begin(self) -> None:
        with self.output.open("ab") as output:
            self.driver = psutil.Popen(
                self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def _supervise(self) -> None:
        while True:
            self._code = self.driver.wait()
            if self._stopping.is_set():
                return
            self.exits.append(self._code)
            if self._stopping.wait(RESTART_SECONDS):
                return
            self._begin()

    def descendants(self) -> list[psutil.Process]:
        try:
            found: list[psutil.Process] = self.driver.children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        return found

    def jvm(self) -> psutil.Process | None:
        return next((process for process in self.descendants() if _name(process) == "java"), None)

    def workers(self) -> list[psutil.Process]:
        """Forks of Spark's Python daemon: where tasks run."""
        daemons = [process for process in self.descendants() if _is_daemon(process)]
        pids = {process.pid for process in daemons}
        return [process for process in daemons if _parent(process) in pids]

    def said(self) -> str:
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def stop(self) -> int:
        """Ends it in good order; the exit code."""
        self._stopping.set()
        self.driver.send_signal(signal.SIGTERM)
        self._thread.join(90)
        assert not self._thread.is_alive(), "the application does not stop"
        return self._code

    def close(self) -> None:
        self._stopping.set()
        kill_all([self.driver, *self.descendants()])


def kill_all(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(processes, 10)


def _name(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return ""


def _parent(process: psutil.Process) -> int:
    try:
        return int(process.ppid())
    except psutil.NoSuchProcess:
        return -1


def _is_daemon(process: psutil.Process) -> bool:
    try:
        return "pyspark.daemon" in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class Feeder:
    """An idempotent producer of orders, with the books. A customer's version goes up now and then."""

    def __init__(self, bootstrap: str, dice: random.Random, *, orders_per_second: float) -> None:
        self._dice = dice
        self._pause = 5 / orders_per_second
        self.sent = 0
        self.users: list[str] = []  # of order n
        self.acknowledged: set[int] = set()
        self.versions = dict.fromkeys(USERS, 0)
        self.failure: str | None = None
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 300_000,
                "linger.ms": 2,
                "partitioner": "murmur2_random",
                **CLIENT,
            }
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feeder", daemon=True)

    def start(self) -> None:
        """Every customer is there before the first order."""
        for user in USERS:
            self._send_customer(user)
        assert self._producer.flush(30) == 0
        self._thread.start()

    def stop(self) -> None:
        """What was sent is acknowledged afterwards."""
        self._stopping.set()
        self._thread.join(30)
        left = self._producer.flush(60)
        assert left == 0, f"{left} orders were not acknowledged"
        assert self.failure is None, self.failure
        assert self.acknowledged == set(range(self.sent))

    def expected(self) -> dict[str, int]:
        return dict(Counter(self.users))

    def _run(self) -> None:
        while not self._stopping.wait(self._pause):
            for _ in range(5):
                number, user = self.sent, self._dice.choice(USERS)
                self.users.append(user)
                value = json.dumps({"n": number, "user": user})
                partition = number % PARTITIONS
                self._producer.produce("orders", value, str(number), partition, on_delivery=self._report(number))
                self.sent += 1
            if self._dice.random() < 0.05:
                self._send_customer(self._dice.choice(USERS))
            self._producer.poll(0)

    def _send_customer(self, user: str) -> None:
        self.versions[user] += 1
        self._producer.produce("customers", json.dumps({"version": self.versions[user]}), user)

    def _report(self, number: int) -> Callable[[Any, Any], None]:
        def delivered(error: Any, message: Any) -> None:
            if error is None:
                self.acknowledged.add(number)
            else:
                self.failure = f"order {number} was not taken: {error}"

        return delivered


class Watcher:
    """Reads the join's output as it is committed: which orders came through, over which path."""

    def __init__(self, bootstrap: str, isolation: str) -> None:
        self.seen: Counter[int] = Counter()
        self._latest: dict[tuple[int, int], int] = defaultdict(lambda: -1)  # source and target partition → order
        self._bootstrap = bootstrap
        self._isolation = isolation
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "watcher",
                "enable.auto.commit": False,
                "isolation.level": self._isolation,
                "fetch.wait.max.ms": 20,
                **CLIENT,
            }
        )
        consumer.assign([TopicPartition("enriched", partition, 0) for partition in range(PARTITIONS)])
        while not self._stopping.is_set():
            for message in consumer.consume(500, 0.05):
                if message.error() is None:
                    number = json.loads(message.value())["n"]
                    self.seen[number] += 1
                    path = (number % PARTITIONS, message.partition())
                    self._latest[path] = max(self._latest[path], number)
        consumer.close()

    def is_past(self, number: int) -> bool:
        """Whether a later order came through on every path: every task works again."""
        paths = [(source, target) for source in range(PARTITIONS) for target in range(PARTITIONS)]
        return all(self._latest[path] >= number for path in paths)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(10)


class Marker(NamedTuple):
    timestamp: int  # milliseconds
    topic: str
    partition: int
    producer: tuple[int, int]  # id and epoch
    aborts: bool


class Markers:
    """What the broker's files say about the transactions of an application."""

    def __init__(self, data: Path) -> None:
        self.all: list[Marker] = []
        self.open: set[tuple[str, int, int]] = set()  # topic, partition, producer id: records without a marker
        self.records: Counter[str] = Counter()  # by topic, committed or not
        self.rolled_back = 0
        for folder, (topic, partition) in iter_partition_folders(data):
            if not topic.startswith("__"):
                self._read(folder, topic, partition)

    def _read(self, folder: Path, topic: str, partition: int) -> None:
        pending: Counter[int] = Counter()
        for file in sorted(folder.glob("*.log")):
            content = file.read_bytes()
            for position, header in iter_batches(content):
                if not header.is_control:
                    self.records[topic] += header.record_count
                    if header.is_transactional:
                        pending[header.producer_id] += header.record_count
                    continue
                marker = read_marker(next(records(content, position, header)))
                aborts = marker is not None and not marker.commit
                producer = (header.producer_id, header.producer_epoch)
                self.all.append(Marker(header.max_timestamp, topic, partition, producer, aborts))
                count = pending.pop(header.producer_id, 0)
                self.rolled_back += count if aborts else 0
        self.open |= {(topic, partition, producer) for producer in pending}

    def aborted(self, first: float, end: float) -> int:
        """Transactions rolled back between two moments (seconds since 1970)."""
        return len({m.producer for m in self.all if m.aborts and first * 1000 <= m.timestamp < end * 1000})
