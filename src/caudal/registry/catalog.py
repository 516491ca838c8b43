"""What the registry knows, as questions: schemas, versions, configs and modes in scope, references, compatibility.

Nothing here changes anything (that is `plans.py`) and nothing waits. Parsing and comparing take time: the server asks
those questions in a thread.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from caudal.registry import errors
from caudal.registry.index import Index, StoredSchema, Version, digest_of
from caudal.registry.metadata import Json, filled_in
from caudal.registry.names import DEFAULT_CONTEXT, WILDCARD, Name, context_key, context_of, parse_name, qualify
from caudal.registry.request import SchemaRequest
from caudal.registry.schemas.compatibility import differences
from caudal.registry.schemas.parse import TYPES, parse
from caudal.registry.schemas.schema import InvalidSchema, ParsedSchema, Reference, Resolved

DEFAULT_LEVEL = "BACKWARD"
MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD")
DEEPEST = 100  # references of references of …
PARSED_KEPT = 1000
FORMS_KEPT = 10_000

Parse = Callable[[str, str, Sequence[Resolved]], ParsedSchema]
Differences = Callable[[str, ParsedSchema, Sequence[ParsedSchema]], list[str]]


class Catalog:
    def __init__(self, index: Index, parse: Parse = parse, differences: Differences = differences) -> None:
        self.index = index
        self._parse = parse
        self._differences = differences
        self._lock = threading.Lock()
        self._parsed: OrderedDict[tuple[str, int, bytes, int], ParsedSchema] = OrderedDict()
        # Texts as clients write them, and what they are stored as: a schema that is sent again is not parsed again.
        self._forms: OrderedDict[tuple[str, bytes, bool], bytes] = OrderedDict()

    # ------------------------------------------------------------------ subjects

    def subjects(self, prefix: str = WILDCARD, *, deleted: bool = False, deleted_only: bool = False) -> list[str]:
        """Names in order; with `deleted` also those whose versions are all soft-deleted."""
        found = []
        for subject in self.index.all_subjects():
            if not matches(subject, prefix):
                continue
            live = self.index.has_subject(subject)
            if (not live) if deleted_only else (live or deleted):
                found.append(subject)
        return found

    def versions(self, subject: str, *, deleted: bool = False, deleted_only: bool = False) -> list[Version]:
        """Raises 40401 where there are none."""
        found = self.index.versions(subject, deleted=deleted or deleted_only)
        if deleted_only:
            found = [version for version in found if version.deleted]
        if not found:
            raise errors.subject_not_found(subject)
        return found

    def version(self, subject: str, number: int, *, deleted: bool = False) -> Version:
        """`number` -1 is the latest. Raises 40401 or 40402. A plain subject may also be one of another context."""
        for candidate in self._candidates(subject):
            found = self.index.version(candidate, number)
            if found is None and number == -1 and deleted:
                every = self.index.versions(candidate, deleted=True)
                found = every[-1] if every else None
            if found is not None and (deleted or not found.deleted):
                return found
        if not self.index.has_subject(subject, deleted=deleted):
            raise errors.subject_not_found(subject)
        raise errors.version_not_found(number)

    def _candidates(self, subject: str) -> list[str]:
        name = parse_name(subject)
        if name.context != DEFAULT_CONTEXT or self.index.has_subject(subject, deleted=True):
            return [subject]
        return [subject, *(Name(context, name.subject).qualified for context in sorted(self.index.known_contexts))]

    def latest_with(self, subject: str, properties: Mapping[str, str], *, deleted: bool = False) -> Version:
        """The latest version whose metadata has these properties."""
        for version in reversed(self.versions(subject, deleted=deleted)):
            have = (version.schema.metadata or {}).get("properties") or {}
            if properties.items() <= have.items():
                return version
        raise errors.schema_not_found()

    def aliased(self, subject: str) -> str:
        """The subject that this one is an alias of, or itself."""
        config = self.index.configs.get(subject)
        alias = config.get("alias") if config else None
        return qualify(alias, context_of(subject)) if alias else subject

    # ------------------------------------------------------------------ ids

    def by_id(self, id_: int, subject: str = "") -> StoredSchema:
        """In the context of `subject`; a plain subject may also be one of another context. Raises 40403."""
        name = parse_name(subject)
        schema = self.index.context(name.context).ids.get(id_)
        if name.subject and name.context == DEFAULT_CONTEXT and not _has(schema, subject):
            for context in sorted(self.index.known_contexts):
                other = self.index.context(context).ids.get(id_)
                if _has(other, Name(context, name.subject).qualified):
                    schema = other
                    break
        if schema is None:
            raise errors.schema_not_found(id_)
        return schema

    def by_guid(self, guid: str) -> StoredSchema:
        try:
            digest = uuid.UUID(guid).bytes
        except ValueError:
            raise errors.schema_not_found(guid) from None
        for context in sorted(self.index.contexts):
            for type_ in TYPES:
                schema = self.index.by_digest(context, type_, digest)
                if schema is not None:
                    return schema
        raise errors.schema_not_found(guid)

    # ------------------------------------------------------------------ configs and modes

    def config_in_scope(self, subject: str | None) -> dict[str, Any]:
        """That of the subject, or of its context, or the global one; always with a compatibility level."""
        scopes = [self.index.configs.get(scope) for scope in _scopes(subject)]
        config = next((scope for scope in scopes if scope is not None), {})
        if "compatibilityLevel" in config:
            return config
        levels = (scope["compatibilityLevel"] for scope in scopes if scope and "compatibilityLevel" in scope)
        return {**config, "compatibilityLevel": next(levels, DEFAULT_LEVEL)}

    def mode_in_scope(self, subject: str | None) -> str:
        modes = self.index.modes
        if modes.get(None) == "READONLY_OVERRIDE":
            return "READONLY_OVERRIDE"
        return next((modes[scope] for scope in _scopes(subject) if scope in modes), "READWRITE")

    # ------------------------------------------------------------------ schemas as such

    def parsed(self, schema: StoredSchema, context: str, visiting: tuple[tuple[str, int], ...] = ()) -> ParsedSchema:
        key = (context, schema.id, schema.digest, self.index.replaced if schema.references else 0)
        with self._lock:
            known = self._parsed.get(key)
            if known is not None:
                self._parsed.move_to_end(key)
                return known
        result = self._parse(
            schema.type, schema.text, self.resolved(schema.references, context, visiting=visiting, deleted=True)
        )
        with self._lock:
            self._parsed[key] = result
            if len(self._parsed) > PARSED_KEPT:
                self._parsed.popitem(last=False)
        return result

    def resolved(
        self,
        references: Sequence[Reference],
        context: str,
        *,
        deleted: bool = False,
        visiting: tuple[tuple[str, int], ...] = (),
    ) -> tuple[Resolved, ...]:
        """The schemas that are meant, theirs included. Raises InvalidSchema where one is missing or means itself."""
        result = []
        for reference in references:
            subject = qualify(reference.subject, context)
            version = self.index.version(subject, reference.version)
            if version is None or (version.deleted and not deleted):
                number = "latest" if reference.version == -1 else str(reference.version)
                raise InvalidSchema(
                    f'No schema reference found for subject "{reference.subject}" and version {number} '
                    f"(reference '{reference.name}')"
                )
            place = (subject, version.number)
            if place in visiting or len(visiting) > DEEPEST:
                path = " → ".join(f"{name} version {number}" for name, number in (*visiting, place))
                raise InvalidSchema(f"The references go round in a circle: {path}")
            exact = reference._replace(version=version.number)
            parsed = self.parsed(version.schema, context_of(subject), (*visiting, place))
            result.append(Resolved(exact, parsed))
        return tuple(result)

    def check_circle(self, references: Sequence[Reference], place: tuple[str, int]) -> None:
        """Raises InvalidSchema where a schema at this place would refer to itself, directly or through others."""
        waiting = [(context_of(place[0]), reference) for reference in references]
        seen: set[tuple[str, int]] = set()
        while waiting:
            context, reference = waiting.pop()
            subject = qualify(reference.subject, context)
            version = self.index.version(subject, reference.version)
            target = (subject, reference.version if version is None else version.number)
            if target == place:
                raise InvalidSchema(f"The references go round in a circle, back to {place[0]} version {place[1]}")
            if version is not None and target not in seen:
                seen.add(target)
                waiting += [(context_of(subject), inner) for inner in version.schema.references]

    def parse_request(
        self,
        request: SchemaRequest,
        subject: str,
        *,
        normalize: bool,
        new: bool,
        place: tuple[str, int] | None = None,
    ) -> ParsedSchema:
        """`place` is where it is to be registered. Raises 42201."""
        context = context_of(subject)
        if not request.text:
            raise errors.invalid_schema("Empty schema")
        try:
            if place is not None:
                self.check_circle(request.references, place)
            references = self.resolved(request.references, context, deleted=not new)
            parsed = self._parse(request.type, request.text, references)
            result = parsed.normalized() if normalize else parsed
        except InvalidSchema as error:
            raise errors.invalid_schema(f"Invalid schema of type {request.type}, details: {error}") from None
        form = (request.type, digest_of(request.text, request.references, None, None), normalize)
        if all(reference.version != -1 for reference in request.references):
            with self._lock:
                self._forms[form] = digest_of(result.text, result.references, None, None)
                if len(self._forms) > FORMS_KEPT:
                    self._forms.popitem(last=False)
        return result

    def reasons_against(self, subject: str, parsed: ParsedSchema, older: Sequence[Version], level: str) -> list[str]:
        """Why this may not follow the older versions, a sentence each."""
        if level == "NONE" or not older:
            return []
        compared = older if level.endswith("_TRANSITIVE") else older[-1:]
        try:
            schemas = [self.parsed(version.schema, context_of(subject)) for version in compared]
        except InvalidSchema as error:
            return [f"an earlier version of {subject} cannot be read: {error}"]
        return self._differences(level, parsed, schemas)

    def compared_with(self, subject: str, config: Mapping[str, Any], metadata: Json | None) -> list[Version]:
        """The versions that a new one is compared with: all that live, or those of its compatibility group."""
        live = self.index.versions(subject)
        group = config.get("compatibilityGroup")
        if not group:
            return live
        mine = ((metadata or {}).get("properties") or {}).get(group)
        return [
            version for version in live if ((version.schema.metadata or {}).get("properties") or {}).get(group) == mine
        ]

    # ------------------------------------------------------------------ the same schema again

    def known(self, subject: str, request: SchemaRequest, *, normalize: bool, deleted: bool = False) -> Version | None:
        """The version of the subject that has this schema, if that can be said without parsing."""
        plain = digest_of(request.text, request.references, None, None)
        # Where the text was seen before, it is known what it is stored as; else it may be stored as it is.
        stored_as = self._forms.get((request.type, plain, normalize))
        if stored_as is None and normalize:
            return None
        return self._with_text(subject, request, stored_as or plain, deleted)

    def look_up(
        self, subject: str, request: SchemaRequest, *, normalize: bool, deleted: bool = False
    ) -> Version | None:
        """The version of the subject that has this schema."""
        normalize = normalize or bool(self.config_in_scope(subject).get("normalize"))
        found = self.known(subject, request, normalize=normalize, deleted=deleted)
        if found is not None or not request.text:
            return found
        parsed = self.parse_request(request, subject, normalize=normalize, new=False)
        digest = digest_of(parsed.text, parsed.references, None, None)
        return self._with_text(subject, request, digest, deleted)

    def _with_text(self, subject: str, request: SchemaRequest, plain: bytes, deleted: bool) -> Version | None:
        """`plain` is the digest of the text without metadata and rules."""
        found = []
        for version in reversed(self.index.versions(subject, deleted=deleted)):
            schema = version.schema
            if schema.metadata or schema.rule_set:
                digest = digest_of(schema.text, schema.references, None, None)
            else:
                digest = schema.digest
            if digest == plain and schema.type == request.type:
                if (request.metadata or None, request.rule_set or None) == (schema.metadata, schema.rule_set):
                    return version
                found.append(version)
        if not found:
            return None
        # Else the one that a registration would be, with what the previous version and the config add.
        latest = self.index.version(subject, -1)
        previous = (latest.schema.metadata, latest.schema.rule_set) if latest is not None else (None, None)
        metadata, rules = filled_in(self.config_in_scope(subject), request.metadata, request.rule_set, previous)
        extras = (metadata or None, rules or None)
        return next((one for one in found if (one.schema.metadata, one.schema.rule_set) == extras), None)


def matches(subject: str, prefix: str) -> bool:
    """Whether a qualified subject begins with the prefix; `:*:` stands for any context."""
    if prefix.startswith(WILDCARD):
        return parse_name(subject).subject.startswith(prefix.removeprefix(WILDCARD))
    if prefix.startswith(":.:"):
        return not subject.startswith(":.") and subject.startswith(prefix.removeprefix(":.:"))
    return subject.startswith(prefix)


def _scopes(subject: str | None) -> list[str | None]:
    if subject is None:
        return [None]
    context = context_of(subject)
    return [subject, None] if context == DEFAULT_CONTEXT else [subject, context_key(context), None]


def _has(schema: StoredSchema | None, subject: str) -> bool:
    return schema is not None and any(version.subject == subject for version in list(schema.versions))
