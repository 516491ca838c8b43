"""`caudal ksql-server` as processes: the users' own functions in Spark's workers, joins over several partitions, many
queries at once, and a second server of the service id that goes on when the first is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from caudal.bench.http_servers import HttpServer
from caudal.bench.servers import children
from caudal.ksql.shell.client import Server, ServerError
from caudal.testing import EmbeddedBroker
from tests.ksql.conftest import until

EARLIEST = {"auto.offset.reset": "earliest"}
FUNCTIONS = '''
from caudal.ksql import udaf, udf, udtf

@udf
def with_tax(amount: float, rate: float = 0.5) -> float:
    """The amount with the tax in it."""
    return amount * (1 + rate)

@udtf
def letters(text: str) -> list[str]:
    """Each letter."""
    return list(text)

@udaf
class Longest:
    """The longest text."""
    def initial(self) -> str:
        return ""
    def add(self, so_far: str, text: str) -> str:
        return max(so_far, text, key=lambda one: (len(one), one))
    def merge(self, one: str, other: str) -> str:
        return self.add(one, other)
    def result(self, so_far: str) -> str:
        return so_far
'''


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    folder = tmp_path / "functions"
    folder.mkdir()
    (folder / "prices.py").write_text(FUNCTIONS)
    return folder


@contextmanager
def running(
    broker: EmbeddedBroker, service: str, folder: Path, *flags: str
) -> Iterator[tuple[HttpServer, Callable[[str], list[Any]], Server]]:
    """A server, a function that asks a pull query, and a client."""
    words = ["ksql-server", "--bootstrap", broker.bootstrap, "--service-id", service, "--data", str(folder), *flags]
    folder.mkdir(exist_ok=True)
    server = HttpServer(words, folder / "server.log")
    client = Server(f"127.0.0.1:{server.http_port}")

    def rows(sql: str) -> list[Any]:
        try:
            with client.query(sql) as answer:
                return sorted(list(row) for row in answer.rows)
        except ServerError:  # the table's topic may still be on its way, or its query be starting
            return []

    try:
        yield server, rows, client
    finally:
        client.close()
        server.stop()


def test_own_functions_and_joins_over_four_partitions_also_after_spark_was_killed(
    broker: EmbeddedBroker, service: str, functions: Path, tmp_path: Path
) -> None:
    with running(broker, service, tmp_path / "one", "--extensions", str(functions)) as (server, rows, client):
        client.execute(
            f"""
            CREATE TABLE users (name STRING PRIMARY KEY, city STRING)
              WITH (KAFKA_TOPIC='{service}users', PARTITIONS=4, VALUE_FORMAT='JSON');
            CREATE STREAM orders (id INT KEY, who STRING, amount DOUBLE)
              WITH (KAFKA_TOPIC='{service}orders', PARTITIONS=4, VALUE_FORMAT='JSON');
            """,
            {},
        )
        cities = ["Soria", "Cuenca", "Vigo"]
        for number in range(12):
            client.execute(f"INSERT INTO users VALUES ('user{number}', '{cities[number % 3]}');", {})
        client.execute(
            # The key of the orders is another: they go through a repartition topic to where their user is.
            """
            CREATE STREAM placed AS SELECT o.who AS who, id, u.city AS city, with_tax(amount) AS total
              FROM orders o JOIN users u ON o.who = u.name PARTITION BY o.who;
            CREATE TABLE per_city AS SELECT city, COUNT(*) AS n, SUM(total) AS total, longest(who) AS longest
              FROM placed GROUP BY city;
            CREATE STREAM spelt AS SELECT who, letters(city) AS letter FROM placed WHERE id = 0;
            """,
            EARLIEST,
        )

        def order(begin: int, end: int) -> None:
            for number in range(begin, end):
                client.execute(f"INSERT INTO orders VALUES ({number}, 'user{number % 12}', {number});", {})

        def wait_for_all_up_to(end: int) -> None:
            totals = [1.5 * sum(number for number in range(end) if number % 3 == city) for city in range(3)]
            longest = ["user9", "user10", "user11"]
            expected = sorted([cities[city], end // 3, totals[city], longest[city]] for city in range(3))
            until(
                lambda: [[row[0], int(row[1]), float(row[2]), row[3]] for row in rows("SELECT * FROM per_city;")],
                expected,
            )

        order(0, 36)
        wait_for_all_up_to(36)
        (jvm,) = (each for each in children(server.process) if each.name() == "java")
        order(36, 48)
        jvm.kill()
        order(48, 60)
        wait_for_all_up_to(60)
        until(lambda: [row[0] for row in rows("SELECT letter FROM spelt;")], sorted("Soria"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_queries_and_a_server_that_is_killed(broker: EmbeddedBroker, service: str, tmp_path: Path) -> None:
    with running(broker, service, tmp_path / "one") as (first, _, client):
        for number in range(20):
            client.execute(
                f"CREATE STREAM in{number} (id INT KEY, amount INT) WITH (KAFKA_TOPIC='{service}in{number}', "
                f"PARTITIONS=4, VALUE_FORMAT='JSON');"
                f"CREATE TABLE sum{number} AS SELECT id % 2 AS odd, SUM(amount) AS total FROM in{number} "
                "GROUP BY id % 2;",
                EARLIEST,
            )

        def write(begin: int) -> None:
            for number in range(20):
                for id in range(begin, begin + 4):
                    client.execute(f"INSERT INTO in{number} VALUES ({id}, {number});", {})

        with running(broker, service, tmp_path / "two") as (_, rows, other):

            def wait_for_sums(times: int) -> None:
                for number in range(20):
                    ask = partial(rows, f"SELECT odd, total FROM sum{number};")
                    until(ask, [[0, times * number], [1, times * number]])

            write(0)
            wait_for_sums(2)
            os.killpg(first.process.pid, signal.SIGKILL)
            client = other
            write(4)
            wait_for_sums(4)
