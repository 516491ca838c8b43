"""Functions of KSQL that have a Spark form give the same in both, for every type they take and values at its edges.

Where the Python form fails, the value is NULL in KSQL: so it must be in Spark. All cases are columns of one query.
"""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from caudal.ksql import processing_log, types
from caudal.ksql.expressions.compiled import Compiled, compile_value
from caudal.ksql.expressions.scope import Binding, Scope, Where
from caudal.ksql.functions import registry, resolution, signatures
from caudal.ksql.functions.registry import Scalar
from caudal.ksql.syntax.parser import parse_expression
from caudal.ksql.types import Array, Base, Map, SqlType, Struct

ROWS = 200  # each argument takes all of its values, in combinations drawn from a fixed seed
LONGEST = 3  # arguments of a variadic function
POOLS: dict[Base, list[Any]] = {
    Base.BOOLEAN: [True, False],
    Base.INTEGER: [0, 1, -1, 2, 3, -3, 7, 10, 100, (1 << 31) - 1, -(1 << 31)],
    Base.BIGINT: [0, 1, -1, 2, 7, -7, (1 << 53) + 1, 10**18, (1 << 63) - 1, -(1 << 63)],
    Base.DOUBLE: [
        *(0.0, -0.0, 1.0, 1.5, -2.5, 0.1, 1e16, 1e308, -1e308, 5e-324, 2.0**63),
        *(math.nan, math.inf, -math.inf),
    ],
    Base.STRING: [
        *("", "a", "ana", "Straße ÁÉÍ", "ΑΣ", "İstanbul", "ﬁn", "a\u0301b", "😀x", "  pad ", "%_\\", "it's"),
        *("\ttab\n", "ǆ ŉ", "12", "\u00a0hard\u00a0", "null", "\x00", "a.b", "[a-z]+", "$1"),
    ],
    Base.BYTES: [b"", b"\x00", b"abc", b"\xff\xfe"],
    Base.DATE: [date(1970, 1, 1), date(2026, 1, 31), date(1969, 12, 31), date(2000, 2, 29)],
    Base.TIMESTAMP: [
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 31, 10, 30, 15, 123000, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC),
    ],
}
MONEY = types.decimal(6, 2)
SPARK_TYPES = {
    Base.BOOLEAN: "BOOLEAN",
    Base.INTEGER: "INT",
    Base.BIGINT: "BIGINT",
    Base.DOUBLE: "DOUBLE",
    Base.STRING: "STRING",
    Base.BYTES: "BINARY",
    Base.DATE: "DATE",
    Base.TIMESTAMP: "TIMESTAMP",
}
# What a letter of a signature stands for here: each of these in turn.
ANY_TYPE: list[SqlType] = [
    *(types.BOOLEAN, types.INTEGER, types.BIGINT, types.DOUBLE, types.STRING, types.BYTES, types.DATE, MONEY),
    *(types.array(types.INTEGER), types.mapping(types.STRING, types.BIGINT), types.struct(("A", types.STRING))),
]


def spark_type(kind: SqlType) -> str:
    match kind:
        case types.Decimal():
            return f"DECIMAL({kind.precision}, {kind.scale})"
        case Array():
            return f"ARRAY<{spark_type(kind.element)}>"
        case Map():
            return f"MAP<{spark_type(kind.key)}, {spark_type(kind.value)}>"
        case Struct():
            return f"STRUCT<{', '.join(f'`{field.name}`: {spark_type(field.type)}' for field in kind.fields)}>"
    assert kind.base in SPARK_TYPES, f"no Spark form can take {kind}"
    return SPARK_TYPES[kind.base]


def any_value(kind: SqlType, chance: random.Random, null: float = 0.1) -> Any:
    if chance.random() < null:
        return None
    match kind:
        case types.Decimal():
            limit = 10**kind.precision - 1
            cents = chance.choice([0, 1, -1, 150, -150, 5, limit, -limit, chance.randint(-limit, limit)])
            return Decimal(cents).scaleb(-kind.scale)
        case Array():
            return [any_value(kind.element, chance) for _ in range(chance.randint(0, 4))]
        case Map():
            keys = [any_value(kind.key, chance, null=0) for _ in range(chance.randint(0, 4))]
            return {key: any_value(kind.value, chance) for key in keys}
        case Struct():
            return {field.name: any_value(field.type, chance) for field in kind.fields}
    return chance.choice(POOLS[kind.base])


def letters_in(pattern: signatures.Pattern) -> set[str]:
    match pattern:
        case signatures.Generic():
            return {pattern.letter}
        case signatures.ArrayPattern():
            return letters_in(pattern.element)
        case signatures.MapPattern():
            return letters_in(pattern.key) | letters_in(pattern.value)
    return set()


def filled(pattern: signatures.Pattern, letters: dict[str, SqlType]) -> SqlType:
    match pattern:
        case signatures.Generic():
            return letters[pattern.letter]
        case signatures.AnyDecimal():
            return MONEY
        case signatures.ArrayPattern():
            return types.array(filled(pattern.element, letters))
        case signatures.MapPattern():
            return types.mapping(filled(pattern.key, letters), filled(pattern.value, letters))
    assert isinstance(pattern, SqlType), f"a Spark form takes {pattern}"
    return pattern


def argument_lists(text: str) -> list[tuple[SqlType, ...]]:
    """The types to try a signature with: what its letters may stand for, a variadic one several times."""
    signature = signatures.parse(text)
    given = [one.type for one in signature.parameters]
    letters: set[str] = set().union(*map(letters_in, given))
    keys = {letter for one in given if isinstance(one, signatures.MapPattern) for letter in letters_in(one.key)}
    count = len(given)
    found = []
    for length in range(count - 1, LONGEST + 1) if signature.is_variadic else [count]:
        aligned = signature.aligned(length) or ()
        for kind in ANY_TYPE if letters - keys else [types.STRING]:
            stands_for = {letter: types.STRING if letter in keys else kind for letter in letters}
            found.append(tuple(filled(one.type, stands_for) for one in aligned))
    return found


def cases() -> list[tuple[Scalar, tuple[SqlType, ...]]]:
    resolution.load()
    definitions = [one for name in sorted(registry.SCALARS) for one in registry.SCALARS[name] if one.spark is not None]
    return [(one, kinds) for one in definitions for text in one.signatures for kinds in argument_lists(text)]


def places(kinds: tuple[SqlType, ...]) -> list[tuple[SqlType, int]]:
    """Each argument's type, and how many of the same type stand before it."""
    return [(kind, kinds[:place].count(kind)) for place, kind in enumerate(kinds)]


def in_python(definition: Scalar, names: list[str], kinds: tuple[SqlType, ...]) -> Compiled:
    """Through the compiler, as a query calls it: nulls and failures are treated there."""
    bindings = [
        Binding(name, kind, Where.VALUE, place) for place, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]
    return compile_value(parse_expression(f"{definition.name}({', '.join(names)})"), Scope(bindings))


def shown(value: Any) -> str:
    """A value of either side, as text that tells types, signs of zero and milliseconds apart."""
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{shown(key)}: {shown(one)}' for key, one in value.items()))}}}"
    if isinstance(value, datetime):
        return f"timestamp {value.replace(tzinfo=None).isoformat()}"
    return f"{type(value).__name__} {bytes(value) if isinstance(value, bytearray) else value!r}"


def sent(value: Any, kind: SqlType) -> Any:
    """Maps go to Spark as lists of entries: on the way they would lose their order, which MAP_KEYS shows."""
    return list(value.items()) if isinstance(kind, Map) and value is not None else value


def sent_type(kind: SqlType) -> str:
    if not isinstance(kind, Map):
        return spark_type(kind)
    return f"ARRAY<STRUCT<key: {spark_type(kind.key)}, value: {spark_type(kind.value)}>>"


def test_both_forms_give_the_same(spark: Any) -> None:
    from pyspark.sql.types import DataType

    from caudal.runtime.spark.native.frames import native_session

    session = native_session(spark)
    session.conf.set("spark.sql.session.timeZone", "UTC")
    tried = cases()
    assert {one.name for one, _ in tried} >= {"ABS", "SQRT", "ARRAY_LENGTH", "MAP_KEYS", "IFNULL"}
    slots: dict[tuple[SqlType, int], str] = {}  # a column for the n-th argument of a type
    for _, kinds in tried:
        for slot in places(kinds):
            slots.setdefault(slot, f"C{len(slots)}")
    chance = random.Random(7)
    columns = {name: [any_value(kind, chance) for _ in range(ROWS)] for (kind, _), name in slots.items()}
    ways = [[sent(value, kind) for value in columns[name]] for (kind, _), name in slots.items()]
    schema = "id INT, " + ", ".join(f"{name} {sent_type(kind)}" for (kind, _), name in slots.items())
    frame = session.createDataFrame(list(zip(range(ROWS), *ways, strict=True)), schema).coalesce(1)
    frame = frame.selectExpr(
        "id",
        *(
            f"map_from_entries({name}) AS {name}" if isinstance(kind, Map) else name
            for (kind, _), name in slots.items()
        ),
    )

    selected: list[str] = []
    texts: list[str] = []
    wanted: list[list[str]] = []
    wanted_types: list[str] = []
    for number, (definition, kinds) in enumerate(tried):
        names = [slots[slot] for slot in places(kinds)]
        compiled = in_python(definition, names, kinds)
        assert compiled.type is not None and definition.spark is not None
        with processing_log.collected():
            wanted.append([shown(compiled((), tuple(columns[name][row] for name in names))) for row in range(ROWS)])
        selected.append(f"{definition.spark.format(*names)} AS R{number}")
        texts.append(f"{definition.name}({', '.join(map(str, kinds))})")
        wanted_types.append(DataType.fromDDL(spark_type(compiled.type)).simpleString())
    answer = frame.selectExpr("id", *selected).orderBy("id")
    found_types = [field.dataType.simpleString() for field in answer.schema.fields[1:]]
    differing = {
        text: f"{text} is {one} here and {two} in Spark"
        for text, one, two in zip(texts, wanted_types, found_types, strict=True)
        if one != two
    }
    for row in answer.collect():
        for number, text in enumerate(texts):
            here, there = wanted[number][row[0]], shown(row[number + 1])
            if here != there:
                given = [columns[slots[slot]][row[0]] for slot in places(tried[number][1])]
                differing.setdefault(text, f"{text}: Python {here}, Spark {there}: {given}")
    assert not differing, "\n".join(differing.values())
