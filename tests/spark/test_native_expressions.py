"""SQL expressions give the same in Python and in Spark, on values chosen to tell them apart, and fail on the same ones.

Each expression is evaluated over the same rows in both. Where the Python form fails for a row, the Spark form must fail
for it too; the other rows are compared by type and text, all expressions in one job.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from caudal.plan.expressions import expression
from caudal.plan.expressions.spark_sql import spark_form
from caudal.plan.typed_sql import NoSparkForm, SqlType, Typed, text_literal

LARGEST = (1 << 63) - 1
BIGINTS = [None, 0, 1, -1, 7, -7, 3, -3, LARGEST, -LARGEST - 1, (1 << 53) + 1, 10**18]
DOUBLES = [None, 0.0, -0.0, 1.5, -2.5, 1e308, -1e308, 5e-324, 1e16, 0.1, 2.0**63, -(2.0**63), 123456789.125, 2.5]
TEXTS = [
    None,
    "",
    "a",
    "ana",
    "Straße ÁÉÍ",
    "ΑΣ",
    "İstanbul",
    "ﬁn",
    "a\u0301b",
    "😀x",
    "  pad ",
    "%_\\",
    "it's",
    "\ttab\n",
    "ǆ ŉ",
    "12",
    "\u00a0hard\u00a0",
]
BOOLEANS = [None, True, False]
FIELDS = {
    "a": "BIGINT",
    "b": "BIGINT",
    "x": "DOUBLE",
    "y": "DOUBLE",
    "s": "STRING",
    "t": "STRING",
    "p": "BOOLEAN",
    "q": "BOOLEAN",
}


def rows() -> list[dict[str, Any]]:
    pairs = zip(
        itertools.product(BIGINTS, BIGINTS),
        itertools.cycle(itertools.product(DOUBLES, DOUBLES)),
        itertools.cycle(itertools.product(TEXTS, TEXTS)),
        itertools.cycle(itertools.product(BOOLEANS, BOOLEANS)),
        strict=False,
    )
    flat = [(*one, *two, *three, *four) for one, two, three, four in pairs]
    doubles = itertools.product(DOUBLES, DOUBLES)
    texts = itertools.product(TEXTS, TEXTS)
    more = [(1, 2, *x, *s, True, False) for x, s in itertools.zip_longest(doubles, texts, fillvalue=(None, None))]
    return [dict(zip(FIELDS, one, strict=True)) for one in flat + more]


SAME = [
    *(f"{one} {sign} {two}" for sign in ("=", "<>", "<", "<=", ">", ">=") for one, two in ("ab", "xy", "st", "pq")),
    *(f"a {sign} b" for sign in ("+", "-", "*", "%", "/", "DIV")),
    *(f"x {sign} y" for sign in ("+", "-", "*", "%", "/")),
    *(f"a {sign} y" for sign in ("+", "-", "*", "%", "/")),
    "-a",
    "-x",
    "a * 2",
    "a % 3",
    "a / 2",
    "x > 1",
    "x = 1.5",
    "0 < x",
    "x * y > 5",
    "x * y - x * y = 0",
    "x * 1e10 < y",
    "p AND q",
    "p OR q",
    "NOT p",
    "p AND NOT (q OR a > 1)",
    "p IS TRUE",
    "p IS NOT TRUE",
    "p IS FALSE",
    "a IS NULL",
    "x IS NOT NULL",
    "p = NULL",
    "p AND NULL",
    "NULL OR p",
    "a IN (1, 7, NULL)",
    "a NOT IN (1, b)",
    "s IN ('ana', t)",
    "x IN (1, 1.5)",
    "a BETWEEN 0 AND b",
    "s BETWEEN 'a' AND t",
    "s LIKE '%a%'",
    "s LIKE '_a_'",
    "s LIKE '_'",
    "s LIKE ''",
    "s || t",
    "s || a",
    "concat(s, '!', a)",
    "upper(s)",
    "lower(s)",
    "length(s)",
    "trim(s)",
    "ltrim(s)",
    "rtrim(s)",
    "substring(s, 2)",
    "substring(s, -2)",
    "substring(s, 2, 2)",
    "substring(s, 0, 1)",
    "substring(s, 1, -1)",
    "left(s, 2)",
    "left(s, -1)",
    "right(s, 2)",
    "right(s, 0)",
    "replace(s, 'a', t)",
    "replace(s, 'a')",
    "starts_with(s, t)",
    "ends_with(s, t)",
    "contains(s, t)",
    "instr(s, t)",
    "reverse(s)",
    "lpad(s, 4, '*-')",
    "lpad(s, 2)",
    "rpad(s, 5, '😀')",
    "rpad(s, 0)",
    "abs(a)",
    "abs(x)",
    "sign(a)",
    "greatest(a, b, 3)",
    "least(a, NULL, b)",
    "greatest(s, t)",
    "least(x, y, 2.5)",
    "coalesce(a, b, 5)",
    "coalesce(s, 'none')",
    "nullif(a, b)",
    "nullif(s, 'ana')",
    "CASE WHEN a > b THEN s WHEN p THEN t END",
    "CASE a WHEN 1 THEN 'one' WHEN NULL THEN 'never' ELSE s END",
    "IF(p, a, b)",
    "IF(a > 0, s, 'none')",
    "CASE WHEN b <> 0 THEN a / b ELSE 0.5 END",
    "b <> 0 AND a % b = 1",
    "CAST(a AS STRING)",
    "CAST(p AS STRING)",
    "CAST(a AS DOUBLE)",
    "CAST(x AS BIGINT)",
    "CAST(p AS INT)",
    "missing IS NULL",
    "coalesce(missing, a)",
    "'it''s \\ here'",
    "s = 'it''s'",
]


def typed_row() -> Typed:
    fields = tuple((name, Typed(f"`{name}`", SqlType[kind])) for name, kind in FIELDS.items())
    return Typed("", SqlType.STRUCT, fields=fields)


def shown(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


def test_both_forms_give_the_same_and_fail_alike(spark: Any) -> None:
    from caudal.runtime.spark.native.frames import native_session

    session = native_session(spark)
    table = rows()
    schema = "id INT, " + ", ".join(f"{name} {kind}" for name, kind in FIELDS.items())
    frame = session.createDataFrame([(number, *row.values()) for number, row in enumerate(table)], schema).coalesce(1)
    columns, wanted, failing = [], {}, []
    for index, text in enumerate(SAME):
        form = spark_form(text, {"key": Typed("'k'", SqlType.STRING), "value": typed_row()})
        evaluate, results, failed = expression(text, ("key", "value")), {}, []
        for number, row in enumerate(table):
            try:
                results[number] = evaluate("k", row)
            except (ArithmeticError, ValueError):
                failed.append(number)
        assert form.may_fail or not failed, f"{text} fails in Python for {table[failed[0]]}"
        guard = f"id NOT IN ({', '.join(map(str, failed))})" if failed else "TRUE"
        columns.append(f"CASE WHEN {guard} THEN {form.sql} END AS r{index}")
        wanted[text] = results
        failing += [(text, form.sql, number) for number in failed[:1]]
    differing: dict[str, str] = {}
    for number, result in enumerate(frame.selectExpr("id", *columns).collect()):
        for index, text in enumerate(SAME):
            if number in wanted[text]:
                both = shown(wanted[text][number]), shown(result[index + 1])
                if both[0] != both[1]:
                    differing.setdefault(text, f"{text}: Python {both[0]}, Spark {both[1]}: {table[number]}")
    assert not differing, "\n".join(differing.values())
    assert failing, "nothing failed: the values are too tame"
    for text, sql, number in failing:
        with pytest.raises(Exception, match=r"ARITHMETIC_OVERFLOW|_BY_ZERO|CAST_OVERFLOW"):
            given = session.sql(f"SELECT {sql} FROM VALUES ({literals(table[number])}) AS t({', '.join(FIELDS)})")
            pytest.fail(f"{text}: Python fails, Spark gives {shown(given.collect()[0][0])} for {table[number]}")


def literals(row: dict[str, Any]) -> str:
    """The row as constants, which Spark evaluates without a job."""
    made = []
    for (name, kind), value in zip(FIELDS.items(), row.values(), strict=True):
        assert name in row
        text = "NULL" if value is None else text_literal(value) if isinstance(value, str) else f"'{value}'"
        made.append(f"CAST({text} AS {kind})")
    return ", ".join(made)


@pytest.mark.parametrize(
    "text",
    [
        "round(x)", "ceil(x)", "floor(x)", "sqrt(x)", "power(x, 2)", "exp(x)", "ln(x)", "initcap(s)", "split(s, ' ')",
        "s RLIKE 'a+'", "s ILIKE 'A%'", "CAST(s AS BIGINT)", "CAST(x AS STRING)", "CAST(s AS BOOLEAN)",
        "TRY_CAST(s AS INT)", "a = x", "s LIKE t", "s LIKE 'a\\%'", "x || s", "p || s", "greatest(x * y, 1.0)",
        "IF(p, a, s)", "coalesce(a, x)", "substring(s, a)", "trim(s, 'a')", "a + p", "s > a", "99999999999999999999",
    ],
)  # fmt: skip
def test_what_differs_has_no_spark_form(text: str) -> None:
    with pytest.raises(NoSparkForm):
        spark_form(text, {"key": Typed("'k'", SqlType.STRING), "value": typed_row()})
