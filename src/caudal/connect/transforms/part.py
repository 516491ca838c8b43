"""What transforms are made of: the key or the value of a record, new records, and what is compiled once per schema.

A transform that exists for keys and for values has one class with `convert`, and two with `apply`: `CastKey(OnKey,
Cast)` and `CastValue(OnValue, Cast)`. Records are made by their constructors, positionally: 0.4 µs, where
`dataclasses.replace` takes 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

from caudal.connect.data import Field, Kind, Schema
from caudal.connect.errors import DataError
from caudal.connect.records import Headers, Record, SinkRecord, SourceRecord

R = TypeVar("R", bound=Record)
P = TypeVar("P")

Converted = tuple[Schema | None, Any]
JAVA_PACKAGE = "org.apache.kafka.connect.transforms."


def java_names(name: str) -> tuple[str, ...]:
    """The alias that Kafka Connect's users write; its last part, `Cast$Value`, is one by itself (`plugins.py`)."""
    return (JAVA_PACKAGE + name,)


class OnPart:
    """Part of a transform of the key or of the value; `part` is how messages call it."""

    part: ClassVar[str]

    def convert(self, schema: Schema | None, value: Any, record: Record) -> Converted:
        """What becomes of the key or value. The same two objects leave the record as it is. Raises DataError."""
        raise NotImplementedError

    def require_map(self, value: Any) -> dict[str, Any]:
        """A value without a schema whose fields are wanted."""
        if value.__class__ is dict or isinstance(value, dict):
            return value
        raise DataError(self._not_a_struct(f"{value.__class__.__name__}, without a schema", value))

    def require_struct(self, schema: Schema, value: Any) -> dict[str, Any]:
        """A value with a schema whose fields are wanted. Whether that is a struct's is seen when it is compiled, so for
        records `value.__class__ is dict` is enough to know."""
        if schema.kind is Kind.STRUCT and isinstance(value, dict):
            return value
        raise DataError(self._not_a_struct(f"{schema.kind}", value))

    def _not_a_struct(self, found: str, value: Any) -> str:
        if value is None:
            return (
                f"{type(self).__name__} needs fields, and the {self.part} of the record is null: "
                "let it pass by a predicate (RecordIsTombstone, negated)."
            )
        return (
            f"{type(self).__name__} needs a struct or a map as the {self.part} of the record, and found {found}: "
            "wrap it with HoistField before, or let it pass by a predicate."
        )


class OnKey(OnPart):
    part = "key"

    def apply(self, record: R) -> R | None:
        old_schema, old = record.key_schema, record.key
        schema, value = self.convert(old_schema, old, record)
        if value is old and schema is old_schema:
            return record
        return with_key(record, schema, value)


class OnValue(OnPart):
    part = "value"

    def apply(self, record: R) -> R | None:
        old_schema, old = record.value_schema, record.value
        schema, value = self.convert(old_schema, old, record)
        if value is old and schema is old_schema:
            return record
        return with_value(record, schema, value)


def with_value(record: R, schema: Schema | None, value: Any, headers: Headers | None = None) -> R:
    made: Record
    if headers is None:
        headers = record.headers
    if record.__class__ is SinkRecord:
        made = SinkRecord(
            record.topic, record.partition, record.offset, value, schema, record.key, record.key_schema,
            record.timestamp, record.timestamp_type, headers, record.original,
        )  # fmt: skip
    elif record.__class__ is SourceRecord:
        made = SourceRecord(
            record.partition, record.offset, record.topic, value, schema, record.key, record.key_schema,
            record.kafka_partition, record.timestamp, headers,
        )  # fmt: skip
    else:
        made = replace(record, value=value, value_schema=schema, headers=headers)
    return made  # type: ignore[return-value]


def with_key(record: R, schema: Schema | None, key: Any, headers: Headers | None = None) -> R:
    made: Record
    if headers is None:
        headers = record.headers
    if record.__class__ is SinkRecord:
        made = SinkRecord(
            record.topic, record.partition, record.offset, record.value, record.value_schema, key, schema,
            record.timestamp, record.timestamp_type, headers, record.original,
        )  # fmt: skip
    elif record.__class__ is SourceRecord:
        made = SourceRecord(
            record.partition, record.offset, record.topic, record.value, record.value_schema, key, schema,
            record.kafka_partition, record.timestamp, headers,
        )  # fmt: skip
    else:
        made = replace(record, key=key, key_schema=schema, headers=headers)
    return made  # type: ignore[return-value]


def with_headers(record: R, headers: Headers) -> R:
    made: Record
    if record.__class__ is SinkRecord:
        made = SinkRecord(
            record.topic, record.partition, record.offset, record.value, record.value_schema, record.key,
            record.key_schema, record.timestamp, record.timestamp_type, headers, record.original,
        )  # fmt: skip
    elif record.__class__ is SourceRecord:
        made = SourceRecord(
            record.partition, record.offset, record.topic, record.value, record.value_schema, record.key,
            record.key_schema, record.kafka_partition, record.timestamp, headers,
        )  # fmt: skip
    else:
        made = replace(record, headers=headers)
    return made  # type: ignore[return-value]


def with_topic(record: R, topic: str) -> R:
    made: Record
    if record.__class__ is SinkRecord:
        made = SinkRecord(
            topic, record.partition, record.offset, record.value, record.value_schema, record.key,
            record.key_schema, record.timestamp, record.timestamp_type, record.headers, record.original,
        )  # fmt: skip
    elif record.__class__ is SourceRecord:
        made = SourceRecord(
            record.partition, record.offset, topic, record.value, record.value_schema, record.key,
            record.key_schema, record.kafka_partition, record.timestamp, record.headers,
        )  # fmt: skip
    else:
        made = replace(record, topic=topic)
    return made  # type: ignore[return-value]


class PerSchema(Generic[P]):
    """What was compiled for a schema. Equal schemas have one plan, so that what comes out has one schema object too.

    Batches are of one schema, mostly: the last one is compared by identity before the table is asked.
    """

    __slots__ = ("_compile", "_last", "_plan", "_plans")
    MOST = 256  # a source that makes a schema for each record must not fill the memory

    def __init__(self, compile_plan: Callable[[Schema], P]) -> None:
        self._compile = compile_plan
        self._last: Schema | None = None
        self._plan: P
        self._plans: dict[Schema, P] = {}

    def __call__(self, schema: Schema) -> P:
        if schema is self._last:
            return self._plan
        plan = self._plans.get(schema)
        if plan is None:
            plan = self._compile(schema)
            if len(self._plans) >= self.MOST:
                self._plans.clear()
            self._plans[schema] = plan
        self._last, self._plan = schema, plan
        return plan


def struct_like(schema: Schema, fields: tuple[Field, ...]) -> Schema:
    """A struct with the name, version, words and parameters of another; neither optional nor with a default, as Kafka's
    transforms make them: where there is a value, it is there."""
    names: set[str] = set()
    for one in fields:
        if one.name in names:
            raise DataError(f"The transformed struct would have the field {one.name!r} twice: choose another name.")
        names.add(one.name)
    return Schema(
        Kind.STRUCT,
        name=schema.name,
        version=schema.version,
        doc=schema.doc,
        parameters=schema.parameters,
        fields=fields,
    )


Defaults = tuple[tuple[str, Any], ...]


def defaults_of(schema: Schema, replace_null: bool) -> Defaults:
    """The fields that are not null any more when `replace.null.with.default` is on."""
    if not replace_null:
        return ()
    return tuple((one.name, one.schema.default) for one in schema.fields if one.schema.default is not None)


def filled(value: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    """A copy, with defaults for nulls."""
    copy = value.copy()
    for name, default in defaults:
        if copy.get(name) is None:
            copy[name] = default
    return copy


def picker(names: Sequence[tuple[str, str]]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Makes a dict of some fields, (old, new), of another; null where it has none.

    >>> picker([("a", "x"), ("b", "b")])({"a": 1})
    {'x': 1, 'b': None}
    """
    at_once = path_picker([((old,), new) for old, new in names])

    def pick(value: dict[str, Any]) -> dict[str, Any]:
        try:
            return at_once(value)
        except KeyError:
            get = value.get
            return {new: get(old) for old, new in names}

    return pick


def path_picker(paths: Sequence[tuple[tuple[str, ...], str]]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A dict of what is at the ends of some paths, as one generated expression; names are in it as literals. Raises
    KeyError or TypeError where a path leads nowhere."""
    entries = [f"{new!r}: v{''.join(f'[{step!r}]' for step in path)}" for path, new in paths]
    return eval(f"lambda v: {{{', '.join(entries)}}}", {})  # type: ignore[no-any-return]
