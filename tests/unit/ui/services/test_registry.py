"""The registry's service over a registry in this process: verdicts, places of mistakes, deletions, topics."""

from __future__ import annotations

import asyncio
import json
import uuid

import pytest

from caudal.ui.services.errors import UiError
from caudal.ui.services.registry import Draft, Registry, Unreachable, problem_of, topics_of


def avro(*fields: dict[str, object]) -> Draft:
    return Draft("AVRO", json.dumps({"type": "record", "name": "Order", "fields": list(fields)}))


ID: dict[str, object] = {"name": "id", "type": "long"}
CITY: dict[str, object] = {"name": "city", "type": "string"}
NOTE: dict[str, object] = {"name": "note", "type": "string", "default": ""}


@pytest.fixture
def registry() -> Registry:
    return Registry(f"mock://{uuid.uuid4().hex}")


def test_a_new_subject_takes_any_schema(registry: Registry) -> None:
    verdict = asyncio.run(registry.check("orders-value", avro(ID)))
    assert (verdict.compatible, verdict.level) == (True, "BACKWARD")


def test_an_incompatible_schema_is_refused_with_sentences(registry: Registry) -> None:
    async def run() -> None:
        await registry.register("s", avro(ID))
        verdict = await registry.check("s", avro(ID, CITY))
        assert not verdict.compatible
        assert any("city" in reason for reason in verdict.reasons)

    asyncio.run(run())


def test_a_registered_schema_is_told_with_its_version(registry: Registry) -> None:
    async def run() -> None:
        first = await registry.register("s", avro(ID))
        second = await registry.register("s", avro(ID, NOTE))
        again = await registry.register("s", avro(ID))
        assert [found.version for found in (first, second, again)] == [1, 2, 1]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("draft", "line", "column"),
    [
        (Draft("AVRO", '{\n  "type":\n}'), 3, 1),
        (Draft("PROTOBUF", 'syntax = "proto3";\nmessage A {\n  string a = x;\n}'), 3, 14),
        (Draft("AVRO", '{"type": "record", "name": "A", "fields": [{"name": "x", "type": "lng"}]}'), None, None),
    ],
)
def test_a_mistake_is_told_with_its_place(
    registry: Registry, draft: Draft, line: int | None, column: int | None
) -> None:
    problem = asyncio.run(registry.problem(draft))
    assert problem is not None
    assert (problem.line, problem.column) == (line, column)


def test_a_schema_without_a_mistake_has_no_problem(registry: Registry) -> None:
    assert asyncio.run(registry.problem(avro(ID))) is None


def test_a_comparison_says_who_reads_whose_records(registry: Registry) -> None:
    async def run() -> None:
        await registry.set_level("NONE", "s")
        await registry.register("s", avro(ID))
        await registry.register("s", avro(ID, CITY))
        found = await registry.compare("s", 1, 2)
        assert [change.path for change in found.fields] == ["city"]
        assert found.backward and not found.forward

    asyncio.run(run())


def test_a_subject_tells_its_own_level_from_that_of_all(registry: Registry) -> None:
    async def run() -> None:
        await registry.register("s", avro(ID))
        before = await registry.subject("s")
        await registry.set_level("FULL", "s")
        await registry.set_mode("READONLY", "s")
        after = await registry.subject("s")
        await registry.set_mode(None, "s")
        await registry.set_level(None, "s")
        await registry.set_level(None, "s")  # nothing to take back any more, which is what was wanted
        last = await registry.subject("s")
        assert (before.level, before.own_level, before.mode, before.own_mode) == ("BACKWARD", False, "READWRITE", False)
        assert (after.level, after.own_level, after.mode, after.own_mode) == ("FULL", True, "READONLY", True)
        assert last == before

    asyncio.run(run())


def test_a_permanent_deletion_makes_the_soft_one_first(registry: Registry) -> None:
    async def run() -> None:
        await registry.register("s", avro(ID))
        await registry.register("s", avro(ID, NOTE))
        await registry.delete_version("s", 1, permanent=False)
        found = await registry.subject("s")
        assert (found.versions, found.deleted) == ((2,), (1,))
        await registry.delete_subject("s", permanent=True)
        assert await registry.subjects(deleted=True) == []
        with pytest.raises(UiError):
            await registry.subject("s")

    asyncio.run(run())


def test_a_subject_that_is_deleted_softly_is_a_row_without_a_version(registry: Registry) -> None:
    async def run() -> None:
        await registry.register("s", avro(ID))
        await registry.delete_subject("s", permanent=False)
        (row,) = await registry.rows(await registry.subjects(deleted=True))
        assert (row.latest, row.versions) == (None, 0)

    asyncio.run(run())


def test_a_registry_that_is_away_is_told_apart() -> None:
    with pytest.raises(Unreachable, match="does not answer"):
        asyncio.run(Registry("http://127.0.0.1:9").subjects())


@pytest.mark.parametrize(
    ("subject", "topics"),
    [
        ("orders-value", ["orders"]),
        ("orders-key", ["orders"]),
        (":.eu:orders-value", ["orders"]),
        ("orders-shop.Order", ["orders"]),
        ("orders-eu-value", ["orders-eu"]),
        ("shop.Order", []),
        ("unknown-value", []),
    ],
)
def test_the_topics_of_a_subject_are_found_by_its_name(subject: str, topics: list[str]) -> None:
    assert topics_of(subject, ["orders", "orders-eu", "payments"]) == topics


def test_a_message_without_a_place_has_none() -> None:
    assert problem_of("the type 'x' is not known").line is None
