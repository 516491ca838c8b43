"""A stream or table as the catalog knows it: data only. `formats/ddl.py` makes one of a CREATE statement, the planner
one of a query's result; both can be written as JSON and read back."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from caudal.ksql.schema import Schema


class SourceKind(Enum):
    STREAM = "STREAM"
    TABLE = "TABLE"


class WindowKind(Enum):
    TUMBLING = "TUMBLING"
    HOPPING = "HOPPING"
    SESSION = "SESSION"


class OnError(Enum):
    """What becomes of a record that cannot be read (`ON ERROR …`)."""

    SKIP = "SKIP"  # as ksqlDB: a line in the processing log, and on
    FAIL = "FAIL"
    DLQ = "DLQ"  # to <topic>-dlq


@dataclass(frozen=True, slots=True)
class Format:
    """A format of keys or values, with its properties: {'delimiter': ','}, {'full_schema_name': …}, {'schema_id': …},
    {'nullable': 'optional' | 'wrapper'}.
    """

    name: str  # NONE, KAFKA, JSON, DELIMITED, AVRO, JSON_SR, PROTOBUF, PROTOBUF_NOSR
    properties: tuple[tuple[str, Any], ...] = ()
    wrapped: bool | None = None  # whether a single column is a record with one field; None: the format's habit


@dataclass(frozen=True, slots=True)
class Window:
    """How the keys of a windowed source are written. Sessions have no size."""

    kind: WindowKind
    size: int | None = None  # ms


@dataclass(frozen=True, slots=True)
class Source:
    name: str
    kind: SourceKind
    schema: Schema
    topic: str
    key_format: Format
    value_format: Format
    window: Window | None = None
    timestamp_column: str | None = None
    timestamp_format: str | None = None  # a DateTimeFormatter pattern, where the column is a STRING
    is_source: bool = False  # CREATE SOURCE: read only
    query_id: str | None = None  # the query that writes it, where CREATE … AS SELECT made it
    on_error: OnError = OnError.SKIP
    ttl: int | None = None  # ms; tables: rows older than that are gone
    retention: int | None = None  # ms; windowed tables: how long windows are kept
    statement: str = ""  # the text that made it
    properties: dict[str, Any] = field(default_factory=dict, compare=False)  # of the WITH clause, as given

    @property
    def is_table(self) -> bool:
        return self.kind is SourceKind.TABLE
