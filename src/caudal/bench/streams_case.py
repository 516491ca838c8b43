"""What a case of `caudal bench streams` is, what it may use, and how its figures are compared.

A case is a function of a `StreamsSession` and an engine, registered by `@streams_case` with the engines it runs on. A
`Comparison` sets a figure of one case and engine against another's, with the targets beside it. Every module of
`caudal.bench.streams_cases` is imported by itself. Running is streams.py's business, judging streams_results.py's.
"""

from __future__ import annotations

import importlib
import itertools
import json
import pkgutil
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from caudal.bench.case import Figure, Values
from caudal.bench.servers import Server
from caudal.bench.streams_data import SPAN_MS, Batch, Expected, check, customers, fill
from caudal.bench.streams_engines import Engine
from caudal.bench.streams_job import Job
from caudal.bench.workloads import ADMIN_TIMEOUT, WorkloadError, client_config, finish

PARTITIONS = 4
THREADS = 2
FULL_RECORDS = 1_000_000
KEYS = 1_000
POLL_SECONDS = 0.02
PATIENCE_SECONDS = 300.0
LOOK_AFTER_SECONDS = 2.0  # how often a waiting bench asks whether the engine is still alive


@dataclass(slots=True)
class StreamsSession:
    """The broker, and what is made on it for one case; `clean_up` removes all of that."""

    server: Server
    folder: Path
    records: int = FULL_RECORDS
    scale: float = 1.0
    begins_at: int = 0
    _admin: AdminClient | None = None
    _jobs: list[Job] = field(default_factory=list)

    _numbers = itertools.count()

    def count(self, full: int) -> int:
        return max(400, int(full * self.scale))

    def seconds(self, full: float) -> float:
        return max(2.0, full * self.scale)

    @property
    def admin(self) -> AdminClient:
        if self._admin is None:
            self._admin = AdminClient(client_config(self.server.port))
        return self._admin

    # -- topics and records --------------------------------------------------------------------------------------------

    def job(self, engine: Engine, topology: str, guarantee: str = "at_least_once", **more: Any) -> Job:
        """A new application with topics of its own."""
        name = f"bench-{next(self._numbers)}"
        job = Job(
            topology,
            name,
            self.server.bootstrap,
            input=f"{name}-input",
            output=f"{name}-output",
            table=f"{name}-table",
            state=str(self.folder / name),
            guarantee=guarantee,
            emit=engine.emit,
            threads=THREADS,
            mode=engine.mode,
            **more,
        )
        topics = [NewTopic(topic, PARTITIONS, 1) for topic in (job.input, job.output)]
        if topology == "join":
            topics.append(NewTopic(job.table, PARTITIONS, 1, config={"cleanup.policy": "compact"}))
        finish(self.admin.create_topics(topics, operation_timeout=ADMIN_TIMEOUT))
        self._jobs.append(job)
        return job

    def fill(self, job: Job, batch: Batch) -> None:
        fill(self.server.port, job.input, batch.messages())

    def fill_table(self, job: Job, keys: int) -> None:
        fill(self.server.port, job.table, customers(keys, ("user", "warm"), self.begins_at - SPAN_MS - 1))

    def written(self, topic: str) -> int:
        places = {TopicPartition(topic, index): OffsetSpec.latest() for index in range(PARTITIONS)}
        futures = self.admin.list_offsets(places)
        return sum(int(future.result(ADMIN_TIMEOUT).offset) for future in futures.values())

    def committed(self, job: Job) -> int:
        """Where the group stands in the input."""
        asked = ConsumerGroupTopicPartitions(
            job.application, [TopicPartition(job.input, index) for index in range(PARTITIONS)]
        )
        answers = self.admin.list_consumer_group_offsets([asked])
        places = answers[job.application].result(ADMIN_TIMEOUT).topic_partitions or []
        return sum(max(0, int(place.offset)) for place in places)

    def clean_up(self) -> None:
        """Deletes the topics of its applications, the internal ones too, and their state."""
        names = tuple(f"{job.application}-" for job in self._jobs)
        if names:
            known = [topic for topic in self.admin.list_topics(timeout=ADMIN_TIMEOUT).topics if _is_of(topic, names)]
            if known:
                finish(self.admin.delete_topics(known, operation_timeout=ADMIN_TIMEOUT))
        for job in self._jobs:
            shutil.rmtree(job.state, ignore_errors=True)
        self._jobs.clear()

    # -- measuring -----------------------------------------------------------------------------------------------------

    def wait(self, engine: Engine, job: Job, records: int) -> None:
        """Until `records` of the input are through: their results stand in the output, and are committed where that is
        promised.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        look = time.monotonic() + LOOK_AFTER_SECONDS
        while not self._is_through(engine, job, records):
            now = time.monotonic()
            if now > look:
                engine.check_alive()
                look = now + LOOK_AFTER_SECONDS
            if now > deadline:
                raise WorkloadError(f"{self.written(job.output):,} results after {PATIENCE_SECONDS:.0f} s")
            time.sleep(POLL_SECONDS)

    def _is_through(self, engine: Engine, job: Job, records: int) -> bool:
        if engine.counts_itself(job) and not job.exactly_once:
            return engine.processed() >= records
        if job.exactly_once:  # markers have offsets too, so that the output's end tells nothing
            return self.committed(job) >= records
        return self.written(job.output) >= records

    def catch_up(
        self, engine: Engine, job: Job, warm_up: Batch, measured: Batch, expected: Sequence[Batch] = ()
    ) -> Values:
        """Records per second through a running application that finds them all in its input.

        The application runs and has done the warm-up; it is stopped (SIGSTOP) while the input is filled, and the clock
        begins when it goes on. The result is checked before the time counts.
        """
        self.fill(job, warm_up)
        begin = time.perf_counter()
        engine.begin(job)
        self.wait(engine, job, warm_up.count)
        started = time.perf_counter() - begin
        engine.pause()
        self.fill(job, measured)
        cpu = engine.cpu_seconds()
        begin = time.perf_counter()
        engine.resume()
        self.wait(engine, job, warm_up.count + measured.count)
        seconds = time.perf_counter() - begin
        cpu = engine.cpu_seconds() - cpu
        engine.end()
        wanted = Expected.of(job.topology, expected or [warm_up, measured])
        everything = not engine.counts_itself(job)
        check(self.server.port, job.output, PARTITIONS, job.topology, engine.form, wanted, everything)
        return {"rate": measured.count / seconds, "cpu": cpu / measured.count * 1e6, "start": started}

    def latency(self, engine: Engine, job: Job, rate: int, seconds: float, warm_up: float) -> Values:
        batch = Batch(self.count(2_000), 100, prefix="warm", begins_at=self.begins_at)
        self.fill(job, batch)
        engine.begin(job)
        self.wait(engine, job, batch.count)
        asked = {
            "port": self.server.port,
            "inputs": [job.input],
            "outputs": [job.output],
            "partitions": PARTITIONS,
            "rate": rate,
            "seconds": seconds,
            "warm_up": warm_up,
            "stamped": job.topology == "map",
        }
        command = [sys.executable, "-m", "caudal.bench.streams_latency", json.dumps(asked)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
        engine.end()
        lines = done.stdout.strip().splitlines()
        answer: dict[str, Any] = json.loads(lines[-1]) if lines else {"error": done.stderr[-300:]}
        if "error" in answer:
            raise WorkloadError(answer["error"])
        return {"p50": answer["p50_ms"], "p99": answer["p99_ms"], "max": answer["max_ms"]}


def _is_of(topic: str, applications: tuple[str, ...]) -> bool:
    # Quix puts the group's name after a word of its own: changelog__bench-3--…
    return any(topic.startswith(name) or f"__{name}" in topic for name in applications)


StreamsRun = Callable[[StreamsSession, Engine], Values]


@dataclass(frozen=True, slots=True)
class StreamsCase:
    name: str
    title: str
    run: StreamsRun
    engines: tuple[str, ...]
    max_rounds: int | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """`of` / `against` within a round; both name (case, engine, key of the value)."""

    figure: Figure
    of: tuple[str, str, str]
    against: tuple[str, str, str] | None = None

    @property
    def cases(self) -> set[str]:
        return {self.of[0]} | ({self.against[0]} if self.against else set())


CASES: dict[str, StreamsCase] = {}
COMPARISONS: list[Comparison] = []


def streams_case(
    name: str,
    title: str,
    engines: Sequence[str],
    *,
    comparisons: Sequence[Comparison] = (),
    max_rounds: int | None = None,
) -> Callable[[StreamsRun], StreamsRun]:
    """Registers a case, and the comparisons that are shown beside it."""

    def register(function: StreamsRun) -> StreamsRun:
        if name in CASES:
            raise ValueError(f"two bench cases are called {name}")
        CASES[name] = StreamsCase(name, title, function, tuple(engines), max_rounds)
        COMPARISONS.extend(comparisons)
        return function

    return register


def all_cases() -> Iterator[StreamsCase]:
    from caudal.bench import streams_cases

    for module in sorted(found.name for found in pkgutil.iter_modules(streams_cases.__path__)):
        importlib.import_module(f"{streams_cases.__name__}.{module}")
    return iter(CASES.values())
