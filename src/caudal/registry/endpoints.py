"""The endpoints of the REST API, one method each; `routes.py` has their paths."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from caudal import __version__
from caudal.registry import errors
from caudal.registry.catalog import matches
from caudal.registry.forwarding import (
    FORWARDED,
    POSITION,
    WRITER_SECONDS,
    Forwarder,
    NoWriterYet,
    pause_before_retry,
)
from caudal.registry.http import Answer, Request, json_answer
from caudal.registry.index import StoredSchema, Version
from caudal.registry.instance import Instance, NotWriter
from caudal.registry.metadata import Json, has_fillers
from caudal.registry.names import DEFAULT_CONTEXT, WILDCARD, context_of, normal_context, parse_name
from caudal.registry.plans import Plan, registered, schema_fields
from caudal.registry.records import LARGEST
from caudal.registry.request import schema_request
from caudal.registry.schemas.parse import TYPES
from caudal.registry.schemas.schema import InvalidSchema
from caudal.registry.search import search

T = TypeVar("T")

MOST_ROWS = 20_000
SEARCH_LIMIT = 50


class Endpoints:
    def __init__(self, instance: Instance, forwarder: Forwarder) -> None:
        self.instance = instance
        self.index = instance.index
        self.catalog = instance.catalog
        self.plans = instance.plans
        self.forwarder = forwarder

    # ------------------------------------------------------------------ subjects

    async def list_subjects(self, request: Request) -> Any:
        found = self.catalog.subjects(
            request.text("subjectPrefix", WILDCARD),
            deleted=request.flag("deleted"),
            deleted_only=_deleted_only(request),
        )
        return _page(found, request)

    async def look_up(self, request: Request) -> Any:
        subject, asked = self._subject(request), schema_request(request.body)
        normalize, deleted = request.flag("normalize"), request.flag("deleted")
        version = self.catalog.known(subject, asked, normalize=normalize, deleted=deleted)
        if version is None:
            version = await asyncio.to_thread(
                self.catalog.look_up, subject, asked, normalize=normalize, deleted=deleted
            )
        if version is None:
            if not self.index.has_subject(subject, deleted=deleted):
                raise errors.subject_not_found(subject)
            raise errors.schema_not_found()
        return await self._shown(request, version)

    async def delete_subject(self, request: Request) -> Any:
        subject, permanent = self._subject(request), request.flag("permanent")
        return await self._write(request, lambda: self.plans.delete_subject(subject, permanent=permanent))

    async def list_versions(self, request: Request) -> Any:
        found = self.catalog.versions(
            self._subject(request), deleted=request.flag("deleted"), deleted_only=_deleted_only(request)
        )
        numbers = [version.number for version in found]
        if request.flag("deletedAsNegative"):
            numbers = [-version.number if version.deleted else version.number for version in found]
        return _page(numbers, request)

    async def register(self, request: Request) -> Any:
        subject, asked = self._subject(request), schema_request(request.body)
        normalize = request.flag("normalize")
        if asked.version is None and asked.text:
            config = self.catalog.config_in_scope(subject)
            if not has_fillers(config):
                normal = normalize or bool(config.get("normalize"))
                version = self.catalog.known(subject, asked, normalize=normal)
                if version is None and not self.instance.is_writer:
                    # Better parsed here once than sent to the writer each time.
                    version = await asyncio.to_thread(self.catalog.look_up, subject, asked, normalize=normal)
                if version is not None and asked.id in (None, version.schema.id):
                    return json_answer(registered(version), hot=True)
        return await self._write(request, lambda: self.plans.register(subject, asked, normalize=normalize))

    async def get_version(self, request: Request) -> Any:
        version = self._version(request)
        return await self._shown(request, version)

    async def get_version_schema(self, request: Request) -> Any:
        return await self._text(request, self._version(request).schema, context_of(self._subject(request)))

    async def get_referenced_by(self, request: Request) -> Any:
        subject = self._subject(request)
        version = self.catalog.version(subject, _version_number(request.path["version"]), deleted=True)
        users = self.index.referring(version.subject, version.number, deleted=request.flag("deleted"))
        return _page(sorted({user.schema.id for user in users}), request)

    async def delete_version(self, request: Request) -> Any:
        subject, number = self._subject(request), _version_number(request.path["version"])
        permanent = request.flag("permanent")
        return await self._write(request, lambda: self.plans.delete_version(subject, number, permanent=permanent))

    async def get_by_metadata(self, request: Request) -> Any:
        keys, values = request.query.get("key", []), request.query.get("value", [])
        if not keys or len(keys) != len(values):
            raise errors.bad_request("Give as many value= as key=, at least one")
        properties = dict(zip(keys, values, strict=True))
        version = self.catalog.latest_with(self._subject(request), properties, deleted=request.flag("deleted"))
        return await self._shown(request, version)

    # ------------------------------------------------------------------ schemas

    async def list_schemas(self, request: Request) -> Any:
        prefix = request.text("subjectPrefix")
        deleted, latest = request.flag("deleted"), request.flag("latestOnly")
        wanted_type = request.text("ruleType")

        def work() -> Answer:
            found: list[Version] = []
            for subject in self.index.all_subjects():
                if matches(subject, prefix):
                    versions = self.index.versions(subject, deleted=deleted)
                    found += versions[-1:] if latest else versions
            if wanted_type:
                found = [version for version in found if _has_rule_type(version.schema, wanted_type)]
            return json_answer([_version_json(version) for version in _page(found, request)])

        # Megabytes, where there are many: nobody else should wait for them.
        return await asyncio.to_thread(work)

    async def list_types(self, request: Request) -> Any:
        return list(TYPES)

    async def get_by_id(self, request: Request) -> Any:
        schema, context = self._by_id(request)
        fields = schema_fields(schema)
        fields["guid"] = schema.guid
        if request.flag("fetchMaxId"):
            fields["maxId"] = self.index.context(context).highest
        form = request.text("format")
        if form:
            fields["schema"] = await self._formatted(schema, context, form)
        return json_answer(fields, hot=True)

    async def get_text_by_id(self, request: Request) -> Any:
        schema, context = self._by_id(request)
        return await self._text(request, schema, context)

    async def get_subjects_by_id(self, request: Request) -> Any:
        versions = self._versions_of_id(request)
        return _page(list(dict.fromkeys(version.subject for version in versions)), request)

    async def get_versions_by_id(self, request: Request) -> Any:
        versions = self._versions_of_id(request)
        return _page([{"subject": version.subject, "version": version.number} for version in versions], request)

    async def get_by_guid(self, request: Request) -> Any:
        schema = self.catalog.by_guid(request.path["guid"])
        fields = {**schema_fields(schema), "guid": schema.guid}
        form = request.text("format")
        if form:
            fields["schema"] = await self._formatted(schema, _context_of_schema(schema), form)
        return fields

    async def get_ids_by_guid(self, request: Request) -> Any:
        schema = self.catalog.by_guid(request.path["guid"])
        found = []
        for context, ids in sorted(self.index.contexts.items()):
            same = ids.digests.get((schema.type, schema.digest))
            if same is not None:
                found.append({"context": context, "id": same.id})
        return found

    # ------------------------------------------------------------------ compatibility

    async def check_version(self, request: Request) -> Any:
        subject, number = self._subject(request), _version_number(request.path["version"])
        if number == -1 and not self.index.has_subject(subject):
            return await self._check(request, subject, [])
        return await self._check(request, subject, [self.catalog.version(subject, number)])

    async def check_all(self, request: Request) -> Any:
        return await self._check(request, self._subject(request), None)

    async def _check(self, request: Request, subject: str, against: list[Version] | None) -> Any:
        asked, normalize = schema_request(request.body), request.flag("normalize")
        config = self.catalog.config_in_scope(subject)

        def compare() -> list[str]:
            normal = normalize or bool(config.get("normalize"))
            parsed = self.catalog.parse_request(asked, subject, normalize=normal, new=True)
            older = self.catalog.compared_with(subject, config, asked.metadata) if against is None else against
            return self.catalog.reasons_against(subject, parsed, older, config["compatibilityLevel"])

        reasons = await asyncio.to_thread(compare)
        answer: Json = {"is_compatible": not reasons}
        if request.flag("verbose"):
            answer["messages"] = reasons
        return answer

    # ------------------------------------------------------------------ configs, modes, contexts

    async def get_config(self, request: Request) -> Any:
        return self._config(None, True)

    async def get_subject_config(self, request: Request) -> Any:
        subject = _scope(request)
        return self._config(subject, request.flag("defaultToGlobal") or subject is None)

    def _config(self, subject: str | None, or_global: bool) -> Json:
        config = self.index.configs.get(subject)
        if or_global:
            return self.catalog.config_in_scope(subject)
        if config is None:
            raise errors.config_not_found(subject or "")
        return config

    async def put_config(self, request: Request) -> Any:
        subject = _scope(request)
        return await self._write(request, lambda: self.plans.set_config(subject, request.body))

    async def delete_config(self, request: Request) -> Any:
        subject = _scope(request)
        return await self._write(request, lambda: self.plans.delete_config(subject))

    async def get_mode(self, request: Request) -> Any:
        subject = _scope(request)
        if subject is None or request.flag("defaultToGlobal"):
            return {"mode": self.catalog.mode_in_scope(subject)}
        mode = self.index.modes.get(subject)
        if mode is None:
            raise errors.mode_not_found(subject)
        return {"mode": mode}

    async def put_mode(self, request: Request) -> Any:
        subject, force = _scope(request), request.flag("force")
        return await self._write(request, lambda: self.plans.set_mode(subject, request.body.get("mode"), force=force))

    async def delete_mode(self, request: Request) -> Any:
        subject = _scope(request)
        return await self._write(request, lambda: self.plans.delete_mode(subject))

    async def list_contexts(self, request: Request) -> Any:
        return _page([DEFAULT_CONTEXT, *sorted(self.index.known_contexts - {DEFAULT_CONTEXT})], request)

    async def delete_context(self, request: Request) -> Any:
        context = normal_context(request.path["context"])
        answer = await self._write(request, lambda: self.plans.delete_context(context))
        return answer if answer.status >= 400 else Answer(b"", 204)

    # ------------------------------------------------------------------ the rest

    async def root(self, request: Request) -> Any:
        return {}

    async def metadata_id(self, request: Request) -> Any:
        return {"scope": {"path": [], "clusters": {"schema-registry-cluster": self.instance.settings.group}}, "id": ""}

    async def metadata_version(self, request: Request) -> Any:
        return {"version": __version__, "commitId": ""}

    async def search(self, request: Request) -> Any:
        query, type_, tag = request.text("query"), request.text("type").upper(), request.text("tag")
        if type_ and type_ not in TYPES:
            raise errors.bad_request(f"The parameter type can be {', '.join(TYPES)}")
        if not query and not tag and not type_:
            raise errors.bad_request("Give query=, tag= or type=")
        limit = request.number("limit", SEARCH_LIMIT)
        if not 1 <= limit <= 1000:
            raise errors.bad_request("The parameter limit can be 1 to 1000")
        return await asyncio.to_thread(search, self.catalog, query, type_, tag, limit)

    # ------------------------------------------------------------------ inside

    def _subject(self, request: Request) -> str:
        return self.catalog.aliased(parse_name(request.path["subject"]).qualified)

    def _version(self, request: Request) -> Version:
        number = _version_number(request.path["version"])
        return self.catalog.version(self._subject(request), number, deleted=request.flag("deleted"))

    def _by_id(self, request: Request) -> tuple[StoredSchema, str]:
        text = request.path["id"]
        if not (text.isascii() and text.isdigit()) or int(text) > LARGEST:
            raise errors.schema_not_found(text)
        schema = self.catalog.by_id(int(text), self.catalog.aliased(parse_name(request.text("subject")).qualified))
        return schema, _context_of_schema(schema)

    def _versions_of_id(self, request: Request) -> list[Version]:
        schema, _ = self._by_id(request)
        only = parse_name(request.text("subject")).qualified if parse_name(request.text("subject")).subject else ""
        deleted = request.flag("deleted")
        found = [
            version
            for version in schema.versions
            if (deleted or not version.deleted) and (not only or version.subject == self.catalog.aliased(only))
        ]
        return sorted(found, key=lambda version: (version.subject, version.number))

    async def _shown(self, request: Request, version: Version) -> Answer:
        fields = _version_json(version)
        form = request.text("format")
        if form:
            fields["schema"] = await self._formatted(version.schema, context_of(version.subject), form)
        return json_answer(fields, hot=True)

    async def _text(self, request: Request, schema: StoredSchema, context: str) -> Any:
        form = request.text("format")
        text = await self._formatted(schema, context, form) if form else schema.text
        return Answer(text.encode())

    async def _formatted(self, schema: StoredSchema, context: str, form: str) -> str:
        def work() -> str:
            try:
                return self.catalog.parsed(schema, context).formatted(form)
            except InvalidSchema as error:
                raise errors.invalid_schema(f"The schema {schema.id} cannot be shown as {form}: {error}") from None
            except ValueError as error:
                raise errors.bad_request(f"The format {form!r} is not known here: {error}") from None

        return await asyncio.to_thread(work)

    async def _write(self, request: Request, plan: Callable[[], Plan]) -> Answer:
        """Here if this instance writes, at the writer's otherwise."""
        deadline = time.monotonic() + WRITER_SECONDS
        forwarded = request.header(FORWARDED.encode()) is not None
        while True:
            reason = NoWriterYet("this instance does not write yet")
            if self.instance.is_chosen and await self.instance.pen_is_taken(deadline - time.monotonic()):
                try:
                    answer, position = await self.instance.write(plan)
                except NotWriter:
                    pass
                else:
                    return json_answer(answer, headers=((POSITION.encode(), b"%d" % position),))
            if forwarded:
                raise errors.writer_unknown("this instance is not the writer")
            if not self.instance.is_chosen:
                try:
                    return await self._forward(request, deadline)
                except NoWriterYet as error:
                    reason = error
            await pause_before_retry(reason, deadline)

    async def _forward(self, request: Request, deadline: float) -> Answer:
        headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in request.headers
            if name in (b"content-type", b"accept", b"authorization")
        }
        status, body = await self.forwarder.send(
            request.method, request.raw_path.decode("latin-1"), headers, request.raw_body, deadline
        )
        return Answer(body, status)


def _version_json(version: Version) -> Json:
    schema = version.schema
    fields: Json = {"subject": version.subject, "version": version.number, "id": schema.id, "guid": schema.guid}
    fields |= schema_fields(schema)
    if version.deleted:
        fields["deleted"] = True
    return fields


def _version_number(text: str) -> int:
    """-1 is the latest. Raises 42202."""
    word = text.strip().lower()
    if word in ("latest", "-1"):
        return -1
    if not (word.isascii() and word.isdigit()) or not 1 <= int(word) <= LARGEST:
        raise errors.invalid_version(text)
    return int(word)


def _scope(request: Request) -> str | None:
    """The subject or context of a config or mode; None is the global one."""
    if "subject" not in request.path:
        return None
    subject = parse_name(request.path["subject"]).qualified
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in subject):
        raise errors.invalid_subject(subject)
    return subject or None


def _deleted_only(request: Request) -> bool:
    """confluent-kafka writes it in its own way."""
    return request.flag("deletedOnly") or request.flag("deleted_only")


def _page(rows: Sequence[T], request: Request) -> Sequence[T]:
    offset, limit = request.number("offset", 0), request.number("limit", -1)
    if offset < 0:
        raise errors.bad_request("The parameter offset cannot be negative")
    most = MOST_ROWS if limit <= 0 else min(limit, MOST_ROWS)
    return rows[offset : offset + most]


def _has_rule_type(schema: StoredSchema, type_: str) -> bool:
    groups = (schema.rule_set or {}).values()
    return any(rule.get("type") == type_ for group in groups if isinstance(group, list) for rule in group)


def _context_of_schema(schema: StoredSchema) -> str:
    return context_of(schema.versions[0].subject) if schema.versions else DEFAULT_CONTEXT
