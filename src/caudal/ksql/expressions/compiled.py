"""Expressions as functions of a row: `compile_value`, `compile_row`, `compile_predicate`, `constant`.

A `Compiled` is data: the parsed expressions, the columns they may name, and the types wanted. The function is generated
from that wherever it is made or unpickled. The fast path computes all items at once and has one `try`; only where it
fails are the items computed one by one, each with its own.

A row whose value is NULL (a tombstone): a predicate is False, a value or row None, without a line in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from caudal.ksql import processing_log
from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions import typed
from caudal.ksql.expressions.codegen import Writer, define
from caudal.ksql.expressions.coercion import convert
from caudal.ksql.expressions.scope import Binding, Scope, Where
from caudal.ksql.expressions.trees import with_types
from caudal.ksql.expressions.typed import Typed
from caudal.ksql.expressions.typing import resolve
from caudal.ksql.functions import origins
from caudal.ksql.syntax.format import format_expression
from caudal.ksql.syntax.tree import Expression
from caudal.ksql.types import BOOLEAN, SqlType

Item = tuple[Expression, SqlType | None]
VALUE, ROW, PREDICATE = "value", "row", "predicate"


def compile_value(expression: Expression, scope: Scope, target: SqlType | None = None, what: str = "") -> Compiled:
    """The value of an expression, made `target` by an implicit cast; NULL and a line in the log where it fails."""
    return Compiled(VALUE, ((expression, target),), scope, what)


def compile_row(items: Iterable[Item], scope: Scope, what: str = "") -> Compiled:
    """The tuple of several; each fails alone."""
    return Compiled(ROW, tuple(items), scope, what)


def compile_predicate(expression: Expression, scope: Scope, what: str = "") -> Compiled:
    """Whether an expression is TRUE; False and a line in the log where it fails."""
    return Compiled(PREDICATE, ((expression, BOOLEAN),), scope, what)


def constant(expression: Expression, target: SqlType | None = None) -> Any:
    """The value of an expression without columns; what goes wrong is a KsqlError."""
    node = _resolved((expression, target), Scope(()))
    writer = Writer()
    text = writer.text(node)
    call, _ = define("constant", "", [*writer.spilled(), f"return {text}"], writer.globals)
    try:
        return call()
    except KsqlError:
        raise
    except Exception as error:
        raise KsqlError(f"{format_expression(expression)} cannot be computed: {error}", expression.at) from error


class Compiled:
    """Called with the key and the value of a row. `source` is the generated text."""

    # A slot, so that calling an instance calls the generated function without a Python function between.
    __slots__ = (
        "__call__", "_one_by_one", "bindings", "function", "is_windowed", "items", "kind", "nodes", "source", "what",
    )  # fmt: skip
    if TYPE_CHECKING:

        def __call__(self, key: Any, value: Any, /) -> Any: ...

    def __init__(self, kind: str, items: tuple[Item, ...], scope: Scope, what: str = "") -> None:
        self.kind = kind
        self.items = items
        self.bindings = scope.bindings
        self.is_windowed = scope.is_windowed
        self.what = what
        self.nodes = tuple(_resolved(item, scope) for item in items)
        self._one_by_one: list[Callable[[Any, Any], Any]] | None = None
        # Custom types by what they are: whoever unpickles it has no catalog.
        self.items = tuple((with_types(one, scope) if scope.types else one, target) for one, target in items)
        writer = Writer(windowed=self.is_windowed)
        writer.globals["failed"] = self._failed
        reads = writer.reads(self.nodes)
        if kind == ROW:
            made = f"({''.join(f'{writer.text(node)}, ' for node in self.nodes)})"
        elif kind == PREDICATE:
            made = writer.condition(self.nodes[0])
        else:
            made = writer.text(self.nodes[0])
        body = [*reads, *writer.spilled(), f"return {made}"]
        lines = ["try:", *(f"    {line}" for line in body), "except Exception:", "    return failed(key, value)"]
        # The generated function itself: who calls it for every record may take it out and save some 60 ns each.
        self.function, self.source = define(kind, "key, value", lines, writer.globals)
        object.__setattr__(self, "__call__", self.function)

    @property
    def type(self) -> SqlType | None:
        return self.nodes[0].type

    @property
    def types(self) -> tuple[SqlType | None, ...]:
        return tuple(node.type for node in self.nodes)

    @property
    def sql(self) -> str:
        return ", ".join(format_expression(expression) for expression, _ in self.items)

    def reads_value(self) -> bool:
        return self._reads({Where.VALUE})

    def reads_key(self) -> bool:
        return self._reads({Where.KEY, Where.WINDOW_START, Where.WINDOW_END})

    def _reads(self, places: set[Where]) -> bool:
        waiting: list[Typed] = list(self.nodes)
        while waiting:
            node = waiting.pop()
            if isinstance(node, typed.Column) and node.binding.where in places:
                return True
            waiting += node.parts
        return False

    # -- the slow path --

    def _failed(self, key: Any, value: Any) -> Any:
        if value is None and self.reads_value():
            return False if self.kind == PREDICATE else None
        if self._one_by_one is None:
            self._one_by_one = [self._guarded(index) for index in range(len(self.nodes))]
        results: list[Any] = []
        for index, call in enumerate(self._one_by_one):
            try:
                results.append(call(key, value))
            except Exception as error:
                self._report(index, error)
                results.append(None)
        if self.kind == ROW:
            return tuple(results)
        return results[0] is True if self.kind == PREDICATE else results[0]

    def _guarded(self, index: int) -> Callable[[Any, Any], Any]:
        """One item, whose casts and nested calls fail alone."""

        def guard(call: Callable[[], Any]) -> Any:
            try:
                return call()
            except Exception as error:
                self._report(index, error)
                return None

        node = self.nodes[index]
        writer = Writer(windowed=self.is_windowed, guard=guard)
        reads = writer.reads([node])
        made = writer.text(node)
        call, _ = define("item", "key, value", [*reads, *writer.spilled(), f"return {made}"], writer.globals)
        return call

    def _report(self, index: int, error: Exception) -> None:
        doing = "evaluating predicate" if self.kind == PREDICATE else "computing expression"
        place = f" in {self.what}" if self.what else ""
        processing_log.report(f"Error {doing} {format_expression(self.items[index][0])}{place}", error)

    # -- data --

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.kind, self.items, self.bindings, self.is_windowed, self.what, origins.origins())

    def _data(self) -> tuple[Any, ...]:
        return self.kind, self.items, self.bindings, self.is_windowed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Compiled) and other._data() == self._data()

    def __hash__(self) -> int:
        return hash((self.kind, len(self.items), self.bindings))

    def __repr__(self) -> str:
        return f"Compiled({self.sql!r})"


class Part:
    """One of several functions of something that is data: called as fast as the function, pickled as `owner.name`."""

    __slots__ = ("__call__", "function", "name", "owner")
    if TYPE_CHECKING:

        def __call__(self, *arguments: Any) -> Any: ...

    def __init__(self, owner: Any, name: str, call: Callable[..., Any]) -> None:
        self.owner = owner
        self.name = name
        self.function = call
        object.__setattr__(self, "__call__", call)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.owner, self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Part) and (other.name, other.owner) == (self.name, self.owner)

    def __hash__(self) -> int:
        return hash((self.name, self.owner))

    def __repr__(self) -> str:
        return f"{self.owner!r}.{self.name}"


def _rebuilt(
    kind: str,
    items: tuple[Item, ...],
    bindings: tuple[Binding, ...],
    is_windowed: bool,
    what: str,
    recorded: Sequence[tuple[str, str]],
) -> Compiled:
    origins.load_origins(recorded)
    return Compiled(kind, items, Scope(bindings, is_windowed=is_windowed), what)


def _resolved(item: Item, scope: Scope) -> Typed:
    expression, target = item
    node = resolve(expression, scope)
    return node if target is None else convert(node, target, expression.at)
