"""What a write means: which records it adds to the log, and what its answer is.

A plan is made by the one writer, from an index that has everything written before; so it decides ids and versions. It
changes nothing itself: the records come back through the log, here and on every other instance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from caudal.registry import errors, records
from caudal.registry.catalog import MODES, Catalog
from caudal.registry.index import StoredSchema, Version, digest_of
from caudal.registry.metadata import (
    VERSION_PROPERTY,
    Json,
    canonical_metadata,
    canonical_rule_set,
    filled_in,
    with_version,
)
from caudal.registry.names import DEFAULT_CONTEXT, context_key, context_of, is_valid_subject, parse_name
from caudal.registry.records import CONFIG, CONTEXT, DELETE_SUBJECT, MODE, SCHEMA, Encoded, Key, SchemaValue
from caudal.registry.request import SchemaRequest
from caudal.registry.schemas.compatibility import LEVELS

CONFIG_TEXTS = ("alias", "compatibilityGroup", "compatibilityPolicy")
CONFIG_FLAGS = ("normalize", "validateFields", "validateNames")
CONFIG_FIELDS = (
    "alias",
    "normalize",
    "validateFields",
    "validateNames",
    "compatibilityLevel",
    "compatibilityPolicy",
    "compatibilityGroup",
    "defaultMetadata",
    "overrideMetadata",
    "defaultRuleSet",
    "overrideRuleSet",
)


@dataclass(slots=True)
class Plan:
    answer: Any
    records: list[Encoded] = field(default_factory=list)


class Plans:
    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.index = catalog.index

    # ------------------------------------------------------------------ schemas

    def register(self, subject: str, request: SchemaRequest, *, normalize: bool = False) -> Plan:
        if not is_valid_subject(subject):
            raise errors.invalid_subject(subject)
        mode = self._may_register(subject, request)
        importing = mode in ("IMPORT", "FORWARD")
        config = self.catalog.config_in_scope(subject)
        every = self.index.versions(subject, deleted=True)
        number = every[-1].number + 1 if every else 1
        filled = request if importing else self._filled(subject, request, config, number)
        parsed = self.catalog.parse_request(
            filled,
            subject,
            normalize=normalize or bool(config.get("normalize")),
            new=request.id is None,
            place=(subject, request.version or number),
        )
        metadata, rule_set = filled.metadata or None, filled.rule_set or None
        digest = digest_of(parsed.text, parsed.references, metadata, rule_set)
        context = context_of(subject)
        existing = self.index.by_digest(context, parsed.type, digest)
        if existing is not None and request.version is None:
            here = [version for version in existing.versions if version.subject == subject and not version.deleted]
            if here and request.id not in (None, existing.id):
                assert request.id is not None
                raise errors.id_does_not_match(request.id, existing.id)
            if here:
                return Plan(registered(here[-1]))
        if not importing:
            level = config["compatibilityLevel"]
            older = self.catalog.compared_with(subject, config, metadata)
            reasons = self.catalog.reasons_against(subject, parsed, older, level)
            if reasons:
                raise errors.incompatible(subject, reasons, level)
        if request.version is not None and request.version != number:
            if not importing:
                raise errors.invalid_schema(f"Version {request.version} is not one more than the previous version")
            number = request.version
        id_ = self._id_for(context, request.id, existing, digest, parsed.type, (subject, number))
        value = SchemaValue(
            subject, number, id_, parsed.type, parsed.text, parsed.references, metadata, rule_set, deleted=False
        )
        written = self._context_record(context)
        for old in every:
            # Registered again after a soft delete: the new version stands for the old one.
            if old.deleted and old.schema.id == id_ and old.number < number:
                written.append(records.tombstone(Key(SCHEMA, subject, old.number)))
        written.append(records.encode_schema(value, digest))
        return Plan(registered(Version(subject, number, StoredSchema(value, digest), False)), written)

    def _may_register(self, subject: str, request: SchemaRequest) -> str:
        mode = self.catalog.mode_in_scope(subject)
        if mode in ("READONLY", "READONLY_OVERRIDE"):
            raise errors.not_permitted(f"Subject {subject} is in read-only mode")
        if request.id is not None and mode not in ("IMPORT", "FORWARD"):
            raise errors.not_permitted(f"Subject {subject} is not in import mode, so no id may be given")
        if request.id is None and mode != "READWRITE":
            raise errors.not_permitted(f"Subject {subject} is not in read-write mode")
        return mode

    def _filled(self, subject: str, request: SchemaRequest, config: Mapping[str, Any], number: int) -> SchemaRequest:
        """With what the previous version and the config add."""
        latest = self.index.version(subject, -1)
        text, type_, references = request.text, request.type, request.references
        if not text:
            if latest is None:
                raise errors.invalid_schema("Empty schema")
            text, type_, references = latest.schema.text, latest.schema.type, latest.schema.references
        previous = (latest.schema.metadata, latest.schema.rule_set) if latest is not None else (None, None)
        metadata, rule_set = filled_in(config, request.metadata, request.rule_set, previous)
        if request.version is not None or VERSION_PROPERTY in ((metadata or {}).get("properties") or {}):
            metadata = with_version(metadata, number)
        return SchemaRequest(text, type_, references, metadata, rule_set, request.id, request.version)

    def _id_for(
        self,
        context: str,
        given: int | None,
        existing: StoredSchema | None,
        digest: bytes,
        type_: str,
        place: tuple[str, int],
    ) -> int:
        ids = self.index.context(context).ids
        if given is not None:
            holder = ids.get(given)
            if holder is not None and (holder.digest, holder.type) != (digest, type_):
                others = [v for v in holder.versions if (v.subject, v.number) != place]
                if others:
                    raise errors.not_permitted(
                        f"Overwriting the schema with id {given} in context {context} is not permitted"
                    )
            return given
        if existing is not None:
            return existing.id
        return self.index.context(context).highest + 1

    def _context_record(self, context: str) -> list[Encoded]:
        if context == DEFAULT_CONTEXT or context in self.index.known_contexts:
            return []
        return [records.encode(Key(CONTEXT, context), {"tenant": records.TENANT, "context": context})]

    def delete_version(self, subject: str, number: int, *, permanent: bool = False) -> Plan:
        """`number` -1 is the latest."""
        version = self.catalog.version(subject, number, deleted=True)
        subject, number = version.subject, version.number
        self._may_write(subject)
        if version.deleted and not permanent:
            raise errors.version_soft_deleted(subject, number)
        if permanent and not version.deleted:
            raise errors.version_not_soft_deleted(subject, number)
        self._unreferenced(version, permanent)
        key = Key(SCHEMA, subject, number)
        if permanent:
            return Plan(number, [records.tombstone(key)])
        written = [self._deleted(version)]
        if [live.number for live in self.index.versions(subject)] == [number]:
            written += self._forget_settings(subject)
        return Plan(number, written)

    def delete_subject(self, subject: str, *, permanent: bool = False) -> Plan:
        every = self.index.versions(subject, deleted=True)
        if not every:
            raise errors.subject_not_found(subject)
        self._may_write(subject)
        live = [version for version in every if not version.deleted]
        if permanent and live:
            raise errors.subject_not_soft_deleted(subject)
        if not permanent and not live:
            raise errors.subject_soft_deleted(subject)
        chosen = every if permanent else live
        for version in chosen:
            self._unreferenced(version, permanent, besides=subject)
        numbers = [version.number for version in chosen]
        if permanent:
            return Plan(numbers, [records.tombstone(Key(SCHEMA, subject, number)) for number in numbers])
        value = {"subject": subject, "version": numbers[-1]}
        return Plan(numbers, [records.encode(Key(DELETE_SUBJECT, subject), value), *self._forget_settings(subject)])

    def _deleted(self, version: Version) -> Encoded:
        schema = version.schema
        value = SchemaValue(
            version.subject,
            version.number,
            schema.id,
            schema.type,
            schema.text,
            schema.references,
            schema.metadata,
            schema.rule_set,
            deleted=True,
        )
        return records.encode_schema(value, schema.digest)

    def _unreferenced(self, version: Version, permanent: bool, besides: str | None = None) -> None:
        """What is gone for good must not be missed by a soft-deleted schema either: that can still be read by id."""
        users = self.index.referring(version.subject, version.number, deleted=permanent)
        ids = sorted({user.schema.id for user in users if user.subject != besides})
        if ids:
            raise errors.reference_exists(version.subject, version.number, ids)

    def _forget_settings(self, subject: str) -> list[Encoded]:
        """A subject without versions has no config and no mode of its own."""
        written = []
        if subject in self.index.modes:
            written.append(records.tombstone(Key(MODE, subject)))
        if subject in self.index.configs:
            written.append(records.tombstone(Key(CONFIG, subject)))
        return written

    def _may_write(self, subject: str | None) -> None:
        if self.catalog.mode_in_scope(subject) in ("READONLY", "READONLY_OVERRIDE"):
            raise errors.not_permitted(f"{_scope(subject)} is in read-only mode")

    # ------------------------------------------------------------------ configs, modes, contexts

    def set_config(self, subject: str | None, body: Mapping[str, Any]) -> Plan:
        """What is left out stays as it was; null takes it away."""
        changes = config_changes(body)
        self._may_write(subject)
        merged = {**self.index.configs.get(subject, {}), **changes}
        value = {name: merged[name] for name in CONFIG_FIELDS if merged.get(name) is not None}
        if subject is not None:
            value = {"subject": subject, **value}
        return Plan(dict(body), [*self._scope_context(subject), records.encode(Key(CONFIG, subject), value)])

    def delete_config(self, subject: str | None) -> Plan:
        config = self.index.configs.get(subject)
        if config is None and subject is not None:
            raise errors.subject_not_found(subject)
        self._may_write(subject)
        if config is None:
            return Plan(self.catalog.config_in_scope(None))
        return Plan(dict(config), [records.tombstone(Key(CONFIG, subject))])

    def set_mode(self, subject: str | None, mode: object, *, force: bool = False) -> Plan:
        if not isinstance(mode, str) or mode.upper() not in MODES:
            raise errors.invalid_mode(mode, MODES)
        chosen = mode.upper()
        if chosen in ("IMPORT", "FORWARD") and not force and self._has_schemas(subject):
            raise errors.not_permitted(
                f"{_scope(subject)} has schemas already, so it cannot begin to import; force=true does it all the same"
            )
        value: Json = {"mode": chosen} if subject is None else {"subject": subject, "mode": chosen}
        return Plan({"mode": chosen}, [*self._scope_context(subject), records.encode(Key(MODE, subject), value)])

    def delete_mode(self, subject: str | None) -> Plan:
        mode = self.index.modes.get(subject)
        if mode is None and subject is not None:
            raise errors.subject_not_found(subject)
        if mode is None:
            return Plan({"mode": self.catalog.mode_in_scope(None)})
        return Plan({"mode": mode}, [records.tombstone(Key(MODE, subject))])

    def delete_context(self, context: str) -> Plan:
        if context == DEFAULT_CONTEXT or context not in self.index.known_contexts:
            raise errors.subject_not_found(context_key(context))
        if any(context_of(subject) == context for subject in self.index.all_subjects()):
            raise errors.context_not_empty(context)
        own = context_key(context)
        return Plan(context, [records.tombstone(Key(CONTEXT, context)), *self._forget_settings(own)])

    def _has_schemas(self, subject: str | None) -> bool:
        if subject is None:
            return any(self.index.has_subject(name) for name in self.index.all_subjects())
        context, plain = parse_name(subject)
        if plain:
            return self.index.has_subject(subject)
        names = self.index.all_subjects()
        return any(context_of(name) == context and self.index.has_subject(name) for name in names)

    def _scope_context(self, subject: str | None) -> list[Encoded]:
        return [] if subject is None else self._context_record(context_of(subject))


def registered(version: Version) -> Json:
    """The answer to a registration."""
    schema = version.schema
    answer: Json = {"id": schema.id, "version": version.number, "guid": schema.guid}
    if schema.metadata or schema.rule_set:
        # Some of it may come from the config: the client is told what it has now.
        answer |= schema_fields(schema)
    return answer


def schema_fields(schema: StoredSchema) -> Json:
    """The schema itself, as every answer shows it; AVRO is not named, as older clients expect."""
    fields: Json = {}
    if schema.type != "AVRO":
        fields["schemaType"] = schema.type
    if schema.references:
        fields["references"] = records.references_json(schema.references)
    if schema.metadata:
        fields["metadata"] = schema.metadata
    if schema.rule_set:
        fields["ruleSet"] = schema.rule_set
    fields["schema"] = schema.text
    return fields


def config_changes(body: Mapping[str, Any]) -> Json:
    """The fields of a config that a request sets, by the names they are kept under."""
    changes: Json = {}
    for given in ("compatibility", "compatibilityLevel"):
        level = body.get(given)
        if level is not None and (not isinstance(level, str) or level.upper() not in LEVELS):
            raise errors.invalid_level(level, LEVELS)
        if given in body:
            changes["compatibilityLevel"] = level.upper() if level is not None else None
    for name in CONFIG_TEXTS:
        if name in body:
            if body[name] is not None and not isinstance(body[name], str):
                raise errors.unprocessable(f'"{name}" must be a text')
            changes[name] = body[name] or None
    for name in CONFIG_FLAGS:
        if name in body:
            if body[name] is not None and not isinstance(body[name], bool):
                raise errors.unprocessable(f'"{name}" must be true or false')
            changes[name] = body[name]
    for name in ("defaultMetadata", "overrideMetadata"):
        if name in body:
            changes[name] = canonical_metadata(body[name]) or None
    for name in ("defaultRuleSet", "overrideRuleSet"):
        if name in body:
            changes[name] = canonical_rule_set(body[name]) or None
    if not changes:
        raise errors.invalid_level(None, LEVELS)
    return changes


def _scope(subject: str | None) -> str:
    return "The registry" if subject is None else f"Subject {subject}"
