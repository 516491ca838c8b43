"""From bytes to typed columns, by the serdes: what a worker does with the rows of a table or a topic."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.runtime.batch.in_process import HEADER

from caudal.plan.topology import StoreKind, StoreSpec
from caudal.runtime.batch import tables
from caudal.runtime.batch.frames import Decoding
from caudal.runtime.record import Windowed
from caudal.runtime.stores import TaskState
from caudal.serde import (
    Boolean,
    Bytes,
    Double,
    Float,
    Integer,
    Json,
    ListOf,
    Long,
    Serde,
    SessionWindowed,
    Short,
    String,
    TimeWindowed,
    Uuid,
)

pyarrow = pytest.importorskip("pyarrow")
ONE = uuid.UUID(int=1)


class Upper:
    """A serde of a user's own."""

    def serialize(self, value: Any) -> bytes:
        return str(value["name"]).encode()

    def deserialize(self, data: bytes) -> Any:
        return {"name": data.decode().upper()}


def read(decoding: Decoding, *rows: tuple[bytes | None, bytes | None, int]) -> list[dict[str, Any]]:
    types = [("key", pyarrow.binary()), ("value", pyarrow.binary()), ("timestamp", pyarrow.int64())]
    batch = pyarrow.RecordBatch.from_arrays(
        [pyarrow.array(column, kind) for column, (_, kind) in zip(zip(*rows, strict=True), types, strict=True)],
        [name for name, _ in types],
    )
    (typed,) = decoding(iter([batch]))
    assert typed.schema.names == [name for name, _ in decoding.columns()]
    found: list[dict[str, Any]] = typed.to_pylist()
    return found


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


@pytest.mark.parametrize(
    ("serde", "value", "kind", "shown"),
    [
        (String(), "ñ", "string", "ñ"),
        (Long(), -(1 << 40), "bigint", -(1 << 40)),
        (Integer(), -5, "int", -5),
        (Short(), 7, "smallint", 7),
        (Double(), 0.1, "double", 0.1),
        (Float(), 0.5, "float", 0.5),
        (Boolean(), True, "boolean", True),
        (Bytes(), b"\xff", "binary", b"\xff"),
        (Uuid(), ONE, "string", str(ONE)),
        (Json(), {"a": [1, None]}, "string", '{"a":[1,null]}'),
        (ListOf(Long()), [1, None, 3], "array<bigint>", [1, None, 3]),
        (ListOf(Json()), [{"a": 1}], "string", '[{"a":1}]'),
        (Upper(), {"name": "ana"}, "string", '{"name":"ANA"}'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_serde_gives_its_type(serde: Serde, value: Any, kind: str, shown: Any) -> None:
    decoding = Decoding(serde, serde)
    data = serde.serialize(value)
    assert decoding.columns() == [("key", kind), ("value", kind), ("timestamp", "timestamp")]
    assert read(decoding, (data, None, 1500), (None, data, 0)) == [
        {"key": shown, "value": None, "timestamp": at(1500)},
        {"key": None, "value": shown, "timestamp": at(0)},
    ]


@pytest.mark.parametrize("serde", [TimeWindowed(String(), 10_000), SessionWindowed(String())], ids=repr)
def test_a_windowed_key_has_columns_for_its_window(serde: Serde) -> None:
    key = serde.serialize(Windowed("ana", 5000, 15_000))
    (row,) = read(Decoding(serde, Long(), timestamp=False), (key, bytes(8), 0))
    assert row == {"key": "ana", "window_start": at(5000), "window_end": at(15_000), "value": 0}


def test_bytes_that_the_serde_cannot_read_are_an_error() -> None:
    with pytest.raises(ValueError, match="Long"):
        read(Decoding(Bytes(), Long()), (b"a", b"123", 0))


def put(state: TaskState, spec: StoreSpec) -> None:
    store = state.stores[spec.name]
    if spec.kind is StoreKind.KEY_VALUE:
        store.put("a", 1)
    elif spec.kind is StoreKind.TIMESTAMPED:
        store.put("a", 1, 77)
    elif spec.kind is StoreKind.WINDOW:
        store.put("a", 1, 5000, 77)
    else:
        store.put(Windowed("a", 5000, 6000), 1)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (StoreKind.KEY_VALUE, {"key": "a", "value": 1}),
        (StoreKind.TIMESTAMPED, {"key": "a", "value": 1, "timestamp": at(77)}),
        (
            StoreKind.WINDOW,
            {"key": "a", "window_start": at(5000), "window_end": at(6000), "value": 1, "timestamp": at(77)},
        ),
        (StoreKind.SESSION, {"key": "a", "window_start": at(5000), "window_end": at(6000), "value": 1}),
    ],
)
def test_a_store_and_its_changelog_are_the_same_table(kind: StoreKind, expected: dict[str, Any]) -> None:
    spec = StoreSpec("s", kind, String(), Long(), retention=10_000, window_size=1000)
    decoding = Decoding(spec.key, spec.value, split=tables.window_of(spec), timestamp=tables.has_timestamp(spec))
    state = TaskState(None, [spec])
    put(state, spec)
    entry = next(tables.entries(spec, state.stores["s"]))
    ((_, key, value, timestamp),) = state.changes()
    assert read(decoding, entry) == read(decoding, (key, value or b"", timestamp)) == [expected]


def test_headers_pass_as_they_are() -> None:
    pairs = [{"key": "h", "value": b"1"}]
    batch = pyarrow.RecordBatch.from_arrays(
        [
            pyarrow.array([b"k"], pyarrow.binary()),
            pyarrow.array([b"v"], pyarrow.binary()),
            pyarrow.array([1], pyarrow.int64()),
            pyarrow.array([pairs], pyarrow.list_(HEADER)),
        ],
        ["key", "value", "timestamp", "headers"],
    )
    (typed,) = Decoding(Bytes(), Bytes(), more=(("headers", "…"),))(iter([batch]))
    assert typed.to_pylist()[0]["headers"] == pairs
