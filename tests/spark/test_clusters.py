"""One file, four places: Caudal's broker or Apache Kafka, this machine's Spark or a standalone cluster of a master and
two workers. Only the two addresses change. And what a cluster adds: workers that die, state that is not where the task
goes, and modules that the workers do not have."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from caudal import jars
from caudal.testing import embedded_broker

from .conftest import Kafka, number
from .standalone import StandaloneCluster, kill_tree
from .test_exactly_once import assert_each_count_once, lines, words

ROOT = Path(__file__).parents[2]
ORDERS = ROOT / "examples" / "orders.py"
CITIES = {"ana": "Soria", "eva": "Vigo", "leo": "Lugo"}
SMALL = ["--spark-conf", "spark.executor.memory=512m", "--spark-conf", "spark.driver.memory=512m"]
PATIENCE = 150.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(480)]


class AnyKafka(Kafka):
    """Topics of whatever cluster is at the address."""

    def create(self, *names: str, partitions: int = 2, **configs: Any) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        made = admin.create_topics([NewTopic(name, partitions, 1) for name in names])
        for future in made.values():
            future.result(30)


@contextmanager
def caudal(folder: Path) -> Iterator[Kafka]:
    with embedded_broker(group_min_session_timeout_ms=1000) as broker:
        yield AnyKafka(broker)


@contextmanager
def apache(folder: Path) -> Iterator[Kafka]:
    from caudal.bench.servers import ApacheKafkaServer

    server = ApacheKafkaServer(folder / "kafka", jars.fetch("kafka-server"))
    server.start()
    try:
        yield AnyKafka(server)
    finally:
        server.remove()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with StandaloneCluster(tmp_path_factory.mktemp("standalone")) as started:
        yield started


@pytest.fixture(scope="module")
def wide_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    """Each of its workers has room for an application in real-time mode."""
    with StandaloneCluster(tmp_path_factory.mktemp("wide"), cores=6) as started:
        yield started


Run = Callable[..., "Program"]


class Program:
    """`caudal run FILE …` in a process of its own."""

    def __init__(self, file: Path, log: Path, *flags: str) -> None:
        self._log = log
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-m", "caudal.cli.main", "run", str(file), "--threads", "2", *flags]
        with log.open("w") as output:
            self.process = psutil.Popen(command, cwd=log.parent, env=environment, stdout=output, stderr=output)

    def said(self) -> str:
        return self._log.read_text()

    def until(self, question: Callable[[], Any], wanted: Any) -> None:
        deadline = time.monotonic() + PATIENCE
        while (answer := question()) != wanted:
            assert self.process.poll() is None, self.said()[-3000:]
            assert time.monotonic() < deadline, f"{answer!r} is not {wanted!r}: {self.said()[-3000:]}"
            time.sleep(0.3)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(90) == 0, self.said()[-3000:]
        assert "is STOPPED" in self.said()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    started: list[Program] = []

    def start(file: Path, kafka: Kafka, *flags: str) -> Program:
        log = tmp_path / f"run{len(started)}.log"
        started.append(Program(file, log, "--bootstrap", kafka.bootstrap, *flags))
        return started[-1]

    yield start
    for program in started:
        kill_tree(program.process)


def orders(first: int, end: int) -> list[tuple[str, str]]:
    users = list(CITIES)
    return [(str(i), f'{{"user": "{users[i % 3]}", "amount": {i % 5}}}') for i in range(first, end)]


def assert_exact(kafka: Kafka, program: Program, end: int) -> None:
    """Counts, joined orders and sums of all orders up to `end`: each once."""
    users = list(CITIES)
    paid = [(users[i % 3], i % 5) for i in range(end) if i % 5]
    counts = dict(Counter(user for user, _ in paid))
    program.until(lambda: kafka.table("orders-per-user"), counts)
    program.until(lambda: len(kafka.read("orders-enriched")), len(paid))
    program.until(
        lambda: sum({message.key(): number(message.value()) for message in kafka.read("spent-per-minute")}.values()),
        sum(amount for _, amount in paid),
    )
    assert_each_count_once(kafka, "orders-per-user", counts)
    cities = Counter(message.value().rpartition(b'"city":"')[2] for message in kafka.read("orders-enriched"))
    assert cities == {f'{CITIES[user]}"}}'.encode(): count for user, count in counts.items()}


def states(cluster: StandaloneCluster) -> set[tuple[int, Path]]:
    """Where executors have opened stores: `--state-dir state` lies in the executor's own folder, by worker."""
    return {(worker, path) for worker in (1, 2) for path in cluster.work(worker).glob("*/*/state/*")}


@pytest.mark.parametrize(
    ("broker", "spark_on"),
    [
        (caudal, "this machine"),
        (apache, "this machine"),
        (caudal, "a cluster"),
        (apache, "a cluster"),
    ],
    ids=["caudal-local", "kafka-local", "caudal-cluster", "kafka-cluster"],
)
def test_the_same_file_runs_on(
    broker: Any, spark_on: str, request: pytest.FixtureRequest, run: Run, tmp_path: Path
) -> None:
    flags = ["--state-dir", str(tmp_path / "state")]
    if spark_on == "a cluster":
        cluster: StandaloneCluster = request.getfixturevalue("cluster")
        before = states(cluster)
        flags = ["--master", cluster.url, *SMALL, "--state-dir", "state"]
    with broker(tmp_path) as kafka:
        kafka.create("orders", "customers", "orders-per-user", "orders-enriched", "spent-per-minute")
        kafka.send("customers", *((user, f'{{"city": "{city}"}}') for user, city in CITIES.items()))
        kafka.send("orders", *orders(0, 60))
        first = run(ORDERS, kafka, *flags)
        assert_exact(kafka, first, 60)
        if spark_on == "a cluster":
            assert {worker for worker, _ in states(cluster) - before} == {1, 2}, "both executors ran tasks"
        first.stop()
        kafka.send("orders", *orders(60, 100))
        again = run(ORDERS, kafka, *flags)
        assert_exact(kafka, again, 100)
        again.stop()


PROGRAM = """
import letters  # beside this file: found and sent

from caudal.serde import Long, String
from caudal.streams import StreamsBuilder

builder = StreamsBuilder("far-away")


def split(line):
    import marks  # in no folder of this program: --py-files brings it

    return letters.words(marks.without(line))


(
    builder.stream("lines", key=String(), value=String())
    .flat_map_values(split)
    .group_by(lambda key, word: word)
    .count(store="counts")
    .to("counts", value=Long())
)
"""


@pytest.mark.parametrize(("mode", "on"), [("micro-batch", "cluster"), ("real-time", "wide_cluster")])
def test_workers_may_die_and_have_nothing_but_caudal(
    request: pytest.FixtureRequest, run: Run, tmp_path: Path, mode: str, on: str
) -> None:
    """Worker 1 is killed with its executor: worker 2 does all. It comes back, empty; worker 2 is killed: the state is
    rebuilt on worker 1. The program's modules are on no path of the workers."""
    cluster: StandaloneCluster = request.getfixturevalue(on)
    program, elsewhere = tmp_path / "program", tmp_path / "elsewhere"
    program.mkdir()
    elsewhere.mkdir()
    (program / "app.py").write_text(PROGRAM)
    (program / "letters.py").write_text("def words(line):\n    return line.split()\n")
    (elsewhere / "marks.py").write_text("def without(line):\n    return line.replace('!', '')\n")

    def send(first: int, end: int) -> None:
        kafka.send("lines", *((key, f"{line}!") for key, line in lines(first, end)))

    with caudal(tmp_path) as kafka:
        kafka.create("lines", "counts")
        send(0, 100)
        flags = ["--master", cluster.url, *SMALL, "--state-dir", "state", "--mode", mode]
        app = run(program / "app.py", kafka, *flags, "--py-files", str(elsewhere / "marks.py"))
        app.until(lambda: kafka.table("counts"), words(lines(0, 100)))

        send(100, 150)
        cluster.kill_worker(1)
        send(150, 200)
        app.until(lambda: kafka.table("counts"), words(lines(0, 200)))

        cluster.start_worker(1)
        app.until(lambda: len(cluster.executor_processes(1)) > 0, True)
        send(200, 250)
        cluster.kill_worker(2)
        send(250, 300)
        try:
            app.until(lambda: kafka.table("counts"), words(lines(0, 300)))
            assert_each_count_once(kafka, "counts", words(lines(0, 300)))
            app.stop()
        finally:
            cluster.start_worker(2)
