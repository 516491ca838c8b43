"""Search over what schemas say: subjects, names of records, fields, docs and tags, in the latest version of a subject.

A text that does not contain the words is not parsed, so a search reads ten thousand texts and parses the few that fit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple

from caudal.registry.catalog import Catalog
from caudal.registry.index import Version
from caudal.registry.metadata import Json
from caudal.registry.names import context_of
from caudal.registry.schemas.schema import InvalidSchema, ParsedSchema

log = logging.getLogger("caudal.registry.search")

PLACES = 20  # at most so many places of one schema are shown


class Place(NamedTuple):
    """Where it was found."""

    where: str  # subject, name, field, doc, tag, property
    path: str
    text: str


def search(catalog: Catalog, query: str, type_: str, tag: str, limit: int) -> list[Json]:
    """The subjects that fit, those that fit by their name first. All words of `query` must be found."""
    words = query.lower().split()
    found: list[tuple[int, Json]] = []
    for subject in catalog.index.all_subjects():
        version = catalog.index.version(subject, -1)
        if version is None or (type_ and version.schema.type != type_) or not _may_fit(version, words, tag):
            continue
        places = _places(catalog, version, words, tag)
        if places is not None:
            rank = 0 if all(word in subject.lower() for word in words) else 1
            found.append((rank, _row(version, places)))
    found.sort(key=lambda item: item[0])
    return [row for _, row in found[:limit]]


def _may_fit(version: Version, words: list[str], tag: str) -> bool:
    schema = version.schema
    extras = str(schema.metadata) if schema.metadata else ""
    whole = f"{version.subject}\n{schema.text}\n{extras}".lower()
    return all(word in whole for word in words) and tag.lower() in whole


def _places(catalog: Catalog, version: Version, words: list[str], tag: str) -> list[Place] | None:
    """None where it does not fit after all: the words were in a place that means nothing."""
    try:
        parsed = catalog.parsed(version.schema, context_of(version.subject))
    except InvalidSchema as error:
        log.debug("%s is searched by its name only: %s", version.subject, error)
        parsed = None
    wanted, missing = tag.lower(), set(words)
    tagged = not tag
    places: list[Place] = []
    for place in _all_places(version, parsed):
        text = f"{place.path} {place.text}".lower() if place.where == "field" else place.text.lower()
        hits = [word for word in words if word in text]
        missing.difference_update(hits)
        is_tag = bool(tag) and place.where == "tag" and place.text.lower() == wanted
        tagged = tagged or is_tag
        if (hits or is_tag) and len(places) < PLACES:
            places.append(place)
    return places if tagged and not missing else None


def _all_places(version: Version, parsed: ParsedSchema | None) -> Iterator[Place]:
    yield Place("subject", "", version.subject)
    metadata = version.schema.metadata or {}
    for path, tags in (metadata.get("tags") or {}).items():
        for name in tags:
            yield Place("tag", path, name)
    for name, value in (metadata.get("properties") or {}).items():
        yield Place("property", name, value)
    if parsed is None:
        return
    if parsed.name:
        yield Place("name", "", parsed.name)
    for field in parsed.fields():
        yield Place("field", field.path, field.type)
        if field.doc:
            yield Place("doc", field.path, field.doc)
        for name in field.tags:
            yield Place("tag", field.path, name)


def _row(version: Version, places: list[Place]) -> Json:
    schema = version.schema
    return {
        "subject": version.subject,
        "version": version.number,
        "id": schema.id,
        "schemaType": schema.type,
        "found": [{"where": place.where, "path": place.path, "text": place.text} for place in places],
    }
