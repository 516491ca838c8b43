"""`caudal bench views`: point queries of a view of one million keys, from Python and over HTTP, while it is written to.

How a run goes: a broker, a process that keeps the view, one that asks over HTTP, one that writes 1,000 records a second
to the changelog in transactions. The view is filled once; in each round come the queries from Python, those over HTTP
as fast as they are answered, and those over HTTP at 3,000 a second. At the end the view is closed, records are written,
and it is opened again. All processes share this machine's cores.

It leaves out scans, windows and several machines; there is no peer beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from caudal.bench import pages
from caudal.bench.broker import touch_memory
from caudal.bench.case import Figure, value_at_least, value_at_most
from caudal.bench.client import Client
from caudal.bench.entry import BenchError, add_data_flag, exit_code, parser_of
from caudal.bench.servers import CaudalServer
from caudal.bench.views_workloads import TOPIC

KEYS = 1_000_000
PARTITIONS = 4
CONNECTIONS = 8
WRITES = 1_000  # a second
ASKED = 3_000  # a second, of the paced queries
TAIL = 10_000
SECONDS = 10.0
DEFAULT_ROUNDS = 3
QUICK_KEYS = 5_000
QUICK_SECONDS = 0.5

QUICK_ENOUGH = value_at_most(5, "ms")
MANY_ENOUGH = value_at_least(3_000, "/s")

FIGURES: dict[str, Figure] = {
    "python rate": Figure("point queries from Python, one thread", "/s", True, (MANY_ENOUGH,)),
    "python p50": Figure("… from Python, p50", "ms", False),
    "python p99": Figure("… from Python, p99", "ms", False, (QUICK_ENOUGH,)),
    "http rate": Figure(f"point queries over HTTP, {CONNECTIONS} connections", "/s", True, (MANY_ENOUGH,)),
    "http p50": Figure("… over HTTP as fast as it goes, p50", "ms", False),
    "http p99": Figure("… over HTTP as fast as it goes, p99", "ms", False, (QUICK_ENOUGH,)),
    "paced p50": Figure(f"… over HTTP at {ASKED:,} a second, p50", "ms", False),
    "paced p99": Figure(f"… over HTTP at {ASKED:,} a second, p99", "ms", False, (QUICK_ENOUGH,)),
    "paced max": Figure(f"… over HTTP at {ASKED:,} a second, longest", "ms", False),
    "lag": Figure(f"largest lag at {WRITES:,} writes a second", "records", False),
    "fill": Figure("time to fill the view", "s", False),
    "fill rate": Figure("records read while it is filled", "/s", True),
    "reopen": Figure(f"time to open it again, {TAIL:,} records behind", "s", False),
    "memory": Figure("memory of the process", "MB", False),
    "disk": Figure("the index on disk", "MB", False),
}
PAGE = pages.Page("views", "Views", "Views: point queries while the changelog is written to")


@dataclass(slots=True)
class Options:
    rounds: int = DEFAULT_ROUNDS
    keys: int = KEYS
    seconds: float = SECONDS
    quick: bool = False
    json: bool = False
    markdown: Path | None = None
    data: Path | None = None


class Results(pages.Results):
    page, figures = PAGE, FIGURES

    def add_all(self, **values: float) -> None:
        for name, value in values.items():
            self.add(name.replace("_", " "), value)


class Run:
    """One run: owns the broker and the three processes."""

    def __init__(self, options: Options, folder: Path, console: Console) -> None:
        self.options = options
        self.folder = folder
        self.console = console
        self.server = CaudalServer(folder / "broker")
        self.clients = [Client("caudal.bench.views_workloads") for _ in range(3)]
        self.results = Results()

    def measure(self) -> Results:
        try:
            if not self.options.quick:
                touch_memory()
            self.server.start()
            self._measure()
        finally:
            for client in self.clients:
                client.close()
            self.server.remove()
        return self.results

    def _measure(self) -> None:
        keeper, asker, writer = self.clients
        port, keys = self.server.port, self.options.keys
        place = {"port": port, "keys": keys, "partitions": PARTITIONS}
        configs = {"cleanup.policy": "compact"}
        writer.run("create_topics", port=port, topics=[TOPIC], partitions=PARTITIONS, configs=configs)
        self._say("filling the changelog")
        writer.run("fill_changelog", **place)
        state = str(self.folder / "state")
        opened = keeper.run("open_store", port=port, folder=state)
        self.results.add_all(fill=opened["seconds"], fill_rate=keys / opened["seconds"])
        self._say(f"filled: {opened['count']:,} keys in {opened['seconds']:.1f} s")
        if opened["count"] != keys:
            raise BenchError(f"{keys:,} keys were written, but the view has {opened['count']:,}.")
        for number in range(self.options.rounds):
            writer.begin("write_changelog", **place, rate=WRITES, seconds=3600)
            self._round(keeper, asker, opened["http_port"])
            written = writer.finish()["per_second"]
            if not self.options.quick and written < 0.9 * WRITES:
                raise BenchError(f"Only {written:.0f} records a second were written; the figures would be too good.")
            self._say(f"round {number + 1} of {self.options.rounds} done, {written:.0f} writes a second")
        self._reopen(keeper, writer, place, state)

    def _round(self, keeper: Client, asker: Client, http_port: int) -> None:
        seconds, keys = self.options.seconds, self.options.keys
        python = keeper.run("ask_in_python", keys=keys, seconds=seconds)
        http: dict[str, Any] = {"http_port": http_port, "keys": keys, "connections": CONNECTIONS, "seconds": seconds}
        free = asker.run("ask_over_http", **http)
        paced = asker.run("ask_over_http", **http, rate=ASKED)
        self.results.add_all(
            python_rate=python["per_second"],
            python_p50=python["p50_ms"],
            python_p99=python["p99_ms"],
            lag=python["largest_lag"],
            http_rate=free["per_second"],
            http_p50=free["p50_ms"],
            http_p99=free["p99_ms"],
            paced_p50=paced["p50_ms"],
            paced_p99=paced["p99_ms"],
            paced_max=paced["max_ms"],
        )

    def _reopen(self, keeper: Client, writer: Client, place: dict[str, Any], state: str) -> None:
        """A restart: what was written meanwhile is read, and nothing else."""
        closed = keeper.run("close_store")
        self.results.add_all(memory=closed["memory_mb"], disk=closed["disk_mb"])
        rate = TAIL if not self.options.quick else WRITES
        writer.run("write_changelog", **place, rate=rate, seconds=1.0)
        again = keeper.run("open_store", port=self.server.port, folder=state)
        self.results.add_all(reopen=again["seconds"])
        keeper.run("close_store")

    def _say(self, text: str) -> None:
        self.console.print(text, highlight=False)


def run(options: Options, console: Console | None = None) -> Results:
    """Measures, prints the table (or JSON), and writes the page where it is named."""
    if options.quick:
        options.rounds, options.keys, options.seconds = 1, min(options.keys, QUICK_KEYS), QUICK_SECONDS
    if options.rounds < 1 or options.keys < 100 or options.seconds <= 0:
        raise BenchError("--rounds must be 1 or more, --keys 100 or more, --seconds more than 0.")
    return pages.present(
        lambda folder, said: Run(options, folder, said).measure(),
        options,
        command_line(options),
        notes(options),
        console,
        options.data,
    )


def notes(options: Options) -> list[str]:
    return [
        f"{options.keys:,} keys, {PARTITIONS} partitions, JSON values of about 60 bytes; {WRITES:,} records a second "
        "are written meanwhile, in transactions of 100 ms. Broker, writer, view and HTTP client share the cores.",
    ]


def command_line(options: Options) -> str:
    return pages.command_line(PAGE, options, rounds=options.rounds, keys=options.keys, seconds=options.seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m caudal.bench.views`"""
    parser = parser_of("views", "Measures point queries of a view, from Python and over HTTP.", DEFAULT_ROUNDS)
    parser.add_argument("--keys", type=int, default=KEYS, help="keys of the view (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each measurement (default: %(default)s)")
    add_data_flag(parser)
    options = Options(**vars(parser.parse_args(arguments)))
    return exit_code(lambda: run(options))


if __name__ == "__main__":
    sys.exit(main())
