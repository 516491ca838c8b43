"""Takes the user's functions: a Python callable with as many arguments as it likes of those on offer, or a SQL string.

What a step gets is a `Function` whose `call` takes all arguments, so that the runtime need not ask. A PySpark Column
runs in the native lane only (plan/lane.py says so to whoever runs it elsewhere), as filter, map_values, select_key or
branch; in any other place it is refused here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from caudal.plan.errors import PlanError
from caudal.plan.functions import Function

if TYPE_CHECKING:
    from pyspark.sql import Column

UserFunction: TypeAlias = "Callable[..., Any] | str | Column | Function"
_INSTEAD = "give a Python function or a SQL string ('amount > 0') here."
_TAKE_COLUMNS = ("filter()", "filter_not()", "map_values()", "select_key()", "branch()")


def key_value(given: UserFunction, operator: str) -> Function:
    """For functions of (key, value); one argument is the value."""
    return _function(given, operator, ("key", "value"), {2: (0, 1), 1: (1,)})


def negated_predicate(given: UserFunction, operator: str) -> tuple[Function, bool]:
    """For filter_not: the function, and whether its result is to be negated. SQL negates by itself: unknown stays
    unknown.
    """
    if isinstance(given, str):
        key_value(given, operator)  # a mistake is said about the text that the user wrote
        return key_value(f"NOT ({given})", operator), False
    return key_value(given, operator), True


def joiner(given: UserFunction, operator: str) -> Function:
    """For functions of (left, right), or (key, left, right)."""
    return _function(given, operator, ("key", "left", "right"), {2: (1, 2), 3: (0, 1, 2)})


def aggregator(given: UserFunction, operator: str) -> Function:
    """For functions of (key, value, aggregate)."""
    return _function(given, operator, ("key", "value", "aggregate"), {3: (0, 1, 2)})


def reducer(given: UserFunction, operator: str) -> Function:
    """For functions of (aggregate, value)."""
    return _function(given, operator, ("aggregate", "value"), {2: (0, 1)})


def initializer(given: UserFunction, operator: str) -> Function:
    """For functions of nothing."""
    return _function(given, operator, (), {0: ()})


def timestamp_extractor(given: UserFunction, operator: str) -> Function:
    """For functions of (key, value, timestamp); two arguments are key and value, one is the value."""
    return _function(given, operator, ("key", "value", "timestamp"), {3: (0, 1, 2), 2: (0, 1), 1: (1,)})


def topic_chooser(given: Callable[..., Any], operator: str) -> Function:
    """For functions of (key, value, record context); two arguments are key and value."""
    return _function(given, operator, ("key", "value", "context"), {3: (0, 1, 2), 2: (0, 1), 1: (1,)})


def partitioner(given: Callable[..., Any], operator: str) -> Function:
    """For functions of (topic, key, value, partitions); three arguments leave the topic out."""
    return _function(given, operator, ("topic", "key", "value", "partitions"), {4: (0, 1, 2, 3), 3: (1, 2, 3)})


def supplier(given: Callable[..., Any], operator: str) -> Function:
    """For a class or function that makes a processor: called without arguments, once per task."""
    if not callable(given):
        raise PlanError(
            f"{operator} needs a class or a function that makes the processor, not {given!r}: each task gets its own."
        )
    return Function(given)


def by_reducer(reduce: Function) -> Function:
    """A reducer in the place of an aggregator."""
    call = reduce.call

    def aggregate(key: Any, value: Any, aggregate: Any) -> Any:
        return call(aggregate, value)

    return Function(aggregate, reduce.sql, reduce.original or call)


def merging_by_reducer(reduce: Function) -> Function:
    """A reducer in the place of a session merger."""
    call = reduce.call

    def merge(key: Any, left: Any, right: Any) -> Any:
        return call(left, right)

    return Function(merge, reduce.sql, reduce.original or call)


def _zero() -> int:
    return 0


def _add_one(key: Any, value: Any, aggregate: int) -> int:
    return aggregate + 1


def _subtract_one(key: Any, value: Any, aggregate: int) -> int:
    return aggregate - 1


def _add_both(key: Any, left: int, right: int) -> int:
    return left + right


ZERO = Function(_zero, "0")
ADD_ONE = Function(_add_one, "aggregate + 1")
SUBTRACT_ONE = Function(_subtract_one, "aggregate - 1")
ADD_BOTH = Function(_add_both, "left + right")


def _function(given: Any, operator: str, arguments: tuple[str, ...], accepted: dict[int, tuple[int, ...]]) -> Function:
    if isinstance(given, Function):
        return given
    if isinstance(given, str):
        from caudal.plan.expressions import expression  # needs sqlglot, which a plan of Python functions does not

        return Function(expression(given, arguments), sql=given)
    if _is_column(given):
        refused = f"{operator} got a PySpark Column, which runs in the native lane only; " + _INSTEAD
        if operator not in _TAKE_COLUMNS:
            raise PlanError(f"{operator} got a PySpark Column, which it does not take in any lane; {_INSTEAD}")
        return Function(_refusing(refused), column=given)
    if not callable(given):
        raise PlanError(f"{operator} needs a function or a SQL string, not {type(given).__name__} {given!r}.")
    count = _arguments_taken(given, accepted)
    if count is None:
        ways = " or ".join(f"({', '.join(arguments[i] for i in chosen)})" for chosen in accepted.values())
        raise PlanError(f"{operator} calls its function with {ways}; {_shown(given)} does not take that.")
    chosen = accepted[count]
    if chosen == tuple(range(len(arguments))):
        return Function(given)
    return Function(_adapted(given, chosen, len(arguments)), original=given)


def _refusing(sentence: str) -> Callable[..., Any]:
    def refuse(*_: Any) -> Any:
        raise PlanError(sentence)

    return refuse


def _is_column(given: Any) -> bool:
    kind = type(given)
    return kind.__name__ == "Column" and kind.__module__.startswith("pyspark.")


def _arguments_taken(given: Callable[..., Any], accepted: dict[int, tuple[int, ...]]) -> int | None:
    """Which of the accepted numbers of arguments the callable takes; None where it takes none of them."""
    try:
        parameters = inspect.signature(given).parameters.values()
    except (TypeError, ValueError):
        # int, str and some built-ins do not say; they take what they are given, and one value is what is meant.
        return min(accepted)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = sum(p.default is p.empty for p in positional)
    if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        return None
    most = 1000 if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(positional)
    if required in accepted:
        return required
    fitting = [count for count in accepted if required <= count <= most]
    return max(fitting) if fitting else None


def _adapted(given: Callable[..., Any], chosen: tuple[int, ...], total: int) -> Callable[..., Any]:
    """The callable behind one that takes all arguments. Written out: this is called for every record."""
    if total == 2 and chosen == (1,):
        return lambda key, value: given(value)
    if total == 3 and chosen == (1, 2):
        return lambda key, left, right: given(left, right)
    if total == 3 and chosen == (0, 1):
        return lambda key, value, other: given(key, value)
    if total == 3 and chosen == (1,):
        return lambda key, value, other: given(value)
    if total == 4 and chosen == (1, 2, 3):
        return lambda topic, key, value, partitions: given(key, value, partitions)
    raise AssertionError(f"no way to call with {chosen} of {total}")


def _shown(given: Callable[..., Any]) -> str:
    name = getattr(given, "__qualname__", type(given).__qualname__)
    try:
        return f"{name}{inspect.signature(given)}"
    except (TypeError, ValueError):
        return str(name)
