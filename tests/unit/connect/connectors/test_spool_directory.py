"""SpoolDirectory: what is read from files, how far after a restart, and where the files go."""

from __future__ import annotations

import bz2
import gzip
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.unit.connect.connectors.contexts import Offsets, SourceSide, start_source, start_sources

from caudal.connect.connectors.spool_directory.connector import SpoolDirectory
from caudal.connect.connectors.spool_directory.typing_text import parse_schema
from caudal.connect.data import STRING, Kind
from caudal.connect.errors import ConnectError
from caudal.connect.records import SourceRecord


class Spool:
    """The folders, and a task that is asked until it has nothing more."""

    def __init__(self, root: Path, **more: Any) -> None:
        self.root = root
        for name in ("in", "done", "bad"):
            (root / name).mkdir(exist_ok=True)
        given = {name.replace("_", "."): str(value) for name, value in more.items()}
        self.config = {
            "topic": "t", "input.path": str(root / "in"), "finished.path": str(root / "done"), "poll.interval.ms": "1",
            "error.path": str(root / "bad"), "caudal.allowed.folders": str(root), **given,
        }  # fmt: skip
        self.offsets = Offsets()

    def put(self, name: str, text: str | bytes) -> None:
        path = self.root / "in" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    def start(self) -> tuple[Any, SourceSide]:
        return start_source(SpoolDirectory, self.config, self.offsets)

    def run(self, task: Any, polls: int = 8) -> list[SourceRecord]:
        found: list[SourceRecord] = []
        for _ in range(polls):
            records = task.poll() or []
            found += records
            self.offsets.commit(records)
            task.commit()
        return found

    def values(self) -> list[Any]:
        task, _ = self.start()
        found = self.run(task)
        task.stop()
        return [record.value for record in found]

    def names(self, folder: str) -> list[str]:
        return sorted(
            str(path.relative_to(self.root / folder)) for path in (self.root / folder).rglob("*") if path.is_file()
        )


def test_files_are_read_once_and_moved(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.put("a.txt", "one\ntwo")
    spool.put("b.jsonl", '{"n": 1}\n\n{"n": 2}\n')
    spool.put("empty.txt", "")
    spool.put(".hidden", "not this")
    assert spool.values() == ["one", "two", {"n": 1}, {"n": 2}]
    assert spool.names("in") == [".hidden"] and spool.names("done") == ["a.txt", "b.jsonl", "empty.txt"]
    assert spool.values() == []


def test_a_restart_goes_on_in_the_middle(tmp_path: Path) -> None:
    spool = Spool(tmp_path, batch_size=3)
    spool.put("a.txt", "".join(f"{n}\n" for n in range(8)))
    task, _ = spool.start()
    records = task.poll()
    assert spool.names("in") == ["a.txt", "a.txt.PROCESSING"]
    spool.offsets.commit(records[:2])  # the third was not acknowledged when the worker died
    assert spool.values() == ["2", "3", "4", "5", "6", "7"]
    assert spool.names("done") == ["a.txt"] and spool.names("in") == []


def test_a_file_is_moved_only_when_its_last_offset_is_stored(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.put("a.txt", "one\n")
    task, _ = spool.start()
    records = task.poll()
    task.commit()
    assert "a.txt" in spool.names("in")
    assert task.poll() is None  # and it is not read again meanwhile
    spool.offsets.commit(records)
    task.commit()
    assert spool.names("done") == ["a.txt"]


def test_a_done_file_that_was_not_moved_is_only_moved(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.put("a.txt", "one\n")
    task, _ = spool.start()
    spool.offsets.commit(task.poll())
    assert spool.values() == []
    assert spool.names("done") == ["a.txt"]


def test_another_file_of_the_same_name_is_read(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.put("a.txt", "one\n")
    assert spool.values() == ["one"]
    spool.put("a.txt", "two\n")
    assert spool.values() == ["two"]
    assert spool.names("done") == ["a.txt", "a.txt.1"]


@pytest.mark.parametrize(("policy", "left"), [("DELETE", []), ("NONE", ["a.txt"])])
def test_cleanup_policies(tmp_path: Path, policy: str, left: list[str]) -> None:
    spool = Spool(tmp_path, cleanup_policy=policy)
    spool.put("a.txt", "one\n")
    assert spool.values() == ["one"] and spool.values() == []
    assert spool.names("in") == left and spool.names("done") == []


def test_csv_with_inferred_types(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.put(
        "a.csv",
        '\ufeffid,price,ok,day,at,zip,name\n1,0.5,true,2026-01-02,2026-01-02T03:04:05Z,00501,"a,\n""b"""\n2,,,,,,\n',
    )
    task, side = spool.start()
    records = spool.run(task)
    assert [record.value for record in records] == [
        {"id": 1, "price": 0.5, "ok": True, "day": date(2026, 1, 2), "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
         "zip": "00501", "name": 'a,\n"b"'},
        {"id": 2, "price": None, "ok": None, "day": None, "at": None, "zip": None, "name": None},
    ]  # fmt: skip
    schema = records[0].value_schema
    assert schema is not None and schema is records[1].value_schema
    assert [one.schema.kind for one in schema.fields][:3] == [Kind.INT64, Kind.FLOAT64, Kind.BOOLEAN]
    assert side.reported == []


def test_csv_with_a_given_schema_and_rows_that_do_not_fit(tmp_path: Path) -> None:
    spool = Spool(tmp_path, schema="id int32, price decimal(2), name string", csv_delimiter="tab", batch_size=2)
    spool.put("a.csv", "id\tprice\tname\n1\t1.5\tx\nno\t1\ty\n3\n4000000000\t1\tz\n5\t2\t\n6\tx\tbad at the end\n")
    task, side = spool.start()
    assert [record.value for record in spool.run(task)] == [
        {"id": 1, "price": Decimal("1.50"), "name": "x"}, {"id": 5, "price": Decimal("2.00"), "name": None},
    ]  # fmt: skip
    assert [str(error).split(":")[0] for error in side.reported] == [f"a.csv, record {n}" for n in (2, 3, 4, 6)]
    assert spool.names("done") == ["a.csv"]


def test_csv_without_header_and_types(tmp_path: Path) -> None:
    spool = Spool(tmp_path, csv_first_row_as_header="false", schema_infer="false")
    spool.put("a.tsv", "1\tx\n2\ty\n")
    assert spool.values() == [{"column1": "1", "column2": "x"}, {"column1": "2", "column2": "y"}]


def test_json_files_compressed_and_typed(tmp_path: Path) -> None:
    spool = Spool(tmp_path, format="json", schema='{"type":"struct","fields":[{"field":"n","type":"int64"}]}')
    spool.put("a.json.gz", gzip.compress(b'[{"n": 1}, {"n": "x"}, {"n": 2, "m": 3}]'))
    spool.put("b.json.bz2", bz2.compress(b'{"n": 4}'))
    task, side = spool.start()
    records = spool.run(task)
    assert [record.value for record in records] == [{"n": 1}, {"n": 2}, {"n": 4}]
    assert records[0].value_schema is not None and len(side.reported) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b"[1,"),
        ("a.txt", b"good\n\xff\n"),
        ("a.json.gz", gzip.compress(b"[1]")[:-6]),
        ("a.csv", b"a,a\n1,2\n"),
    ],
    ids=["half-json", "no-utf8", "half-gzip", "two-columns-of-a-name"],
)
def test_files_that_cannot_be_read_go_to_the_error_folder(tmp_path: Path, name: str, content: bytes) -> None:
    format = "json" if ".json" in name else "auto"
    spool = Spool(tmp_path, format=format)
    spool.put(name, content)
    spool.put("z.txt" if format == "auto" else "z.json", "5\n")
    assert spool.values()[-1] in ("5", 5)
    assert spool.names("bad") == [name]
    spool.config["error.path"] = ""
    spool.put(name, content)
    task, _ = spool.start()
    with pytest.raises(ConnectError, match="cannot be read"):
        spool.run(task)


def test_tasks_share_the_files(tmp_path: Path) -> None:
    spool = Spool(tmp_path, tasks_max=3, input_glob="**/*")
    for n in range(30):
        spool.put(f"sub{n % 2}/{n}.txt", f"{n}\n")
    running = start_sources(SpoolDirectory, spool.config, spool.offsets)
    shares = [[int(record.value) for record in spool.run(task, 40)] for task, _ in running]
    assert all(shares) and sorted(n for share in shares for n in share) == list(range(30))
    assert len(spool.names("done")) == 30


def test_young_files_and_links_out_of_the_folder_are_left(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    spool = Spool(tmp_path / "root", file_minimum_age_ms=3_600_000)
    spool.put("young.txt", "x\n")
    assert spool.values() == []
    (tmp_path / "secret.txt").write_text("secret\n")
    spool.config["file.minimum.age.ms"] = "0"
    (tmp_path / "root/in/link.txt").symlink_to(tmp_path / "secret.txt")
    assert spool.values() == ["x"]


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"input.path": "/etc"}, "input.path"),
        ({"input.path": "{root}/nowhere"}, "input.path"),
        ({"finished.path": ""}, "finished.path"),
        ({"finished.path": "{root}/in"}, "finished.path"),
        ({"error.path": "/tmp/../etc"}, "error.path"),
        ({"schema": "id"}, "schema"),
        ({"schema": '{"type":"int32"}'}, "schema"),
    ],
)
def test_wrong_configurations_are_named(tmp_path: Path, given: dict[str, str], key: str) -> None:
    spool = Spool(tmp_path)
    spool.config |= {name: value.format(root=tmp_path) if "{root}" in value else value for name, value in given.items()}
    assert list(SpoolDirectory.check(SpoolDirectory.config().parse(spool.config))) == [key]


def test_short_schemas() -> None:
    fields = parse_schema("a b string, price decimal(10, 2), at timestamp").fields
    assert fields[0].name == "a b" and fields[0].schema == STRING.as_optional()
    assert fields[1].schema.parameters == {"scale": "2", "connect.decimal.precision": "10"}


def test_bad_records_at_the_end_do_not_move_a_file_whose_records_are_not_stored(tmp_path: Path) -> None:
    spool = Spool(tmp_path, batch_size=1)
    spool.put("a.jsonl", '{"n":1}\nbad\n')
    task, side = spool.start()
    records = task.poll()
    assert task.poll() is None and len(side.reported) == 1
    task.commit()
    assert "a.jsonl" in spool.names("in")
    spool.offsets.commit(records)
    task.commit()
    assert spool.names("done") == ["a.jsonl"]
