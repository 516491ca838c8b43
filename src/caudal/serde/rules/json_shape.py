"""The shape of a JSON Schema; tags are in a property's `confluent:tags`. A full name is the way from the root: $.a.b"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from caudal.serde.rules.shapes import AnyOf, Field, ListOf, MapOf, Record, Shape

_TYPES = {"string": "STRING", "integer": "LONG", "number": "DOUBLE", "boolean": "BOOLEAN", "null": "NULL"}


def json_shape(schema: Any, documents: Mapping[str, Any]) -> Shape:
    """`documents`: what `$ref` may name besides places in the schema itself."""
    return _Shapes(documents).shape(schema, schema, "$")


class _Shapes:
    def __init__(self, documents: Mapping[str, Any]) -> None:
        self.documents = documents
        self.made: dict[int, Shape] = {}

    def shape(self, schema: Any, root: Any, path: str) -> Shape:
        if not isinstance(schema, dict):
            return Shape("COMBINED")
        known = self.made.get(id(schema))
        if known is not None:
            return known
        if "$ref" in schema:
            found, document = self._resolved(str(schema["$ref"]), root)
            return self.shape(found, document, path)
        parts = [part for word in ("allOf", "anyOf", "oneOf") for part in schema.get(word) or ()]
        if "properties" in schema or schema.get("type") == "object":
            return self._object(schema, parts, root, path)
        if parts:
            union = self.made[id(schema)] = AnyOf("COMBINED")
            union.shapes = [self.shape(part, root, path) for part in parts]
            return union
        if isinstance(schema.get("items"), dict):
            return ListOf("ARRAY", self.shape(schema["items"], root, path))
        kind = schema.get("type")
        if isinstance(kind, list):
            return AnyOf("COMBINED", [Shape(_TYPES.get(each, "COMBINED")) for each in kind if each != "null"])
        return Shape(_TYPES.get(str(kind), "STRING" if "enum" in schema else "COMBINED"))

    def _object(self, schema: Any, parts: list[Any], root: Any, path: str) -> Shape:
        more = schema.get("additionalProperties")
        if not schema.get("properties") and not parts and isinstance(more, dict):
            return MapOf("MAP", self.shape(more, root, path))
        record = self.made[id(schema)] = _Object("RECORD", str(schema.get("title", "")))
        for name, inner in (schema.get("properties") or {}).items():
            full_name = f"{path}.{name}"
            tags = frozenset(inner.get("confluent:tags") or ()) if isinstance(inner, dict) else frozenset()
            record.fields[name] = Field(name, full_name, tags), self.shape(inner, root, full_name)
        for part in parts:
            found = self.shape(part, root, path)
            if isinstance(found, Record):
                record.fields = {**found.fields, **record.fields}
        return record

    def _resolved(self, reference: str, root: Any) -> tuple[Any, Any]:
        """What it means, and the document that this is in."""
        name, _, pointer = reference.partition("#")
        document = self.documents.get(name) if name else root
        found = document
        for part in [unquote(part) for part in pointer.split("/") if part]:
            step = part.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if isinstance(found, dict) else None
        return found, document


class _Object(Record):
    """An object is open unless its schema says otherwise: other properties do not make it another kind."""

    __slots__ = ()

    def fits(self, value: Any) -> bool:
        return isinstance(value, dict)
