"""The cases of tests/ksql/functions/*.yaml: every scalar function in SQL, and that each has the kinds of cases due.

A file is a mapping of function names to lists of cases, or one list. A case:

- `sql`: the expression; `columns`: {NAME: [TYPE, value]} that it may name;
- `result`: the value. Bytes are written "0x4142", a TIME "12:30:00", a DATE and a TIMESTAMP as YAML has them or as text
  ("2021-02-03T10:00:00.000"), a DECIMAL as text; `type`: the SQL type of it, where that is worth a test;
- `log`: part of the line in the processing log, where the value cannot be computed (the result is then NULL);
- `error`: part of the message, where the expression is refused, or likewise cannot be computed;
- `kind`: null, empty, boundary or wrong type; an ordinary case has none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions.evaluate import evaluate
from caudal.ksql.functions import registry, resolution
from caudal.ksql.functions.signatures import parse
from caudal.ksql.processing_log import collected, message_of

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is ten times as fast
FOLDER = Path(__file__).parents[3] / "ksql" / "functions"
KEYS = {"sql", "columns", "result", "type", "log", "error", "kind"}
KINDS = {None, "null", "empty", "boundary", "wrong type"}

# The scalar functions that ksqlDB has, by its documentation.
SCALARS = re.findall(
    "[A-Z0-9_]+",
    """
    ABS ACOS ARRAY_CONCAT ARRAY_CONTAINS ARRAY_DISTINCT ARRAY_EXCEPT ARRAY_INTERSECT ARRAY_JOIN ARRAY_LENGTH ARRAY_MAX
    ARRAY_MIN ARRAY_REMOVE ARRAY_SORT ARRAY_UNION ASIN AS_MAP AS_VALUE ATAN ATAN2 BIGINT_FROM_BYTES CBRT CEIL CHR
    COALESCE CONCAT CONCAT_WS CONVERT_TZ COS COSH COT DATEADD DATESUB DATETOSTRING DEGREES DOUBLE_FROM_BYTES ELT
    ENCODE ENTRIES EXP EXTRACTJSONFIELD FIELD FILTER FLOOR FORMAT_DATE FORMAT_TIME FORMAT_TIMESTAMP FROM_BYTES
    FROM_DAYS FROM_UNIXTIME GENERATE_SERIES GEO_DISTANCE GREATEST IFNULL INITCAP INSTR INT_FROM_BYTES IS_JSON_STRING
    JSON_ARRAY_CONTAINS JSON_ARRAY_LENGTH JSON_CONCAT JSON_ITEMS JSON_KEYS JSON_RECORDS LCASE LEAST LEN LN LOG LPAD
    MAP_KEYS MAP_UNION MAP_VALUES MASK MASK_KEEP_LEFT MASK_KEEP_RIGHT MASK_LEFT MASK_RIGHT MD5 NULLIF PARSE_DATE
    PARSE_TIME PARSE_TIMESTAMP PI POWER RADIANS RANDOM REDUCE REGEXP_EXTRACT REGEXP_EXTRACT_ALL REGEXP_REPLACE
    REGEXP_SPLIT_TO_ARRAY REPLACE ROUND RPAD SIGN SIN SINH SLICE SPLIT SPLIT_TO_MAP SQRT STRINGTODATE
    STRINGTOTIMESTAMP SUBSTRING TAN TANH TIMEADD TIMESTAMPADD TIMESTAMPSUB TIMESTAMPTOSTRING TIMESUB TO_BYTES
    TO_JSON_STRING TRANSFORM TRIM TRUNC UCASE UNIX_DATE UNIX_TIMESTAMP URL_DECODE_PARAM URL_ENCODE_PARAM
    URL_EXTRACT_FRAGMENT URL_EXTRACT_HOST URL_EXTRACT_PARAMETER URL_EXTRACT_PATH URL_EXTRACT_PORT URL_EXTRACT_PROTOCOL
    URL_EXTRACT_QUERY UUID
    """,
)


def every_case() -> Iterator[tuple[str | None, dict[str, Any]]]:
    for path in sorted(FOLDER.glob("*.yaml")):
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)
        for name, cases in content.items() if isinstance(content, dict) else [(None, content)]:
            for case in cases:
                yield name, case


CASES = list(every_case())


def shown(value: Any) -> Any:
    """As a case writes it."""
    if isinstance(value, bytes):
        return "0x" + value.hex().upper()
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="milliseconds")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list):
        return [shown(one) for one in value]
    if isinstance(value, dict):
        return {key: shown(one) for key, one in value.items()}
    if isinstance(value, float):  # so that 1.0 is not 1, nor -0.0 0.0, and NaN is itself
        return "NaN" if math.isnan(value) else f"{value!r}"
    return f"{value}" if isinstance(value, bool) else value


def called_in(case: dict[str, Any]) -> list[str]:
    """The functions that a case calls, the outermost first."""
    return re.findall(r"\b([A-Z][A-Z0-9_]*)\(", case["sql"].upper())


def by_function() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for name, case in CASES:
        found.setdefault(name or (called_in(case) or ["others"])[0], []).append(case)
    return found


def problem_of(case: dict[str, Any]) -> str | None:
    """What is wrong with what a case gives, or with the case."""
    if not case.keys() <= KEYS or case.get("kind") not in KINDS:
        return f"it has keys or a kind that no case has: {case}"
    if ("error" in case) + ("log" in case) + ("result" in case) != 1:
        return "it has one of error, log and result"
    columns = {name: (kind, value) for name, (kind, value) in case.get("columns", {}).items()}
    with collected() as lines:
        try:
            kind, value = evaluate(case["sql"], columns)
        except KsqlError as error:
            return None if "error" in case and case["error"] in str(error) else f"it is refused: {error}"
    messages = [message_of(line) for line in lines]
    if shown(value) != shown(case.get("result")):
        return f"it gives {shown(value)!r}, not {shown(case.get('result'))!r} {messages}"
    wanted = case.get("log", case.get("error"))
    if (value is not None and messages) or (wanted is not None and not any(wanted in one for one in messages)):
        return f"the processing log has {messages}"
    if "type" in case and str(kind) != case["type"]:
        return f"its type is {kind}, not {case['type']}"
    return None


# One test per function: so many cases are dear as tests of their own.
@pytest.mark.parametrize("cases", by_function().values(), ids=by_function())
def test_cases(cases: list[dict[str, Any]]) -> None:
    problems = [(case["sql"], problem) for case in cases if (problem := problem_of(case)) is not None]
    assert not problems, "\n".join(f"{sql}: {problem}" for sql, problem in problems)


def test_every_scalar_function_of_ksqldb_is_there() -> None:
    resolution.load()
    assert sorted(set(SCALARS) - registry.SCALARS.keys()) == []


@cache
def kinds_of() -> dict[str, set[str | None]]:
    """By function, the kinds of the cases under its name, or, in a file that is one list, of those that call it."""
    found: dict[str, set[str | None]] = {name: set() for name in SCALARS}
    for name, case in CASES:
        for one in [name] if name is not None else called_in(case):
            found.setdefault(one, set()).add(case.get("kind"))
    return found


@pytest.mark.parametrize("name", SCALARS)
def test_function_has_the_kinds_of_cases_it_needs(name: str) -> None:
    resolution.load()
    signatures = [parse(text) for one in registry.SCALARS[name] for text in one.signatures]
    parameters = [str(parameter.type) for one in signatures for parameter in one.parameters]
    needed: set[str | None] = {None}
    if parameters:
        needed |= {"null", "boundary", "wrong type"}
    if any(one.startswith(("STRING", "BYTES", "ARRAY", "MAP")) for one in parameters):
        needed.add("empty")
    assert needed - kinds_of()[name] == set()
