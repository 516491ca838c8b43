"""Functions of the users' own: types from hints, what is refused, folders, and the same ones in another process."""

from __future__ import annotations

import base64
import datetime
import decimal
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Optional, TypeVar

import pytest

import caudal
from caudal.ksql import load_folder, processing_log, udaf, udf, udtf
from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions.aggregation import Aggregation
from caudal.ksql.expressions.compiled import compile_value
from caudal.ksql.expressions.evaluate import evaluate
from caudal.ksql.expressions.scope import Binding, Scope, Where
from caudal.ksql.functions import origins, registry, resolution
from caudal.ksql.syntax.parser import parse_expression
from caudal.ksql.syntax.tree import Call
from caudal.ksql.types import BIGINT, STRING

T = TypeVar("T")


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test defines is gone after it."""
    resolution.load()
    tables: list[dict[str, Any]] = [registry.SCALARS, registry.AGGREGATES, registry.TABLE_FUNCTIONS]
    before = [dict(table) for table in tables]
    for name in ("_owners", "_folders", "_modules"):
        monkeypatch.setattr(origins, name, {})
    monkeypatch.setattr(origins, "_problems", [])
    yield
    for table, old in zip(tables, before, strict=True):
        table.clear()
        table.update(old)


def signatures(name: str) -> list[str]:
    return [f"{one.signature} -> {one.returns}" for one in resolution.describe(name).variations]


# -- scalars --


def test_types_from_hints() -> None:
    @udf
    def u_all(
        a: int, b: float, c: str, d: bool, e: bytes, f: datetime.date, g: datetime.time, h: datetime.datetime,
        i: list[int], j: dict[str, list[float]], k: int | None, m: Optional[str],  # noqa: UP045
    ) -> list[str]:  # fmt: skip
        """All of them.

        And more."""
        return []

    assert signatures("U_ALL") == [
        "U_ALL(BIGINT a, DOUBLE b, STRING c, BOOLEAN d, BYTES e, DATE f, TIME g, TIMESTAMP h, ARRAY<BIGINT> i, "
        "MAP<STRING, ARRAY<DOUBLE>> j, BIGINT k, STRING m) -> ARRAY<STRING>"
    ]
    assert resolution.describe("u_all").overview == "All of them."
    assert resolution.describe("u_all").author == "User"


def test_call_with_implicit_casts_and_null() -> None:
    @udf
    def u_twice(a: int) -> int:
        return 2 * a

    assert evaluate("U_TWICE(i)", {"I": ("INTEGER", 4)}) == (BIGINT, 8)
    assert evaluate("u_twice(i) + 1", {"I": ("INTEGER", None)})[1] is None
    with pytest.raises(KsqlError, match="does not accept parameters \\(STRING\\)"):
        evaluate("U_TWICE('x')")


def test_name_description_author_and_types_in_sql() -> None:
    @udf("U_Price", params="a DECIMAL, n INTEGER", returns="DECIMAL(10, 2)", description="A price.", author="Ana")
    def price(a, n):  # type: ignore[no-untyped-def]
        return (a * n).quantize(decimal.Decimal("0.01"))

    found = resolution.describe("U_PRICE")
    assert (found.overview, found.author) == ("A price.", "Ana")
    kind, value = evaluate("U_PRICE(1.255, 2)")
    assert (str(kind), value) == ("DECIMAL(10, 2)", decimal.Decimal("2.51"))


def test_params_as_a_list_and_lambdas() -> None:
    @udf(params=["ARRAY<T>", "(T) => BOOLEAN"], returns="INTEGER")
    def u_count_if(items, test):  # type: ignore[no-untyped-def]
        return sum(1 for item in items if test(item))

    assert evaluate("U_COUNT_IF(ARRAY[1, 5, 9], x => x > 3)")[1] == 2

    @udf(params="items ARRAY<T>, test (T) => BOOLEAN", returns="T")
    def u_first(items, test):  # type: ignore[no-untyped-def]
        return next((item for item in items if test(item)), None)

    assert evaluate("U_FIRST(ARRAY[1, 5, 9], x => x > 3)")[1] == 5


def test_type_variables_varargs_and_defaults() -> None:
    @udf
    def u_last(first: T, *rest: T) -> T:
        return rest[-1] if rest else first

    assert signatures("U_LAST") == ["U_LAST(T first, T... rest) -> T"]
    assert evaluate("U_LAST('a', 'b', 'c')") == (STRING, "c")

    @udf
    def u_pad(text: str, length: int = 3, sign: str = "_") -> str:
        return text.ljust(length, sign)

    assert len(signatures("U_PAD")) == 3
    assert [evaluate(f"U_PAD({given})")[1] for given in ("'a'", "'a', 2", "'a', 2, '.'")] == ["a__", "a_", "a."]


def test_optional_parameters_see_null_and_others_do_not() -> None:
    @udf
    def u_or(a: int | None, b: str) -> str:
        return f"{a} {b}"

    row = {"A": ("BIGINT", None), "B": ("STRING", "x"), "N": ("STRING", None)}
    assert evaluate("U_OR(a, b)", row)[1] == "None x"
    assert evaluate("U_OR(1, n)", row)[1] is None


def test_overloads_of_one_name() -> None:
    @udf("U_KIND")
    def of_text(a: str) -> str:
        return "text"

    @udf("U_KIND")
    def of_number(a: int) -> str:
        return "number"

    assert (evaluate("U_KIND('a')")[1], evaluate("U_KIND(1)")[1]) == ("text", "number")


def test_failure_is_null_with_a_line() -> None:
    @udf
    def u_bad(a: int) -> int:
        raise RuntimeError("broken")

    with processing_log.collected() as lines:
        assert evaluate("U_BAD(1)")[1] is None
    assert processing_log.message_of(lines[0]) == "broken"


@pytest.mark.parametrize(
    ("returns", "given", "expected"),
    [
        ("DOUBLE", 1, 1.0),
        ("BIGINT", True, 1),
        ("DECIMAL(5, 2)", decimal.Decimal("1.005"), decimal.Decimal("1.01")),
        ("DECIMAL(5, 2)", 7, decimal.Decimal("7.00")),
        ("TIMESTAMP", datetime.datetime(2026, 1, 1, microsecond=1999),
         datetime.datetime(2026, 1, 1, microsecond=1000, tzinfo=datetime.UTC)),
        ("BIGINT", 2**63, None),
        ("INTEGER", 2**31, None),
        ("BIGINT", "1", None),
        ("STRING", 1, None),
        ("DECIMAL(3, 2)", 10, None),
        ("TIMESTAMP", "now", None),
        ("STRING", None, None),
    ],
)  # fmt: skip
def test_result_is_made_what_the_type_says(returns: str, given: Any, expected: Any) -> None:
    @udf(params="a INTEGER", returns=returns)
    def u_given(a: int) -> Any:
        return given

    with processing_log.collected() as lines:
        found = evaluate("U_GIVEN(1)")[1]
    assert (type(found), found) == (type(expected), expected)
    assert len(lines) == (expected is None and given is not None)


# -- what is refused --


def no_hint(a) -> int:  # type: ignore[no-untyped-def]
    return 1


def no_result(a: int):  # type: ignore[no-untyped-def]
    return 1


def of_decimal(a: decimal.Decimal) -> int:
    return 1


def of_object(a: object) -> int:
    return 1


def of_two(a: int | str) -> int:
    return 1


def of_list(a: list) -> int:  # type: ignore[type-arg]
    return 1


def by_name(*, a: int) -> int:
    return 1


def kwargs(**a: int) -> int:
    return 1


@pytest.mark.parametrize(
    ("call", "options", "message"),
    [
        (no_hint, {}, "Function NO_HINT: parameter 'a' has no type hint"),
        (no_result, {}, "Function NO_RESULT: the result has no type hint"),
        (of_decimal, {}, "parameter 'a' is a Decimal, whose precision a hint does not say"),
        (of_object, {}, "has the type hint object, which is no type of SQL"),
        (of_two, {}, "which is no type of SQL"),
        (of_list, {}, "has the type hint list, which is no type of SQL"),
        (by_name, {}, "SQL has no arguments by name, such as 'a'"),
        (kwargs, {}, "SQL has no arguments by name"),
        (of_object, {"params": "a NOPE"}, "bad params='a NOPE': Bad signature"),
        (of_object, {"params": "a STRING", "returns": "NOPE"}, "bad returns='NOPE'"),
        (of_object, {"params": ["NOPE"]}, "'NOPE' is no type"),
        (of_object, {"name": "a b"}, "'a b' is no name for a function"),
        (of_object, {"name": "SUM", "params": "a STRING"}, "there is a built-in function of that name"),
        (of_object, {"name": "abs", "params": "a STRING"}, "there is a built-in function of that name"),
    ],
)
def test_refused(call: Callable[..., Any], options: dict[str, Any], message: str) -> None:
    options = dict(options)
    before = set(resolution.names())
    with pytest.raises(origins.BadFunction) as caught:
        udf(options.pop("name", None), **options)(call)
    assert message in caught.value.message
    assert set(resolution.names()) == before


# -- aggregates and table functions --

SCOPE = Scope([Binding("A", BIGINT, Where.VALUE, 0)])


def aggregate(text: str, *values: Any) -> tuple[Any, Aggregation]:
    call = parse_expression(text)
    assert isinstance(call, Call)
    made = Aggregation([(call, "X")], SCOPE)
    state = made.initial()
    for value in values:
        state = made.add((), (value,), state)
    return made.results(state)[0], made


def test_aggregate() -> None:
    @udaf(description="The mean.")
    class U_Mean:
        def initial(self) -> list[int]:
            return [0, 0]

        def add(self, state: list[int], value: int) -> list[int]:
            return [state[0] + value, state[1] + 1]

        def undo(self, state: list[int], value: int) -> list[int]:
            return [state[0] - value, state[1] - 1]

        def merge(self, left: list[int], right: list[int]) -> list[int]:
            return [left[0] + right[0], left[1] + right[1]]

        def result(self, state: list[int]) -> float:
            return state[0] / state[1]

    found, made = aggregate("U_MEAN(a)", 1, None, 4)
    assert found == 2.5
    assert [str(one) for one in (*made.state_types, *made.result_types)] == ["ARRAY<BIGINT>", "DOUBLE"]
    assert made.can_undo and made.undo((), (4,), ([5, 2],)) == ([1, 1],)
    assert made.merge((), ([1, 1],), ([2, 1],)) == ([3, 2],)
    assert resolution.describe("U_MEAN").kind == "AGGREGATE"


def test_aggregate_with_a_literal_and_the_state_as_result() -> None:
    @udaf("U_MOST")
    class Most:
        def __init__(self, most: int) -> None:
            self.most = most

        def initial(self) -> int:
            return 0

        def add(self, state: int, value: int | None) -> int:
            return state if value is None else min(self.most, state + value)

        def merge(self, left: int, right: int) -> int:
            return min(self.most, left + right)

    found, made = aggregate("U_MOST(a, 10)", 4, None, 9)
    assert found == 10
    assert not made.can_undo and made.cannot_undo() == ["U_MOST"]
    with pytest.raises(KsqlError, match="must be a literal constant"):
        aggregate("U_MOST(a, a)")


def test_aggregate_of_any_type_said_in_sql() -> None:
    @udaf("U_FIRST_OF", params="value T", state="ARRAY<T>", returns="T")
    class First:
        def initial(self):  # type: ignore[no-untyped-def]
            return []

        def add(self, state, value):  # type: ignore[no-untyped-def]
            return state or [value]

        def merge(self, left, right):  # type: ignore[no-untyped-def]
            return left or right

        def result(self, state):  # type: ignore[no-untyped-def]
            return state[0] if state else None

    found, made = aggregate("U_FIRST_OF(a)", 4, 5)
    assert (found, made.result_types) == (4, (BIGINT,))


def test_aggregate_without_a_method() -> None:
    with pytest.raises(origins.BadFunction, match="The aggregate Half has no method 'merge'"):

        @udaf
        class Half:
            def initial(self) -> int:
                return 0

            def add(self, state: int, value: int) -> int:
                return 0


def test_table_function() -> None:
    @udtf
    def u_up_to(n: int) -> Iterator[int]:
        yield from range(n)

    function, row, _ = resolution.table_function("U_UP_TO", [BIGINT])
    assert row == BIGINT and list(function.call(3)) == [0, 1, 2]
    with pytest.raises(origins.BadFunction, match="must return list\\[T\\] or Iterator\\[T\\]"):

        @udtf
        def u_one(n: int) -> int:
            return n


# -- folders --


def test_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "json.py").write_text(
        "from caudal.ksql import udf\n\n\n@udf\ndef u_loaded(a: int) -> int:\n    return a + 1\n"
    )
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n")
    (tmp_path / "clash.py").write_text("from caudal.ksql import udf\n\n\n@udf\ndef len_(a) -> int:\n    return 1\n")
    (tmp_path / "notes.txt").write_text("not Python")
    loaded = load_folder(tmp_path)
    assert loaded.names == ["U_LOADED"]
    assert len(loaded.problems) == 2
    assert "broken.py was not loaded: ModuleNotFoundError: No module named 'nothing_of_that_name'" in loaded.problems[0]
    assert "clash.py was not loaded: BadFunction" in loaded.problems[1]
    assert origins.problems() == loaded.problems and "broken.py" in caplog.text
    assert evaluate("U_LOADED(1)")[1] == 2
    assert origins.owner("u_loaded") == str(tmp_path / "json.py")
    assert sys.modules["json"].__file__ != str(tmp_path / "json.py")
    assert load_folder(tmp_path) is loaded  # once


def test_two_files_cannot_define_the_same(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("from caudal.ksql import udf\n\n\n@udf\ndef u_x(a: int) -> int:\n    return 1\n")
    loaded = load_folder(tmp_path)
    assert loaded.names == ["U_X"]
    assert "a.py has defined it already" in loaded.problems[0]


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    assert "is not there" in load_folder(tmp_path / "none").problems[0]


_FRESH = """
import base64, pickle, sys
compiled = pickle.loads(base64.b64decode(sys.argv[1]))
print(compiled((), (20,)))
"""


def run(program: str, *arguments: str, **environment: str) -> str:
    source = str(Path(caudal.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": source, **environment},
    )  # fmt: skip
    return done.stdout.strip() or done.stderr


def test_another_process_loads_the_same_functions(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from caudal.ksql import udf\n\n\n@udf\ndef u_there(a: int) -> int:\n    return a + 1\n"
    )
    load_folder(tmp_path)
    compiled = compile_value(parse_expression("U_THERE(a)"), SCOPE)
    assert run(_FRESH, base64.b64encode(pickle.dumps(compiled)).decode()) == "21"


def test_folders_of_the_environment(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from caudal.ksql import udf\n\n\n@udf\ndef u_env(a: int) -> int:\n    return a + 1\n"
    )
    program = "from caudal.ksql.expressions.evaluate import evaluate; print(evaluate('U_ENV(1)')[1])"
    assert run(program, CAUDAL_KSQL_EXT_DIR=str(tmp_path)) == "2"


def test_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    class Point:
        name, value = "mine", "a.module"

        def load(self) -> None:
            loaded.append(self.value)

    class Broken(Point):
        def load(self) -> None:
            raise ImportError("gone")

    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Broken(), Point()])
    origins.load_configured()
    assert loaded == ["a.module"]
    assert origins.problems() == ["Entry point mine (a.module) was not loaded: ImportError: gone"]
