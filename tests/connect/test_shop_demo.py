"""demos/shop: database → topic (Avro) → KSQL join → Parquet, a second database and Spark; nothing twice, who ever dies.

The quick test is about schemas and needs no Spark. The slow ones run everything: one types the README, one kills every
part while the shop goes on.
"""

from __future__ import annotations

import datetime
import logging
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow
import pyarrow.parquet
import pytest

from caudal.cli.ports import is_taken
from tests.connect.parts import Platform, free_ports
from tests.connect.postgres import Database, PostgresServer, postgres
from tests.connect.process import until
from tests.connect.shop import Shop, twice

__all__ = ["postgres"]
BLOCK = re.compile(r"^```sh(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# For machines without the command: what the README needs of it.
SQLITE = f"""#!{sys.executable}
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=60)
if len(sys.argv) == 2:
    database.executescript(sys.stdin.read())
else:
    with database:
        for row in database.execute(sys.argv[2]):
            print(*row, sep="|")
"""
PATIENCE = 900.0  # Spark starts anew, on a machine that others use too
UTC = datetime.UTC
_LOG = logging.getLogger(__name__)


def begin(shop: Shop, platform: Platform, *sinks: str) -> None:
    """The README's steps, as far as to the sinks."""
    platform.caudal("topic", "create", "shop_customers", "shop_orders", "-p", "2")
    for name in ("customers", "orders"):
        platform.caudal("connector", "create", f"{name}.json", "--wait", "120")
    if "ksql" in platform.parts:
        platform.caudal("consume", "shop_customers", "-c", "3")
        platform.caudal("consume", "shop_orders", "-c", "4")
        platform.caudal("ksql", "-f", "pipeline.sql")
    else:
        platform.caudal("topic", "create", "shop_sales", "-p", "2")
    for name in sinks:
        platform.caudal("connector", "create", f"{name}.json", "--wait", "120")


def columns(database: Database, table: str) -> list[tuple[Any, ...]]:
    """Name, type, digits and whether it may be null."""
    return database.rows(
        "SELECT column_name, data_type, "
        "CASE data_type WHEN 'numeric' THEN numeric_precision || ',' || numeric_scale END, is_nullable "
        f"FROM information_schema.columns WHERE table_name = '{table}' ORDER BY ordinal_position"
    )


def test_schemas_travel_from_the_database_to_parquet_and_the_second_database(
    tmp_path: Path, postgres: Database
) -> None:
    """Decimals, timestamps and NOT NULL as they were; then a column is added to the table, and travels by itself."""
    shop = Shop(tmp_path / "shop")
    shop.open_database()
    platform = Platform(shop.folder, tmp_path, {"SHOP_WAREHOUSE": postgres.url}, spark=False)
    instant = pyarrow.timestamp("ms", "UTC")
    fields = [
        pyarrow.field("id", pyarrow.int64(), nullable=False),
        pyarrow.field("customer_id", pyarrow.int64(), nullable=False),
        pyarrow.field("product", pyarrow.string(), nullable=False),
        pyarrow.field("quantity", pyarrow.int64(), nullable=False),
        pyarrow.field("price", pyarrow.decimal128(8, 2), nullable=False),
        pyarrow.field("voucher", pyarrow.string()),
        pyarrow.field("placed_at", instant, nullable=False),
    ]
    table = [
        ("id", "bigint", None, "NO"), ("customer_id", "bigint", None, "NO"), ("product", "text", None, "NO"),
        ("quantity", "bigint", None, "NO"), ("price", "numeric", "8,2", "NO"), ("voucher", "text", None, "YES"),
        ("placed_at", "timestamp with time zone", None, "NO"),
    ]  # fmt: skip
    with platform.running():
        begin(shop, platform, "archive", "warehouse")
        until(lambda: sorted(shop.archived("shop_orders", "id")), [1, 2, 3, 4])
        for file in shop.data.glob("archive/topics/shop_orders/*/*.parquet"):
            assert pyarrow.parquet.ParquetFile(file).schema_arrow == pyarrow.schema(fields)
        until(lambda: columns(postgres, "shop_orders"), table)
        until(lambda: postgres.rows("SELECT count(*) FROM shop_orders"), [(4,)])
        assert postgres.rows("SELECT price, voucher, placed_at FROM shop_orders WHERE id = 2") == [
            (Decimal("120.50"), "SPRING", datetime.datetime(2026, 1, 5, 9, 12, 30, 250_000, UTC))
        ]

        shop.run("ALTER TABLE orders ADD COLUMN gift_note VARCHAR(200)")
        shop.run(
            "INSERT INTO orders (id, customer_id, product, quantity, price, placed_at, gift_note) "
            "VALUES (5, 2, 'vase', 1, 19.90, '2026-01-07 11:00:00', 'For Eva')"
        )
        until(lambda: sorted(shop.archived("shop_orders", "id")), [1, 2, 3, 4, 5])
        until(lambda: postgres.rows("SELECT id, gift_note FROM shop_orders ORDER BY id"),
              [(1, None), (2, None), (3, None), (4, None), (5, "For Eva")])  # fmt: skip
        assert columns(postgres, "shop_orders") == [*table, ("gift_note", "text", None, "YES")]
        files = [pyarrow.parquet.read_table(file) for file in shop.data.glob("archive/topics/shop_orders/*/*.parquet")]
        (new,) = [file for file in files if 5 in file.column("id").to_pylist()]
        assert new.schema.remove_metadata().field("gift_note") == pyarrow.field("gift_note", pyarrow.string())
        assert all("gift_note" not in file.column_names for file in files if file is not new)
        comparison = platform.caudal("schema", "diff", "shop_orders-value", "1", "2")
        assert "BACKWARD  shop_orders-value@2 reads records of shop_orders-value@1: yes" in comparison


class Sinks:
    """What has arrived, in each of the three; and the wait for it."""

    def __init__(self, shop: Shop, database: Database) -> None:
        self._shop = shop
        self._database = database

    def warehouse(self, topic: str, column: str) -> list[int]:
        try:
            return [row[0] for row in self._database.rows(f"SELECT {column} FROM {topic}")]
        except psycopg.errors.UndefinedTable:
            return []

    def all(self) -> dict[str, list[int]]:
        return {
            "orders in the warehouse": self.warehouse("shop_orders", "id"),
            "sales in the warehouse": self.warehouse("shop_sales", "order_id"),
            "orders in the archive": self._shop.archived("shop_orders", "id"),
            "sales in the archive": self._shop.archived("shop_sales", "order_id"),
            "sales in the lake": self._shop.in_the_lake(),
        }

    def wait(self, number: int, after: str, seen: Callable[[], str]) -> None:
        """Until everything up to this order is everywhere."""
        deadline = time.monotonic() + PATIENCE
        while missing := {
            name: sorted(lacking)[:5]
            for name, found in self.all().items()
            if (lacking := set(range(1, number + 1)).difference(found))
        }:
            assert not self._shop.failures, self._shop.failures
            assert time.monotonic() < deadline, f"after {after}, up to {number}: {missing}\n{seen()}"
            time.sleep(0.5)
        _LOG.info("after %s all %d orders are everywhere", after, number)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_part_is_killed_while_the_shop_goes_on(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.open_database()
    server = PostgresServer()
    try:
        database = server.database()
        platform = Platform(shop.folder, tmp_path, {"SHOP_WAREHOUSE": database.url})
        sinks = Sinks(shop, database)

        def seen() -> str:
            states = platform.caudal("connector", "list")
            return states + "".join(
                f"{name}: {(tmp_path / name).read_text()[-3000:]}\n" for name in ("connect.log", "ksql.log")
            )

        with platform.running():
            begin(shop, platform, "archive", "warehouse", "lake")
            with shop.selling():
                sinks.wait(shop.last_order(), "the start", seen)
                server.kill()
                shop.sell()
                server.start()
                sinks.wait(shop.last_order(), "PostgreSQL", seen)
                for name in ("registry", "connect", "ksql", "broker"):
                    platform.parts[name].kill()
                    shop.sell()
                    platform.parts[name].start()
                    sinks.wait(shop.last_order(), f"the {name}", seen)
                for name, word in (("connect", "caudal.connect.runtime.tasks.process"), ("ksql", "java")):
                    started = platform.parts[name].descendants(word)
                    assert started, f"the {name} has started nothing with {word}"
                    for process in started:
                        process.kill()
                shop.sell()
                sinks.wait(shop.last_order(), "tasks and Spark", seen)
                for part in platform.parts.values():
                    part.kill()
                server.kill()
                shop.sell()
                server.start()
                for part in platform.parts.values():
                    part.start()
                sinks.wait(shop.last_order(), "everything at once", seen)
            last = shop.last_order()
            sinks.wait(last, "the end", seen)
        # Everything has been stopped in order, so what was on its way has arrived.
        for name, found in sinks.all().items():
            assert sorted(found) == list(range(1, last + 1)), f"{name}: twice: {twice(found)}"
        assert_joined_right(shop, database)
    finally:
        server.close()


def assert_joined_right(shop: Shop, database: Database) -> None:
    expected = shop.rows(
        "SELECT o.id, c.id, c.name, o.product, o.quantity, printf('%.2f', o.price), o.voucher "
        "FROM orders o JOIN customers c ON o.customer_id = c.id ORDER BY o.id"
    )
    query = "SELECT order_id, customer_id, name, product, quantity, price::text, voucher FROM shop_sales ORDER BY 1"
    assert database.rows(query) == expected


class Terminal:
    """Two of them, as the README has it: `up` in the one, commands in the other."""

    def __init__(self, shop: Shop, commands: Path) -> None:
        self._folder = shop.folder
        commands.mkdir()
        self._script(commands / "caudal", f'#!/bin/sh\nexec {sys.executable} -m caudal.cli.main "$@"\n')
        if shutil.which("sqlite3") is None:
            self._script(commands / "sqlite3", SQLITE)
        kafka, registry, connect, ksql = self._numbers = free_ports(4)
        self._ports = f"--kafka-port {kafka} --registry-port {registry} --connect-port {connect} --ksql-port {ksql}"
        self._ports += " --metrics-port 0"
        self._environment = {
            **os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "CAUDAL_BOOTSTRAP": f"127.0.0.1:{kafka}",
            "CAUDAL_REGISTRY": f"http://127.0.0.1:{registry}", "CAUDAL_CONNECT": f"http://127.0.0.1:{connect}",
            "CAUDAL_KSQL": f"http://127.0.0.1:{ksql}", "SHOP_WAREHOUSE": "sqlite:///data/warehouse.db",
        }  # fmt: skip

    @staticmethod
    def _script(file: Path, text: str) -> None:
        file.write_text(text)
        file.chmod(0o755)

    def ports_taken(self) -> list[int]:
        """By servers that have not noticed yet that `caudal up` is gone."""
        return [number for number in self._numbers if is_taken("127.0.0.1", number)]

    def type(self, text: str) -> str:
        done = subprocess.run(
            ["sh", "-ec", text], cwd=self._folder, env=self._environment, capture_output=True, text=True, check=False,
            timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @contextmanager
    def up(self, command: str) -> Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            ["sh", "-ec", f"exec {command.strip()} {self._ports}"], cwd=self._folder, env=self._environment,
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert "Caudal is up" in line, line + process.stdout.read()
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(PATIENCE)
            process.stdout.close()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_readme_word_for_word(tmp_path: Path) -> None:
    """With SQLite as the second database, as it says for those who have no PostgreSQL; killed where it says so."""
    shop = Shop(tmp_path / "shop")
    shop.data.rmdir()
    terminal = Terminal(shop, tmp_path / "commands")
    blocks = BLOCK.findall((shop.folder / "README.md").read_text())
    marks = [mark for mark, _ in blocks]
    start, look, again = (marks.index(mark) for mark in ("up", "warehouse", "again"))

    def sold() -> list[int]:
        with sqlite3.connect(shop.data / "warehouse.db", timeout=60) as warehouse:
            try:
                return sorted(row[0] for row in warehouse.execute("SELECT order_id FROM shop_sales"))
            except sqlite3.OperationalError:  # not made yet
                return []

    def everywhere() -> list[list[int]]:
        return [sold(), sorted(shop.archived("shop_sales", "order_id")), sorted(shop.in_the_lake())]

    for _, text in blocks[:start]:
        terminal.type(text)
    with terminal.up(blocks[start][1]) as process:
        said = ""
        for number, (_, text) in enumerate(blocks[start + 1 : again], start + 1):
            if number == look:
                until(everywhere, [[1, 2, 3, 4]] * 3, PATIENCE)
            said += terminal.type(text)
        assert "1|Ana|lamp|30" in said
        assert re.search(r"\|5 +\|Cleo +\|Vigo +\|rug ", said), said
        assert "shop_orders-value@2 reads records of shop_orders-value@1: yes" in said
        os.kill(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
    until(terminal.ports_taken, [], PATIENCE)
    with terminal.up(blocks[again][1]):
        said = "".join(terminal.type(text) for _, text in blocks[again + 1 :])
        assert "For Ida" in said
        until(everywhere, [list(range(1, 10))] * 3, PATIENCE)
    assert everywhere() == [list(range(1, 10))] * 3
    with sqlite3.connect(shop.data / "warehouse.db") as warehouse:
        notes = dict(warehouse.execute("SELECT order_id, gift_note FROM shop_sales"))
    # What was on its way when the query was changed has the note or has it not.
    assert notes == {**dict.fromkeys(range(1, 10)), 7: notes[7], 8: "For Ida"}
