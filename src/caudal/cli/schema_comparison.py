"""The two sides of `caudal schema diff`: found by version or read from a file, understood here, compared both ways.

The registry compares by a subject's level only; a person wants to know each direction. So the schemas are parsed in
this process, with what they refer to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from caudal.cli.schema_files import SchemaFile, is_version, read_schema, version_number

if TYPE_CHECKING:
    from caudal.registry.client import RegistryClient
    from caudal.registry.schemas.schema import ParsedSchema, Reference

MAX_DEPTH = 50  # of references


def side(
    client: RegistryClient, subject: str, place: str, type_: str | None, uses: list[Reference]
) -> tuple[SchemaFile, tuple[Reference, ...]]:
    """One side of a comparison, with its references; a file uses those that were given, else the latest version's."""
    if is_version(place):
        found = client.version(subject, version_number(place))
        return SchemaFile(f"{subject}@{found.version}", found.type, found.text), found.references
    given = read_schema(place, type_)
    return given, tuple(uses) or client.latest(subject).references


def parsed(
    client: RegistryClient,
    given: SchemaFile,
    uses: tuple[Reference, ...],
    known: dict[Reference, ParsedSchema] | None = None,
    depth: int = 0,
) -> ParsedSchema:
    """Raises InvalidSchema. `known`: what was referred to before; many may refer to one."""
    from caudal.registry.schemas.parse import parse
    from caudal.registry.schemas.schema import InvalidSchema, Resolved

    if depth > MAX_DEPTH:
        raise InvalidSchema(f"the references of {given.name} nest too deeply")
    known = {} if known is None else known
    for reference in uses:
        if reference not in known:
            found = client.version(reference.subject, reference.version, deleted=True)
            named = SchemaFile(f"{reference.subject}@{reference.version}", found.type, found.text)
            known[reference] = parsed(client, named, found.references, known, depth + 1)
    try:
        return parse(given.type, given.text, [Resolved(reference, known[reference]) for reference in uses])
    except InvalidSchema as error:
        raise InvalidSchema(f"{given.name}: {error}") from None


def unreadable(reads: ParsedSchema, wrote: ParsedSchema, *, reader: str, writer: str) -> list[str]:
    """Why the one cannot read what the other wrote, a sentence each, with these names for the two; empty: it can."""
    try:
        problems = reads.reads(wrote)
    except RecursionError:
        return ["the two nest too deeply to compare"]
    found = []
    for problem in problems:
        sentence = problem.message.replace("reader schema", f"{reader} schema")
        sentence = sentence.replace("writer schema", f"{writer} schema")
        found.append(f"{' '.join(sentence.split())} ({problem.rule})")
    return list(dict.fromkeys(found))
