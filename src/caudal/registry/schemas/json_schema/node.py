"""A part of a JSON Schema together with the place from which its references are looked up."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from referencing import Specification
from referencing._core import Resolver
from referencing.exceptions import Unresolvable

# Say something about a value, but allow and forbid nothing.
SILENT: Final = frozenset(
    (
        "$anchor",
        "$comment",
        "$defs",
        "$dynamicAnchor",
        "$id",
        "$recursiveAnchor",
        "$schema",
        "$vocabulary",
        "confluent:tags",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "default",
        "definitions",
        "deprecated",
        "description",
        "examples",
        "format",
        "id",
        "readOnly",
        "title",
        "writeOnly",
    )
)
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass(frozen=True, slots=True)
class Dialect:
    specification: Specification[Any]
    id_keyword: str  # `id` in draft 4
    reference_stands_alone: bool  # up to draft 7 nothing beside a `$ref` counts


@dataclass(frozen=True, slots=True)
class Document:
    """What two schemas must have in common so that parts of them that are written alike also mean the same."""

    dialect: Dialect
    scope: str | None = None  # interned: what references inside mean; None: not known without following them
    plain: bool = False  # lists no numbers and booleans, which Python mixes up: 1 == True


@dataclass(slots=True, eq=False)  # made by the thousand: frozen ones take three times as long
class Node:
    value: Any  # a schema: an object, or true or false
    resolver: Resolver[Any]
    document: Document
    hidden: tuple[str, ...] = ()  # keywords that are looked at apart
    place: str = ""  # from the schema that was spread out to this part of it, such as /allOf/1

    def get(self, keyword: str) -> Any:
        if keyword in self.hidden or not isinstance(self.value, dict):
            return None
        return self.value.get(keyword)

    def child(self, value: Any) -> Node:
        resolver = self.resolver
        dialect = self.document.dialect
        if isinstance(value, dict) and isinstance(value.get(dialect.id_keyword), str):
            resolver = resolver.in_subresource(dialect.specification.create_resource(value))
        return Node(value, resolver, self.document)

    def children(self, keyword: str) -> list[Node]:
        """Of a keyword whose value is an array of schemas."""
        value = self.get(keyword)
        return [self.child(item) for item in value] if isinstance(value, list) else []

    def named(self, keyword: str) -> dict[str, Node]:
        """Of a keyword whose value is an object of schemas."""
        value = self.get(keyword)
        return {name: self.child(item) for name, item in value.items()} if isinstance(value, dict) else {}

    def one(self, keyword: str) -> Node | None:
        value = self.get(keyword)
        return self.child(value) if isinstance(value, dict | bool) else None

    def without(self, *keywords: str) -> Node:
        return Node(self.value, self.resolver, self.document, (*self.hidden, *keywords), self.place)

    def target(self, keyword: str) -> Node | None:
        """What a reference means; None: nothing, or it is no reference."""
        reference = self.get(keyword)
        if not isinstance(reference, str):
            return None
        try:
            found = self.resolver.lookup(reference)
        except (Unresolvable, ValueError, LookupError, TypeError):
            return None
        return Node(found.contents, found.resolver, self.document)

    def allows_all(self) -> bool:
        if isinstance(self.value, dict):
            return all(keyword in SILENT or keyword in self.hidden for keyword in self.value)
        return bool(self.value)

    def alike(self, other: Node, own: Any, others: Any) -> bool:
        return self.alike_below(other)(own, others)

    def alike_below(self, other: Node) -> Callable[[Any, Any], bool]:
        """For two values, one below each of these schemas: whether they are written alike and surely mean the same."""
        mine, theirs = self.document, other.document
        if mine.scope is None or mine.scope is not theirs.scope:
            return lambda own, others: False
        if mine.plain and theirs.plain:
            return operator.eq
        return lambda own, others: own == others and repr(own) == repr(others)

    def default(self) -> bool:
        return any(isinstance(part.value, dict) and "default" in part.value for part in (self, *conjunction(self)))


def conjunction(node: Node) -> list[Node]:
    """The schemas that a value must satisfy together: the schema's own keywords, `allOf` and references spread out.
    Empty: any value will do."""
    parts: list[Node] = []
    _spread(node, "", parts, set())
    return parts


def _spread(node: Node, place: str, parts: list[Node], seen: set[int]) -> None:
    if not isinstance(node.value, dict):
        if not node.value:
            parts.append(Node(node.value, node.resolver, node.document, node.hidden, place))
        return
    if id(node.value) in seen:
        return
    seen.add(id(node.value))
    for keyword in REFERENCES:
        if (target := node.target(keyword)) is not None:
            _spread(target, place, parts, seen)
            if keyword == "$ref" and node.document.dialect.reference_stands_alone:
                return
    own = Node(node.value, node.resolver, node.document, (*node.hidden, "allOf", *REFERENCES), place)
    if not own.allows_all():
        parts.append(own)
    for index, member in enumerate(node.children("allOf")):
        _spread(member, f"{place}/allOf/{index}", parts, seen)
