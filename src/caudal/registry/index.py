"""What the log says, in memory: schemas by id, subjects with their versions, configs, modes, who refers to whom.

Filled by `apply`, one record after the other, in the order of the log; never changed otherwise. Texts are kept, parsed
schemas are not. A record that cannot be read is counted and skipped, the next one for its key takes its place.

Only the event loop's thread calls `apply`. Threads that plan a write read from here meanwhile; they only look things up
and copy, which the interpreter does in one piece.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from caudal.registry import records
from caudal.registry.names import DEFAULT_CONTEXT, context_of, qualify
from caudal.registry.records import BrokenRecord, Key, SchemaValue
from caudal.registry.schemas.compatibility import LEVELS
from caudal.registry.schemas.schema import Reference

log = logging.getLogger("caudal.registry.index")


class Entry(NamedTuple):
    """A record as the log has it."""

    offset: int
    key: bytes | None
    value: bytes | None


class StoredSchema:
    """A schema with its id in a context; several subjects may have it."""

    __slots__ = ("digest", "id", "metadata", "references", "rule_set", "text", "type", "versions")

    def __init__(self, value: SchemaValue, digest: bytes) -> None:
        self.id = value.id
        self.type = value.type
        self.text = value.text
        self.references = value.references
        self.metadata = value.metadata
        self.rule_set = value.rule_set
        self.digest = digest
        self.versions: list[Version] = []

    @property
    def guid(self) -> str:
        return str(uuid.UUID(bytes=self.digest))


class Version:
    """A version of a subject."""

    __slots__ = ("deleted", "number", "schema", "subject")

    def __init__(self, subject: str, number: int, schema: StoredSchema, deleted: bool) -> None:
        self.subject = subject
        self.number = number
        self.schema = schema
        self.deleted = deleted


class Context:
    """The ids of one context."""

    __slots__ = ("digests", "highest", "ids")

    def __init__(self) -> None:
        self.ids: dict[int, StoredSchema] = {}
        self.digests: dict[tuple[str, bytes], StoredSchema] = {}
        self.highest = 0  # also of ids that are gone: they are not given again


class Index:
    def __init__(self) -> None:
        self.subjects: dict[str, dict[int, Version]] = {}
        self.contexts: dict[str, Context] = {DEFAULT_CONTEXT: Context()}
        self.known_contexts: set[str] = set()  # those with a CONTEXT record
        self.configs: dict[str | None, dict[str, Any]] = {}
        self.modes: dict[str | None, str] = {}
        self.referrers: dict[tuple[str, int], list[Version]] = {}
        self.broken = 0
        self.replaced = 0  # how often a version was given another schema or taken away: references may mean another one
        self.generation = 0  # of everything above: what was computed from an older one may be wrong

    # ------------------------------------------------------------------ reading

    def context(self, name: str) -> Context:
        """Its ids; an empty one where nothing was registered yet."""
        return self.contexts.get(name) or Context()

    def versions(self, subject: str, *, deleted: bool = False) -> list[Version]:
        """Of a subject, oldest first."""
        found = list(self.subjects.get(subject, {}).values())
        found.sort(key=_number)
        return found if deleted else [version for version in found if not version.deleted]

    def has_subject(self, subject: str, *, deleted: bool = False) -> bool:
        found = self.subjects.get(subject)
        return found is not None and (deleted or any(not version.deleted for version in list(found.values())))

    def version(self, subject: str, number: int) -> Version | None:
        """`number` -1 is the latest that is not deleted."""
        if number == -1:
            live = self.versions(subject)
            return live[-1] if live else None
        return self.subjects.get(subject, {}).get(number)

    def by_digest(self, context: str, type_: str, digest: bytes) -> StoredSchema | None:
        return self.context(context).digests.get((type_, digest))

    def referring(self, subject: str, number: int, *, deleted: bool = False) -> list[Version]:
        """The versions whose schema refers to this one."""
        found = list(self.referrers.get((subject, number), ()))
        return found if deleted else [version for version in found if not version.deleted]

    def all_subjects(self) -> list[str]:
        return sorted(self.subjects)

    # ------------------------------------------------------------------ writing

    def apply(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            try:
                self._apply(entry)
            except BrokenRecord as error:
                self.broken += 1
                log.warning("the record at offset %d is skipped: %s", entry.offset, error)
            except Exception:  # whatever one record holds, the others count
                self.broken += 1
                log.exception("the record at offset %d is skipped", entry.offset)
        if entries:
            self.generation += 1

    def _apply(self, entry: Entry) -> None:
        key = records.decode_key(entry.key)
        if key is None:
            return
        if key.kind == records.SCHEMA:
            assert key.subject is not None
            value = None if entry.value is None else records.decode_schema(key, entry.value)
            self._apply_schema(key.subject, key.version, value)
        elif key.kind == records.CONFIG:
            self._apply_config(key, entry.value)
        elif key.kind == records.MODE:
            self._apply_mode(key, entry.value)
        elif key.kind == records.CONTEXT:
            assert key.subject is not None
            if entry.value is None:
                self.known_contexts.discard(key.subject)
            else:
                self.known_contexts.add(key.subject)
                self.contexts.setdefault(key.subject, Context())
        elif entry.value is not None:
            self._apply_subject_wide(key, records.decode_value(entry.value))

    def _apply_schema(self, subject: str, number: int, value: SchemaValue | None) -> None:
        context = self.contexts.setdefault(context_of(subject), Context())
        old = self.subjects.get(subject, {}).get(number)
        if value is None:
            if old is not None:
                self._forget(old)
            return
        digest = digest_of(value.text, value.references, value.metadata, value.rule_set)
        schema = context.ids.get(value.id)
        same = schema is not None and schema.digest == digest and schema.type == value.type
        if schema is not None and not same and any(version is not old for version in schema.versions):
            raise BrokenRecord(f"its id {value.id} belongs to another schema already")
        if old is not None and same and old.schema is schema:
            old.deleted = value.deleted
            return
        if old is not None:
            self._forget(old)
        if not same or schema is None or not schema.versions:
            schema = StoredSchema(value, digest)
            context.ids[value.id] = schema
            context.digests.setdefault((value.type, digest), schema)
            context.highest = max(context.highest, value.id)
        version = Version(subject, number, schema, value.deleted)
        schema.versions.append(version)
        self.subjects.setdefault(subject, {})[number] = version
        for target in _targets(schema, subject):
            self.referrers.setdefault(target, []).append(version)

    def _forget(self, version: Version) -> None:
        """A version is gone for good, and its schema with the last one that had it."""
        self.replaced += 1
        numbers = self.subjects[version.subject]
        del numbers[version.number]
        if not numbers:
            del self.subjects[version.subject]
        schema = version.schema
        schema.versions.remove(version)
        for target in _targets(schema, version.subject):
            users = self.referrers.get(target, [])
            if version in users:
                users.remove(version)
            if not users:
                self.referrers.pop(target, None)
        if not schema.versions:
            context = self.contexts[context_of(version.subject)]
            if context.ids.get(schema.id) is schema:
                del context.ids[schema.id]
            if context.digests.get((schema.type, schema.digest)) is schema:
                del context.digests[schema.type, schema.digest]

    def _apply_config(self, key: Key, value: bytes | None) -> None:
        if value is None:
            self.configs.pop(key.subject, None)
            return
        fields = records.decode_value(value)
        fields.pop("subject", None)
        level = fields.get("compatibilityLevel")
        if level is not None and level not in LEVELS:
            raise BrokenRecord(f"its compatibility level is {level!r}")
        self.configs[key.subject] = {name: part for name, part in fields.items() if part is not None}

    def _apply_mode(self, key: Key, value: bytes | None) -> None:
        if value is None:
            self.modes.pop(key.subject, None)
            return
        mode = records.decode_value(value).get("mode")
        if not isinstance(mode, str):
            raise BrokenRecord(f"its mode is {mode!r}")
        self.modes[key.subject] = mode

    def _apply_subject_wide(self, key: Key, value: Mapping[str, Any]) -> None:
        assert key.subject is not None
        versions = self.versions(key.subject, deleted=True)
        if key.kind == records.CLEAR_SUBJECT:
            for version in versions:
                if version.deleted:
                    self._forget(version)
            return
        last = value.get("version")
        if not isinstance(last, int):
            raise BrokenRecord(f"it deletes up to the version {last!r}")
        for version in versions:
            if version.number <= last:
                version.deleted = True


def digest_of(
    text: str,
    references: Sequence[Reference],
    metadata: Mapping[str, Any] | None,
    rule_set: Mapping[str, Any] | None,
) -> bytes:
    """What makes a schema itself, its type aside: equal digests share an id."""
    md5 = hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    for name, subject, version in references:
        md5.update(f"{name}\0{subject}\0{version}\0".encode("utf-8", "surrogatepass"))
    for part in (metadata, rule_set):
        if part:
            md5.update(b"\1")
            md5.update(_flat(part))
    return md5.digest()


def _flat(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _targets(schema: StoredSchema, subject: str) -> list[tuple[str, int]]:
    context = context_of(subject)
    return [(qualify(reference.subject, context), reference.version) for reference in schema.references]


def _number(version: Version) -> int:
    return version.number
