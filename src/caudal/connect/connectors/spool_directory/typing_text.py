"""Types for rows of texts: given as a schema, or inferred from the first rows.

A schema is a JSON object as Kafka Connect's JSON converter has it, or short: `id int64, name string, paid boolean`
(every column optional). Inference knows int64, double, boolean, timestamp (ISO 8601), date and string; an empty column
is null. A later row that does not fit is an error of that row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

from caudal.connect import data
from caudal.connect.converters.json_schemas import schema_of_json
from caudal.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Field, Kind, Schema
from caudal.connect.errors import DataError

_SHORT = {
    **{kind.value: Schema(kind) for kind in Kind if kind not in (Kind.ARRAY, Kind.MAP, Kind.STRUCT)},
    "int": data.INT32, "long": data.INT64, "bigint": data.INT64, "float32": data.FLOAT32, "float64": data.FLOAT64,
    "timestamp": data.TIMESTAMP_SCHEMA, "date": data.DATE_SCHEMA, "time": data.TIME_SCHEMA,
}  # fmt: skip
_BITS = {Kind.INT8: 7, Kind.INT16: 15, Kind.INT32: 31, Kind.INT64: 63}
_FLOATS = (Kind.FLOAT32, Kind.FLOAT64)
Parse = Callable[[str], Any]


class RowSchema:
    """A schema, and what makes values of it from texts (`row`) or from JSON (`value`)."""

    def __init__(self, schema: Schema) -> None:
        if schema.kind is not Kind.STRUCT:
            raise DataError("The schema of rows is a struct.")
        self.schema = schema
        self._columns = [(one.name, one.schema, _parser(one.schema)) for one in schema.fields]

    def row(self, texts: dict[str, str]) -> dict[str, Any]:
        made = {}
        for name, schema, parse in self._columns:
            text = texts.get(name)
            if text is None or (text == "" and (schema.kind is not Kind.STRING or schema.optional)):
                made[name] = _absent(name, schema)
                continue
            try:
                made[name] = parse(text)
            except (ValueError, ArithmeticError):
                raise DataError(f"The column {name} is no {schema.name or schema.kind}: {shaped(text)}.") from None
        return made

    def value(self, value: Any) -> Any:
        """A JSON value as one of the schema."""
        return _from_json(value, self.schema, "value")


def parse_schema(text: str) -> Schema:
    """Raises DataError.

    >>> [(one.name, one.schema.kind.value) for one in parse_schema("id int64, price decimal(2)").fields]
    [('id', 'int64'), ('price', 'bytes')]
    """
    if text.lstrip().startswith("{"):
        try:
            schema = schema_of_json(orjson.loads(text))
        except ValueError as error:
            raise DataError(f"The schema is not JSON: {error}.") from None
        if schema is None or schema.kind is not Kind.STRUCT:
            raise DataError("The schema of rows is a struct.")
        return schema
    fields = []
    for part in re.split(r",(?![^(]*\))", text):
        column = re.fullmatch(r"\s*(.+?)\s+(decimal\s*\(.*\)|\S+)\s*", part)
        found = _short(column[2].lower()) if column is not None else None
        if column is None or found is None:
            raise DataError(f"A column is a name and a type, such as 'id int64', not {part.strip()!r}.")
        fields.append(Field(column[1], found.as_optional()))
    return Schema(Kind.STRUCT, fields=tuple(fields))


def _short(type: str) -> Schema | None:
    decimal = re.fullmatch(r"decimal\s*\((?:\s*(\d+)\s*,)?\s*(\d+)\s*\)", type)
    if decimal is None:
        return _SHORT.get(type)
    return data.decimal(int(decimal[2]), int(decimal[1]) if decimal[1] else None)


def infer(names: list[str], rows: list[list[str]]) -> RowSchema:
    """
    >>> [each.schema.kind.value for each in infer(["a", "b"], [["1", "x"], ["", "y"]]).schema.fields]
    ['int64', 'string']
    """
    fields = []
    for at, name in enumerate(names):
        texts = [row[at] for row in rows if len(row) > at and row[at] != ""]
        kept = next((each for each in _GUESSES if texts and all(_parses(each, text) for text in texts)), data.STRING)
        fields.append(Field(name, kept.as_optional()))
    return RowSchema(Schema(Kind.STRUCT, fields=tuple(fields)))


_GUESSES = (data.INT64, data.FLOAT64, data.BOOLEAN, data.DATE_SCHEMA, data.TIMESTAMP_SCHEMA)


def _parses(schema: Schema, text: str) -> bool:
    # 007 is a code, not a seven.
    if schema.kind in (Kind.INT64, Kind.FLOAT64) and re.match(r"[+-]?0[0-9]", text):
        return False
    try:
        _parser(schema)(text)
    except (ValueError, ArithmeticError):
        return False
    return True


def _parser(schema: Schema) -> Parse:
    match schema.name:
        case data.DECIMAL:
            scale = Decimal(1).scaleb(-int(schema.parameters.get("scale", "0")))
            return lambda text: Decimal(text).quantize(scale)
        case data.DATE:
            return _date
        case data.TIME:
            return time.fromisoformat
        case data.TIMESTAMP:
            return _timestamp
    match schema.kind:
        case Kind.INT8 | Kind.INT16 | Kind.INT32 | Kind.INT64:
            bound = 1 << _BITS[schema.kind]
            return lambda text: _within(text, bound)
        case Kind.FLOAT32 | Kind.FLOAT64:
            return _float
        case Kind.BOOLEAN:
            return _boolean
        case Kind.STRING:
            return str
        case Kind.BYTES:
            return str.encode
    return lambda text: _from_json(orjson.loads(text), schema, "column")


def _within(text: str, bound: int) -> int:
    if re.fullmatch(r"\s*[+-]?[0-9]+\s*", text) is None:
        raise ValueError(text)
    number = int(text)
    if not -bound <= number < bound:
        raise ValueError(text)
    return number


def _float(text: str) -> float:
    if "_" in text:
        raise ValueError(text)
    return float(text)


def _boolean(text: str) -> bool:
    folded = text.strip().lower()
    if folded not in ("true", "false"):
        raise ValueError(text)
    return folded == "true"


def _date(text: str) -> date:
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) is None:
        raise ValueError(text)
    return date.fromisoformat(text)


def _timestamp(text: str) -> datetime:
    if re.match(r"\d{4}-\d{2}-\d{2}[T ]", text) is None:
        raise ValueError(text)
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _absent(name: str, schema: Schema) -> Any:
    if schema.has_default:
        return schema.default
    if not schema.optional:
        raise DataError(f"The column {name} is empty but its schema does not allow that.")
    return None


def _from_json(value: Any, schema: Schema, where: str) -> Any:
    if value is None:
        return _absent(where, schema)
    try:
        return _json_value(value, schema, where)
    except (ValueError, TypeError, InvalidOperation):
        raise DataError(f"{where} is no {schema.name or schema.kind}: {shaped(value)}.") from None


def _json_value(value: Any, schema: Schema, where: str) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if schema.name in (DECIMAL, DATE, TIME, TIMESTAMP):
        if schema.name == TIMESTAMP and isinstance(value, int):
            return datetime.fromtimestamp(value / 1000, UTC)
        return _parser(schema)(str(value) if is_number else _checked(value, str))
    match schema.kind:
        case Kind.STRUCT:
            _checked(value, dict)
            return {
                one.name: _from_json(value.get(one.name), one.schema, f"{where}.{one.name}") for one in schema.fields
            }
        case Kind.ARRAY:
            assert schema.values is not None
            return [_from_json(one, schema.values, f"{where}[]") for one in _checked(value, list)]
        case Kind.MAP:
            assert schema.values is not None
            return {key: _from_json(one, schema.values, f"{where}.{key}") for key, one in _checked(value, dict).items()}
        case Kind.BOOLEAN:
            return _checked(value, bool)
        case Kind.STRING:
            return _checked(value, str)
        case Kind.BYTES:
            return _checked(value, str).encode()
        case Kind.FLOAT32 | Kind.FLOAT64 if is_number:
            return float(value)
        case _ if is_number and isinstance(value, int):
            return _within(str(value), 1 << _BITS[schema.kind])
    raise TypeError(where)


def _checked(value: Any, type: type[Any]) -> Any:
    if not isinstance(value, type):
        raise TypeError(type.__name__)
    return value


def shaped(value: Any) -> str:
    """For messages: not a whole row of somebody's data."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
