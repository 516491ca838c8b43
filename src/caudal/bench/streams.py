"""`caudal bench streams`: Caudal's Streams beside hand-written PySpark, Kafka Streams and Quix Streams, as ratios.

How a run goes: one Caudal broker for all; in each round the cases in a shuffled order, and in each case its engines
one after the other, again shuffled. Engines that are not measured are paused. Topics and state are deleted after each.
A case that fails on an engine is reported and does not end the run. An engine whose result is wrong has failed.

It leaves out Apache Kafka as the broker and several machines.
"""

from __future__ import annotations

import json
import random
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from caudal.bench import report, streams_plot, streams_report
from caudal.bench.broker import SETTLE, touch_memory
from caudal.bench.entry import BenchError, add_data_flag, exit_code, parser_of
from caudal.bench.servers import CaudalServer
from caudal.bench.streams_case import FULL_RECORDS, StreamsCase, StreamsSession, all_cases
from caudal.bench.streams_data import SPAN_MS
from caudal.bench.streams_engines import ENGINES, Engine, missing
from caudal.bench.streams_job import WINDOW_MS
from caudal.bench.streams_results import StreamsResults

DEFAULT_ROUNDS = 3
QUICK_RECORDS = 2_000
QUICK_SCALE = 0.1
REAL_TIME = "real-time-"  # how the names of its cases begin


@dataclass(slots=True)
class Options:
    rounds: int = DEFAULT_ROUNDS
    records: int = FULL_RECORDS
    only: Sequence[str] = ()
    engines: Sequence[str] = ()
    real_time: bool = False
    quick: bool = False
    json: bool = False
    markdown: Path | None = None
    plot: Path | None = None
    data: Path | None = None
    seed: int | None = None


def chosen_cases(only: Sequence[str], real_time: bool = False) -> list[StreamsCase]:
    """Those whose name begins with one of `only`, or is it where one has exactly that name; where none is given, those
    of real-time mode or all others.
    """
    cases = list(all_cases())
    names = {case.name for case in cases}
    for wanted in only:
        if not any(name.startswith(wanted) for name in names):
            raise BenchError(f"There is no case {wanted!r}; there are: {', '.join(case.name for case in cases)}.")

    def is_chosen(case: StreamsCase) -> bool:
        if not only:
            return case.name.startswith(REAL_TIME) is real_time
        return any(case.name == wanted if wanted in names else case.name.startswith(wanted) for wanted in only)

    return [case for case in cases if is_chosen(case)]


class Run:
    """One run: owns the broker and the engines."""

    def __init__(self, options: Options, cases: Sequence[StreamsCase], folder: Path, console: Console) -> None:
        self.options = options
        self.cases = cases
        self.folder = folder
        self.console = console
        self.random = random.Random(options.seed)
        self.server = CaudalServer(folder / "broker")
        self.engines: dict[str, Engine] = {}
        self.results = StreamsResults(cases)

    def measure(self) -> StreamsResults:
        rounds = 1 if self.options.quick else self.options.rounds
        try:
            if not self.options.quick:
                touch_memory()
            self.server.start()
            for number in range(rounds):
                wanted = [case for case in self.cases if case.max_rounds is None or number < case.max_rounds]
                for case in self.random.sample(wanted, len(wanted)):
                    engines = self.engines_of(case)
                    for key in self.random.sample(engines, len(engines)):
                        self.turn(case, key, number, f"round {number + 1} of {rounds} · {case.name} · {key}")
        finally:
            self.close()
        return self.results

    def engines_of(self, case: StreamsCase) -> list[str]:
        wanted = self.options.engines
        return [key for key in case.engines if not wanted or key in wanted]

    def turn(self, case: StreamsCase, key: str, number: int, label: str) -> None:
        begin = time.monotonic()
        session = self.session()
        try:
            if reason := missing(key):
                raise BenchError(reason)
            engine = self.engine(key)
            engine.resume()
            engine.prepare()
            time.sleep(SETTLE)
            values = case.run(session, engine)
            self.results.add(case.name, number, key, values)
            said = ", ".join(f"{name} {report.number(value)}" for name, value in values.items())
        except Exception as error:  # whatever went wrong with one, the others are still worth having
            said = f"failed: {str(error) or type(error).__name__}"
            self.results.fail(case.name, key, str(error) or type(error).__name__)
            self.drop(key)
        finally:
            self.after(key, session)
        self.console.print(f"{label}: {said} ({time.monotonic() - begin:.0f} s)", highlight=False, soft_wrap=True)

    def session(self) -> StreamsSession:
        now = int(time.time() * 1000)
        begins_at = (now - 2 * SPAN_MS) // WINDOW_MS * WINDOW_MS
        records, scale = self.options.records, min(1.0, self.options.records / FULL_RECORDS * 5)
        if self.options.quick:
            records, scale = min(records, QUICK_RECORDS), QUICK_SCALE
        return StreamsSession(self.server, self.folder / "state", records, scale, begins_at)

    def engine(self, key: str) -> Engine:
        """The engine of that key; those that share a program find it running."""
        if key not in self.engines:
            kind = ENGINES[key]
            programs = self.engine(kind.shares).programs if kind.shares else None
            self.engines[key] = kind(self.folder / (kind.shares or key), programs)
        return self.engines[key]

    def drop(self, key: str) -> None:
        """A failed engine may be in the middle of something: the next case gets a new process."""
        if key in self.engines:
            self.engines[key].close()

    def after(self, key: str, session: StreamsSession) -> None:
        engine = self.engines.get(key)
        if engine is not None:
            if engine.start_seconds is not None:
                self.results.starts.setdefault(key, engine.start_seconds)
            engine.pause()
        try:
            session.clean_up()
        except Exception as error:
            self.console.print(f"{key}: its topics could not be deleted: {error}", highlight=False)

    def close(self) -> None:
        for engine in self.engines.values():
            engine.close()
        self.engines.clear()
        self.server.remove()


def run(options: Options, console: Console | None = None) -> StreamsResults:
    """Measures, prints the tables (or JSON), and writes the page and the plot where they are named."""
    if options.rounds < 1 or options.records < 400:
        raise BenchError("--rounds must be 1 or more, --records 400 or more.")
    if unknown := [key for key in options.engines if key not in ENGINES]:
        raise BenchError(f"There is no engine {unknown[0]!r}; there are: {', '.join(ENGINES)}.")
    console = console or (Console() if sys.stdout.isatty() else Console(width=170))
    cases = chosen_cases(options.only, options.real_time)
    begin = time.monotonic()
    if options.data is not None:
        options.data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="caudal-bench-", dir=options.data, ignore_cleanup_errors=True) as folder:
        results = Run(options, cases, Path(folder), Console(stderr=True)).measure()
    minutes = (time.monotonic() - begin) / 60
    if options.json:
        document = {
            "command": command_line(options),
            "minutes": round(minutes, 1),
            "records": options.records,
            "machine": report.machine(),
            **results.as_json(),
        }
        console.file.write(json.dumps(document, indent=2) + "\n")
    else:
        streams_report.print_tables(results, console)
        console.print(
            "A quick run shows that everything works; its figures mean nothing."
            if options.quick
            else f"{minutes:.1f} minutes, {options.records:,} records."
        )
    plot = options.plot
    if plot is None and options.markdown is not None and not options.real_time:
        plot = options.markdown.with_name("benchmarks-streams.svg")
    if plot is not None:
        plot.write_text(streams_plot.svg(results))
    if options.markdown is not None:
        text = streams_report.markdown(
            results, command_line(options), minutes, options.records, plot.name if plot else None
        )
        section = "caudal bench streams --real-time" if options.real_time else "caudal bench streams"
        streams_report.write_markdown(options.markdown, text, section)
    return results


def command_line(options: Options) -> str:
    """The command that repeats this run, without folders."""
    words = ["caudal", "bench", "streams"]
    words += ["--real-time"] if options.real_time else []
    words += ["--quick"] if options.quick else ["--rounds", str(options.rounds), "--records", str(options.records)]
    for flag, chosen in (("--only", options.only), ("--engine", options.engines)):
        for name in chosen:
            words += [flag, name]
    if options.markdown is not None:
        words += ["--markdown", options.markdown.name]
    return shlex.join(words)


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m caudal.bench.streams`"""
    parser = parser_of("streams", "Measures Caudal's Streams beside its peers, as ratios.", DEFAULT_ROUNDS)
    add = parser.add_argument
    add("--records", type=int, default=FULL_RECORDS, help="records of a throughput case (default: %(default)s)")
    add("--only", action="append", default=[], metavar="CASE", help="only the cases whose name begins so; repeatable")
    add("--engine", action="append", default=[], dest="engines", metavar="ENGINE", help="only these; repeatable")
    add("--real-time", action="store_true", help="the cases of real-time mode instead of the others")
    add("--plot", type=Path, metavar="FILE", help="write the plot (SVG) here")
    add("--seed", type=int, help="makes the shuffled order repeatable")
    add("--list", action="store_true", help="print the names of the cases and their engines, and end")
    add_data_flag(parser)
    chosen = vars(parser.parse_args(arguments))
    if chosen.pop("list"):
        print("\n".join(f"{case.name}: {', '.join(case.engines)}" for case in all_cases()))
        return 0
    return exit_code(lambda: run(Options(**chosen)))


if __name__ == "__main__":
    sys.exit(main())
