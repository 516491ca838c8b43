"""The Schema Registry as the pages ask it: the project's REST client in threads, its errors as UiError.

Versions never change, so the client keeps them. What two versions come to is `schema_diff.py`; whether a text is a
schema at all is found out here, in this process, so that the place of a mistake is known before anything is sent.
"""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from caudal.cli.schema_comparison import parsed, unreadable
from caudal.cli.schema_files import SchemaFile
from caudal.cli.schema_text import pretty, reasons
from caudal.registry.client import RegisteredSchema, RegistryClient, RegistryError, RegistryUnreachable
from caudal.registry.schemas.schema import InvalidSchema, Reference
from caudal.ui.services.errors import UiError, sentence
from caudal.ui.services.schema_diff import CONTEXT, FieldChange, Row, field_changes, side_by_side
from caudal.ui.words import t

LEVELS = ("BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE", "NONE")
MODES = ("READWRITE", "READONLY", "IMPORT")
TYPES = {"AVRO": "Avro", "JSON": "JSON Schema", "PROTOBUF": "Protobuf"}
NO_SUBJECT, NO_VERSION, NO_LEVEL, NO_MODE = 40401, 40402, 40408, 40409
NOT_SET = (NO_SUBJECT, NO_LEVEL, NO_MODE)  # of a subject's level or mode
INVALID, INCOMPATIBLE = 42201, 409
DELETED_ALREADY = (40404, 40406)
THREADS = 8
_PLACE = re.compile(r"line (\d+), column (\d+)")

P = ParamSpec("P")
T = TypeVar("T")


class Unreachable(UiError):
    """The registry does not answer; the rest of the control center does."""


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """A row of the list. `level` is the subject's own, or None where that of all holds."""

    name: str
    type: str
    latest: int | None
    versions: int
    id: int | None
    level: str | None


@dataclass(frozen=True, slots=True)
class Subject:
    """`level` and `mode` are what holds; `own_level` and `own_mode`, whether they are the subject's own."""

    name: str
    versions: tuple[int, ...]
    deleted: tuple[int, ...]
    level: str
    own_level: bool
    mode: str
    own_mode: bool


@dataclass(frozen=True, slots=True)
class Draft:
    """A schema as it stands in the editor."""

    type: str
    text: str
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a draft is no schema; line and column count from 1 and are known for mistakes of syntax."""

    message: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    compatible: bool
    reasons: tuple[str, ...]
    level: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """`backward`: why the new cannot read the old's records; `forward`: the other way round. Empty: it can."""

    old: RegisteredSchema
    new: RegisteredSchema
    rows: tuple[Row, ...]
    fields: tuple[FieldChange, ...]
    backward: tuple[str, ...]
    forward: tuple[str, ...]


class Registry:
    """One per address; may be used by every page at once."""

    def __init__(self, url: str) -> None:
        self.client = RegistryClient(url, connect_timeout=2.0)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="registry")

    async def _call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, lambda: function(*args, **kwargs))
        except RegistryUnreachable:
            address = self.client.address
            raise Unreachable(
                t("{server} at {url} does not answer: is it running?", server="Schema Registry", url=address)
            ) from None
        except RegistryError as error:
            raise UiError(sentence(error.message), error.code) from None

    # ------------------------------------------------------------------ what there is

    async def subjects(self, deleted: bool = False) -> list[str]:
        """Every name in order; with `deleted`, those that are deleted softly too."""
        return sorted(await self._call(self.client.subjects, deleted=deleted))

    async def rows(self, subjects: Sequence[str]) -> list[SubjectRow]:
        """Of one page of the list."""
        return list(await asyncio.gather(*(self._call(self._row, name) for name in subjects)))

    def _row(self, name: str) -> SubjectRow:
        try:
            versions = self.client.versions(name)
            latest = self.client.version(name, versions[-1])
        except RegistryError as error:
            if error.code not in (NO_SUBJECT, NO_VERSION):
                raise
            return SubjectRow(name, "", None, 0, None, None)  # deleted, or gone since the list was read
        return SubjectRow(name, latest.type, latest.version, len(versions), latest.id, self._own_level(name))

    async def subject(self, name: str) -> Subject:
        return await self._call(self._subject, name)

    def _subject(self, name: str) -> Subject:
        every = self.client.versions(name, deleted=True)
        try:
            live = self.client.versions(name)
        except RegistryError as error:
            if error.code != NO_SUBJECT:
                raise
            live = []  # deleted softly
        level, mode = self._own_level(name), self._own_mode(name)
        return Subject(
            name,
            tuple(live),
            tuple(number for number in every if number not in live),
            level or self._level(),
            level is not None,
            mode or self.client.mode(),
            mode is not None,
        )

    def _own_level(self, name: str) -> str | None:
        try:
            return str(self.client.config(name)["compatibilityLevel"])
        except RegistryError as error:
            if error.code not in NOT_SET:
                raise
            return None

    def _own_mode(self, name: str) -> str | None:
        try:
            return self.client.mode(name)
        except RegistryError as error:
            if error.code not in NOT_SET:
                raise
            return None

    def _level(self, subject: str | None = None) -> str:
        return str(self.client.config(subject, default_to_global=subject is not None)["compatibilityLevel"])

    async def level(self) -> str:
        """That holds for all subjects without their own."""
        return await self._call(self._level)

    async def mode(self) -> str:
        return await self._call(self.client.mode)

    async def version(self, subject: str, version: int) -> RegisteredSchema:
        return await self._call(self.client.version, subject, version, deleted=True)

    async def referenced_by(self, subject: str, version: int) -> list[tuple[str, int]]:
        """The subjects and versions that use this one."""

        def ask() -> list[tuple[str, int]]:
            ids = self.client.referenced_by(subject, version)
            return sorted({place for id in ids for place in self.client.versions_of_id(id)})

        return await self._call(ask)

    async def compare(self, subject: str, old: int, new: int, whole: bool = False) -> Comparison:
        """Two versions, by lines, by fields and by who can read whose records."""

        def ask() -> Comparison:
            sides = [self.client.version(subject, number, deleted=True) for number in (old, new)]
            before, after = (
                parsed(self.client, SchemaFile(f"{subject}@{side.version}", side.type, side.text), side.references)
                for side in sides
            )
            left, right = (pretty(side.type, side.text) for side in sides)
            return Comparison(
                sides[0],
                sides[1],
                tuple(side_by_side(left, right, None if whole else CONTEXT)),
                tuple(field_changes(before, after)),
                tuple(unreadable(after, before, reader="new", writer="old")),
                tuple(unreadable(before, after, reader="old", writer="new")),
            )

        try:
            return await self._call(ask)
        except InvalidSchema as error:
            raise UiError(sentence(str(error))) from None

    # ------------------------------------------------------------------ registering

    async def problem(self, draft: Draft) -> Problem | None:
        """What is wrong with the text itself; None: it is a schema."""

        def ask() -> Problem | None:
            try:
                parsed(self.client, SchemaFile("", draft.type, draft.text), draft.references)
            except InvalidSchema as error:
                return problem_of(str(error).removeprefix(": "))
            return None

        return await self._call(ask)

    async def check(self, subject: str, draft: Draft) -> Verdict:
        """May it be the subject's next version, by its level; a new subject takes anything."""

        def ask() -> Verdict:
            level = self._level(subject)
            answer = self.client.check(subject, draft.text, draft.type, draft.references)
            return Verdict(answer.compatible, () if answer.compatible else tuple(reasons(answer.messages)), level)

        try:
            return await self._call(ask)
        except UiError as error:
            if error.code != NO_SUBJECT:
                raise
            return Verdict(True, (), await self.level())

    async def register(self, subject: str, draft: Draft) -> RegisteredSchema:
        """With the version it has now; an equal schema is found, not added."""

        def ask() -> RegisteredSchema:
            self.client.register(subject, draft.text, draft.type, draft.references)
            return self.client.lookup(subject, draft.text, draft.type, draft.references)

        return await self._call(ask)

    # ------------------------------------------------------------------ changes

    async def delete_subject(self, name: str, permanent: bool) -> None:
        """A permanent deletion makes the soft one first, as registries ask for."""

        def ask() -> None:
            _twice(lambda for_ever: self.client.delete_subject(name, permanent=for_ever), permanent)

        await self._call(ask)

    async def delete_version(self, name: str, version: int, permanent: bool) -> None:
        def ask() -> None:
            _twice(lambda for_ever: self.client.delete_version(name, version, permanent=for_ever), permanent)

        await self._call(ask)

    async def set_level(self, level: str | None, subject: str | None = None) -> None:
        """None: the subject goes with all others."""
        if level is not None:
            await self._call(functools.partial(self.client.set_config, subject, compatibility=level))
        else:
            await self._unset(self.client.delete_config, subject)

    async def set_mode(self, mode: str | None, subject: str | None = None) -> None:
        if mode is not None:
            await self._call(self.client.set_mode, mode, subject)
        elif subject is not None:
            await self._unset(self.client.delete_mode, subject)

    async def _unset(
        self, unset: Callable[[str], object] | Callable[[str | None], object], subject: str | None
    ) -> None:
        try:
            await self._call(functools.partial(unset, subject))  # type: ignore[arg-type]
        except UiError as error:
            if error.code not in NOT_SET:
                raise


@functools.cache
def registry_at(url: str) -> Registry:
    """One for each address in this process."""
    return Registry(url)


def _twice(step: Callable[[bool], object], permanent: bool) -> None:
    try:
        step(False)
    except RegistryError as error:
        if error.code not in DELETED_ALREADY or not permanent:
            raise
    if permanent:
        step(True)


def problem_of(message: str) -> Problem:
    """
    >>> problem_of("Not valid JSON at line 2, column 5: expecting value.").line
    2
    """
    place = _PLACE.search(message)
    text = sentence(message)
    return Problem(text) if place is None else Problem(text, int(place[1]), int(place[2]))


def topics_of(subject: str, topics: Iterable[str]) -> list[str]:
    """The topics whose records use this subject, by the names that serialisers give: TopicNameStrategy's
    `topic-value` and `topic-key`, and TopicRecordNameStrategy's `topic-full.name.of.Record`.

    >>> topics_of("orders-value", ["orders", "orders-eu"])
    ['orders']
    """
    name = re.sub(r"^:[^:]*:", "", subject)  # the context
    there = set(topics)
    for suffix in ("-value", "-key"):
        if name.endswith(suffix) and name.removesuffix(suffix) in there:
            return [name.removesuffix(suffix)]
    return sorted(topic for topic in there if name.startswith(f"{topic}-") and "." in name[len(topic) + 1 :])
