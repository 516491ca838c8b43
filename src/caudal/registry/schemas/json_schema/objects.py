"""Evolution of objects: properties, which of them are required, and what else an object may hold.

A content model is open when other properties may hold anything, closed when there are none, else partially open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from caudal.registry.schemas.json_schema.bounds import Problem, limit_problems
from caudal.registry.schemas.json_schema.comparer import Comparer, together
from caudal.registry.schemas.json_schema.node import REFERENCES, Node
from caudal.registry.schemas.json_schema.patterns import matches
from caudal.registry.schemas.json_text import pointer

_TEXT: Final = {"type": "string"}
_LIMITS: Final = (("maxProperties", "MAX_PROPERTIES", True), ("minProperties", "MIN_PROPERTIES", False))


class Content:
    """What one schema says about an object's properties."""

    __slots__ = ("node", "patterns", "properties", "required", "rest")

    def __init__(self, node: Node) -> None:
        self.node = node
        properties = node.get("properties")
        self.properties: dict[str, Any] = properties if isinstance(properties, dict) else {}
        self.patterns = node.named("patternProperties")
        rest = node.one("additionalProperties")
        self.rest = None if rest is None or rest.allows_all() else rest
        self.required = frozenset(_names(node.get("required")))

    def of(self, name: str, *, surely: bool) -> list[Node]:
        """The schemas for a property. Of a pattern that cannot be tried: left out when they must `surely` apply."""
        found = [self.node.child(self.properties[name])] if name in self.properties else []
        declared = bool(found)
        for pattern, node in self.patterns.items():
            matched = matches(pattern, name)
            if matched or (matched is None and not surely):
                found.append(node)
            declared = declared or matched is True or (matched is None and surely)
        if not declared and self.rest is not None:
            found.append(self.rest)
        return found

    def settled(self, writer: Content) -> set[str]:
        """Properties of which nothing has to be asked: the writer never has them, or says the same of them."""
        theirs = writer.properties
        found: set[str] = set()
        if writer.rest is not None and writer.rest.value is False and not writer.patterns:
            found = self.properties.keys() - theirs.keys()
        if not self.patterns:
            alike = self.node.alike_below(writer.node)
            found.update(name for name, own in self.properties.items() if name in theirs and alike(own, theirs[name]))
        return found


def object_problems(comparer: Comparer, writers: Sequence[Node], reader: Node, path: str) -> Iterator[Problem]:
    written = [Content(node) for node in writers]
    wanted = Content(reader)
    told: set[str] = set()
    settled = set[str]().union(*(wanted.settled(content) for content in written))
    for name in dict.fromkeys([*wanted.properties, *(name for content in written for name in content.properties)]):
        if name in settled:
            continue
        for problem in _property(comparer, written, wanted, name, f"{path}/properties/{pointer(name)}"):
            told.add(name)
            yield problem
    yield from _required(written, wanted, told, path)
    yield from _patterns(comparer, written, wanted, path)
    yield from _rest(comparer, written, wanted, path)
    yield from _names_of_properties(comparer, writers, reader, path)
    yield from _dependencies(comparer, writers, reader, path)
    yield from _unevaluated(comparer, writers, reader, path)
    yield from limit_problems(writers, reader, path, _LIMITS)


def _property(comparer: Comparer, written: list[Content], wanted: Content, name: str, path: str) -> Iterator[Problem]:
    nodes = [node for content in written for node in content.of(name, surely=True)]
    if any(node.value is False for node in nodes):
        return  # the writer never has it
    readers = wanted.of(name, surely=False)
    in_both = name in wanted.properties and any(name in content.properties for content in written)
    for reader in readers:
        problems = comparer.compare(together(nodes), reader, path)
        if not problems:
            continue
        if in_both:
            yield from problems
        elif name in wanted.properties:
            if nodes:
                rule = "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
                said = "a part of the content model of the writer schema allows it otherwise"
            else:
                rule = "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"
                said = "the open content model of the writer schema allows any value for it"
            yield Problem(rule, path, f"the property '{name}' is new in the reader schema, and {said}")
        elif reader.value is False:
            said = f"the property '{name}' of the writer schema is missing in the reader schema, which is closed"
            yield Problem("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", path, said)
        else:
            said = (
                f"the property '{name}' of the writer schema is missing in the reader schema,"
                f" and what that says of others does not cover it: {problems[0].said}"
            )
            yield Problem("PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", path, said)
        return


def _required(written: list[Content], wanted: Content, told: set[str], path: str) -> Iterator[Problem]:
    given = frozenset().union(*(content.required for content in written))
    for name in sorted(wanted.required - given):
        own = wanted.properties.get(name)
        if own is not None and wanted.node.child(own).default():
            continue
        if any(name in content.properties for content in written) or own is None:
            said = f"the property '{name}' is required in the reader schema and not in the writer schema"
            yield Problem("REQUIRED_ATTRIBUTE_ADDED", f"{path}/required/{pointer(name)}", said)
        elif any(content.rest is not None or content.patterns for content in written):
            said = f"the property '{name}' is new and required in the reader schema and has no default"
            place = f"{path}/properties/{pointer(name)}"
            yield Problem("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", place, said)
        elif name not in told:
            said = f"the property '{name}' is required in the reader schema and unknown to the writer schema"
            yield Problem("REQUIRED_ATTRIBUTE_ADDED", f"{path}/required/{pointer(name)}", said)


def _patterns(comparer: Comparer, written: list[Content], wanted: Content, path: str) -> Iterator[Problem]:
    for pattern, reader in wanted.patterns.items():
        place = f"{path}/patternProperties/{pointer(pattern)}"
        same = [content.patterns[pattern] for content in written if pattern in content.patterns]
        if same:
            yield from comparer.compare(together(same), reader, place)
            continue
        others = [node for content in written for node in content.patterns.values()]
        rest = together([content.rest for content in written if content.rest is not None])
        if any(comparer.compare(together([node]), reader, place) for node in others) or comparer.compare(
            rest, reader, place
        ):
            said = f"the pattern '{pattern}' of the reader schema limits properties that the writer schema does not"
            yield Problem("PATTERN_PROPERTY_ADDED", place, said)
    if wanted.rest is None:
        return
    for content in written:
        for pattern, node in content.patterns.items():
            if pattern not in wanted.patterns and comparer.compare(together([node]), wanted.rest, path):
                place = f"{path}/patternProperties/{pointer(pattern)}"
                said = f"the properties of pattern '{pattern}' in the writer schema have no place in the reader schema"
                yield Problem("PATTERN_PROPERTY_REMOVED", place, said)


def _rest(comparer: Comparer, written: list[Content], wanted: Content, path: str) -> Iterator[Problem]:
    if wanted.rest is None:
        return
    nodes = [content.rest for content in written if content.rest is not None]
    if any(node.value is False for node in nodes):
        return
    place = f"{path}/additionalProperties"
    problems = comparer.compare(together(nodes), wanted.rest, place)
    if not problems:
        return
    if wanted.rest.value is False:
        said = "the reader schema allows no other properties, the writer schema does"
        yield Problem("ADDITIONAL_PROPERTIES_REMOVED", place, said)
    elif not nodes:
        said = "the reader schema limits other properties, the writer schema does not"
        yield Problem("ADDITIONAL_PROPERTIES_NARROWED", place, said)
    else:
        yield from problems


def _names_of_properties(comparer: Comparer, writers: Sequence[Node], reader: Node, path: str) -> Iterator[Problem]:
    wanted = reader.one("propertyNames")
    if wanted is None or wanted.allows_all():
        return
    place = f"{path}/propertyNames"
    names = [node for writer in writers if (node := writer.one("propertyNames")) is not None]
    text = wanted.child(_TEXT)
    if problems := comparer.compare(together([text, *names]), wanted, place):
        yield Problem("PROPERTY_NAMES_NARROWED", place, f"the reader schema limits their names: {problems[0].said}")


def _dependencies(comparer: Comparer, writers: Sequence[Node], reader: Node, path: str) -> Iterator[Problem]:
    for keyword in ("dependencies", "dependentRequired", "dependentSchemas"):
        wanted = reader.get(keyword)
        for name, dependency in wanted.items() if isinstance(wanted, dict) else ():
            place = f"{path}/{keyword}/{pointer(name)}"
            if isinstance(dependency, list):
                yield from _array_dependency(writers, name, frozenset(_names(dependency)), place)
                continue
            before = [
                writer.child(value)
                for writer in writers
                for key in ("dependencies", "dependentSchemas")
                if isinstance(value := _entry(writer.get(key), name), dict | bool)
            ]
            if problems := comparer.compare(together([*writers, *before]), reader.child(dependency), place):
                if before:
                    yield from problems
                else:
                    said = f"the reader schema demands more of objects with '{name}': {problems[0].said}"
                    yield Problem("DEPENDENCY_SCHEMA_ADDED", place, said)


def _array_dependency(writers: Sequence[Node], name: str, wanted: frozenset[str], path: str) -> Iterator[Problem]:
    lists = [
        frozenset(_names(value))
        for writer in writers
        for key in ("dependencies", "dependentRequired")
        if isinstance(value := _entry(writer.get(key), name), list)
    ]
    required = frozenset(item for writer in writers for item in _names(writer.get("required")))
    given = frozenset().union(*lists)
    missing = wanted - given - required
    if missing:
        rule = "ADDED" if not lists else "EXTENDED" if given <= wanted else "CHANGED"
        said = f"with '{name}' the reader schema requires {', '.join(sorted(missing))}, the writer schema does not"
        yield Problem(f"DEPENDENCY_ARRAY_{rule}", path, said)


def _unevaluated(comparer: Comparer, writers: Sequence[Node], reader: Node, path: str) -> Iterator[Problem]:
    wanted = reader.one("unevaluatedProperties")
    if wanted is None or wanted.allows_all():
        return
    place = f"{path}/unevaluatedProperties"
    before = [node for writer in writers if (node := writer.one("unevaluatedProperties")) is not None]
    problems = comparer.compare(together(before), wanted, place)
    lost = evaluated(writers, "properties") - evaluated([reader], "properties")
    if problems or lost:
        rule = "REMOVED" if wanted.value is False else "NARROWED"
        said = problems[0].said if problems else f"the reader schema does not know {', '.join(sorted(lost)[:5])}"
        yield Problem(f"UNEVALUATED_PROPERTIES_{rule}", place, said)


def evaluated(nodes: Sequence[Node], keyword: str) -> set[str]:
    """The names below a keyword of these schemas and of all that they put together, wherever it stands."""
    found: set[str] = set()
    seen: set[int] = set()
    stack = [replace(node, hidden=()) for node in nodes]
    while stack:
        node = stack.pop()
        if id(node.value) in seen:
            continue
        seen.add(id(node.value))
        found.update(node.named(keyword))
        stack += [member for kind in ("allOf", "anyOf", "oneOf") for member in node.children(kind)]
        stack += [member for kind in ("if", "then", "else") if (member := node.one(kind)) is not None]
        stack += [target for kind in REFERENCES if (target := node.target(kind)) is not None]
    return found


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _entry(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
