"""Between Protobuf messages and dicts: the way of each field is worked out once for a type of message.

A dict has every field of the message. Numbers, text and bytes are Python's own, enums are names (a number without a
name stays a number), maps are dicts, Timestamp and Duration are datetime and timedelta (to the microsecond), wrappers
such as StringValue are their values, Struct is a dict. What is not set is None; None is not written.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

Convert = Callable[[Any], Any]
Put = Callable[[Any, Any], None]  # a message, a value for one of its fields

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_WRAPPERS = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)


def to_dict(descriptor: Descriptor) -> Convert:
    """Messages of this type to dicts."""
    return _reader(descriptor, {})


def to_message(descriptor: Descriptor) -> Convert:
    """Dicts to messages of this type; ValueError or TypeError with the field's name where one does not fit."""
    make = GetMessageClass(descriptor)
    put = _filler(descriptor, {})

    def message(value: Any) -> Any:
        made = make()
        try:
            put(made, value)
        except _Misfit as error:
            raise ValueError(f"the field '{error.place}': {error.cause}") from None
        return made

    return message


# ---------------------------------------------------------------------- reading


def _reader(descriptor: Descriptor, known: dict[str, Convert]) -> Convert:
    name = descriptor.full_name
    if name in known:
        return lambda message: known[name](message)  # a message within itself
    special = _special_reader(name)
    if special is not None:
        return special
    known[name] = lambda message: message  # replaced below; only there for messages within themselves
    plain: list[tuple[str, Convert | None]] = []
    present: list[tuple[str, Convert | None]] = []
    for field in descriptor.fields:
        (present if field.has_presence else plain).append((field.name, _field_reader(field, known)))
    order = [field.name for field in descriptor.fields]
    mixed = bool(plain) and bool(present)

    def read(message: Any) -> dict[str, Any]:
        value = {}
        for field, convert in plain:
            found = getattr(message, field)
            value[field] = found if convert is None else convert(found)
        for field, convert in present:
            if message.HasField(field):
                found = getattr(message, field)
                value[field] = found if convert is None else convert(found)
            else:
                value[field] = None
        return {field: value[field] for field in order} if mixed else value

    known[name] = read
    return read


def _field_reader(field: FieldDescriptor, known: dict[str, Convert]) -> Convert | None:
    """None: the value is as Python wants it already."""
    if _is_map(field):
        inner = _one_reader(field.message_type.fields_by_name["value"], known)
        if inner is None:
            return dict
        return lambda items: {key: inner(items[key]) for key in items}
    one = _one_reader(field, known)
    if field.is_repeated:
        return list if one is None else lambda items: [one(item) for item in items]
    return one


def _one_reader(field: FieldDescriptor, known: dict[str, Convert]) -> Convert | None:
    if field.enum_type is not None:
        names = {value.number: value.name for value in field.enum_type.values}
        return lambda number: names.get(number, number)
    return None if field.message_type is None else _reader(field.message_type, known)


def _special_reader(name: str) -> Convert | None:
    if name == "google.protobuf.Timestamp":
        return lambda stamp: _EPOCH + timedelta(seconds=stamp.seconds, microseconds=stamp.nanos // 1000)
    if name == "google.protobuf.Duration":
        return lambda span: timedelta(seconds=span.seconds, microseconds=int(span.nanos / 1000))
    if name in _WRAPPERS:
        return lambda wrapper: wrapper.value
    if name == "google.protobuf.Struct":
        return lambda struct: {key: _plain(item) for key, item in struct.fields.items()}
    if name == "google.protobuf.ListValue":
        return lambda items: [_plain(item) for item in items.values]
    return _plain if name == "google.protobuf.Value" else None


def _plain(value: Any) -> Any:
    """A google.protobuf.Value."""
    kind = value.WhichOneof("kind")
    if kind in (None, "null_value"):
        return None
    if kind == "struct_value":
        return {key: _plain(item) for key, item in value.struct_value.fields.items()}
    if kind == "list_value":
        return [_plain(item) for item in value.list_value.values]
    return getattr(value, kind)


# ---------------------------------------------------------------------- writing


def _filler(descriptor: Descriptor, known: dict[str, Put]) -> Put:
    name = descriptor.full_name
    if name in known:
        return lambda message, value: known[name](message, value)
    special = _special_filler(name)
    if special is not None:
        return special
    known[name] = lambda message, value: None
    ways = {field.name: _field_filler(field, known) for field in descriptor.fields}

    def fill(message: Any, value: Any) -> None:
        if not isinstance(value, dict):
            raise TypeError(f"a dict is needed, not {type(value).__name__} {value!r:.60}")
        message.SetInParent()
        for field, item in value.items():
            way = ways.get(field)
            if way is None:
                raise _Misfit(str(field), f"{name} has no such field")
            if item is not None:
                way(message, item)

    known[name] = fill
    return fill


def _field_filler(field: FieldDescriptor, known: dict[str, Put]) -> Put:
    name = field.name
    if _is_map(field):
        return _map_filler(field, known)
    enum = _enum_numbers(field)
    if field.message_type is not None:
        inner = _filler(field.message_type, known)
        if not field.is_repeated:
            return _guarded(name, lambda message, value: inner(getattr(message, name), value))

        def fill_all(message: Any, value: Any) -> None:
            items = getattr(message, name)
            for item in _listed(value):
                inner(items.add(), item)

        return _guarded(name, fill_all)
    if field.is_repeated:
        if enum is not None:
            return _guarded(name, lambda message, value: getattr(message, name).extend(map(enum, _listed(value))))
        return _guarded(name, lambda message, value: getattr(message, name).extend(_listed(value)))
    if enum is not None:
        return _guarded(name, lambda message, value: setattr(message, name, enum(value)))
    return _guarded(name, lambda message, value: setattr(message, name, value))


def _map_filler(field: FieldDescriptor, known: dict[str, Put]) -> Put:
    name, value_field = field.name, field.message_type.fields_by_name["value"]
    if value_field.message_type is not None:
        inner = _filler(value_field.message_type, known)

        def fill_messages(message: Any, value: Any) -> None:
            items = getattr(message, name)
            for key, item in value.items():
                inner(items[key], item)

        return _guarded(name, fill_messages)
    enum = _enum_numbers(value_field)

    def fill(message: Any, value: Any) -> None:
        items = getattr(message, name)
        for key, item in value.items():
            items[key] = item if enum is None else enum(item)

    return _guarded(name, fill)


class _Misfit(Exception):
    """A value does not fit: which field, seen from the message at hand, and why."""

    def __init__(self, place: str, cause: str) -> None:
        super().__init__(place, cause)
        self.place, self.cause = place, cause


def _guarded(field: str, put: Put) -> Put:
    def guarded(message: Any, value: Any) -> None:
        try:
            put(message, value)
        except _Misfit as inner:
            raise _Misfit(f"{field}.{inner.place}", inner.cause) from None
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise _Misfit(field, " ".join(str(error).split())) from None

    return guarded


def _listed(value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"a list is needed, not {type(value).__name__} {value!r:.60}")
    return value


def _enum_numbers(field: FieldDescriptor) -> Convert | None:
    if field.enum_type is None:
        return None
    numbers = {value.name: value.number for value in field.enum_type.values}

    def number(value: Any) -> Any:
        if isinstance(value, str):
            if value not in numbers:
                raise ValueError(f"{value!r} is not one of {', '.join(numbers)}")
            return numbers[value]
        return value

    return number


def _special_filler(name: str) -> Put | None:
    if name == "google.protobuf.Timestamp":
        return _put_timestamp
    if name == "google.protobuf.Duration":
        return _put_duration
    if name in _WRAPPERS:

        def put(message: Any, value: Any) -> None:
            message.SetInParent()
            message.value = value

        return put
    fillers = {"Struct": _put_struct, "Value": _put_value, "ListValue": _put_list}
    return fillers.get(name.removeprefix("google.protobuf.")) if name.startswith("google.protobuf.") else None


def _put_timestamp(message: Any, value: Any) -> None:
    if not isinstance(value, datetime):
        raise TypeError(f"a datetime is needed, not {type(value).__name__} {value!r:.60}")
    since = (value if value.tzinfo is not None else value.replace(tzinfo=UTC)) - _EPOCH
    message.SetInParent()
    message.seconds, rest = divmod(since // _MICROSECOND, 1_000_000)
    message.nanos = rest * 1000


def _put_duration(message: Any, value: Any) -> None:
    if not isinstance(value, timedelta):
        raise TypeError(f"a timedelta is needed, not {type(value).__name__} {value!r:.60}")
    total = value // _MICROSECOND
    seconds, rest = divmod(abs(total), 1_000_000)
    sign = -1 if total < 0 else 1
    message.SetInParent()
    message.seconds, message.nanos = sign * seconds, sign * rest * 1000


def _put_struct(message: Any, value: Any) -> None:
    if not isinstance(value, dict):
        raise TypeError(f"a dict is needed, not {type(value).__name__} {value!r:.60}")
    message.SetInParent()
    for key, item in value.items():
        _put_value(message.fields[key], item)


def _put_list(message: Any, value: Any) -> None:
    message.SetInParent()
    for item in _listed(value):
        _put_value(message.values.add(), item)


def _put_value(message: Any, value: Any) -> None:
    if value is None:
        message.null_value = 0
    elif isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, (int, float)):
        message.number_value = value
    elif isinstance(value, str):
        message.string_value = value
    elif isinstance(value, dict):
        _put_struct(message.struct_value, value)
    else:
        _put_list(message.list_value, value)


def _is_map(field: FieldDescriptor) -> bool:
    return (
        field.message_type is not None and field.message_type.has_options and field.message_type.GetOptions().map_entry
    )
