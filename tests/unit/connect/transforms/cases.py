"""The form of the transforms' cases: a record's key or value before, and what a transform makes of it.

The tables are in the tests beside this file. `tests/conformance/test_connect_transforms.py` gives the same tables to
Apache Kafka's transforms, so a case says where we differ on purpose (`java`).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest

from caudal.connect.converter import Predicate, Transform
from caudal.connect.data import STRING, Schema
from caudal.connect.errors import ConfigError, DataError
from caudal.connect.records import Headers, Record, SinkRecord, SourceRecord

P = TypeVar("P", bound=Transform[Any] | Predicate[Any])
SAME: Any = object()  # the record itself comes back
DROPPED: Any = object()
TIMESTAMP = 1_700_000_000_123  # 2023-11-14T22:13:20.123Z


@dataclass(frozen=True)
class Case:
    """`value` and `schema` are of the part (key or value) that the transform works on."""

    name: str
    config: Mapping[str, Any]
    value: Any = None
    schema: Schema | None = None
    becomes: Any = SAME
    becomes_schema: Schema | None = None
    error: str = ""  # words of the DataError
    record: Mapping[str, Any] = field(default_factory=dict)  # other attributes of the record
    changes: Mapping[str, Any] = field(default_factory=dict)  # those of them that are other ones afterwards
    is_source: bool = False
    java: str = ""  # why Apache Kafka answers otherwise, or cannot be asked


@dataclass(frozen=True)
class BadConfig:
    name: str
    config: Mapping[str, Any]
    error: str  # words of the ConfigError
    java: str = ""


def optional(schema: Schema) -> Schema:
    return schema.as_optional()


def by_default(schema: Schema, default: Any) -> Schema:
    return replace(schema, default=default, has_default=True)


def configured(cls: type[P], config: Mapping[str, Any]) -> P:
    plugin = cls()
    plugin.configure(cls.config().parse(config))
    return plugin


def record_of(case: Case, part: str) -> Record:
    """A record with the case's value as its key or value; the other one is there, to be left alone."""
    record: Record
    if case.is_source:
        record = SourceRecord({"file": "a"}, {"line": 7}, "orders", timestamp=TIMESTAMP)
    else:
        record = SinkRecord("orders", 3, 42, timestamp=TIMESTAMP)
    other = "key" if part == "value" else "value"
    values = {part: case.value, f"{part}_schema": case.schema, other: "other", f"{other}_schema": STRING}
    return replace(record, **{**values, **case.record})


def check(cls: type[Transform[Any]], case: Case, part: str = "value") -> None:
    transform = configured(cls, case.config)
    record = record_of(case, part)
    untouched = copy.deepcopy(record)
    if case.error:
        with pytest.raises(DataError, match=case.error):
            transform.apply(record)
        assert record == untouched
        return
    made = transform.apply(record)
    assert record == untouched, "records are never changed"
    if case.becomes is DROPPED:
        assert made is None
        return
    if case.becomes is SAME and not case.changes:
        assert made is record
        return
    assert made is not None and made is not record and type(made) is type(record)
    expected = replace(record, **case.changes)
    if case.becomes is not SAME:
        expected = replace(expected, **{part: case.becomes, f"{part}_schema": case.becomes_schema})
    assert made == expected
    assert _types(getattr(made, part)) == _types(getattr(expected, part))  # 1 is no 1.0, and no True
    assert _header_types(made.headers) == _header_types(expected.headers)
    _check_schema_is_kept(transform, record, made, part)


def check_predicate(cls: type[Predicate[Any]], case: Case) -> None:
    predicate = configured(cls, case.config)
    assert predicate.test(record_of(case, "value")) is case.becomes
    assert predicate.test(record_of(case, "value")) is case.becomes  # it may have kept the answer


def check_bad_config(cls: type[Transform[Any]] | type[Predicate[Any]], case: BadConfig) -> None:
    with pytest.raises(ConfigError, match=case.error):
        configured(cls, case.config)


def _check_schema_is_kept(transform: Transform[Any], record: Record, made: Record, part: str) -> None:
    """The same schema, and an equal one, give the same object: sinks compare by identity."""
    for name in ("key_schema", "value_schema"):
        again = transform.apply(record)
        assert again is not None and getattr(again, name) is getattr(made, name)
        schema = getattr(record, name)
        if schema is not None and getattr(made, name) is not schema:
            equal = transform.apply(replace(record, **{name: copy.deepcopy(schema)}))
            assert equal is not None and getattr(equal, name) is getattr(made, name)


def _types(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _types(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_types(each) for each in value]
    return type(value)


def _header_types(headers: Headers) -> list[Any]:
    return [(header.key, _types(header.value), header.schema) for header in headers]
