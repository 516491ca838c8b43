"""Records of one pair of schemas as rows: which columns they have, which are the key, and the function that makes rows.

As at the source, the function is generated once for a pair of schemas and takes a whole batch.
"""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import types

from caudal.connect import data
from caudal.connect.connectors.sql.database import Database
from caudal.connect.connectors.sql.ddl import Wanted
from caudal.connect.data import Kind, Schema
from caudal.connect.errors import DataError
from caudal.connect.records import SinkRecord

KAFKA_FIELDS = ("__connect_topic", "__connect_partition", "__connect_offset")
_KAFKA_SCHEMAS = (data.STRING, data.INT32, data.INT64)
_ANY = Schema(Kind.STRING, optional=True)  # of a field that no schema tells about
Row = tuple[Any, ...]
Types = Mapping[str, types.TypeEngine[Any]]  # of the columns that there are
Rows = Callable[[Sequence[SinkRecord]], list[Row]]


@dataclass(frozen=True, slots=True)
class Layout:
    columns: tuple[Wanted, ...]  # the key's first
    keys: tuple[str, ...]
    has_schema: bool
    expressions: Mapping[str, str]  # Python, of a column's value in `record`

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.columns)

    def rows(self, database: Database, existing: Types, zone: datetime.tzinfo) -> Rows:
        return self._compile(self.names, database, existing, zone)

    def key_rows(
        self, database: Database, existing: Mapping[str, types.TypeEngine[Any]], zone: datetime.tzinfo
    ) -> Rows:
        return self._compile(self.keys, database, existing, zone)

    def _compile(
        self, columns: Sequence[str], database: Database, existing: Mapping[str, types.TypeEngine[Any]],
        zone: datetime.tzinfo,
    ) -> Rows:  # fmt: skip
        schemas = {one.name: one.schema for one in self.columns}
        names: dict[str, Any] = {}
        parts = []
        for at, column in enumerate(columns):
            expression = self.expressions[column]
            write = writer(database, schemas[column] if self.has_schema else None, existing.get(column), zone)
            if write is not None:
                names[f"write_{at}"] = write
                expression = f"None if (value := {expression}) is None else write_{at}(value)"
            parts.append(expression)
        row = "".join(f"({part}), " for part in parts)
        exec(f"def rows(records):\n    return [({row}) for record in records]", names)
        made: Rows = names["rows"]
        return made


def layout_of(config: Mapping[str, Any], sample: SinkRecord) -> Layout:
    """For records that look like this one. Raises DataError when they cannot be rows."""
    value, value_schema = sample.value, sample.value_schema
    fields: dict[str, Schema] = {}
    if value is not None:
        if not isinstance(value, dict):
            raise DataError("A row needs a value with fields (a struct); a transform such as HoistField makes one.")
        if value_schema is not None and value_schema.kind is Kind.STRUCT:
            fields = {one.name: one.schema for one in value_schema.fields}
        else:
            fields = dict.fromkeys(value, _ANY)
    keys, expressions = _keys(config, sample, fields)
    allowed = set(config["fields.whitelist"])
    columns = [Wanted(name, schema, True) for name, schema in keys.items()]
    for name, schema in fields.items():
        if name not in keys and (not allowed or name in allowed):
            columns.append(Wanted(name, schema, False))
            expressions[name] = f"record.value.get({name!r})"
    if not columns:
        raise DataError("No field is left to be written: see fields.whitelist and pk.mode.")
    return Layout(tuple(columns), tuple(keys), value is None or value_schema is not None, expressions)


def _keys(
    config: Mapping[str, Any], sample: SinkRecord, fields: Mapping[str, Schema]
) -> tuple[dict[str, Schema], dict[str, str]]:
    names: list[str] = config["pk.fields"]
    match config["pk.mode"]:
        case "kafka":
            chosen = names or list(KAFKA_FIELDS)
            place = "(record.original or (record.topic, record.partition, record.offset))"
            return (
                dict(zip(chosen, _KAFKA_SCHEMAS, strict=True)),
                {name: f"{place}[{at}]" for at, name in enumerate(chosen)},
            )
        case "record_key":
            key, schema = sample.key, sample.key_schema
            if key is None:
                raise DataError("pk.mode=record_key needs a key, and the record has none.")
            if not isinstance(key, dict):
                if len(names) != 1:
                    raise DataError("The key is a single value: pk.fields must name exactly one column for it.")
                return {names[0]: schema or _of(key)}, {names[0]: "record.key"}
            known = {one.name: one.schema for one in schema.fields} if schema is not None else dict.fromkeys(key, _ANY)
            return _chosen(names, known, "key")
        case "record_value":
            return _chosen(names, fields, "value")
    return {}, {}


def _chosen(names: list[str], known: Mapping[str, Schema], part: str) -> tuple[dict[str, Schema], dict[str, str]]:
    for name in names:
        if name not in known:
            raise DataError(f"pk.fields names {name}, which the record's {part} has not.")
    chosen = names or list(known)
    return {name: known[name] for name in chosen}, {name: f"record.{part}[{name!r}]" for name in chosen}


def _of(value: Any) -> Schema:
    kinds = {bool: data.BOOLEAN, int: data.INT64, float: data.FLOAT64, bytes: data.BYTES}
    return kinds.get(type(value), data.STRING)


def writer(
    database: Database, schema: Schema | None, type: types.TypeEngine[Any] | None, zone: datetime.tzinfo
) -> Callable[[Any], Any] | None:
    """From Connect's value to the driver's; None: the driver takes it as it is."""
    if database.is_postgres:
        wants_zone = not isinstance(type, types.DateTime) or type.timezone
        if schema is None:
            return _loose
        if schema.kind in (Kind.MAP, Kind.STRUCT):
            return _json
        if schema.kind is Kind.ARRAY:
            return None if isinstance(type, types.ARRAY) else _json
        if schema.name == data.TIMESTAMP and not wants_zone:
            return lambda value: value.astimezone(zone).replace(tzinfo=None)
        return None
    if schema is None or schema.name is not None or schema.kind in (Kind.MAP, Kind.STRUCT, Kind.ARRAY):
        texts = database.is_sqlite

        def write(value: Any) -> Any:
            if isinstance(value, datetime.datetime):
                value = value.astimezone(zone).replace(tzinfo=None)
                return value.isoformat(" ", "microseconds") if texts else value
            if isinstance(value, (dict, list)):
                return _json(value)
            if texts and isinstance(value, (datetime.date, datetime.time)):
                return value.isoformat()
            return str(value) if texts and isinstance(value, Decimal) else value

        return write
    return None


def _json(value: Any) -> str:
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _loose(value: Any) -> Any:
    return _json(value) if isinstance(value, dict) else value


def _plain(value: Any) -> Any:
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return str(value)
    raise DataError(f"A value of type {type(value).__name__} has no place in JSON.")
