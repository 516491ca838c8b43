"""From typed trees to the text of a Python function: one expression of Python per expression of SQL.

Everything is an expression, so AND, OR, CASE and COALESCE are lazy by themselves; `:=` keeps what is looked at twice.
Columns are read into locals first. Values and functions are globals of the generated function: only integers, booleans
and names that are made here get into the text.

Where `guarded`, casts and nested calls catch their own errors: that is the slow way, taken for a row where the fast one
failed, so that `COALESCE(CAST('x' AS INT), 0)` is 0 and the log says why.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal as Number
from typing import Any

from caudal.ksql import types
from caudal.ksql.expressions import operators, typed
from caudal.ksql.expressions.casts import caster
from caudal.ksql.expressions.scope import Where
from caudal.ksql.expressions.typed import Typed
from caudal.ksql.types import Base, Decimal, SqlType

# Python's tokenizer takes 200 parentheses within one another; what is deeper becomes a function of its own.
_DEEP = 60
_INTEGERS = {Base.INTEGER: (-(2**31), 2**31 - 1, "wrap32"), Base.BIGINT: (-(2**63), 2**63 - 1, "wrap64")}
_COMPARISONS = {
    "=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
    "IS DISTINCT FROM": "!=", "IS NOT DISTINCT FROM": "==",
}  # fmt: skip
_LAZY = frozenset({"COALESCE", "IFNULL"})  # the first that is not NULL; the others are not computed

Guard = Callable[[Callable[[], Any]], Any]


class Writer:
    """Writes the functions of one expression or row. `globals` is what their text refers to."""

    def __init__(self, *, windowed: bool = False, guard: Guard | None = None) -> None:
        self.globals: dict[str, Any] = {"__builtins__": {"len": len, "float": float, "Exception": Exception}}
        self.windowed = windowed
        self._guard = guard
        if guard is not None:
            self.globals["guard"] = guard
        self._names: dict[int, str] = {}
        self._temporaries = 0
        self._columns: dict[tuple[Where, int], str] = {}
        self._slots: list[int] = []  # parameters of the lambdas around what is written
        self._spilled: list[str] = []

    # -- names --

    def constant(self, value: Any) -> str:
        if value is None or value is True or value is False:
            return repr(value)
        if type(value) is int:
            return str(value) if value >= 0 else f"({value})"
        return self.name("k", value)

    def name(self, prefix: str, value: Any) -> str:
        """A global for a value; the same one for the same object."""
        known = self._names.get(id(value))
        if known is not None and self.globals[known] is value:
            return known
        made = f"{prefix}{len(self._names)}"
        self._names[id(value)] = made
        self.globals[made] = value
        return made

    def function(self, call: Callable[..., Any], name: str = "f") -> str:
        return self.name(f"{re.sub(r'[^a-z0-9]', '_', name.lower())}_", call)

    def temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"

    # -- columns --

    def reads(self, nodes: Iterable[Typed]) -> list[str]:
        """Statements that read the columns of some expressions into locals; a column that is only passed on is read
        where it is."""
        nodes = list(nodes)
        used: Counter[tuple[Where, int]] = Counter()
        for node in nodes:
            for column in _columns(node):
                place = (column.binding.where, column.binding.index)
                used[place] += 1
        passed_on = {(one.binding.where, one.binding.index) for one in nodes if isinstance(one, typed.Column)}
        lines: list[str] = []
        of_key = sum(1 for where, _ in used if where is Where.KEY)
        key = "key.key" if self.windowed else "key"
        if self.windowed and of_key > 1:
            lines.append("k = key.key")
            key = "k"
        for place in used:
            where, index = place
            if where is Where.KEY:
                text = f"{key}[{index}]"
            elif where is Where.VALUE:
                text = f"value[{index}]"
            else:
                text = "key.start" if where is Where.WINDOW_START else "key.end"
            if used[place] == 1 and place in passed_on:
                self._columns[place] = text
            else:
                self._columns[place] = f"c{len(lines)}"
                lines.append(f"c{len(lines)} = {text}")
        return lines

    def spilled(self) -> list[str]:
        """Functions for parts that were too deep; they come after the columns."""
        return self._spilled

    # -- expressions --

    def text(self, node: Typed) -> str:
        """Python for the value of a node, in parentheses where it needs some."""
        made: str = getattr(self, f"_{type(node).__name__.lower()}")(node)
        if len(made) > 4 * _DEEP and _depth(made) > _DEEP:
            return self._spill(made)
        return made

    def condition(self, node: Typed) -> str:
        """Python that is true exactly where the node is TRUE."""
        if isinstance(node, typed.Logical):
            parts = [self.condition(one) for one in _chain(node, node.operator)]
            made = f"({f' {node.operator.lower()} '.join(parts)})"
            return self._spill(made) if len(made) > 4 * _DEEP and _depth(made) > _DEEP else made
        if isinstance(node, typed.Not):
            if not node.operand.nullable:
                return f"(not {self.condition(node.operand)})"
            return f"({self.text(node.operand)} is False)"
        if not node.nullable:
            return self.text(node)
        return f"({self.text(node)} is True)"

    def _spill(self, made: str) -> str:
        name = f"part{len(self._spilled)}"
        parameters = ", ".join(f"p{slot}" for slot in self._slots)
        self._spilled += [f"def {name}({parameters}):", f"    return {made}"]
        return f"{name}({parameters})"

    def _strict(self, nodes: Sequence[Typed], body: Callable[..., str]) -> str:
        """NULL where an operand is; `body` gets the text of each, once."""
        tests, atoms = self._tests(nodes, "is None")
        made = body(*atoms)
        return f"(None if {' or '.join(tests)} else {made})" if tests else made

    def _tests(self, nodes: Sequence[Typed], test: str, *, atomic: bool = False) -> tuple[list[str], list[str]]:
        tests: list[str] = []
        atoms: list[str] = []
        for node in nodes:
            text = self.text(node)
            if not node.nullable:
                if atomic and not text.isidentifier() and not isinstance(node, typed.Constant):
                    # Needed twice: kept by a test that is never met.
                    name = self.temporary()
                    tests.append(f"({name} := {text}) {test}")
                    text = name
                atoms.append(text)
                continue
            if text.isidentifier() or text == "None":
                tests.append(f"{text} {test}")
                atoms.append(text)
            else:
                name = self.temporary()
                tests.append(f"({name} := {text}) {test}")
                atoms.append(name)
        return tests, atoms

    def _constant(self, node: typed.Constant) -> str:
        return self.constant(node.value)

    def _column(self, node: typed.Column) -> str:
        return self._columns[node.binding.where, node.binding.index]

    def _lambdaparameter(self, node: typed.LambdaParameter) -> str:
        return f"p{node.slot}"

    # -- operators --

    def _arithmetic(self, node: typed.Arithmetic) -> str:
        kind = node.type
        assert kind is not None
        if kind.base in _INTEGERS:
            return self._integers(node, kind)
        if kind.base is Base.DOUBLE:
            return self._doubles(node)
        if isinstance(kind, Decimal):
            call = self.function(_decimal_operator(node.operator, kind), "decimal")
            return self._strict((node.left, node.right), lambda a, b: f"{call}({a}, {b})")
        return self._strict((node.left, node.right), lambda a, b: f"({a} + {b})")

    def _integers(self, node: typed.Arithmetic, kind: SqlType) -> str:
        if node.operator in "/%":
            right = node.right
            if isinstance(right, typed.Constant) and right.value is not None and right.value > 0:
                sign, by = ("//" if node.operator == "/" else "%"), right.value
                tests, (a,) = self._tests((node.left,), "is None", atomic=True)
                made = f"({a} {sign} {by} if {a} >= 0 else -(-{a} {sign} {by}))"
                return f"(None if {' or '.join(tests)} else {made})" if tests else made
            divides = node.operator == "/"
            call = self.function(operators.divide_integers if divides else operators.remainder_of_integers, "integers")
            return self._strict(
                (node.left, node.right),
                lambda a, b: self._wrapped(f"{call}({a}, {b})", kind) if divides else f"{call}({a}, {b})",
            )
        return self._strict((node.left, node.right), lambda a, b: self._wrapped(f"{a} {node.operator} {b}", kind))

    def _wrapped(self, made: str, kind: SqlType) -> str:
        low, high, wrap = _INTEGERS[kind.base]
        name = self.temporary()
        call = self.function(getattr(operators, wrap), wrap)
        return f"({name} if {low} <= ({name} := {made}) <= {high} else {call}({name}))"

    def _doubles(self, node: typed.Arithmetic) -> str:
        if node.operator in "/%":
            right = node.right
            if node.operator == "/" and isinstance(right, typed.Constant) and right.value:
                return self._strict((node.left, right), lambda a, b: f"({a} / {b})")
            divides = node.operator == "/"
            call = self.function(operators.divide_doubles if divides else operators.remainder_of_doubles, "doubles")
            return self._strict((node.left, node.right), lambda a, b: f"{call}({a}, {b})")
        return self._strict((node.left, node.right), lambda a, b: f"({a} {node.operator} {b})")

    def _negative(self, node: typed.Negative) -> str:
        kind = node.type
        assert kind is not None
        if kind.base in _INTEGERS:
            return self._strict((node.operand,), lambda a: self._wrapped(f"-{a}", kind))
        if kind.base is Base.DECIMAL:
            call = self.function(operators.negate_decimal, "negate")
            return self._strict((node.operand,), lambda a: f"{call}({a})")
        return self._strict((node.operand,), lambda a: f"(-{a})")

    def _joined(self, node: typed.Joined) -> str:
        empty = "''" if node.type == types.STRING else "b''"
        parts: list[str] = []
        for item in node.items:
            text = self.text(item)
            if item.nullable:
                name = text if text.isidentifier() else self.temporary()
                test = name if text.isidentifier() else f"({name} := {text})"
                text = f"({name} if {test} is not None else {empty})" if text != "None" else empty
            parts.append(text)
        return f"({' + '.join(parts)})"

    def _comparison(self, node: typed.Comparison) -> str:
        sign = _COMPARISONS[node.operator]
        if node.operator.startswith("IS"):
            return f"({self.text(node.left)} {sign} {self.text(node.right)})"
        twice = node.doubles and sign == "!="
        tests, (a, b) = self._tests((node.left, node.right), "is not None", atomic=twice)
        made = f"({a} < {b} or {a} > {b})" if twice else f"{a} {sign} {b}"
        return f"({' and '.join([*tests, made])})"

    def _logical(self, node: typed.Logical) -> str:
        if not node.nullable:
            parts = [self.text(one) for one in _chain(node, node.operator)]
            return f"({f' {node.operator.lower()} '.join(parts)})"
        decided, other = ("False", "True") if node.operator == "AND" else ("True", "False")
        tests: list[str] = []
        unknown: list[str] = []
        for one in (node.left, node.right):
            text = self.text(one)
            if not one.nullable:
                tests.append(f"{text} is {decided}")
                continue
            name = text if text.isidentifier() or text == "None" else self.temporary()
            tests.append(f"{name if name == text else f'({name} := {text})'} is {decided}")
            unknown.append(f"{name} is None")
        return f"({decided} if {' or '.join(tests)} else None if {' or '.join(unknown)} else {other})"

    def _not(self, node: typed.Not) -> str:
        return self._strict((node.operand,), lambda a: f"(not {a})")

    def _isnull(self, node: typed.IsNull) -> str:
        text = self.text(node.operand)
        if text.strip("(-)").isdigit():  # `5 is None` is nothing that Python likes to read
            return repr(node.negated)
        return f"({text} {'is not' if node.negated else 'is'} None)"

    def _oneof(self, node: typed.OneOf) -> str:
        constants = [one.value for one in node.options if isinstance(one, typed.Constant) and one.value is not None]
        others = [one for one in node.options if not isinstance(one, typed.Constant)]
        if not others and all(isinstance(value, _HASHABLE) for value in constants):
            # NULL is not in it, so that a NULL needs no test of its own.
            return f"({self.text(node.operand)} in {self.name('set', frozenset(constants))})"
        options = [self.constant(value) for value in constants] + [self.text(one) for one in others]
        tests, (a,) = self._tests((node.operand,), "is not None")
        made = f"{a} in ({''.join(f'{option}, ' for option in options)})" if options else "False"
        return f"({' and '.join([*tests, made])})"

    def _like(self, node: typed.Like) -> str:
        pattern = node.pattern
        if isinstance(pattern, typed.Constant) and pattern.value is not None:
            return self._strict((node.operand,), lambda a: self._likes(a, pattern.value, node.escape))
        call = self.function(operators.like, "like")
        escape = self.constant(node.escape)
        return self._strict((node.operand, pattern), lambda a, b: f"{call}({a}, {b}, {escape})")

    def _likes(self, text: str, pattern: str, escape: str | None) -> str:
        plain = pattern.strip("%")
        if escape is None and "%" not in plain and "_" not in plain and plain:
            piece = self.constant(plain)
            begins, ends = not pattern.startswith("%"), not pattern.endswith("%")
            if begins and ends:
                return f"({text} == {piece})"
            if begins:
                return f"{text}.startswith({piece})"
            if ends:
                return f"{text}.endswith({piece})"
            return f"({piece} in {text})"
        try:
            match = self.function(operators.like_pattern(pattern, escape).fullmatch, "like")
        except ValueError:
            return f"{self.function(operators.like, 'like')}({text}, {self.constant(pattern)}, {self.constant(escape)})"
        return f"({match}({text}) is not None)"

    # -- forms --

    def _case(self, node: typed.Case) -> str:
        default = "None" if node.default is None else self.text(node.default)
        whens = [f"{self.text(result)} if {self.condition(test)} else " for test, result in node.whens]
        return f"({''.join(whens)}{default})"

    def _cast(self, node: typed.Cast) -> str:
        source, target = node.operand.type, node.type
        assert source is not None and target is not None
        make = caster(source, target)
        if make is None or (source.base, target.base) == (Base.INTEGER, Base.BIGINT):
            return self.text(node.operand)
        call = "float" if make is float else self.function(make, "cast")
        made = self._strict((node.operand,), lambda a: f"{call}({a})")
        return self._guarded(made) if node.is_explicit else made

    def _applied(self, node: typed.Applied) -> str:
        call = self.function(node.function, node.function.__name__)
        return self._strict((node.operand,), lambda a: f"{call}({a})")

    def _guarded(self, made: str) -> str:
        return made if self._guard is None else f"guard(lambda: {made})"

    def _element(self, node: typed.Element) -> str:
        index = node.index
        if isinstance(index, typed.Constant) and index.value is not None and index.value > 0:
            tests, (a,) = self._tests((node.operand,), "is not None", atomic=True)
            at = index.value
            return f"({a}[{at - 1}] if {' and '.join([*tests, f'len({a}) >= {at}'])} else None)"
        call = self.function(operators.element, "element")
        return self._strict((node.operand, index), lambda a, b: f"{call}({a}, {b})")

    def _entry(self, node: typed.Entry) -> str:
        return self._strict((node.operand, node.key), lambda a, b: f"{a}.get({b})")

    def _fieldof(self, node: typed.FieldOf) -> str:
        name = self.constant(node.name)
        return self._strict((node.operand,), lambda a: f"{a}[{name}]")

    def _arrayof(self, node: typed.ArrayOf) -> str:
        return f"[{', '.join(self.text(one) for one in node.items)}]"

    def _mapof(self, node: typed.MapOf) -> str:
        return f"{{{', '.join(f'{self.text(key)}: {self.text(value)}' for key, value in node.entries)}}}"

    def _structof(self, node: typed.StructOf) -> str:
        return f"{{{', '.join(f'{self.constant(name)}: {self.text(value)}' for name, value in node.fields)}}}"

    # -- functions --

    def _invocation(self, node: typed.Invocation) -> str:
        function = node.function
        if function.name in _LAZY and function.nulls and node.arguments:
            return self._first(node.arguments)
        call = self.function(function.call, function.name)
        if function.nulls:
            return f"{call}({', '.join(self._argument(one) for one in node.arguments)})"
        tests: list[str] = []
        atoms: list[str] = []
        for one in node.arguments:
            text = self._argument(one)
            if one.nullable and not text.isidentifier():
                name = self.temporary()
                tests.append(f"({name} := {text}) is None")
                text = name
            elif one.nullable:
                tests.append(f"{text} is None")
            atoms.append(text)
        made = f"{call}({', '.join(atoms)})"
        return f"(None if {' or '.join(tests)} else {made})" if tests else made

    def _argument(self, node: Typed) -> str:
        text = self.text(node)
        return self._guarded(text) if isinstance(node, typed.Invocation) else text

    def _first(self, arguments: Sequence[Typed]) -> str:
        made = ""
        for one in arguments[:-1]:
            text = self._argument(one)
            if not one.nullable:
                return f"({made}{text})"
            name = text if text.isidentifier() else self.temporary()
            made += f"{name} if {name if name == text else f'({name} := {text})'} is not None else "
        return f"({made}{self._argument(arguments[-1])})"

    def _lambda(self, node: typed.Lambda) -> str:
        self._slots += node.slots
        body = self.text(node.body)
        del self._slots[len(self._slots) - len(node.slots) :]
        return f"(lambda {', '.join(f'p{slot}' for slot in node.slots)}: {body})"


_HASHABLE = (bool, int, float, str, bytes, Number)


def define(name: str, parameters: str, body: Sequence[str], names: dict[str, Any]) -> tuple[Callable[..., Any], str]:
    """The function of a text, and the text."""
    source = f"def {name}({parameters}):\n" + "".join(f"    {line}\n" for line in body)
    exec(compile(source, f"<ksql {name}>", "exec"), names)
    made: Callable[..., Any] = names.pop(name)
    return made, source


def _chain(node: Typed, operator: str) -> list[Typed]:
    """`a AND b AND c` as a list, without recursion on the side that grows."""
    parts: list[Typed] = []
    while isinstance(node, typed.Logical) and node.operator == operator:
        parts.append(node.right)
        node = node.left
    parts.append(node)
    return parts[::-1]


def _columns(node: Typed) -> Iterable[typed.Column]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, typed.Column):
            yield one
        waiting += one.parts[::-1]


def _depth(text: str) -> int:
    deepest = depth = 0
    for sign in text:
        if sign in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in ")]}":
            depth -= 1
    return deepest


def _decimal_operator(operator: str, kind: Decimal) -> Callable[[Any, Any], Any]:
    if operator == "/":
        return operators.DivideDecimals(kind.precision, kind.scale)
    if operator == "%":
        return operators.RemainderOfDecimals(kind.scale)
    return {"+": operators.EXACT.add, "-": operators.EXACT.subtract, "*": operators.EXACT.multiply}[operator]
