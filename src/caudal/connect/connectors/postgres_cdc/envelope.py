"""Changes as records, in Debezium's envelope: before, after, source, op, and the primary key as the record's key.

A table's functions are made when its relation message comes, and again when the table has changed. Columns beside the
key are optional, whatever the table says: of a deleted row only the key is known, and a column may have allowed nulls
when a change was written that is read today.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import postgres, pq
from sqlalchemy import types

from caudal.connect import data
from caudal.connect.connectors.postgres_cdc.pgoutput import UNCHANGED, Relation, Values
from caudal.connect.connectors.sql.columns import Mapping as TypeMapping
from caudal.connect.connectors.sql.columns import Reader
from caudal.connect.data import Field, Kind, Schema, struct
from caudal.connect.errors import DataError

_TYPES: dict[str, types.TypeEngine[Any]] = {
    "bool": types.Boolean(), "int2": types.SmallInteger(), "int4": types.Integer(), "int8": types.BigInteger(),
    "oid": types.BigInteger(), "float4": types.REAL(), "float8": types.Double(), "bytea": types.LargeBinary(),
    "date": types.Date(), "time": types.Time(), "timestamp": types.DateTime(),
    "timestamptz": types.DateTime(timezone=True),
}  # fmt: skip
_OPTIONAL_TEXT = data.STRING.as_optional()
_OPTIONAL_LONG = data.INT64.as_optional()
SOURCE = struct(
    "io.debezium.connector.postgresql.Source",
    version=data.STRING, connector=data.STRING, name=data.STRING, ts_ms=data.INT64, snapshot=_OPTIONAL_TEXT,
    db=data.STRING, sequence=_OPTIONAL_TEXT, schema=data.STRING, table=data.STRING, txId=_OPTIONAL_LONG,
    lsn=_OPTIONAL_LONG, xmin=_OPTIONAL_LONG, ts_us=_OPTIONAL_LONG, ts_ns=_OPTIONAL_LONG,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CapturedColumn:
    name: str
    load: Callable[[bytes], Any]
    read: Reader | None
    unavailable: Any  # what stands for a value that was not sent

    @property
    def whole(self) -> Callable[[bytes], Any]:
        load, read = self.load, self.read
        return load if read is None else lambda value: read(load(value))


class CapturedTable:
    """One table in one shape."""

    def __init__(
        self, relation: Relation, primary_key: Sequence[str], config: Mapping[str, Any], mapping: TypeMapping,
        transformer: Any,
    ) -> None:  # fmt: skip
        self.relation = relation
        self.topic = f"{config['topic.prefix']}.{relation.schema}.{relation.name}"
        self.key_names = tuple(one.name for one in relation.columns if one.name in set(primary_key))
        self._key_at = tuple(at for at, one in enumerate(relation.columns) if one.name in self.key_names)
        at_name = {one.name: at for at, one in enumerate(relation.columns)}
        self._ordered_key_at = tuple(at_name[name] for name in primary_key)
        columns, fields = [], []
        for one in relation.columns:
            schema, read = _schema(one.type, one.modifier, config["decimal.handling.mode"], mapping)
            columns.append(
                CapturedColumn(
                    one.name,
                    transformer.get_loader(one.type, pq.Format.TEXT).load,
                    read,
                    _unavailable(schema, config["unavailable.value.placeholder"]),
                )
            )
            fields.append(Field(one.name, schema if one.name in self.key_names else schema.as_optional()))
        self._columns = tuple(columns)
        self._loaders = tuple((one.name, one.whole) for one in columns)
        value = Schema(Kind.STRUCT, name=f"{self.topic}.Value", fields=tuple(fields))
        self.key_schema = (
            Schema(Kind.STRUCT, name=f"{self.topic}.Key", fields=tuple(fields[at] for at in self._key_at))
            if self.key_names
            else None
        )
        self.row_schema = value
        self.schema = struct(
            f"{self.topic}.Envelope",
            before=value.as_optional(), after=value.as_optional(), source=SOURCE, op=data.STRING, ts_ms=_OPTIONAL_LONG,
            ts_us=_OPTIONAL_LONG, ts_ns=_OPTIONAL_LONG,
        )  # fmt: skip

    def row(self, values: Values, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """`before` is the whole old row, where it was sent: it has what the new one leaves out."""
        if UNCHANGED not in values:
            try:
                return {
                    name: None if value is None else load(value)  # type: ignore[arg-type]
                    for (name, load), value in zip(self._loaders, values, strict=True)
                }
            except Exception:  # noqa: S110
                pass  # once more, to say which column it is
        row: dict[str, Any] = {}
        for column, value in zip(self._columns, values, strict=True):
            if value is None:
                row[column.name] = None
            elif value is UNCHANGED:
                row[column.name] = column.unavailable if before is None else before[column.name]
            else:
                assert isinstance(value, bytes)
                try:
                    loaded = column.load(value)
                    row[column.name] = loaded if column.read is None else column.read(loaded)
                except DataError:
                    raise
                except Exception as error:
                    raise DataError(f"Column {column.name}: {error}") from error
        return row

    def loaded_row(self, values: Sequence[Any]) -> dict[str, Any]:
        """Of values that the driver has loaded: a row of the snapshot."""
        return {
            column.name: value if value is None or column.read is None else column.read(value)
            for column, value in zip(self._columns, values, strict=True)
        }

    def key_texts(self, values: Values) -> tuple[str, ...] | None:
        """The primary key's columns as they were sent, in its own order; None where they were not, or there is none."""
        found = [values[at] for at in self._ordered_key_at]
        texts = tuple(one.decode() for one in found if isinstance(one, bytes))
        return texts if texts and len(texts) == len(found) else None

    def key(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        return {name: row[name] for name in self.key_names} if self.key_names else None


def _schema(type: int, modifier: int, decimals: str, mapping: TypeMapping) -> tuple[Schema, Reader | None]:
    known = postgres.types.get(type)
    if known is None:
        return data.STRING, None  # an enum, a domain, a type of an extension: as PostgreSQL writes it
    if known.name == "numeric":
        if decimals != "precise":
            schema, read = (data.FLOAT64, float) if decimals == "double" else (data.STRING, str)
        elif modifier < 4:
            schema, read = mapping.schema(types.Numeric())  # type: ignore[assignment]
        else:
            scale = (modifier - 4) & 0x7FF
            scale -= 0x800 if scale >= 0x400 else 0
            schema, read = mapping.schema(types.Numeric(modifier - 4 >> 16 & 0xFFFF, scale))  # type: ignore[assignment]
    elif known.name in _TYPES:
        schema, read = mapping.schema(_TYPES[known.name])  # type: ignore[assignment]
    else:
        schema, read = data.STRING, None
    if type == known.array_oid and type != known.oid:
        each = read
        return (
            data.array(schema.as_optional()),
            None if each is None else lambda value: [None if one is None else each(one) for one in value],
        )
    return schema, read


def _unavailable(schema: Schema, placeholder: str) -> Any:
    match schema.kind:
        case Kind.STRING:
            return placeholder
        case Kind.BYTES if schema.name is None:
            return placeholder.encode()
        case Kind.ARRAY if schema.values is not None and schema.values.kind is Kind.STRING:
            return [placeholder]
    return None
