"""The aggregates of a GROUP BY as one: a state tuple that rows are added to, with one generated function per operation.

`add` of COUNT and SUM is a few bytecodes: what they do stands in the generated text (`Udaf.inline_add`). Others are
called. An argument that cannot be computed counts as NULL; where an aggregate itself fails, its state stays as it was;
both leave a line in the processing log.

Expressions around aggregates (`SUM(a) / COUNT(*)`) are the planner's: it names the results and computes with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal as Number
from typing import Any

from caudal.ksql import processing_log
from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions import typed
from caudal.ksql.expressions.codegen import Writer, define
from caudal.ksql.expressions.coercion import convert
from caudal.ksql.expressions.compiled import Part, compile_row
from caudal.ksql.expressions.scope import Binding, Scope
from caudal.ksql.expressions.typed import Typed
from caudal.ksql.expressions.typing import resolve
from caudal.ksql.functions import origins, resolution
from caudal.ksql.functions.registry import Udaf
from caudal.ksql.syntax.format import format_expression
from caudal.ksql.syntax.tree import Call, Expression, Star
from caudal.ksql.types import SqlType

# States of these types can be shared between keys: nobody can change them.
_UNCHANGING = (int, float, str, bytes, Number, type(None))


class _Member:
    """One of the aggregates: the `Udaf` for its types, and what its arguments are."""

    __slots__ = ("arguments", "call", "targets", "trees", "udaf")

    def __init__(self, call: Call, scope: Scope) -> None:
        self.call = call
        given = () if any(isinstance(one, Star) for one in call.arguments) else call.arguments
        nodes = [resolve(one, scope) for one in given]
        definition, signature, parameters, _ = resolution.aggregate_call(
            call.name, [node.type for node in nodes], call.at
        )
        slots = signature.aligned(len(nodes))
        assert slots is not None
        converted = [convert(node, of, one.at) for node, of, one in zip(nodes, parameters, given, strict=True)]
        literals: list[Any] = []
        self.arguments: list[Typed] = []
        self.trees: list[Expression] = []
        self.targets: list[SqlType] = []
        for index, (slot, node) in enumerate(zip(slots, converted, strict=True)):
            literals.append(node.value if isinstance(node, typed.Constant) else None)
            if slot.is_initial:
                if not isinstance(node, typed.Constant):
                    raise KsqlError(
                        f"Parameter {index + 1} passed to function {call.name} must be a literal constant, but was "
                        f"expression: '{format_expression(given[index])}'.",
                        given[index].at,
                    )
            else:
                self.arguments.append(node)
                self.trees.append(given[index])
                self.targets.append(parameters[index])
        try:
            self.udaf: Udaf = definition.make(parameters, literals)
        except KsqlError as error:
            error.at = error.at or call.at
            raise
        except (ValueError, TypeError) as error:
            raise KsqlError(f"Function '{call.name}' cannot be used like this: {error}", call.at) from error


class Aggregation:
    """
    >>> from caudal.ksql.expressions.scope import Where
    >>> from caudal.ksql.syntax.parser import parse_expression
    >>> from caudal.ksql.types import INTEGER
    >>> scope = Scope([Binding("A", INTEGER, Where.VALUE, 0)])
    >>> calls = [(parse_expression("COUNT(*)"), "N"), (parse_expression("SUM(a)"), "S")]
    >>> both = Aggregation(calls, scope)
    >>> state = both.add((), (5,), both.add((), (4,), both.initial()))
    >>> both.results(state), [str(one) for one in both.result_types]
    ((2, 9), ['BIGINT', 'INTEGER'])
    """

    __slots__ = (
        "_arguments", "_members", "add", "aliases", "bindings", "calls", "initial", "is_windowed", "merge", "results",
        "sources", "undo", "what",
    )  # fmt: skip

    def __init__(self, calls: Sequence[tuple[Call, str]], scope: Scope, what: str = "") -> None:
        self.calls = tuple((call, alias) for call, alias in calls)
        self.aliases = tuple(alias for _, alias in self.calls)
        self.bindings = scope.bindings
        self.is_windowed = scope.is_windowed
        self.what = what
        self._members = [_Member(call, scope) for call, _ in self.calls]
        items = [pair for one in self._members for pair in zip(one.trees, one.targets, strict=True)]
        self._arguments = compile_row(items, scope, what)
        self.sources: dict[str, str] = {}
        self.initial: Callable[[], tuple[Any, ...]] = Part(self, "initial", self._initial_function())
        self.add: Callable[[Any, Any, Any], tuple[Any, ...]] = Part(self, "add", self._step("add"))
        self.undo: Callable[[Any, Any, Any], tuple[Any, ...]] = Part(self, "undo", self._step("undo"))
        self.merge: Callable[[Any, Any, Any], tuple[Any, ...]] = Part(self, "merge", self._merge_function())
        self.results: Callable[[Any], tuple[Any, ...]] = Part(self, "results", self._results_function())

    @property
    def state_types(self) -> tuple[SqlType, ...]:
        return tuple(one.udaf.state_type for one in self._members)

    @property
    def result_types(self) -> tuple[SqlType, ...]:
        return tuple(one.udaf.result_type for one in self._members)

    @property
    def can_undo(self) -> bool:
        return all(one.udaf.undo is not None for one in self._members)

    def cannot_undo(self) -> list[str]:
        """The names of the aggregates that a table cannot have."""
        return [one.call.name for one in self._members if one.udaf.undo is None]

    @property
    def sql(self) -> str:
        return ", ".join(format_expression(call) for call, _ in self.calls)

    # -- generated --

    def _step(self, operation: str) -> Callable[..., Any]:
        """`add` or `undo`: the arguments once, then each aggregate's new state."""
        if operation == "undo" and not self.can_undo:
            return self._cannot
        writer = Writer(windowed=self.is_windowed)
        writer.globals["failed"] = self._failed_add if operation == "add" else self._failed_undo
        lines = writer.reads([node for one in self._members for node in one.arguments])
        states = [f"s{index}" for index in range(len(self._members))]
        steps: list[str] = []
        made: list[str] = []
        for state, one in zip(states, self._members, strict=True):
            atoms: list[str] = []
            for node in one.arguments:
                text = writer.text(node)
                if not text.isidentifier() and not isinstance(node, typed.Constant):
                    name = writer.temporary()
                    steps.append(f"{name} = {text}")
                    text = name
                atoms.append(text)
            if operation == "add" and one.udaf.inline_add is not None:
                made.append(f"({one.udaf.inline_add.format(*atoms, s=state)})")
            else:
                name = writer.function(getattr(one.udaf, operation), one.call.name)
                made.append(f"{name}({', '.join([state, *atoms])})")
        body = [*lines, *writer.spilled(), *steps, f"{_targets(states)} = state", f"return {_tuple(made)}"]
        guarded = [
            "try:",
            *(f"    {line}" for line in body),
            "except Exception:",
            "    return failed(key, value, state)",
        ]
        call, self.sources[operation] = define(operation, "key, value, state", guarded, writer.globals)
        return call

    def _merge_function(self) -> Callable[..., Any]:
        writer = Writer()
        left = [f"l{index}" for index in range(len(self._members))]
        right = [f"r{index}" for index in range(len(self._members))]
        made = [
            f"{writer.function(one.udaf.merge, one.call.name)}({a}, {b})"
            for one, a, b in zip(self._members, left, right, strict=True)
        ]
        writer.globals["failed"] = self._failed_merge
        body = [
            "try:",
            f"    {_targets(left)} = left",
            f"    {_targets(right)} = right",
            f"    return {_tuple(made)}",
            "except Exception:",
            "    return failed(left, right)",
        ]
        call, self.sources["merge"] = define("merge", "key, left, right", body, writer.globals)
        return call

    def _results_function(self) -> Callable[..., Any]:
        writer = Writer()
        states = [f"s{index}" for index in range(len(self._members))]
        made: list[str] = []
        for state, one in zip(states, self._members, strict=True):
            if one.udaf.inline_result is not None:
                made.append(f"({one.udaf.inline_result.format(s=state)})")
            elif type(one.udaf).result is Udaf.result:
                made.append(state)
            else:
                made.append(f"{writer.function(one.udaf.result, one.call.name)}({state})")
        writer.globals["failed"] = self._failed_results
        body = [
            "try:",
            f"    {_targets(states)} = state",
            f"    return {_tuple(made)}",
            "except Exception:",
            "    return failed(state)",
        ]
        call, self.sources["results"] = define("results", "state", body, writer.globals)
        return call

    def _initial_function(self) -> Callable[..., Any]:
        first = tuple(one.udaf.initial() for one in self._members)
        if all(isinstance(state, _UNCHANGING) for state in first):
            return lambda: first
        members = self._members
        return lambda: tuple(one.udaf.initial() for one in members)

    # -- the slow path: each aggregate alone --

    def _failed_add(self, key: Any, value: Any, state: Any) -> tuple[Any, ...]:
        return self._one_by_one("add", key, value, state)

    def _failed_undo(self, key: Any, value: Any, state: Any) -> tuple[Any, ...]:
        return self._one_by_one("undo", key, value, state)

    def _one_by_one(self, operation: str, key: Any, value: Any, state: Any) -> tuple[Any, ...]:
        arguments = self._arguments(key, value)
        if arguments is None:
            return tuple(state)  # a tombstone: nothing to add
        states: list[Any] = []
        at = 0
        for one, old in zip(self._members, state, strict=True):
            mine = arguments[at : at + len(one.arguments)]
            at += len(one.arguments)
            states.append(self._tried(one, old, getattr(one.udaf, operation), old, *mine))
        return tuple(states)

    def _failed_merge(self, left: Any, right: Any) -> tuple[Any, ...]:
        return tuple(
            self._tried(one, a, one.udaf.merge, a, b) for one, a, b in zip(self._members, left, right, strict=True)
        )

    def _failed_results(self, state: Any) -> tuple[Any, ...]:
        return tuple(
            self._tried(one, None, one.udaf.result, mine) for one, mine in zip(self._members, state, strict=True)
        )

    def _tried(self, one: _Member, otherwise: Any, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as error:
            place = f" in {self.what}" if self.what else ""
            processing_log.report(f"Error computing aggregate {format_expression(one.call)}{place}", error)
            return otherwise

    def _cannot(self, key: Any, value: Any, state: Any) -> tuple[Any, ...]:
        names = ", ".join(self.cannot_undo())
        raise KsqlError(f"The aggregation function(s) ({names}) cannot be applied to a table source.")

    # -- data --

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.calls, self.bindings, self.is_windowed, self.what, origins.origins())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aggregation) and (other.calls, other.bindings, other.is_windowed) == (
            self.calls,
            self.bindings,
            self.is_windowed,
        )

    def __hash__(self) -> int:
        return hash((self.aliases, self.bindings))

    def __repr__(self) -> str:
        return f"Aggregation({self.sql!r})"


def _tuple(texts: Sequence[str]) -> str:
    return f"({''.join(f'{text}, ' for text in texts)})"


def _targets(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _rebuilt(
    calls: tuple[tuple[Call, str], ...],
    bindings: tuple[Binding, ...],
    is_windowed: bool,
    what: str,
    recorded: Sequence[tuple[str, str]],
) -> Aggregation:
    origins.load_origins(recorded)
    return Aggregation(calls, Scope(bindings, is_windowed=is_windowed), what)
