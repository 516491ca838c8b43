"""What a client sends to register, look up or check a schema, with its fields checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from caudal.registry import errors
from caudal.registry.metadata import canonical_metadata, canonical_rule_set
from caudal.registry.records import LARGEST, BrokenRecord, decode_references
from caudal.registry.schemas.parse import TYPES
from caudal.registry.schemas.schema import Reference

UNSUPPORTED = ("schemaTagsToAdd", "schemaTagsToRemove", "propagateSchemaTags")


@dataclass(frozen=True, slots=True)
class SchemaRequest:
    text: str  # empty: that of the previous version
    type: str = "AVRO"
    references: tuple[Reference, ...] = ()
    metadata: dict[str, Any] | None = None
    rule_set: dict[str, Any] | None = None
    id: int | None = None
    version: int | None = None


def schema_request(body: Mapping[str, Any]) -> SchemaRequest:
    """Raises where a field is not what it should be."""
    for name in UNSUPPORTED:
        if body.get(name):
            raise errors.unprocessable(f'"{name}" is not supported: write the tags into the schema or its metadata')
    text = body.get("schema")
    if text is not None and not isinstance(text, str):
        raise errors.unprocessable('"schema" must be a text: the schema as a JSON string')
    type_ = body.get("schemaType") or "AVRO"
    if not isinstance(type_, str) or type_.upper() not in TYPES:
        raise errors.invalid_schema(f"Invalid schema type {type_!r}; there is {', '.join(TYPES)}")
    try:
        references = decode_references(body.get("references"))
    except BrokenRecord as error:
        raise errors.unprocessable(f"The references are wrong: {error}") from None
    return SchemaRequest(
        ((text or "").strip() and text) or "",
        type_.upper(),
        references,
        canonical_metadata(body.get("metadata")),
        canonical_rule_set(body.get("ruleSet")),
        _number(body, "id", 0),
        _number(body, "version", 1),
    )


def _number(body: Mapping[str, Any], name: str, least: int) -> int | None:
    """None where it is left out; 0 and -1 are how some clients do that."""
    value = body.get(name)
    if value is None or value == -1 or (value == 0 and least):
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST:
        raise errors.unprocessable(f'"{name}" must be a number from {least} to {LARGEST}')
    return value
