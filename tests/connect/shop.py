"""The demonstration `demos/shop` under test: its folder, its database with a shop that goes on, and its sinks."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet

DEMO = Path(__file__).parents[2] / "demos" / "shop"
CUSTOMERS = 20
PRODUCTS = ("lamp", "chair", "desk", "vase", "rug")
PAUSE_SECONDS = 0.25


class Shop:
    """A copy of the folder, with what the demonstration makes in `data`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(DEMO, folder)
        self.data = folder / "data"
        self.data.mkdir()
        self.connectors = sorted(file.stem for file in folder.glob("*.json"))
        self._known: dict[tuple[str, int, int], list[int]] = {}
        self._till = threading.Lock()  # one sells at a time: who comes next takes the next number
        self.failures: list[BaseException] = []

    def open_database(self) -> None:
        with self._database() as database:
            database.executescript((self.folder / "database.sql").read_text())
            more = [(number, f"Customer {number}", None) for number in range(4, CUSTOMERS + 1)]
            database.executemany("INSERT INTO customers (id, name, city) VALUES (?, ?, ?)", more)

    def run(self, sql: str) -> None:
        with self._database() as database:
            database.executescript(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._database() as database:
            return database.execute(sql).fetchall()

    def last_order(self) -> int:
        return int(self.rows("SELECT max(id) FROM orders")[0][0])

    def sell(self) -> None:
        """Five orders in a transaction, of customers that have been there all the time, and a customer who moves."""
        with self._till, self._database() as database:
            (last,) = database.execute("SELECT max(id) FROM orders").fetchone()
            orders = [_order(number) for number in range(last + 1, last + 6)]
            database.executemany(
                "INSERT INTO orders (id, customer_id, product, quantity, price, voucher, placed_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                orders,
            )
            database.execute(
                "UPDATE customers SET city = ?, changed_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE id = ?",
                (f"City {last}", last % CUSTOMERS + 1),
            )

    @contextmanager
    def selling(self) -> Iterator[None]:
        """Meanwhile, on and on."""
        closed = threading.Event()

        def go_on() -> None:
            try:
                while not closed.wait(PAUSE_SECONDS):
                    self.sell()
            except BaseException as error:
                self.failures.append(error)

        thread = threading.Thread(target=go_on, name="shop")
        thread.start()
        try:
            yield
        finally:
            closed.set()
            thread.join()
        assert not self.failures, self.failures

    def archived(self, topic: str, column: str) -> list[int]:
        """What the object sink's files hold."""
        return self._ids(sorted(self.data.glob(f"archive/topics/{topic}/*/*.parquet")), column)

    def in_the_lake(self) -> list[int]:
        """What Spark's readers see: the files that its log names."""
        names: set[str] = set()
        for entry in sorted(self.data.glob("lake/_spark_metadata/[0-9]*")):
            names |= {Path(json.loads(line)["path"]).name for line in entry.read_text().splitlines()[1:]}
        return self._ids([self.data / "lake" / name for name in sorted(names)], "order_id")

    def _ids(self, files: list[Path], column: str) -> list[int]:
        found: list[int] = []
        for file in files:
            status = file.stat()
            place = (str(file), status.st_mtime_ns, status.st_size)
            if place not in self._known:
                self._known[place] = pyarrow.parquet.ParquetFile(file).read([column]).column(column).to_pylist()
            found += self._known[place]
        return found

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self.data / "shop.db", timeout=60)
        try:
            with database:
                yield database
        finally:
            database.close()


def _order(number: int) -> tuple[Any, ...]:
    """As unlike its neighbours as its number allows."""
    minute, second = divmod(number, 60)
    placed_at = f"2026-02-01 {minute // 60 % 24:02}:{minute % 60:02}:{second:02}.{number % 1000:03}"
    price, voucher = f"{number % 400}.{number % 100:02}", "SPRING" if number % 3 else None
    return number, number % CUSTOMERS + 1, PRODUCTS[number % 5], number % 7 + 1, price, voucher, placed_at


def twice(found: list[int]) -> dict[int, int]:
    """What is there more than once, and how often."""
    return {number: count for number, count in Counter(found).items() if count > 1}
