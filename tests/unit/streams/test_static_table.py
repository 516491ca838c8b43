"""static_table: a stream joined with a Parquet file, in process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from caudal.runtime.errors import StreamsError
from caudal.serde import Json, String
from caudal.streams import PlanError, Processor, Record, StreamsBuilder
from caudal.testing import TopologyTestDriver

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = {"id": ["ana", "eva", None], "city": ["Soria", "Lugo", "nowhere"], "age": [31, 42, 0]}


def written(folder: Path, rows: dict[str, list[Any]] | None = None) -> Path:
    path = folder / "customers.parquet"
    parquet.write_table(pyarrow.table(rows or ROWS), path)
    return path


def join(path: Path, *, left: bool = False, **settings: Any) -> StreamsBuilder:
    builder = StreamsBuilder("app")
    orders = builder.stream("orders", key=String(), value=Json())
    customers = builder.static_table(path, **{"key": "id", **settings})
    method = orders.left_join if left else orders.join
    method(customers, lambda order, row: {**order, "row": row}, key_selector="user").to("out")
    return builder


def outcome(builder: StreamsBuilder, *users: str | None) -> list[Any]:
    with TopologyTestDriver(builder) as driver:
        for user in users:
            driver.pipe_input("orders", "k", {"user": user})
        return [record.value["row"] for record in driver.read_outputs("out")]


def test_a_row_is_found_by_its_key(tmp_path: Path) -> None:
    rows = outcome(join(written(tmp_path)), "eva", "nobody", "ana")
    assert rows == [{"id": "eva", "city": "Lugo", "age": 42}, {"id": "ana", "city": "Soria", "age": 31}]


def test_a_left_join_lets_records_without_a_row_through(tmp_path: Path) -> None:
    assert outcome(join(written(tmp_path), left=True), "nobody", None) == [None, None]


def test_only_the_columns_that_are_asked_for_are_there(tmp_path: Path) -> None:
    assert outcome(join(written(tmp_path), columns=["city"]), "ana") == [{"id": "ana", "city": "Soria"}]


def test_a_folder_of_files_is_one_table(tmp_path: Path) -> None:
    for number in range(2):
        parquet.write_table(pyarrow.table({"id": [number], "name": [f"n{number}"]}), tmp_path / f"{number}.parquet")
    assert outcome(join(tmp_path, columns=["name"]), 1, 0) == [{"id": 1, "name": "n1"}, {"id": 0, "name": "n0"}]  # type: ignore[arg-type]


def test_a_changed_file_is_seen_by_the_next_start(tmp_path: Path) -> None:
    path = written(tmp_path)
    builder = join(path)
    assert outcome(builder, "ana")[0]["city"] == "Soria"
    written(tmp_path, {"id": ["ana"], "city": ["Vigo"], "age": [1]})
    os.utime(path, ns=(1, 1))
    assert outcome(builder, "ana")[0]["city"] == "Vigo"


def test_a_processor_may_read_it(tmp_path: Path) -> None:
    class Cities(Processor):
        def init(self, context: Any) -> None:
            self.context, self.table = context, context.get_state_store("customers")

        def process(self, record: Record) -> None:
            found = self.table.get(record.value["user"])
            self.context.forward(record.with_value({"row": found[0]["city"], "of": self.table.count()}))

    builder = StreamsBuilder("app")
    builder.static_table(written(tmp_path), key="id", store="customers")
    builder.stream("orders", key=String(), value=Json()).process(Cities, stores=["customers"]).to("out")
    assert outcome(builder, "eva") == ["Lugo"]


@pytest.mark.parametrize(
    ("rows", "settings", "sentence"),
    [
        (None, {"key": "number"}, "has no column 'number' for the key of static table 'static-STATE-STORE-0000000001'"),
        ({"id": [1, 1]}, {}, "has two rows with id = 1"),
    ],
)
def test_what_cannot_be_a_table_is_said_in_one_sentence(
    tmp_path: Path, rows: dict[str, list[Any]] | None, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(StreamsError, match=sentence):
        outcome(join(written(tmp_path, rows), **settings))


def test_a_missing_file_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StreamsError, match=r"cannot be read from .*none\.parquet"):
        outcome(join(tmp_path / "none.parquet"))


def test_a_plan_says_where_the_rows_are(tmp_path: Path) -> None:
    (store,) = join(tmp_path / "a.parquet").build().to_dict()["stores"]
    assert store["static"] == {
        "type": "StaticFile",
        "path": str(tmp_path / "a.parquet"),
        "key": "id",
        "columns": None,
    }


def test_it_needs_a_key_selector(tmp_path: Path) -> None:
    builder = StreamsBuilder("app")
    table = builder.static_table(tmp_path, key="id")
    with pytest.raises(PlanError, match="key_selector"):
        builder.stream("orders").join(table, lambda order, row: row)
