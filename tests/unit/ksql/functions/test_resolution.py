"""Which overload is taken, what is said where none or several fit, and what DESCRIBE FUNCTION knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from caudal.ksql.errors import KsqlError, Position
from caudal.ksql.functions import registry, resolution
from caudal.ksql.functions.signatures import parse
from caudal.ksql.syntax.parser import parse_type
from caudal.ksql.types import BIGINT, DOUBLE, INTEGER, STRING, SqlType, decimal

AT = Position(3, 4, 20)


@pytest.fixture(autouse=True)
def functions() -> Iterator[None]:
    resolution.load()

    def define(name: str, *signatures: str, **more: Any) -> None:
        registry.scalar(name, *signatures, description=f"{name}.", category="TEST", **more)(lambda *given: signatures)

    define("T_OVER", "(a INTEGER) -> INTEGER", "(a BIGINT) -> BIGINT")
    define("T_OVER", "(a DOUBLE) -> DOUBLE", "(a STRING) -> STRING")
    define("T_ORDER", "(a T...) -> DATE", "(a T) -> TIME", "(a INTEGER) -> STRING", "(a INTEGER, b T...) -> BYTES")
    define("T_SAME", "(a INTEGER) -> STRING", "(a DOUBLE) -> STRING")
    define("T_FAR", "(a BIGINT, b DOUBLE) -> INTEGER", "(a DOUBLE, b BIGINT) -> BIGINT")
    define("T_COMPUTED", "(a DECIMAL) -> DECIMAL", returns=_wider)
    yield
    for name in list(registry.SCALARS):
        if name.startswith("T_"):
            del registry.SCALARS[name]


def _wider(types: Sequence[SqlType | None]) -> SqlType:
    if types[0] is None:
        raise ValueError("it has no type")
    return decimal(30, 5)


@pytest.mark.parametrize(
    ("name", "given", "result"),
    [
        ("T_OVER", ["INTEGER"], "INTEGER"),
        ("T_OVER", ["BIGINT"], "BIGINT"),
        ("T_OVER", ["DECIMAL(4, 2)"], "DOUBLE"),  # the only one that it can be cast to
        ("T_OVER", ["DOUBLE"], "DOUBLE"),
        ("t_over", ["STRING"], "STRING"),
        ("T_ORDER", ["INTEGER"], "STRING"),  # plain before generic
        ("T_ORDER", ["STRING"], "TIME"),  # fixed before variadic
        ("T_ORDER", ["STRING", "STRING"], "DATE"),
        ("T_ORDER", ["INTEGER", "INTEGER"], "BYTES"),  # more parameters before fewer
        ("T_ORDER", [], "DATE"),
        ("T_SAME", ["BIGINT"], "STRING"),
        ("T_SAME", [None], "STRING"),  # any of them gives the same
        ("T_COMPUTED", ["DECIMAL(4, 2)"], "DECIMAL(30, 5)"),
    ],
)
def test_choice(name: str, given: Sequence[str | None], result: str) -> None:
    types = [None if one is None else parse_type(one) for one in given]
    assert str(resolution.scalar(name, types, AT)[1]) == result  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("T_OVER", [None], "Function 'T_OVER' cannot be resolved due to ambiguous method parameters (null)."),
        ("T_FAR", [INTEGER, INTEGER], "ambiguous method parameters (INTEGER, INTEGER)"),
        (
            "T_OVER",
            [],
            "Function 'T_OVER' does not accept parameters ().\nValid alternatives are:\nT_OVER(INTEGER a)\n",
        ),
        ("T_OVER", [INTEGER, STRING], "does not accept parameters (INTEGER, STRING)"),
        ("T_COMPUTED", [None], "does not accept parameters (null): it has no type"),
        ("T_OVR", [INTEGER], "Can't find any functions with the name 'T_OVR'. Did you mean 'T_OVER'?"),
        ("ZZZZZZ", [], "Can't find any functions with the name 'ZZZZZZ'."),
    ],
)
def test_none_or_several(name: str, given: Sequence[SqlType | None], message: str) -> None:
    with pytest.raises(KsqlError) as caught:
        resolution.scalar(name, given, AT)
    assert message in caught.value.message
    assert caught.value.at == AT


def test_kinds() -> None:
    assert resolution.is_aggregate("sum") and not resolution.is_aggregate("ABS")
    assert resolution.is_table_function("EXPLODE") and not resolution.is_table_function("SUM")
    assert resolution.is_scalar("ABS") and not resolution.is_scalar("EXPLODE")
    assert [resolution.kind(name) for name in ("ABS", "SUM", "EXPLODE")] == ["SCALAR", "AGGREGATE", "TABLE"]


def test_aggregate_and_table_function() -> None:
    definition, result, parameters = resolution.aggregate("SUM", [INTEGER], AT)
    assert (definition.name, result, parameters) == ("SUM", INTEGER, (INTEGER,))
    array = parse_type("ARRAY<BIGINT>")
    assert isinstance(array, SqlType)
    rows, row, _ = resolution.table_function("EXPLODE", [array], AT)
    assert (rows.name, row) == ("EXPLODE", BIGINT)
    with pytest.raises(KsqlError, match="is not known"):
        resolution.aggregate("COLLECT_LIST", [None], AT)


def test_alias() -> None:
    assert resolution.is_aggregate("STDDEV_SAMPLE") and resolution.is_aggregate("STDDEV_SAMP")
    assert resolution.aggregate("STDDEV_SAMPLE", [DOUBLE], AT)[1] == DOUBLE


def test_names_are_sorted_and_complete() -> None:
    names = resolution.names()
    assert names == sorted(names)
    assert {"ABS", "SUM", "EXPLODE", "STDDEV_SAMP", "T_OVER"} <= set(names)


def test_describe() -> None:
    found = resolution.describe("t_over")
    assert (found.name, found.kind, found.author, found.overview) == ("T_OVER", "SCALAR", "Caudal", "T_OVER.")
    assert [one.signature for one in found.variations] == [
        "T_OVER(INTEGER a)", "T_OVER(BIGINT a)", "T_OVER(DOUBLE a)", "T_OVER(STRING a)",
    ]  # fmt: skip
    assert found.variations[0].returns == "INTEGER"
    assert resolution.describe("T_ORDER").variations[0].arguments == (("a", "T", True),)
    assert resolution.describe("TOPK").kind == "AGGREGATE"
    assert resolution.describe("EXPLODE").kind == "TABLE"
    with pytest.raises(KsqlError, match="Did you mean 'T_OVER'"):
        resolution.describe("T_OVR")


def test_every_function_can_be_read_and_described() -> None:
    for name in resolution.names():
        described = resolution.describe(name)
        assert described.variations, name
        assert described.overview or name.startswith("T_"), name
    for table in (registry.SCALARS, registry.AGGREGATES, registry.TABLE_FUNCTIONS):
        for definitions in table.values():
            for definition in definitions:
                for text in definition.signatures:
                    parse(text)
