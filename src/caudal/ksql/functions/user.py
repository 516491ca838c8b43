"""Functions of the users' own: `@udf`, `@udaf`, `@udtf`.

    from caudal.ksql import udf

    @udf(description="Twice as much.")
    def double(amount: int) -> int:
        return 2 * amount

Types are those of the hints: int is BIGINT, float DOUBLE, str, bool, bytes, date, time, datetime, list[T], dict[K, V]
and type variables as one expects; `params` and `returns` say it in SQL where hints cannot (INTEGER, DECIMAL(10, 2),
STRUCT<…>, lambdas). NULL makes the result NULL without a call, except where a parameter is Optional.

`origins.py` is where they are loaded from.
"""

from __future__ import annotations

import datetime
import decimal
import inspect
import types as python
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

from caudal.ksql.functions import registry
from caudal.ksql.functions.origins import BadFunction, register_owned
from caudal.ksql.functions.registry import Aggregate, Scalar, TableFunction, Udaf
from caudal.ksql.functions.signatures import Signature, parse, parse_pattern
from caudal.ksql.types import Decimal, SqlType

CATEGORY = "USER"
Params = str | Sequence[str] | None
_Call = TypeVar("_Call", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)

_SIMPLE: dict[Any, str] = {
    int: "BIGINT",
    float: "DOUBLE",
    str: "STRING",
    bool: "BOOLEAN",
    bytes: "BYTES",
    datetime.date: "DATE",
    datetime.time: "TIME",
    datetime.datetime: "TIMESTAMP",
}


# -- decorators --------------------------------------------------------------------------------------------------------


@overload
def udf(name: _Call) -> _Call: ...
@overload
def udf(
    name: str | None = None,
    *,
    params: Params = None,
    returns: str | None = None,
    description: str = "",
    author: str = "",
    nulls: bool | None = None,
) -> Callable[[_Call], _Call]: ...
def udf(
    name: str | Callable[..., Any] | None = None,
    *,
    params: Params = None,
    returns: str | None = None,
    description: str = "",
    author: str = "",
    nulls: bool | None = None,
) -> Any:
    """A scalar function. `nulls`: it wants to see NULL; by default where a parameter is Optional."""

    def register(call: Callable[..., Any]) -> Callable[..., Any]:
        shape = _Shape(_name(name, call), call, params, returns)
        seen, needed = shape.nulls(nulls)
        function = Scalar(
            shape.name, shape.signatures(), _described(description, call), CATEGORY,
            _checked_call(call, needed if seen else (), shape.returns), seen, author=author or "User",
        )  # fmt: skip
        register_owned(registry.SCALARS, function, call)
        return call

    return register(name) if callable(name) else register


@overload
def udtf(name: _Call) -> _Call: ...
@overload
def udtf(
    name: str | None = None,
    *,
    params: Params = None,
    returns: str | None = None,
    description: str = "",
    author: str = "",
) -> Callable[[_Call], _Call]: ...
def udtf(
    name: str | Callable[..., Any] | None = None,
    *,
    params: Params = None,
    returns: str | None = None,
    description: str = "",
    author: str = "",
) -> Any:
    """A table function: it returns or yields rows, `returns` is the type of one."""

    def register(call: Callable[..., Any]) -> Callable[..., Any]:
        shape = _Shape(_name(name, call), call, params, returns, is_table=True)
        function = TableFunction(
            shape.name, shape.signatures(), _described(description, call), call, author=author or "User"
        )
        register_owned(registry.TABLE_FUNCTIONS, function, call)
        return call

    return register(name) if callable(name) else register


@overload
def udaf(name: _Class) -> _Class: ...
@overload
def udaf(
    name: str | None = None,
    *,
    params: Params = None,
    state: str | None = None,
    returns: str | None = None,
    description: str = "",
    author: str = "",
) -> Callable[[_Class], _Class]: ...
def udaf(
    name: str | type | None = None,
    *,
    params: Params = None,
    state: str | None = None,
    returns: str | None = None,
    description: str = "",
    author: str = "",
) -> Any:
    """An aggregate: a class with `initial()`, `add(state, value, …)`, `merge(left, right)`, `result(state)` where the
    state is not the result, and `undo(state, value, …)` where it can take rows back. What its constructor takes are
    literals, which come last in the call."""

    def register(of: type) -> type:
        for method in ("initial", "add", "merge"):
            if not callable(getattr(of, method, None)):
                raise BadFunction(f"The aggregate {of.__name__} has no method '{method}'.")
        shape = _AggregateShape(_name(name, of), of, params, state, returns)
        function = Aggregate(
            shape.name, (shape.signature,), _described(description, of), shape.make, author=author or "User"
        )
        register_owned(registry.AGGREGATES, function, of)
        return of

    return register(name) if isinstance(name, type) else register


def _name(given: Any, of: Any) -> str:
    name = given if isinstance(given, str) else of.__name__
    if not name.isidentifier() or not name.isascii():
        raise BadFunction(f"'{name}' is no name for a function.")
    return str(name).upper()


def _described(description: str, of: Any) -> str:
    if description:
        return description
    return (inspect.getdoc(of) or "").split("\n\n")[0].replace("\n", " ")


# -- types from hints --------------------------------------------------------------------------------------------------


class _Hints:
    """SQL for the hints of one function."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.letters: dict[Any, str] = {}

    def sql(self, hint: Any, what: str) -> str:
        if hint in _SIMPLE:
            return _SIMPLE[hint]
        if isinstance(hint, typing.TypeVar):
            return self.letters.setdefault(hint, "TUVWXYZ"[min(len(self.letters), 6)])
        inner, optional = _optional(hint)
        if optional:
            return self.sql(inner, what)
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (list, Sequence) and len(arguments) == 1:
            return f"ARRAY<{self.sql(arguments[0], what)}>"
        if origin is dict and len(arguments) == 2:
            return f"MAP<{self.sql(arguments[0], what)}, {self.sql(arguments[1], what)}>"
        if hint is decimal.Decimal:
            raise BadFunction(
                f"Function {self.name}: {what} is a Decimal, whose precision a hint does not say: give the type in SQL "
                "with params= or returns=."
            )
        if hint is None or hint is inspect.Parameter.empty:
            raise BadFunction(f"Function {self.name}: {what} has no type hint; give one, or params= and returns=.")
        shown = getattr(hint, "__name__", None) or str(hint)
        raise BadFunction(
            f"Function {self.name}: {what} has the type hint {shown}, which is no type of SQL; give it in SQL with "
            "params= or returns=."
        )


def _optional(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) in (typing.Union, python.UnionType):
        rest = [one for one in typing.get_args(hint) if one is not type(None)]
        if len(rest) == 1 and len(typing.get_args(hint)) == 2:
            return rest[0], True
    return hint, False


def _hints_of(call: Any, name: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(call)
    except (NameError, TypeError) as error:
        raise BadFunction(f"Function {name}: its type hints cannot be read: {error}.") from error


def _params(params: Params, name: str) -> list[str] | None:
    """`name TYPE` texts, of `params` given as one text or as types."""
    if params is None:
        return None
    if isinstance(params, str):
        try:
            read = parse(f"({params}) -> STRING")
        except ValueError as error:
            raise BadFunction(f"Function {name}: bad params='{params}': {error}") from error
        return [f"{one.name} {_written(str(one.type))}{'...' if one.variadic else ''}" for one in read.parameters]
    return [f"p{index} {text}" for index, text in enumerate(params, 1)]


def _written(shown: str) -> str:
    return shown.removeprefix("LAMBDA ")


def _returned(returns: str, name: str) -> str:
    try:
        parse_pattern(returns)
    except ValueError as error:
        raise BadFunction(f"Function {name}: bad returns='{returns}': {error}") from error
    return returns


class _Shape:
    """The signatures of a function: one, and one less for every parameter that has a default."""

    def __init__(
        self, name: str, call: Callable[..., Any], params: Params, returns: str | None, *, is_table: bool = False
    ) -> None:
        self.name = name
        self.call = call
        hints = _Hints(name)
        known: dict[str, Any] = {}
        given = _params(params, name)
        if given is None or returns is None:
            known = _hints_of(call, name)
        self.parameters = list(inspect.signature(call).parameters.values())
        for one in self.parameters:
            if one.kind is one.VAR_KEYWORD or (one.kind is one.KEYWORD_ONLY and one.default is one.empty):
                raise BadFunction(f"Function {name}: SQL has no arguments by name, such as '{one.name}'.")
        self.parameters = [one for one in self.parameters if one.kind is not one.KEYWORD_ONLY]
        self.optional = [_optional(known.get(one.name))[1] for one in self.parameters]
        if given is None:
            given = []
            for one in self.parameters:
                text = hints.sql(known.get(one.name, one.empty), f"parameter '{one.name}'")
                given.append(f"{one.name} {text}{'...' if one.kind is one.VAR_POSITIONAL else ''}")
        self.given = given
        if returns is None:
            hint = known.get("return", inspect.Parameter.empty)
            if is_table:
                rows = typing.get_args(hint)
                if typing.get_origin(hint) not in (list, Iterable, Iterator, Sequence) or len(rows) != 1:
                    raise BadFunction(f"Function {name}: a table function must return list[T] or Iterator[T].")
                hint = rows[0]
            returns = hints.sql(hint, "the result")
        self.returns = _returned(returns, name)

    def signatures(self) -> tuple[str, ...]:
        defaults = sum(1 for one in self.parameters if one.default is not one.empty)
        if len(self.given) != len(self.parameters):
            defaults = 0
        found = []
        for left_out in range(defaults + 1):
            used = self.given[: len(self.given) - left_out]
            found.append(_checked(f"({', '.join(used)}) -> {self.returns}", self.name))
        return tuple(found)

    def nulls(self, wanted: bool | None) -> tuple[bool, tuple[int, ...]]:
        """Whether the function sees NULL, and the parameters that must not be NULL nevertheless."""
        if wanted is not None:
            return wanted, ()
        if not any(self.optional):
            return False, ()
        return True, tuple(index for index, optional in enumerate(self.optional) if not optional)


def _checked(text: str, name: str) -> str:
    try:
        parse(text)
    except ValueError as error:
        raise BadFunction(f"Function {name}: {error}") from error
    return text


def _checked_call(call: Callable[..., Any], needed: Sequence[int], returns: str) -> Callable[..., Any]:
    """The function, not called where a parameter that is needed is NULL, its result made what SQL expects of the type:
    a DOUBLE that is an int, or a time without zone, would only fail later, far from here."""
    fit = _FITTING.get(returns.upper())
    pattern = parse_pattern(returns)
    if isinstance(pattern, Decimal):
        from caudal.ksql.expressions.casts import ToDecimal

        fit = ToDecimal(pattern.precision, pattern.scale)
    if fit is None and not needed:
        return call

    def checked(*arguments: Any) -> Any:
        for index in needed:
            if index < len(arguments) and arguments[index] is None:
                return None
        found = call(*arguments)
        return found if found is None or fit is None else fit(found)

    return checked


def _within(bits: int, name: str) -> Callable[[Any], int]:
    limit = 1 << (bits - 1)

    def fit(found: Any) -> int:
        if isinstance(found, int) and -limit <= found < limit:
            return int(found)
        raise ValueError(f"The function returned {found!r}, which is no {name}.")

    return fit


def _utc(found: Any) -> datetime.datetime:
    """Of a time without zone UTC is meant; what is finer than milliseconds is cut."""
    if not isinstance(found, datetime.datetime):
        raise ValueError(f"The function returned {found!r}, which is no TIMESTAMP.")
    aware = found.replace(tzinfo=datetime.UTC) if found.tzinfo is None else found.astimezone(datetime.UTC)
    return aware.replace(microsecond=aware.microsecond // 1000 * 1000)


def _text(found: Any) -> str:
    if isinstance(found, str):
        return found
    raise ValueError(f"The function returned {found!r}, which is no STRING.")


_FITTING: dict[str, Callable[[Any], Any]] = {
    "INTEGER": _within(32, "INTEGER"),
    "INT": _within(32, "INTEGER"),
    "BIGINT": _within(64, "BIGINT"),
    "DOUBLE": float,
    "STRING": _text,
    "VARCHAR": _text,
    "TIMESTAMP": _utc,
}


class _AggregateShape:
    def __init__(self, name: str, of: type, params: Params, state: str | None, returns: str | None) -> None:
        self.name = name
        self.of = of
        hints = _Hints(name)
        adds = list(inspect.signature(of.add).parameters.values())[2:]  # type: ignore[attr-defined]
        known = _hints_of(of.add, name)  # type: ignore[attr-defined]
        given = _params(params, name)
        if given is None:
            given = [
                f"{one.name} {hints.sql(known.get(one.name, one.empty), f'parameter {one.name!r} of add')}"
                for one in adds
            ]
        self.sees_null = any(_optional(known.get(one.name))[1] for one in adds)
        initial = _initials(of)
        if initial:
            of_init = _hints_of(of.__init__, name)  # type: ignore[misc]
            given += [
                f"_{one.name} {hints.sql(of_init.get(one.name, one.empty), f'parameter {one.name!r}')}"
                for one in initial
            ]
        if state is None:
            hint = _hints_of(of.initial, name).get("return", known.get("return"))  # type: ignore[attr-defined]
            state = hints.sql(hint, "the state")
        result = getattr(of, "result", None)
        if returns is None:
            returns = state if result is None else hints.sql(_hints_of(result, name).get("return"), "the result")
        self.state = _returned(state, name)
        self.returns = _returned(returns, name)
        self.values = len(given) - len(initial)
        self.signature = _checked(f"({', '.join(given)}) -> {self.returns}", name)
        self.has_undo = callable(getattr(of, "undo", None))

    def make(self, given: Sequence[SqlType], literals: Sequence[Any]) -> Udaf:
        from caudal.ksql.functions.signatures import match

        both = Signature(parse(self.signature).parameters, parse_pattern(self.state))
        result, state = match(parse(self.signature), given), match(both, given)
        if result is None or result.result is None or state is None or state.result is None:
            raise BadFunction(f"The types of aggregate {self.name} are not known for these arguments.")
        return _UserUdaf(self.of(*literals[self.values :]), state.result, result.result, self)


class _UserUdaf(Udaf):
    def __init__(self, of: Any, state: SqlType, result: SqlType, shape: _AggregateShape) -> None:
        self.of = of
        self.state_type = state
        self.result_type = result
        self._sees_null = shape.sees_null
        self.initial = of.initial  # type: ignore[method-assign]
        self.merge = of.merge  # type: ignore[method-assign]
        if hasattr(of, "result"):
            self.result = of.result  # type: ignore[method-assign]
        if shape.has_undo:
            self.undo = self._undo

    def add(self, state: Any, *arguments: Any) -> Any:
        if not self._sees_null and None in arguments:
            return state
        return self.of.add(state, *arguments)

    def _undo(self, state: Any, *arguments: Any) -> Any:
        if not self._sees_null and None in arguments:
            return state
        return self.of.undo(state, *arguments)

    def result(self, state: Any) -> Any:
        return state


def _initials(of: type) -> list[inspect.Parameter]:
    if of.__init__ is object.__init__:  # type: ignore[misc]
        return []
    return list(inspect.signature(of).parameters.values())
