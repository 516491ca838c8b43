"""A registry inside this process, for tests: `mock://name` is its address, and every client in the process that uses
the name sees the same schemas. It answers what serdes and tests ask (ids, versions, register, look-up, delete, config,
compatibility); what only operators ask (modes, contexts, search) is left to the real server."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from caudal.registry.client import forget_shared
from caudal.registry.schemas.compatibility import LEVELS, differences
from caudal.registry.schemas.parse import TYPES, parse
from caudal.registry.schemas.schema import InvalidSchema, ParsedSchema, Reference, Resolved

Answer = tuple[int, Any]

_registries: dict[str, MockRegistry] = {}
_lock = threading.Lock()


def registry_named(address: str) -> MockRegistry:
    """The registry of `mock://name`; the first question makes it."""
    with _lock:
        return _registries.setdefault(address.removeprefix("mock://"), MockRegistry())


def forget_registry(address: str) -> None:
    """Begin anew."""
    forget_shared(address)
    with _lock:
        _registries.pop(address.removeprefix("mock://"), None)


class _Refused(Exception):
    def __init__(self, status: int, code: int, message: str) -> None:
        self.answer: Answer = status, {"error_code": code, "message": message}


class _Version:
    def __init__(self, number: int, id: int, body: Mapping[str, Any], schema: ParsedSchema) -> None:
        self.number, self.id, self.body, self.schema = number, id, body, schema
        self.deleted = False

    def shown(self, subject: str, form: str | None = None) -> dict[str, Any]:
        return {"subject": subject, "version": self.number, "id": self.id, **_content(self.body, self.schema, form)}


class MockRegistry:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._subjects: dict[str, list[_Version]] = {}
        self._ids: dict[Any, int] = {}
        self._by_id: dict[int, tuple[Mapping[str, Any], ParsedSchema]] = {}
        self._levels: dict[str | None, str] = {None: "BACKWARD"}

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any) -> Answer:
        """As the REST API would."""
        parts = [unquote(part) for part in path.strip("/").split("/")]
        with self._lock:
            try:
                return 200, self._route(method, parts, query, body)
            except _Refused as refused:
                return refused.answer

    def _route(self, method: str, parts: list[str], query: Mapping[str, str], body: Any) -> Any:
        match method, parts:
            case "GET", ["schemas", "types"]:
                return list(TYPES)
            case "GET", ["schemas", "ids", id]:
                return _content(*self._of_id(id), query.get("format"))
            case "GET", ["schemas", "ids", id, "versions"]:
                self._of_id(id)
                return [
                    {"subject": subject, "version": each.number}
                    for subject, versions in self._subjects.items()
                    for each in versions
                    if each.id == int(id) and not each.deleted
                ]
            case "GET", ["subjects"]:
                return [subject for subject, versions in self._subjects.items() if any(not v.deleted for v in versions)]
            case "POST", ["subjects", subject]:
                return self._look_up(subject, body, query)
            case "DELETE", ["subjects", subject]:
                return self._delete(subject, self._live(subject), query)
            case "GET", ["subjects", subject, "versions"]:
                return [each.number for each in self._live(subject)]
            case "POST", ["subjects", subject, "versions"]:
                return self._register(subject, body, query)
            case "GET", ["subjects", subject, "versions", version]:
                deleted = query.get("deleted") == "true"
                return self._version(subject, version, deleted).shown(subject, query.get("format"))
            case "DELETE", ["subjects", subject, "versions", version]:
                return self._delete(subject, [self._version(subject, version)], query)[0]
            case "POST", ["compatibility", "subjects", subject, "versions", *version]:
                return self._check(subject, version, body, query)
            case "GET", ["config", *subject]:
                return {"compatibilityLevel": self._level(subject[0] if subject else None)}
            case "PUT", ["config", *subject]:
                level = str(body.get("compatibility", "")).upper()
                if level not in LEVELS:
                    raise _Refused(422, 42203, f"Invalid compatibility level. Valid values are {', '.join(LEVELS)}")
                self._levels[subject[0] if subject else None] = level
                return {"compatibility": level}
        raise _Refused(404, 404, "HTTP 404 Not Found")

    def _register(self, subject: str, body: Any, query: Mapping[str, str]) -> Any:
        schema = self._parsed(body, query)
        versions = self._subjects.setdefault(subject, [])
        live = [each for each in versions if not each.deleted]
        for each in live:
            if _same(each, schema, body):
                return {"id": each.id}
        reasons = differences(self._level(subject), schema, [each.schema for each in live])
        if reasons:
            raise _Refused(409, 409, f"Schema is incompatible with an earlier one of '{subject}': {'; '.join(reasons)}")
        key = (schema.type, schema.identity, schema.references, repr(body.get("metadata")), repr(body.get("ruleSet")))
        id = self._ids.setdefault(key, len(self._ids) + 1)
        self._by_id.setdefault(id, (body, schema))
        number = versions[-1].number + 1 if versions else 1
        versions.append(_Version(number, id, body, schema))
        return {"id": id}

    def _look_up(self, subject: str, body: Any, query: Mapping[str, str]) -> Any:
        live = self._live(subject)
        schema = self._parsed(body, query)
        for each in reversed(live):
            if _same(each, schema, body):
                return each.shown(subject)
        raise _Refused(404, 40403, "Schema not found")

    def _check(self, subject: str, version: list[str], body: Any, query: Mapping[str, str]) -> Any:
        schema = self._parsed(body, query)
        older = [self._version(subject, version[0])] if version else self._live(subject)
        reasons = differences(self._level(subject), schema, [each.schema for each in older])
        return {"is_compatible": not reasons, **({"messages": reasons} if query.get("verbose") == "true" else {})}

    def _delete(self, subject: str, versions: list[_Version], query: Mapping[str, str]) -> list[int]:
        for each in versions:
            each.deleted = True
            if query.get("permanent") == "true":
                self._subjects[subject].remove(each)
        return [each.number for each in versions]

    def _parsed(self, body: Any, query: Mapping[str, str]) -> ParsedSchema:
        """What the body's text means; the references of the body are found here."""
        schema = self._parse(body)
        return schema.normalized() if query.get("normalize") == "true" else schema

    def _parse(self, body: Any) -> ParsedSchema:
        resolved = []
        for each in body.get("references") or ():
            reference = Reference(each["name"], each["subject"], each["version"])
            try:
                found = self._version(reference.subject, str(reference.version), deleted=True)
            except _Refused:
                raise _Refused(422, 42201, f"No schema reference found for {reference.name}") from None
            resolved.append(Resolved(reference, found.schema))
        try:
            return parse(body.get("schemaType") or "AVRO", body.get("schema", ""), resolved)
        except InvalidSchema as error:
            raise _Refused(422, 42201, str(error)) from None

    def _of_id(self, id: str) -> tuple[Mapping[str, Any], ParsedSchema]:
        found = self._by_id.get(int(id))
        if found is None:
            raise _Refused(404, 40403, f"Schema {id} not found")
        return found

    def _live(self, subject: str) -> list[_Version]:
        live = [each for each in self._subjects.get(subject, ()) if not each.deleted]
        if not live:
            raise _Refused(404, 40401, f"Subject '{subject}' not found.")
        return live

    def _version(self, subject: str, version: str, deleted: bool = False) -> _Version:
        if subject not in self._subjects:
            raise _Refused(404, 40401, f"Subject '{subject}' not found.")
        versions = [each for each in self._subjects[subject] if deleted or not each.deleted]
        if version in ("latest", "-1") and versions:
            return versions[-1]
        for each in versions:
            if str(each.number) == version:
                return each
        raise _Refused(404, 40402, f"Version {version} not found.")

    def _level(self, subject: str | None) -> str:
        return self._levels.get(subject) or self._levels[None] or "BACKWARD"


def _same(version: _Version, schema: ParsedSchema, body: Any) -> bool:
    """Equal schema, and the policies that were sent with it, if any were."""
    return (
        (version.schema.type, version.schema.identity) == (schema.type, schema.identity)
        and version.schema.references == schema.references
        and all(body.get(name) in (None, version.body.get(name)) for name in ("metadata", "ruleSet"))
    )


def _content(body: Mapping[str, Any], schema: ParsedSchema, form: str | None = None) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": schema.formatted(form) if form else schema.text}
    if schema.type != "AVRO":
        content["schemaType"] = schema.type
    if schema.references:
        content["references"] = [reference._asdict() for reference in schema.references]
    return content | {name: body[name] for name in ("metadata", "ruleSet") if body.get(name) is not None}
