"""Protobuf's own parser judges the matrix: what the old message held is found in the new one, or is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from caudal.registry.schemas.protobuf.schema import ProtobufSchema, file_descriptor_set
from caudal.registry.schemas.schema import Reference, Resolved

# By this rule data is surely lost; others forbid what loses data only sometimes, or only a meaning.
LOSING = {"FIELD_SCALAR_KIND_CHANGED"}
TEXTS = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)


def cases() -> Iterator[Any]:
    for section, entries in yaml.safe_load((Path(__file__).parent / "matrix" / "protobuf.yaml").read_text()).items():
        for case in entries:
            yield pytest.param(case, id=f"{section}: {case['name']}")


def classes(case: dict[str, Any], side: str) -> dict[str, Any]:
    references = [
        Resolved(Reference(name, name, 1), ProtobufSchema(text))
        for name, text in case.get(f"{side}_references", case.get("references", []))
    ]
    files = file_descriptor_set(ProtobufSchema(case[side], references))
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    own = files.file[-1]
    prefix = f"{own.package}." if own.package else ""
    return {
        kind.name: message_factory.GetMessageClass(pool.FindMessageTypeByName(prefix + kind.name))
        for kind in own.message_type
    }


def filled(kind: Any, depth: int = 0) -> list[Any]:
    """Messages that together have every field set; of a oneof, each message has one."""
    longest = max([len(oneof.fields) for oneof in kind.DESCRIPTOR.oneofs], default=1)
    made = []
    for turn in range(longest):
        message = kind()
        for field in kind.DESCRIPTOR.fields:
            oneof = field.containing_oneof
            if oneof is None or oneof.fields.index(field) == turn % len(oneof.fields):
                _set(message, field, depth)
        made.append(message)
    return made


def _set(message: Any, field: FieldDescriptor, depth: int) -> None:
    is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
    if is_map:
        key, value = field.message_type.fields
        target = getattr(message, field.name)
        name = "k" if key.type in TEXTS else 1
        if value.message_type is not None:
            target[name].SetInParent()
        else:
            target[name] = _value(value)
    elif field.message_type is not None:
        inner = getattr(message, field.name)
        inner = inner.add() if field.is_repeated else inner
        inner.SetInParent()
        if depth < 2:
            inner.MergeFrom(filled(type(inner), depth + 1)[0])
    elif field.is_repeated:
        getattr(message, field.name).append(_value(field))
    else:
        setattr(message, field.name, _value(field))


def _value(field: FieldDescriptor) -> Any:
    if field.type in TEXTS:
        return b"t" if field.type == FieldDescriptor.TYPE_BYTES else "t"
    if field.enum_type is not None:
        return field.enum_type.values[-1].number
    return 1


def lost(old: Any, new_kind: Any) -> bool:
    """Whether a field that both know has another value after the way through bytes, or none."""
    try:
        new = new_kind.FromString(old.SerializePartialToString())
    except DecodeError:
        return True
    known = {field.number: value for field, value in new.ListFields()}
    defined = {field.number for field in new_kind.DESCRIPTOR.fields}
    for field, value in old.ListFields():
        if field.number in defined and _plain(field, value) != _plain(field, known.get(field.number)):
            return True
    return False


def _plain(field: FieldDescriptor, value: Any) -> Any:
    """Numbers and texts; of messages and maps, how many."""
    if value is None:
        return None
    if field.message_type is not None:
        return 1 if hasattr(value, "DESCRIPTOR") else len(value)
    last = list(value)[-1] if not isinstance(value, str | bytes) and hasattr(value, "__len__") else value
    if isinstance(last, bytes):
        return last.decode("latin-1")
    return last if isinstance(last, str) else int(last)


@pytest.mark.parametrize("case", list(cases()))
def test_the_parser_of_protobuf_agrees_with_the_matrix(case: dict[str, Any]) -> None:
    sides = {side: classes(case, side) for side in ("old", "new")}
    for expected, writer, reader in ((case["backward"], "old", "new"), (case["forward"], "new", "old")):
        rules = {reason.split()[0] for reason in expected}
        any_lost = any(
            lost(message, sides[reader][name])
            for name, kind in sides[writer].items()
            if name in sides[reader]
            for message in filled(kind)
        )
        if not rules:
            assert not any_lost
        elif rules == LOSING and any(reason.split("/")[1] in sides[reader] for reason in expected):
            assert any_lost
