"""The records of `_schemas`: JSON keys and values as Confluent's registry writes them, so that either can take over.

Pure: bytes in, values out, and back. A record that cannot be read raises BrokenRecord.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from caudal.registry.schemas.schema import Reference

SCHEMA, CONFIG, MODE, DELETE_SUBJECT = "SCHEMA", "CONFIG", "MODE", "DELETE_SUBJECT"
CLEAR_SUBJECT, NOOP, CONTEXT = "CLEAR_SUBJECT", "NOOP", "CONTEXT"
TENANT = "default"
LARGEST = 2**31 - 1

Encoded = tuple[bytes, bytes | None]


class BrokenRecord(ValueError):
    """Why a record cannot be read."""


class Key(NamedTuple):
    kind: str
    subject: str | None = None  # of a CONTEXT: its name
    version: int = 0


class SchemaValue(NamedTuple):
    """The value of a SCHEMA key; subject and version are in the key too."""

    subject: str
    version: int
    id: int
    type: str
    text: str
    references: tuple[Reference, ...]
    metadata: dict[str, Any] | None
    rule_set: dict[str, Any] | None
    deleted: bool


def encode_key(key: Key) -> bytes:
    fields: dict[str, Any] = {"keytype": key.kind}
    if key.kind == CONTEXT:
        return orjson.dumps({**fields, "tenant": TENANT, "context": key.subject, "magic": 0})
    if key.subject is not None:
        fields["subject"] = key.subject
    if key.kind == SCHEMA:
        fields["version"] = key.version
    fields["magic"] = 1 if key.kind == SCHEMA else 0
    return orjson.dumps(fields)


def decode_key(data: bytes | None) -> Key | None:
    """None for kinds that mean nothing here: NOOP, and those of later versions."""
    if data is None:
        raise BrokenRecord("it has no key")
    fields = _object(data, "the key")
    kind = fields.get("keytype")
    if kind == SCHEMA:
        subject, version = fields.get("subject"), fields.get("version")
        if not isinstance(subject, str) or not subject:
            raise BrokenRecord("its key has no subject")
        if not _is_version(version):
            raise BrokenRecord(f"its key has the version {version!r}")
        assert isinstance(version, int)
        return Key(SCHEMA, subject, version)
    if kind in (CONFIG, MODE):
        subject = fields.get("subject")
        if subject is not None and not isinstance(subject, str):
            raise BrokenRecord(f"its key has the subject {subject!r}")
        return Key(kind, subject or None)
    if kind in (DELETE_SUBJECT, CLEAR_SUBJECT):
        if not isinstance(fields.get("subject"), str):
            raise BrokenRecord("its key has no subject")
        return Key(kind, fields["subject"])
    if kind == CONTEXT:
        if not isinstance(fields.get("context"), str):
            raise BrokenRecord("its key has no context")
        return Key(CONTEXT, fields["context"])
    if isinstance(kind, str):
        return None
    raise BrokenRecord("its key has no keytype")


def encode_schema(value: SchemaValue, digest: bytes) -> Encoded:
    fields: dict[str, Any] = {
        "subject": value.subject,
        "version": value.version,
        "id": value.id,
        "md5": base64.b64encode(digest).decode(),
    }
    if value.type != "AVRO":
        fields["schemaType"] = value.type
    if value.references:
        fields["references"] = references_json(value.references)
    if value.metadata:
        fields["metadata"] = value.metadata
    if value.rule_set:
        fields["ruleSet"] = value.rule_set
    fields["schema"] = value.text
    fields["deleted"] = value.deleted
    return encode_key(Key(SCHEMA, value.subject, value.version)), orjson.dumps(fields)


def decode_schema(key: Key, data: bytes) -> SchemaValue:
    fields = _object(data, "the value")
    id_, text = fields.get("id"), fields.get("schema")
    if not isinstance(id_, int) or isinstance(id_, bool) or not 0 <= id_ <= LARGEST:
        raise BrokenRecord(f"its id is {id_!r}")
    if not isinstance(text, str):
        raise BrokenRecord("it has no schema")
    kind = fields.get("schemaType") or "AVRO"
    metadata, rule_set = fields.get("metadata"), fields.get("ruleSet")
    if not isinstance(kind, str):
        raise BrokenRecord(f"its schemaType is {kind!r}")
    for name, part in (("metadata", metadata), ("ruleSet", rule_set)):
        if part is not None and not isinstance(part, dict):
            raise BrokenRecord(f"its {name} is not an object")
    references = decode_references(fields.get("references"))
    assert key.subject is not None
    deleted = fields.get("deleted") is True
    return SchemaValue(
        key.subject, key.version, id_, kind, text, references, metadata or None, rule_set or None, deleted
    )


def decode_references(given: object) -> tuple[Reference, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise BrokenRecord("references is not a list")
    result = []
    for item in given:
        if not isinstance(item, dict):
            raise BrokenRecord("a reference is not an object")
        name, subject, version = item.get("name"), item.get("subject"), item.get("version")
        if not isinstance(name, str) or not isinstance(subject, str) or not subject:
            raise BrokenRecord("a reference has no name or no subject")
        if version != -1 and not _is_version(version):
            raise BrokenRecord(f"the reference '{name}' has the version {version!r}")
        assert isinstance(version, int)
        result.append(Reference(name, subject, version))
    return tuple(result)


def references_json(references: Sequence[Reference]) -> list[dict[str, Any]]:
    return [{"name": name, "subject": subject, "version": version} for name, subject, version in references]


def encode(key: Key, value: dict[str, Any]) -> Encoded:
    return encode_key(key), orjson.dumps(value)


def tombstone(key: Key) -> Encoded:
    return encode_key(key), None


def decode_value(data: bytes) -> dict[str, Any]:
    """The value of any other key."""
    return _object(data, "the value")


def _is_version(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST


def _object(data: bytes, what: str) -> dict[str, Any]:
    try:
        fields = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BrokenRecord(f"{what} is not JSON ({error})") from None
    if not isinstance(fields, dict):
        raise BrokenRecord(f"{what} is not a JSON object")
    return fields
