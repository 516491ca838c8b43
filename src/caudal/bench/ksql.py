"""`caudal bench ksql`: how soon statements run, pull and push queries, persistent queries beside each other, SQL beside
the DSL.

How a run goes: a broker and `caudal ksql-server`; one persistent query runs all the time, so that the server is warm.
In each round come statements, pull queries beside an empty endpoint on the same HTTP server and beside a view's own,
push queries, and the latency of one query, of one while another reads old records, and of twenty. Then the server is
stopped, and the aggregate runs on the host of `caudal bench streams`, by hand and as SQL in turn. All processes share
this machine's cores.

It leaves out several servers, formats with schemas, and joins.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from caudal.bench import pages
from caudal.bench.broker import SETTLE, touch_memory
from caudal.bench.case import Figure, ratio_at_least, ratio_at_most, value_at_most
from caudal.bench.client import Client
from caudal.bench.entry import BenchError, exit_code, parser_of
from caudal.bench.http_servers import HttpServer, Peer
from caudal.bench.ksql_topologies import ORDERS
from caudal.bench.servers import CaudalServer
from caudal.bench.streams_case import FULL_RECORDS, THREADS, StreamsSession
from caudal.bench.streams_cases.catch_up import catch_up
from caudal.bench.streams_data import SPAN_MS
from caudal.bench.streams_engines import Caudal, EngineError, missing
from caudal.bench.streams_job import WINDOW_MS
from caudal.bench.views_workloads import TOPIC
from caudal.bench.workloads import WorkloadError
from caudal.ksql.shell.client import NotAnswering, Server, ServerError

PARTITIONS = 4
MANY = 20
STATEMENTS = 3  # of each kind, in a round
KEYS = 100_000  # of the table that is asked
CONNECTIONS = 8
RATE = 50  # records a second, for each query
PUSHED = 100  # records a second
SECONDS = 10.0
DEFAULT_ROUNDS = 3
QUICK_RECORDS = 2_000
QUICK_MANY = 3
QUICK_SECONDS = 1.0
RUNNING_SECONDS = 120.0
POLL_SECONDS = 0.02

TWICE = ratio_at_most(2.0)
FIGURES: dict[str, Figure] = {
    "stream running": Figure("CREATE STREAM … AS SELECT: until it runs", "s", False, (value_at_most(3, "s"),)),
    "stream row": Figure("… until its first row is out", "s", False),
    "table running": Figure("CREATE TABLE … AS SELECT: until it runs", "s", False, (value_at_most(3, "s"),)),
    "table row": Figure("… until its first row is out", "s", False),
    "empty rate": Figure(f"an empty endpoint, {CONNECTIONS} connections", "/s", True),
    "empty p50": Figure("… p50", "ms", False),
    "pull rate": Figure(f"pull queries by key, {CONNECTIONS} connections", "/s", True),
    "pull ratio": Figure("… / the empty endpoint", "×", True),
    "pull p50": Figure("… p50", "ms", False),
    "pull p99": Figure("… p99", "ms", False),
    "views rate": Figure(f"the same by a view's own HTTP server, {CONNECTIONS} connections", "/s", True),
    "views p50": Figure("… p50", "ms", False),
    "views p99": Figure("… p99", "ms", False),
    "push p50": Figure(f"push query at {PUSHED} records a second, p50", "ms", False),
    "push p99": Figure("… p99", "ms", False),
    "one p50": Figure("one persistent query, p50", "ms", False),
    "one p99": Figure("… p99", "ms", False),
    "busy p50": Figure("one while another reads old records, p50", "ms", False),
    "busy max": Figure("… longest: the pause when a query is added", "ms", False),
    "busy ratio": Figure("one while another reads old records: p50 / that of one alone", "×", False, (TWICE,)),
    "many p50": Figure(f"{MANY} persistent queries, p50", "ms", False),
    "many p99": Figure("… p99", "ms", False),
    "many ratio": Figure(f"{MANY} persistent queries: p50 / that of one alone", "×", False, (TWICE,)),
    "plain one p50": Figure("one persistent query, at least once, p50", "ms", False),
    "plain many p50": Figure(f"{MANY} persistent queries, at least once, p50", "ms", False),
    "plain many ratio": Figure("… p50 / that of one alone", "×", False),
    "hand rate": Figure("windowed aggregate written by hand", "rec/s", True),
    "sql rate": Figure("windowed aggregate as SQL", "rec/s", True),
    "sql ratio": Figure("windowed aggregate: SQL / by hand", "×", True, (ratio_at_least(0.9),)),
}
PAGE = pages.Page("ksql", "KSQL", "KSQL: statements, pull and push queries, persistent queries")


@dataclass(slots=True)
class Options:
    rounds: int = DEFAULT_ROUNDS
    records: int = FULL_RECORDS
    seconds: float = SECONDS
    quick: bool = False
    json: bool = False
    markdown: Path | None = None

    @property
    def many(self) -> int:
        return QUICK_MANY if self.quick else MANY

    @property
    def keys(self) -> int:
        return min(KEYS, self.records)


class Results(pages.Results):
    page, figures = PAGE, FIGURES


class Ksql:
    """The server under measurement, and what is asked of it."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        words = ["ksql-server", "--bootstrap", bootstrap, "--data", str(folder / "ksql")]
        self.server = HttpServer(words, folder / "ksql.log")
        self.http_port = self.server.http_port
        self.client = Server(f"127.0.0.1:{self.http_port}")

    def execute(self, text: str, **properties: str) -> list[dict[str, Any]]:
        try:
            return self.client.execute(text, {name.replace("_", "."): value for name, value in properties.items()})
        except (ServerError, NotAnswering) as error:
            raise BenchError(f"{error} (answer to {text.split(' AS ')[0]})") from None

    def stream(self, name: str) -> None:
        self.execute(ORDERS.format(name=name, topic=name.lower(), partitions=PARTITIONS))

    def query(self, text: str, **properties: str) -> str:
        """Creates a query; its id."""
        return str(self.execute(text, **properties)[0]["commandStatus"]["queryId"])

    def description(self, query: str) -> dict[str, Any]:
        found: dict[str, Any] = self.execute(f"EXPLAIN {query};")[0]["queryDescription"]
        return found

    def wait_running(self, *queries: str) -> None:
        deadline = time.monotonic() + RUNNING_SECONDS
        for query in queries:
            while (found := self.description(query))["hostState"] != "RUNNING":
                if found["hostState"] == "ERROR" or time.monotonic() > deadline:
                    raise BenchError(f"{query} does not run: {found['hostState']} {found['queryErrors']}")
                time.sleep(POLL_SECONDS)

    def drop(self, kind: str, name: str) -> None:
        self.execute(f"DROP {kind} {name} DELETE TOPIC;")

    def stop(self) -> None:
        self.client.close()
        self.server.stop()


class Run:
    """One run: owns the broker, the KSQL server, the peers and the clients."""

    def __init__(self, options: Options, folder: Path, console: Console) -> None:
        self.options = options
        self.folder = folder
        self.console = console
        self.broker = CaudalServer(folder / "broker")
        self.results = Results()

    def measure(self) -> Results:
        if not self.options.quick:
            touch_memory()
        with ExitStack() as stack:
            stack.callback(self.broker.remove)
            self.broker.start()
            self.client = stack.enter_context(closing(Client("caudal.bench.ksql_workloads")))
            self._measure_server()
            self._measure_aggregate()
        return self.results

    def _say(self, text: str) -> None:
        self.console.print(text, highlight=False)

    def _add(self, name: str, found: dict[str, Any], *figures: str) -> None:
        for figure in figures:
            self.results.add(f"{name} {figure}", found["per_second" if figure == "rate" else f"{figure}_ms"])

    # -- with the server -----------------------------------------------------------------------------------------------

    def _measure_server(self) -> None:
        with ExitStack() as stack:
            ksql = Ksql(self.broker.bootstrap, self.folder)
            stack.callback(ksql.stop)
            self._say(f"the server took {ksql.server.seconds:.1f} s to start")
            self._prepare(ksql)
            self.peer = Peer("caudal.bench.ksql_peer")
            stack.callback(self.peer.stop)
            self._open_view(stack.enter_context(closing(Client("caudal.bench.views_workloads"))))
            for number in range(self.options.rounds):
                self._statements(ksql)
                self._pull(ksql)
                self._push(ksql)
                self._beside_each_other(ksql, number)
                self._say(f"round {number + 1} of {self.options.rounds} done")

    def _prepare(self, ksql: Ksql) -> None:
        """The query that runs all the time, the table that is asked, and the old records."""
        port, keys = self.broker.port, self.options.keys
        ksql.stream("IN_0")
        begin = time.monotonic()
        self.steady = ksql.query("CREATE STREAM OUT_0 WITH (KAFKA_TOPIC='out_0') AS SELECT * FROM IN_0;")
        ksql.wait_running(self.steady)
        self._say(f"its first query took {time.monotonic() - begin:.1f} s")
        ksql.stream("ORDERS")
        self.client.run("fill_orders", port=port, topic="orders", count=keys, keys=keys)
        totals = (
            "CREATE TABLE TOTALS AS SELECT USER_NAME, COUNT(*) AS ORDERS, SUM(AMOUNT) AS AMOUNT FROM ORDERS "
            "GROUP BY USER_NAME;"
        )
        self._wait_for(ksql, ksql.query(totals, auto_offset_reset="earliest"), "orders", keys)
        ksql.stream("OLD")
        self.client.run("fill_orders", port=port, topic="old", count=self.options.records, keys=1_000)
        self._say(f"a table of {keys:,} keys and {self.options.records:,} old records are there")

    def _open_view(self, keeper: Client) -> None:
        port = self.broker.port
        changelog = {"topics": [TOPIC], "partitions": PARTITIONS, "configs": {"cleanup.policy": "compact"}}
        keeper.run("create_topics", port=port, **changelog)
        keeper.run("fill_changelog", port=port, keys=self.options.keys, partitions=PARTITIONS)
        self.view_port = keeper.run("open_store", port=port, folder=str(self.folder / "view"))["http_port"]

    def _wait_for(self, ksql: Ksql, query: str, topic: str, records: int) -> None:
        group = ksql.description(query)["consumerGroupId"]
        where = {"topic": topic, "partitions": PARTITIONS, "records": records}
        self.client.run("wait_for_group", port=self.broker.port, group=group, **where)

    def _statements(self, ksql: Ksql) -> None:
        selects = {
            "stream": "SELECT USER_NAME, AMOUNT * 2 AS TWICE FROM IN_0 WHERE AMOUNT > 0",
            "table": "SELECT USER_NAME, COUNT(*) AS ORDERS FROM IN_0 GROUP BY USER_NAME",
        }
        for _ in range(1 if self.options.quick else STATEMENTS):
            for kind, select in selects.items():
                begin = time.monotonic()
                query = ksql.query(f"CREATE {kind.upper()} FRESH WITH (KAFKA_TOPIC='fresh') AS {select};")
                place = {"input": "in_0", "output": "fresh", "partitions": PARTITIONS}
                self.client.begin("first_row", port=self.broker.port, **place)
                ksql.wait_running(query)
                self.results.add(f"{kind} running", time.monotonic() - begin)
                self.results.add(f"{kind} row", self.client.result()["at"] - begin)
                ksql.drop(kind.upper(), "FRESH")
                ksql.wait_running(self.steady)
                time.sleep(SETTLE)
        self._say(
            "until a statement runs: "
            + ", ".join(f"{kind} {statistics.median(self.results.values[f'{kind} running']):.2f} s" for kind in selects)
        )

    def _pull(self, ksql: Ksql) -> None:
        with ksql.client.query("SELECT * FROM TOTALS WHERE USER_NAME = 'user-0000001';") as answer:
            if len(list(answer.rows)) != 1:
                raise BenchError("A key that was written is not found: nothing can be measured.")
        load = {"keys": self.options.keys, "connections": CONNECTIONS, "seconds": self.options.seconds}
        empty = self.client.run("ask_for_keys", http_port=self.peer.http_port, path="/", table="TOTALS", **load)
        pull = self.client.run("ask_for_keys", http_port=ksql.http_port, path="/query-stream", table="TOTALS", **load)
        views = self._views(load)
        self._add("empty", empty, "rate", "p50")
        self._add("pull", pull, "rate", "p50", "p99")
        self._add("views", views, "rate", "p50", "p99")
        self.results.add("pull ratio", pull["per_second"] / empty["per_second"])

    def _views(self, load: dict[str, Any]) -> dict[str, Any]:
        with closing(Client("caudal.bench.views_workloads")) as client:
            return client.run("ask_over_http", http_port=self.view_port, **load)

    def _push(self, ksql: Ksql) -> None:
        sql = "SELECT ID FROM IN_0 EMIT CHANGES;"
        load = {"topic": "in_0", "sql": sql, "rate": PUSHED, "seconds": self.options.seconds}
        found = self.client.run("push_latency", port=self.broker.port, http_port=ksql.http_port, **load)
        self._add("push", found, "p50", "p99")

    def _beside_each_other(self, ksql: Ksql, round_number: int) -> None:
        if round_number == 0:
            for number in range(1, self.options.many + 1):
                ksql.stream(f"IN_{number}")
        one = self._latency([0])
        self._add("one", one, "p50", "p99")
        busy = self._while_another_catches_up(ksql, round_number)
        self._add("busy", busy, "p50", "max")
        self.results.add("busy ratio", busy["p50_ms"] / one["p50_ms"])
        others = range(1, self.options.many)
        self._copy(ksql, others)
        many = self._latency([0, *others])
        self._add("many", many, "p50", "p99")
        self.results.add("many ratio", many["p50_ms"] / one["p50_ms"])
        self._drop_copies(ksql, others)
        self._at_least_once(ksql)

    def _at_least_once(self, ksql: Ksql) -> None:
        """One and many again without transactions; the query that runs all the time gets nothing meanwhile."""
        first, *others = numbers = range(1, self.options.many + 1)
        plain = {"processing_guarantee": "at_least_once"}
        self._copy(ksql, [first], **plain)
        one = self._latency([first])
        self._copy(ksql, others, **plain)
        many = self._latency(numbers)
        self._add("plain one", one, "p50")
        self._add("plain many", many, "p50")
        self.results.add("plain many ratio", many["p50_ms"] / one["p50_ms"])
        self._drop_copies(ksql, numbers)

    def _copy(self, ksql: Ksql, numbers: Sequence[int], **properties: str) -> None:
        """Queries from IN_n to OUT_n, made by one request; returns when they run."""
        begin = time.monotonic()
        text = " ".join(
            f"CREATE STREAM OUT_{number} WITH (KAFKA_TOPIC='out_{number}') AS SELECT * FROM IN_{number};"
            for number in numbers
        )
        queries = [entity["commandStatus"]["queryId"] for entity in ksql.execute(text, **properties)]
        ksql.wait_running(*queries)
        self._say(f"{len(queries)} more queries took {time.monotonic() - begin:.1f} s")

    def _drop_copies(self, ksql: Ksql, numbers: Sequence[int]) -> None:
        for number in numbers:
            ksql.drop("STREAM", f"OUT_{number}")
        ksql.wait_running(self.steady)

    def _places(self, numbers: Sequence[int]) -> dict[str, Any]:
        return {
            "port": self.broker.port,
            "inputs": [f"in_{number}" for number in numbers],
            "outputs": [f"out_{number}" for number in numbers],
            "partitions": PARTITIONS,
            "rate": RATE,
        }

    def _latency(self, numbers: Sequence[int]) -> dict[str, Any]:
        time.sleep(SETTLE)
        return self.client.run("query_latency", **self._places(numbers), seconds=self.options.seconds)

    def _while_another_catches_up(self, ksql: Ksql, round_number: int) -> dict[str, Any]:
        """The latency from the statement to when everything old was read."""
        with closing(Client("caudal.bench.ksql_workloads")) as other:
            name = f"REREAD_{round_number}"
            other.begin("query_latency", **self._places([0]), seconds=3600.0)
            statement = f"CREATE STREAM {name} AS SELECT USER_NAME, ID, AMOUNT * 2 AS TWICE FROM OLD WHERE ID >= 0;"
            begin = time.monotonic()
            query = ksql.query(statement, auto_offset_reset="earliest")
            self._wait_for(ksql, query, "old", self.options.records)
            seconds = time.monotonic() - begin
            found = other.finish()
        self._say(f"{self.options.records:,} old records were read {seconds:.1f} s after the statement")
        ksql.drop("STREAM", name)
        ksql.wait_running(self.steady)
        return found

    # -- without it ----------------------------------------------------------------------------------------------------

    def _measure_aggregate(self) -> None:
        """By hand, as SQL, by hand, …: each with topics of its own."""
        if reason := missing("caudal"):
            raise BenchError(reason)
        with closing(Caudal(self.folder / "aggregate")) as engine:
            engine.prepare()
            self._aggregate(engine)

    def _aggregate(self, engine: Caudal) -> None:
        begins_at = (int(time.time() * 1000) - 2 * SPAN_MS) // WINDOW_MS * WINDOW_MS
        for number in range(self.options.rounds):
            rates: dict[str, float] = {}
            for name, topology in (("hand", "totals"), ("sql", "sql-totals")):
                state, scale = self.folder / "aggregate-state", 1.0
                session = StreamsSession(self.broker, state, self.options.records, scale, begins_at)
                try:
                    rates[name] = catch_up(session, engine, topology)["rate"]
                except (EngineError, WorkloadError) as error:
                    raise BenchError(f"The aggregate ({name}) failed: {error}") from None
                session.clean_up()
                self.results.add(f"{name} rate", rates[name])
            self.results.add("sql ratio", rates["sql"] / rates["hand"])
            self._say(f"aggregate {number + 1} of {self.options.rounds}: {rates['sql'] / rates['hand']:.2f}× by hand")


def run(options: Options, console: Console | None = None) -> Results:
    """Measures, prints the table (or JSON), and writes the page where it is named."""
    if options.quick:
        options.rounds, options.records, options.seconds = 1, min(options.records, QUICK_RECORDS), QUICK_SECONDS
    if options.rounds < 1 or options.records < 400 or options.seconds <= 0:
        raise BenchError("--rounds must be 1 or more, --records 400 or more, --seconds more than 0.")
    return pages.present(
        lambda folder, said: Run(options, folder, said).measure(),
        options,
        command_line(options),
        notes(options),
        console,
    )


def notes(options: Options) -> list[str]:
    return [
        f"{PARTITIONS} partitions; queries as the server starts them, exactly once, {RATE} records a second for each. "
        "Latency is from `produce()` to the committed record at a consumer, or the row at the HTTP client.",
        f"The table and the view have {options.keys:,} keys, drawn at random, so that hardly a statement comes twice. "
        "The empty endpoint runs on hypercorn with the server's settings and gets the same requests.",
        f"While one is measured another reads {options.records:,} old records, from its statement to their end. The "
        f"aggregate is COUNT and SUM in windows of a minute over {options.records:,} records of JSON, at least once, "
        f"{THREADS} threads, by hand and as SQL on the same Spark host in turn.",
    ]


def command_line(options: Options) -> str:
    return pages.command_line(PAGE, options, rounds=options.rounds, records=options.records, seconds=options.seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m caudal.bench.ksql`"""
    parser = parser_of("ksql", "Measures KSQL: statements, pull and push queries, persistent queries.", DEFAULT_ROUNDS)
    parser.add_argument("--records", type=int, default=FULL_RECORDS, help="old records (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each measurement (default: %(default)s)")
    options = Options(**vars(parser.parse_args(arguments)))
    return exit_code(lambda: run(options))


if __name__ == "__main__":
    sys.exit(main())
