"""A JSON Schema's text: its dialect, the rules of that dialect, references that lead somewhere. Never the network."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final
from urllib.parse import urldefrag, urljoin

import jsonschema
from jsonschema.exceptions import ValidationError, best_match
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
from referencing import jsonschema as specifications
from referencing.exceptions import Unresolvable

from caudal.registry.schemas.json_schema.node import REFERENCES, Dialect, Document, Node
from caudal.registry.schemas.json_text import dump, pointer, shown
from caudal.registry.schemas.schema import InvalidSchema


@dataclass(frozen=True, slots=True)
class _Draft:
    dialect: Dialect
    validator: Any


_DRAFT_4: Final = _Draft(Dialect(specifications.DRAFT4, "id", True), jsonschema.Draft4Validator)
_DRAFT_6: Final = _Draft(Dialect(specifications.DRAFT6, "$id", True), jsonschema.Draft6Validator)
_DRAFT_7: Final = _Draft(Dialect(specifications.DRAFT7, "$id", True), jsonschema.Draft7Validator)
_DRAFT_2019: Final = _Draft(Dialect(specifications.DRAFT201909, "$id", False), jsonschema.Draft201909Validator)
_DRAFT_2020: Final = _Draft(Dialect(specifications.DRAFT202012, "$id", False), jsonschema.Draft202012Validator)
_BY_URI: Final = {
    "json-schema.org/draft-04/schema": _DRAFT_4,
    "json-schema.org/draft-06/schema": _DRAFT_6,
    "json-schema.org/draft-07/schema": _DRAFT_7,
    "json-schema.org/draft/2019-09/schema": _DRAFT_2019,
    "json-schema.org/draft/2020-12/schema": _DRAFT_2020,
}
# Data, not schemas: what looks like a reference inside is none.
_DATA: Final = frozenset(("const", "default", "enum", "examples"))


def root_of(value: Any, references: Mapping[str, Any]) -> Node:
    """`references`: what other schemas hold, by the name under which `$ref` means them. Raises InvalidSchema."""
    if not isinstance(value, dict | bool):
        raise InvalidSchema(f"A JSON schema is an object, true or false, not {shown(value)}.")
    draft = _draft(value)
    _check_rules(value, draft)
    root = _root(value, references, Document(draft.dialect))
    found: set[str] = set()
    for node, path in _walk(root):
        if path != "#" and isinstance(node.get(draft.dialect.id_keyword), str):
            found.add(node.get(draft.dialect.id_keyword))
        for keyword in REFERENCES:
            if isinstance(reference := node.get(keyword), str):
                found.add(reference)
                _check_reference(node, keyword, path)
    return replace(root, document=_document(root, found, draft.dialect))


def _document(root: Node, references: set[str], dialect: Dialect) -> Document:
    scope = f"{dialect.id_keyword} {dialect.reference_stands_alone}"
    local = all(reference.startswith(("#/definitions/", "#/$defs/")) for reference in references)
    if references and local:
        scope += repr([root.get("definitions"), root.get("$defs")])
    text = dump(root.value)
    plain = '"const"' not in text and '"enum"' not in text
    return Document(dialect, sys.intern(scope) if local else None, plain)


def _draft(value: Any) -> _Draft:
    uri = value.get("$schema") if isinstance(value, dict) else None
    if not isinstance(uri, str):
        return _DRAFT_7
    known = _BY_URI.get(uri.removeprefix("https://").removeprefix("http://").rstrip("#"))
    if known is not None:
        return known
    if "json-schema.org/draft" in uri:
        drafts = ", ".join(sorted(_BY_URI))
        raise InvalidSchema(f"The dialect {shown(uri)} in '$schema' is not supported; supported are {drafts}.")
    return _DRAFT_7  # a vocabulary of one's own


@cache
def _rules(draft: _Draft) -> Any:
    return draft.validator(draft.validator.META_SCHEMA)


def _check_rules(value: Any, draft: _Draft) -> None:
    error: ValidationError | None = best_match(_rules(draft).iter_errors(value))
    if error is not None:
        place = "".join(f"/{pointer(str(step))}" for step in error.absolute_path)
        reason = error.message if len(error.message) <= 300 else f"{error.message[:299]}…"
        raise InvalidSchema(f"At #{place}: {reason}.")


def _root(value: Any, references: Mapping[str, Any], document: Document) -> Node:
    dialect = document.dialect
    own = value.get(dialect.id_keyword) if isinstance(value, dict) else None
    base = own if isinstance(own, str) else ""
    try:
        base = urldefrag(base).url
        resources = [(base, dialect.specification.create_resource(value))]
        for name, content in references.items():
            resource = _draft(content).dialect.specification.create_resource(content)
            resources += [(name, resource), (urljoin(base, name), resource)]
        resolver = REGISTRY.with_resources(reversed(resources)).resolver(base)
    except (ValueError, Unresolvable) as error:
        raise InvalidSchema(f"An identifier of the schema is no URI: {error}.") from None
    return Node(value, resolver, document)


def _walk(root: Node) -> Iterator[tuple[Node, str]]:
    """Every object inside; some are no schemas (the object of all properties), which does no harm here."""
    stack: list[tuple[Node, str]] = [(root, "#")]
    while stack:
        node, path = stack.pop()
        yield node, path
        if not isinstance(node.value, dict):
            continue
        for key, value in node.value.items():
            if key in _DATA:
                continue
            for step, inner in enumerate(value) if isinstance(value, list) else ((None, value),):
                if isinstance(inner, dict):
                    place = f"{path}/{pointer(key)}" + ("" if step is None else f"/{step}")
                    stack.append((node.child(inner), place))


def _check_reference(node: Node, keyword: str, path: str) -> None:
    reference = node.get(keyword)
    target = node.target(keyword)
    if target is None:
        raise InvalidSchema(
            f"The {keyword} {shown(reference)} at {path} leads nowhere: neither here nor in a reference."
        )
    if not isinstance(target.value, dict | bool):
        raise InvalidSchema(
            f"The {keyword} {shown(reference)} at {path} leads to {shown(target.value)}, not to a schema."
        )
    seen = {id(node.value)}
    while (next_target := target.target("$ref")) is not None:
        if id(target.value) in seen:
            raise InvalidSchema(f"The {keyword} {shown(reference)} at {path} leads back to itself.")
        seen.add(id(target.value))
        target = next_target
