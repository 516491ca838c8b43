"""Where functions are defined: `@scalar`, `@aggregate` and `@table_function`, and the table they fill.

    @scalar("LPAD", "(text STRING, length INTEGER, padding STRING) -> STRING", category="STRING",
            description="The text, filled up from the left to a length.", spark="lpad({0}, {1}, {2})")
    def lpad(text, length, padding): ...

A signature is `(name TYPE, …) -> TYPE`; several signatures with one definition are overloads that share the Python
function. TYPE is a SQL type, a single capital letter that stands for any type (the same one wherever it occurs: `T`,
`ARRAY<T>`, `MAP<K, V>`), DECIMAL for any precision, `TYPE...` for any number of them as the last parameter, or a
lambda's type: `(T) => U`, `(K, V) => BOOLEAN`. Where the result depends on more than that, `returns` computes it from
the types of the arguments, and the text after `->` is what DESCRIBE FUNCTION shows. A lambda reaches the function as a
Python callable.

NULL for any argument gives NULL without a call, unless `nulls=True`. What the function raises makes the value NULL and
a line of the processing log; ValueError and ArithmeticError are expected, with one sentence.

`check` gets the arguments that are literals (None for the others) when a statement is read: its ValueError is the
statement's error, where else every record would fail.

`spark` is the same in Spark SQL, `{0}` for the arguments, only where it gives the same for every value: a test
compares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from caudal.ksql.types import SqlType

_Call = TypeVar("_Call", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)
Check = Callable[[Sequence[Any]], object]
Returns = Callable[[Sequence[SqlType | None]], SqlType]  # None: a NULL literal


@dataclass(frozen=True, slots=True)
class Scalar:
    name: str
    signatures: tuple[str, ...]
    description: str
    category: str
    call: Callable[..., Any]
    nulls: bool = False
    returns: Returns | None = None
    spark: str | None = None
    author: str = "Caudal"
    check: Check | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`make(types, literals)` gives a `Udaf` for these argument types; `literals` are the values of the arguments that
    are constants (None elsewhere): initial arguments such as TOPK's k. `signatures` as for scalars; parameters named
    with a leading underscore are initial arguments, which must be literals."""

    name: str
    signatures: tuple[str, ...]
    description: str
    make: Callable[[Sequence[SqlType], Sequence[Any]], Udaf]
    author: str = "Caudal"


class Udaf:
    """One aggregate for given types. State is a plain SQL value (`state_type`): it is kept in a store.

    `add` gets the arguments that are not initial ones. NULL arguments reach it: most ignore them. It returns the new
    state and must not change the old one (a store may keep it).
    """

    state_type: SqlType
    result_type: SqlType

    def initial(self) -> Any:
        raise NotImplementedError

    def add(self, state: Any, *arguments: Any) -> Any:
        raise NotImplementedError

    def merge(self, left: Any, right: Any) -> Any:
        """Of two sessions that became one; `left` is the older."""
        raise NotImplementedError

    def result(self, state: Any) -> Any:
        return state

    # Aggregates of tables take rows back; those that cannot leave `undo` None.
    undo: Callable[..., Any] | None = None

    # The same as `add` and `result`, as Python expressions of the state `{s}` and the arguments `{0}`, `{1}`… (each may
    # be NULL, and stand there several times): generated code has them instead of a call. Built-in aggregates only.
    inline_add: str | None = None
    inline_result: str | None = None


@dataclass(frozen=True, slots=True)
class TableFunction:
    """`call` returns the rows: an iterable of values. The signature's result is the type of one row."""

    name: str
    signatures: tuple[str, ...]
    description: str
    call: Callable[..., Any]
    returns: Returns | None = None
    author: str = "Caudal"


# By name. A name may have several definitions, of which the first that fits the types is taken.
SCALARS: dict[str, list[Scalar]] = {}
AGGREGATES: dict[str, list[Aggregate]] = {}
TABLE_FUNCTIONS: dict[str, list[TableFunction]] = {}


def scalar(
    name: str,
    *signatures: str,
    description: str,
    category: str,
    nulls: bool = False,
    returns: Returns | None = None,
    spark: str | None = None,
    check: Check | None = None,
) -> Callable[[_Call], _Call]:
    def register(call: _Call) -> _Call:
        made = Scalar(name, signatures, description, category, call, nulls, returns, spark, check=check)
        SCALARS.setdefault(name, []).append(made)
        return call

    return register


def aggregate(name: str, *signatures: str, description: str) -> Callable[[_Call], _Call]:
    """Decorates `make`: a function of the types and literals, or a Udaf class whose constructor takes them."""

    def register(make: _Call) -> _Call:
        AGGREGATES.setdefault(name, []).append(Aggregate(name, signatures, description, make))
        return make

    return register


def table_function(
    name: str, *signatures: str, description: str, returns: Returns | None = None
) -> Callable[[_Call], _Call]:
    def register(call: _Call) -> _Call:
        TABLE_FUNCTIONS.setdefault(name, []).append(TableFunction(name, signatures, description, call, returns))
        return call

    return register
