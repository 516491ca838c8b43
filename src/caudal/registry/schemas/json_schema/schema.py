"""A JSON Schema as the registry knows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from caudal.registry.schemas.json_schema.document import root_of
from caudal.registry.schemas.json_schema.evolution import incompatibilities
from caudal.registry.schemas.json_schema.node import Node, conjunction
from caudal.registry.schemas.json_text import dump, load, with_sorted_keys
from caudal.registry.schemas.schema import (
    MAX_FIELDS,
    Field,
    Incompatibility,
    ParsedSchema,
    Reference,
    Resolved,
    in_order,
    other_language,
    tags_of,
    wrong_type,
)

TYPE: Final = "JSON"


class JsonSchema:
    """`root` is the schema with the place from which its references are looked up."""

    __slots__ = ("_resolved", "references", "root", "text")

    type: Final = TYPE

    def __init__(self, text: str, references: Sequence[Resolved] = ()) -> None:
        value = load(text)
        self.root = root_of(value, _contents(references))
        self.text: str = dump(value)
        self.references: tuple[Reference, ...] = tuple(resolved.reference for resolved in references)
        self._resolved = tuple(references)

    @property
    def name(self) -> str | None:
        title = self.root.get("title")
        return title if isinstance(title, str) else None

    @property
    def identity(self) -> str:
        return self.text

    def normalized(self) -> JsonSchema:
        return JsonSchema(dump(with_sorted_keys(self.root.value)), in_order(self._resolved))

    def formatted(self, form: str) -> str:
        return self.text

    def reads(self, writer: ParsedSchema) -> Sequence[Incompatibility]:
        if not isinstance(writer, JsonSchema):
            return other_language(self, writer)
        return incompatibilities(self.root, writer.root)

    def fields(self) -> Iterator[Field]:
        seen: set[str] = set()
        for field in _fields(self.root, "", ()):
            if len(seen) == MAX_FIELDS:
                return
            if field.path not in seen:
                seen.add(field.path)
                yield field


def _contents(references: Sequence[Resolved]) -> dict[str, Any]:
    """What references hold, theirs first, by name."""
    found: dict[str, Any] = {}
    for resolved in references:
        if not isinstance(resolved.schema, JsonSchema):
            raise wrong_type(resolved, TYPE)
        found.update(_contents(resolved.schema._resolved))
    for resolved in references:
        if isinstance(resolved.schema, JsonSchema):
            found[resolved.reference.name] = resolved.schema.root.value
    return found


def _fields(node: Node, prefix: str, around: tuple[int, ...]) -> Iterator[Field]:
    if len(around) > 50:
        return
    unseen = [part for part in conjunction(node) if id(part.value) not in around]
    inside = (*around, *(id(part.value) for part in unseen))
    for part in unseen:
        for name, child in part.named("properties").items():
            path = f"{prefix}{name}"
            parts = [child, *conjunction(child)]
            doc = next((text for one in parts if isinstance(text := one.get("description"), str)), "")
            tags = [tag for one in parts if isinstance(one.value, dict) for tag in tags_of(one.value)]
            yield Field(path, _kind(parts), doc, tuple(dict.fromkeys(tags)))
            yield from _fields(child, f"{path}.", inside)
        for keyword in ("items", "additionalProperties"):
            if (inner := part.one(keyword)) is not None:
                yield from _fields(inner, prefix, inside)
        for keyword in ("anyOf", "oneOf", "prefixItems", "items"):
            for inner in part.children(keyword):
                yield from _fields(inner, prefix, inside)


def _kind(parts: Sequence[Node]) -> str:
    for node in parts:
        kind = node.get("type")
        if isinstance(kind, str):
            return kind
        if isinstance(kind, list):
            return " or ".join(str(one) for one in kind)
    for node in parts:
        for keyword in ("enum", "const", "anyOf", "oneOf", "properties"):
            if node.get(keyword) is not None:
                return "object" if keyword == "properties" else keyword
    return "any"
