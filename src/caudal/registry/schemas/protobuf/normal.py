"""The normal form of a descriptor: orders that mean nothing are sorted away. Messages keep theirs: it numbers them."""

from __future__ import annotations

from typing import Any


def sort(file: Any) -> None:
    public = {file.dependency[index] for index in file.public_dependency}
    weak = {file.dependency[index] for index in file.weak_dependency}
    names = sorted(set(file.dependency))
    del file.dependency[:], file.public_dependency[:], file.weak_dependency[:]
    file.dependency.extend(names)
    file.public_dependency.extend(index for index, name in enumerate(names) if name in public)
    file.weak_dependency.extend(index for index, name in enumerate(names) if name in weak)
    for message in file.message_type:
        _sort_message(message)
    for enum in file.enum_type:
        _sort_enum(enum)


def _sort_message(message: Any) -> None:
    # The fields of a oneof stay together, at the place of its lowest number.
    lowest: dict[int, int] = {}
    for field in message.field:
        if field.HasField("oneof_index"):
            lowest[field.oneof_index] = min(field.number, lowest.get(field.oneof_index, field.number))
    fields = sorted(
        message.field,
        key=lambda field: (lowest[field.oneof_index] if field.HasField("oneof_index") else field.number, field.number),
    )
    _replace(message.field, fields)
    _replace(message.reserved_range, sorted(message.reserved_range, key=lambda span: (span.start, span.end)))
    _replace(message.extension_range, sorted(message.extension_range, key=lambda span: (span.start, span.end)))
    _sort_names(message)
    for nested in message.nested_type:
        _sort_message(nested)
    for enum in message.enum_type:
        _sort_enum(enum)


def _sort_enum(enum: Any) -> None:
    """The first value stays: it is the default."""
    values = list(enum.value)
    _replace(enum.value, values[:1] + sorted(values[1:], key=lambda value: (value.number, value.name)))
    _replace(enum.reserved_range, sorted(enum.reserved_range, key=lambda span: (span.start, span.end)))
    _sort_names(enum)


def _sort_names(owner: Any) -> None:
    names = sorted(owner.reserved_name)
    del owner.reserved_name[:]
    owner.reserved_name.extend(names)


def _replace(repeated: Any, items: list[Any]) -> None:
    copies = [type(item).FromString(item.SerializeToString()) for item in items]
    del repeated[:]
    repeated.extend(copies)
