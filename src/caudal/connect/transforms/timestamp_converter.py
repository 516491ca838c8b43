"""TimestampConverter: times between Unix numbers, texts, and Connect's Date, Time and Timestamp.

For a field, or for the whole key or value where `field` is empty. Null stays null. Between two forms a time is a
datetime in UTC with milliseconds, so what is finer is lost, as in Kafka Connect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, config_def
from caudal.connect.converter import Transform
from caudal.connect.data import (
    DATE,
    DATE_SCHEMA,
    INT64,
    STRING,
    TIME,
    TIME_SCHEMA,
    TIMESTAMP,
    TIMESTAMP_SCHEMA,
    Field,
    Kind,
    Schema,
)
from caudal.connect.errors import ConfigError, DataError
from caudal.connect.records import Record
from caudal.connect.transforms.part import (
    Converted,
    Defaults,
    OnKey,
    OnPart,
    OnValue,
    PerSchema,
    defaults_of,
    filled,
    java_names,
    struct_like,
)
from caudal.connect.transforms.properties import REPLACE_NULL, REPLACE_NULL_KEY
from caudal.connect.transforms.simple_date_format import SimpleDateFormat

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_SCHEMAS = {
    "string": STRING,
    "unix": INT64,
    "Date": DATE_SCHEMA,
    "Time": TIME_SCHEMA,
    "Timestamp": TIMESTAMP_SCHEMA,
}
_LOGICAL = {DATE: "Date", TIME: "Time", TIMESTAMP: "Timestamp"}
_PER_SECOND = {"seconds": 1, "milliseconds": 1000, "microseconds": 1_000_000, "nanoseconds": 1_000_000_000}

_Read = Callable[[Any], datetime]
_Write = Callable[[datetime], Any]


class TimestampConverter(OnPart, Transform[Any]):
    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(
                name="field",
                default="",
                importance=Importance.HIGH,
                doc="The field with the time; empty if the whole key or value is one.",
            ),
            Key(
                name="target.type",
                choices=tuple(_SCHEMAS),
                importance=Importance.HIGH,
                doc="What it becomes: string, unix, Date, Time or Timestamp.",
            ),
            Key(
                name="format",
                default="",
                importance=Importance.MEDIUM,
                doc="The pattern of texts, read or written, as java.text.SimpleDateFormat has it.",
            ),
            Key(
                name="unix.precision",
                default="milliseconds",
                choices=tuple(_PER_SECOND),
                importance=Importance.LOW,
                doc="What a Unix number counts, read or written. What is finer than milliseconds is lost.",
            ),
            REPLACE_NULL_KEY,
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._field: str = config["field"]
        self._target: str = config["target.type"]
        pattern: str = config["format"]
        self._format: SimpleDateFormat | None = None
        if pattern.strip():
            try:
                self._format = SimpleDateFormat(pattern)
            except ValueError as error:
                raise ConfigError(f"`format` {pattern} is no pattern of SimpleDateFormat: {error}.", "format") from None
        elif self._target == "string":
            raise ConfigError("A time that becomes a string needs a pattern: give `format`.", "format")
        self._per_second = _PER_SECOND[config["unix.precision"]]
        self._replace_null: bool = config[REPLACE_NULL]
        self._readers: dict[str, _Read] = {
            "string": self._from_text,
            "unix": self._from_unix,
            "Date": _from_date,
            "Time": _from_time,
            "Timestamp": _from_timestamp,
        }
        writers: dict[str, _Write] = {
            "string": self._format.write if self._format is not None else str,
            "unix": _to_milliseconds if self._per_second == 1000 else self._to_unix,
            "Date": lambda moment: moment.date(),
            "Time": lambda moment: _cut(moment).time(),
            "Timestamp": _cut,
        }
        self._write = writers[self._target]
        self._plans = PerSchema(self._compile if self._field else self._compile_whole)

    def convert(self, schema: Schema | None, value: Any, record: Record) -> Converted:
        if schema is None:
            if value is None:
                return None, None
            if not self._field:
                return None, self._converted(self._inferred(value), value)
            made = self.require_map(value).copy()
            found = made.get(self._field)
            made[self._field] = None if found is None else self._converted(self._inferred(found), found)
            return None, made
        new_schema, read, defaults = self._plans(schema)
        if value is None:
            return new_schema, None
        if not self._field:
            assert read is not None
            return new_schema, self._converted(read, value)
        made = filled(value if value.__class__ is dict else self.require_struct(schema, value), defaults)
        if read is not None and (found := made.get(self._field)) is not None:
            made[self._field] = self._converted(read, found)
        return new_schema, made

    def _converted(self, read: _Read, value: Any) -> Any:
        try:
            return self._write(read(value))
        except OverflowError:
            raise DataError(f"{type(self).__name__}: {value} is not between the years 1 and 9999.") from None

    def _compile_whole(self, schema: Schema) -> tuple[Schema, _Read | None, Defaults]:
        target = _SCHEMAS[self._target]
        return target.as_optional() if schema.optional else target, self._reader(schema), ()

    def _compile(self, schema: Schema) -> tuple[Schema, _Read | None, Defaults]:
        self.require_struct(schema, {})
        target = _SCHEMAS[self._target]
        fields: list[Field] = []
        reader: _Read | None = None
        for one in schema.fields:
            if one.name == self._field:
                fields.append(Field(one.name, target.as_optional() if one.schema.optional else target))
                reader = self._reader(one.schema)
            else:
                fields.append(one)
        new = struct_like(schema, tuple(fields))
        defaults = defaults_of(schema, self._replace_null)
        default = schema.default
        if default is not None:
            default = filled(default, defaults)
            if reader is not None and default.get(self._field) is not None:
                default[self._field] = self._converted(reader, default[self._field])
        if schema.optional or default is not None:
            new = Schema(
                Kind.STRUCT,
                schema.optional,
                new.name,
                new.version,
                new.doc,
                default,
                default is not None,
                new.parameters,
                new.fields,
            )
        return new, reader, defaults

    def _reader(self, schema: Schema) -> _Read:
        kind = _LOGICAL.get(schema.name or "")
        if kind is None:
            kind = {Kind.STRING: "string", Kind.INT64: "unix"}.get(schema.kind)
        if kind is None:
            raise DataError(
                f"{type(self).__name__} reads string, int64, Date, Time and Timestamp, and the schema is {schema.kind}."
            )
        return self._readers[kind]

    def _inferred(self, value: Any) -> _Read:
        if isinstance(value, str):
            return self._from_text
        if isinstance(value, int) and not isinstance(value, bool):
            return self._from_unix
        if isinstance(value, (datetime, date, time)):
            return _from_timestamp
        raise DataError(f"{type(self).__name__} reads texts, integers and times, and found {type(value).__name__}.")

    def _from_text(self, value: Any) -> datetime:
        if self._format is None:
            raise DataError(f"{type(self).__name__} cannot read the text {value!r} without a pattern: give `format`.")
        if not isinstance(value, str):
            raise DataError(f"{type(self).__name__} expected a text as its schema says, and found {value!r}.")
        try:
            return self._format.read(value)
        except ValueError as error:
            raise DataError(f"{value!r} does not fit the pattern {self._format.pattern}: {error}.") from None

    def _from_unix(self, value: Any) -> datetime:
        if not isinstance(value, int) or isinstance(value, bool):
            raise DataError(f"{type(self).__name__} expected an int64 as its schema says, and found {value!r}.")
        return _EPOCH + timedelta(0, 0, 0, _scaled(value, 1000, self._per_second))

    def _to_unix(self, value: datetime) -> int:
        return _scaled(_to_milliseconds(value), self._per_second, 1000)


def _to_milliseconds(value: datetime) -> int:
    return (value - _EPOCH) // _MILLISECOND


def _cut(moment: datetime) -> datetime:
    """To milliseconds."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000) if moment.microsecond % 1000 else moment


def _scaled(value: int, times: int, by: int) -> int:
    """Rounded to zero, as Java's TimeUnit does."""
    return value * times // by if value >= 0 else -(-value * times // by)


def _from_timestamp(value: Any) -> datetime:
    if isinstance(value, datetime):
        if value.tzinfo is UTC:
            return value
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, time):
        return _from_time(value)
    return _from_date(value)


def _from_date(value: Any) -> datetime:
    if isinstance(value, datetime):
        return _from_timestamp(value)
    if not isinstance(value, date):
        raise DataError(f"A time was expected as its schema says, and {value!r} found.")
    return datetime(value.year, value.month, value.day, tzinfo=UTC)


def _from_time(value: Any) -> datetime:
    if not isinstance(value, time):
        return _from_date(value)
    return datetime(1970, 1, 1, value.hour, value.minute, value.second, value.microsecond, UTC)


class TimestampConverterKey(OnKey, TimestampConverter):
    aliases = java_names("TimestampConverter$Key")


class TimestampConverterValue(OnValue, TimestampConverter):
    aliases = java_names("TimestampConverter$Value")
