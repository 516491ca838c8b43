"""`caudal bench broker`: Caudal and Apache Kafka in turn, round by round, as a table of ratios.

How a run goes: memory pages are touched once, both servers start, a warm-up round is thrown away; then in
each round the cases in a shuffled order, and each case on both servers right after each other, again in a shuffled
order. The server that is not measured is paused. Topics are deleted after each case. A case that fails is reported
and does not end the run.

It leaves out clusters, TLS and clients other than librdkafka.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import random
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psutil
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from caudal import jars
from caudal.bench import report
from caudal.bench.case import Case, Session, all_cases
from caudal.bench.client import ClientError
from caudal.bench.entry import BenchError, add_data_flag, exit_code, parser_of
from caudal.bench.results import CAUDAL, KAFKA, Results
from caudal.bench.servers import ApacheKafkaServer, CaudalServer, Server

DEFAULT_ROUNDS = 5
# What warms the JVM up when only long cases were chosen, which are too long to be thrown away.
WARM_UP_CASES = ("throughput-1024b-4p-acks-all", "latency")
QUICK_SCALE = 0.005
SETTLE = 0.4  # deleted files are gone and the resumed server has caught up with its timers
TOUCHED_BYTES = 4_000_000_000

T = TypeVar("T")
ServerFactory = Callable[[Path], Server]


@dataclass(slots=True)
class Options:
    rounds: int = DEFAULT_ROUNDS
    only: Sequence[str] = ()
    quick: bool = False
    alone: bool = False
    json: bool = False
    markdown: Path | None = None
    data: Path | None = None
    seed: int | None = None
    # Who is measured against whom; tests and development put other servers here.
    servers: Mapping[str, ServerFactory] = field(default_factory=dict)


def default_servers(alone: bool) -> dict[str, ServerFactory]:
    servers: dict[str, ServerFactory] = {CAUDAL: CaudalServer}
    if not alone:
        archives = jars.fetch("kafka-server")
        servers[KAFKA] = lambda folder: ApacheKafkaServer(folder, archives)
    return servers


def chosen_cases(only: Sequence[str]) -> list[Case]:
    """The cases whose name begins with one of `only`; all when none is given."""
    cases = all_cases()
    for wanted in only:
        if not any(case.name.startswith(wanted) for case in cases):
            raise BenchError(f"There is no case {wanted!r}; there are: {', '.join(case.name for case in cases)}.")
    return [case for case in cases if not only or any(case.name.startswith(wanted) for wanted in only)]


class Run:
    """One run: owns the folder, the shared servers and their sessions."""

    def __init__(self, options: Options, cases: Sequence[Case], folder: Path, progress: Progress) -> None:
        self.options = options
        self.cases = cases
        self.folder = folder
        self.progress = progress
        self.random = random.Random(options.seed)
        self.factories = dict(options.servers) or default_servers(options.alone)
        self.shared: dict[str, Session] = {}
        self.results = Results(cases)
        self.folders_made = 0

    def measure(self) -> Results:
        scale = QUICK_SCALE if self.options.quick else 1.0
        rounds = 1 if self.options.quick else self.options.rounds
        plan = {number: self.round_cases(number) for number in range(rounds)}
        warm_up = [] if self.options.quick else self.warm_up_cases()
        total = (len(warm_up) + sum(len(cases) for cases in plan.values())) * len(self.factories)
        task = self.progress.add_task("starting", total=total)

        def turn(case: Case, scale: float, label: str, keep: int | None) -> None:
            for key in self.shuffled(list(self.factories)):
                self.progress.update(task, description=f"{label} · {case.name} · {key}")
                if not self.progress.console.is_terminal:  # a bar cannot be drawn into a file, but someone may watch it
                    self.progress.console.print(f"{label} · {case.name} · {key}", highlight=False, soft_wrap=True)
                self.measure_case(case, key, scale, keep)
                self.progress.advance(task)

        try:
            if not self.options.quick:
                self.progress.update(task, description="touching memory")
                touch_memory()
            for case in warm_up:
                turn(case, scale, "warm-up", None)
            for number, cases in plan.items():
                for case in self.shuffled(cases):
                    turn(case, scale, f"round {number + 1} of {rounds}", number)
        finally:
            self.close()
        return self.results

    def warm_up_cases(self) -> list[Case]:
        shared = [case for case in self.cases if not case.own_server]
        short = [case for case in shared if case.max_rounds is None]
        return short or [case for case in all_cases() if shared and case.name in WARM_UP_CASES]

    def round_cases(self, number: int) -> list[Case]:
        return [case for case in self.cases if case.max_rounds is None or number < case.max_rounds]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self.random.sample(items, len(items))

    def measure_case(self, case: Case, key: str, scale: float, keep: int | None) -> None:
        session: Session | None = None
        try:
            session = self.own_session(key) if case.own_server else self.shared_session(key)
            session.scale = scale
            values = case.run(session)
            if keep is not None:
                self.results.add(case.name, keep, key, values)
        except Exception as error:  # whatever went wrong with one case, the others are still worth having
            self.results.fail(case.name, key, str(error) or type(error).__name__)
            if session is not None:
                session.close_clients()  # one of them may still be in the middle of something
                self.drop_if_dead(key, session)
        finally:
            if session is not None:
                self.clean_up(session, case.own_server)

    def own_session(self, key: str) -> Session:
        return Session(self.new_server(key), new_server=lambda: self.new_server(key))

    def shared_session(self, key: str) -> Session:
        """The running server of that key, resumed, and started if there is none."""
        if key not in self.shared:
            server = self.new_server(key)
            server.start()
            self.shared[key] = Session(server)
        session = self.shared[key]
        session.server.resume()
        time.sleep(SETTLE)
        return session

    def new_server(self, key: str) -> Server:
        self.folders_made += 1
        return self.factories[key](self.folder / f"{key}-{self.folders_made}")

    def drop_if_dead(self, key: str, session: Session) -> None:
        process = session.server.process
        if self.shared.get(key) is session and (process is None or process.poll() is not None):
            del self.shared[key]
            session.server.remove()

    def clean_up(self, session: Session, own_server: bool) -> None:
        topics = session.take_topics()
        if own_server:
            session.close()
            return
        if topics and session.server.process is not None:
            try:
                session.run("delete_topics", topics=topics)
            except ClientError:
                session.close_clients()
            time.sleep(SETTLE)
        session.server.pause()

    def close(self) -> None:
        for session in self.shared.values():
            session.close()
        self.shared.clear()


def touch_memory() -> None:
    """Uses some memory once and gives it back. In a virtual machine the first use of a page is slow: whoever ran
    first would pay for it.
    """
    size = min(TOUCHED_BYTES, psutil.virtual_memory().available // 2)
    chunk = bytes(1 << 24)
    with contextlib.closing(mmap.mmap(-1, size)) as memory:
        for start in range(0, size - len(chunk), len(chunk)):
            memory[start : start + len(chunk)] = chunk


def run(options: Options, console: Console | None = None) -> Results:
    """Measures, prints the table (or JSON) and writes the markdown page if one is named."""
    if options.rounds < 1:
        raise BenchError("--rounds must be 1 or more.")
    # Into a file or a pipe the table is written as wide as it is.
    console = console or (Console() if sys.stdout.isatty() else Console(width=160))
    cases = chosen_cases(options.only)
    begin = time.monotonic()
    parent = options.data
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    # Progress goes to stderr: stdout is for the table or the JSON alone.
    columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn())
    with (
        tempfile.TemporaryDirectory(prefix="caudal-bench-", dir=parent, ignore_cleanup_errors=True) as folder,
        Progress(*columns, TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as progress,
    ):
        results = Run(options, cases, Path(folder), progress).measure()
    minutes = (time.monotonic() - begin) / 60
    if options.json:
        document = {
            "command": command_line(options),
            "minutes": round(minutes, 1),
            "machine": report.machine(),
            **results.as_json(),
        }
        console.file.write(json.dumps(document, indent=2) + "\n")
    else:
        report.print_table(results, console)
        if options.quick:
            console.print(
                "A quick run shows that everything works; its figures, and whether they meet the targets, mean nothing."
            )
        else:
            console.print(f"{minutes:.1f} minutes, {options.rounds} round{'s' if options.rounds > 1 else ''}.")
    if options.markdown is not None:
        report.write_markdown(options.markdown, report.markdown(results, command_line(options), minutes))
    return results


def command_line(options: Options) -> str:
    """The command that repeats this run; folders are left out, they say something about the machine and nothing about
    the figures.
    """
    words = ["caudal", "bench", "broker"]
    words += ["--quick"] if options.quick else ["--rounds", str(options.rounds)]
    for name in options.only:
        words += ["--only", name]
    if options.alone:
        words.append("--alone")
    if options.markdown is not None:
        words += ["--markdown", options.markdown.name]
    return shlex.join(words)


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m caudal.bench.broker`"""
    parser = parser_of("broker", "Measures Caudal beside Apache Kafka, as ratios.", DEFAULT_ROUNDS)
    add = parser.add_argument
    add("--only", action="append", default=[], metavar="CASE", help="only the cases whose name begins so; repeatable")
    add("--alone", action="store_true", help="measure Caudal only, without Apache Kafka and without ratios")
    add("--seed", type=int, help="makes the shuffled order repeatable")
    add("--list", action="store_true", help="print the names of the cases and end")
    add_data_flag(parser)
    chosen = vars(parser.parse_args(arguments))
    if chosen.pop("list"):
        print("\n".join(case.name for case in all_cases()))
        return 0
    return exit_code(lambda: run(Options(**chosen)))


if __name__ == "__main__":
    sys.exit(main())
