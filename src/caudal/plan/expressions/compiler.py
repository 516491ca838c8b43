"""From sqlglot's tree to Python closures, once; then an evaluation is a chain of calls without looking at the tree.

Every closure takes the tuple of argument values. Rules of null are where the operator is: most operators give null for
a null operand, AND, OR, IS, COALESCE and CASE have their own.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from sqlglot import exp

from caudal.plan.errors import PlanError
from caudal.plan.expressions.functions import FUNCTIONS, SqlFunction, cast_to, in_64_bits, like_pattern

Evaluate = Callable[[tuple[Any, ...]], Any]

COMPARISONS: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
}


def _remainder(left: Any, right: Any) -> Any:
    """SQL's remainder has the sign of the dividend, Python's that of the divisor."""
    rest = abs(left) % abs(right)
    if rest.__class__ is float:
        return math.copysign(rest, left)  # zero has a sign too
    return -rest if left < 0 else rest


def _integer_quotient(left: Any, right: Any) -> int:
    quotient = abs(left) // abs(right)
    return int(in_64_bits(int(-quotient if (left < 0) != (right < 0) else quotient)))


def _sum(left: Any, right: Any) -> Any:
    return in_64_bits(left + right)


def _difference(left: Any, right: Any) -> Any:
    return in_64_bits(left - right)


def _product(left: Any, right: Any) -> Any:
    return in_64_bits(left * right)


def _quotient(left: Any, right: Any) -> Any:
    """Of integers too it is that of doubles."""
    if left.__class__ is int and right.__class__ is int:
        return float(left) / float(right)
    return left / right


ARITHMETIC: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: _sum,
    exp.Sub: _difference,
    exp.Mul: _product,
    exp.Div: _quotient,
    exp.IntDiv: _integer_quotient,
    exp.Mod: _remainder,
}


def compile_tree(tree: exp.Expr, arguments: tuple[str, ...]) -> Evaluate:
    return _Compiler(arguments).compile(tree)


class _Compiler:
    def __init__(self, arguments: tuple[str, ...]) -> None:
        self.arguments = {name: index for index, name in enumerate(arguments)}

    def compile(self, node: exp.Expr) -> Evaluate:
        kind = type(node)
        if kind in COMPARISONS:
            return self.comparison(node, COMPARISONS[kind])
        if kind in ARITHMETIC:
            return self.arithmetic(node, ARITHMETIC[kind])
        method = getattr(self, f"compile_{kind.__name__.lower()}", None)
        if method is not None:
            return method(node)  # type: ignore[no-any-return]
        if isinstance(node, exp.Func):
            return self.call(node)
        raise PlanError(f"SQL '{node.sql()}' ({kind.__name__}) cannot be used in an expression.")

    # -- names and literals --------------------------------------------------------------------------------------------

    def compile_column(self, node: exp.Column) -> Evaluate:
        parts = [part.name for part in node.parts]
        if isinstance(node.this, exp.Star):
            raise PlanError("'*' cannot be used in an expression.")
        return self.path(parts)

    def compile_identifier(self, node: exp.Identifier) -> Evaluate:
        return self.path([node.name])

    def compile_dot(self, node: exp.Dot) -> Evaluate:
        if not isinstance(node.expression, exp.Identifier):
            raise PlanError(f"SQL '{node.sql()}' is not a field.")
        return self.field(self.compile(node.this), node.expression.name)

    def compile_jsonextract(self, node: exp.JSONExtract) -> Evaluate:
        """`address->city`, KSQL's way to write `address.city`."""
        parts = node.expression
        names = [part.name for part in parts.find_all(exp.JSONPathKey)] if isinstance(parts, exp.JSONPath) else []
        if not names:
            names = [parts.name]
        here = self.compile(node.this)
        for name in names:
            here = self.field(here, name)
        return here

    def path(self, names: list[str]) -> Evaluate:
        first = names[0]
        index = self.arguments.get(first, self.arguments.get(first.lower()))
        if index is not None:
            here: Evaluate = operator.itemgetter(index)
            rest = names[1:]
        elif "value" in self.arguments:
            here = operator.itemgetter(self.arguments["value"])
            rest = names
        else:
            known = ", ".join(self.arguments) or "nothing"
            raise PlanError(f"SQL does not know '{first}' here: there is {known} (fields as left.{first}).")
        for name in rest:
            here = self.field(here, name)
        return here

    @staticmethod
    def field(of: Evaluate, name: str) -> Evaluate:
        def get(values: tuple[Any, ...]) -> Any:
            it = of(values)
            if it.__class__ is dict:
                return it.get(name)
            if it is None:
                return None
            if isinstance(it, Mapping):
                return it.get(name)
            if isinstance(it, (str, bytes, int, float, list)):
                raise TypeError(f"SQL asks for the field '{name}' of {type(it).__name__} {it!r}, which has no fields")
            return getattr(it, name, None)

        return get

    def compile_bracket(self, node: exp.Bracket) -> Evaluate:
        if len(node.expressions) != 1:
            raise PlanError(f"SQL '{node.sql()}' needs one index.")
        of, at = self.compile(node.this), self.compile(node.expressions[0])

        def get(values: tuple[Any, ...]) -> Any:
            it, index = of(values), at(values)
            if it is None or index is None:
                return None
            if isinstance(it, Mapping):
                return it.get(index)
            return it[index] if -len(it) <= index < len(it) else None

        return get

    def compile_literal(self, node: exp.Literal) -> Evaluate:
        if node.is_string:
            return _constant(node.this)
        return _constant(int(node.this) if node.is_int else float(node.this))

    def compile_boolean(self, node: exp.Boolean) -> Evaluate:
        return _constant(bool(node.this))

    def compile_null(self, node: exp.Null) -> Evaluate:
        return _constant(None)

    def compile_paren(self, node: exp.Paren) -> Evaluate:
        return self.compile(node.this)

    def compile_tuple(self, node: exp.Tuple) -> Evaluate:
        """`(key, value)`, the result of map()."""
        parts = [self.compile(part) for part in node.expressions]
        return lambda values: tuple([part(values) for part in parts])

    def compile_array(self, node: exp.Array) -> Evaluate:
        parts = [self.compile(part) for part in node.expressions]
        return lambda values: [part(values) for part in parts]

    def compile_struct(self, node: exp.Struct) -> Evaluate:
        """`STRUCT(user AS who, amount)`: an object."""
        fields: list[tuple[str, Evaluate]] = []
        for part in node.expressions:
            if isinstance(part, (exp.PropertyEQ, exp.EQ)):
                fields.append((part.this.name, self.compile(part.expression)))
            elif isinstance(part, exp.Alias):
                fields.append((part.alias, self.compile(part.this)))
            elif isinstance(part, exp.Column):
                fields.append((part.name, self.compile(part)))
            else:
                raise PlanError(f"STRUCT needs a name for '{part.sql()}': write '{part.sql()} AS name'.")
        return lambda values: {name: part(values) for name, part in fields}

    # -- operators -----------------------------------------------------------------------------------------------------

    def comparison(self, node: exp.Expr, compare: Callable[[Any, Any], Any]) -> Evaluate:
        left, right = self.compile(node.this), self.compile(node.expression)
        orders = compare not in (operator.eq, operator.ne)

        def evaluate(values: tuple[Any, ...]) -> Any:
            one = left(values)
            if one is None:
                return None
            other = right(values)
            if other is None:
                return None
            # Ordering unlike types is an error in Python already; equality would quietly be false.
            if not orders and one.__class__ is not other.__class__:
                _check_comparable(one, other)
            return compare(one, other)

        return evaluate

    def arithmetic(self, node: exp.Expr, compute: Callable[[Any, Any], Any]) -> Evaluate:
        left, right = self.compile(node.this), self.compile(node.expression)

        def evaluate(values: tuple[Any, ...]) -> Any:
            one = left(values)
            if one is None:
                return None
            other = right(values)
            return None if other is None else compute(one, other)

        return evaluate

    def compile_neg(self, node: exp.Neg) -> Evaluate:
        inner = self.compile(node.this)

        def evaluate(values: tuple[Any, ...]) -> Any:
            it = inner(values)
            return None if it is None else in_64_bits(-it)

        return evaluate

    def compile_and(self, node: exp.And) -> Evaluate:
        left, right = self.compile(node.this), self.compile(node.expression)

        def evaluate(values: tuple[Any, ...]) -> bool | None:
            one = left(values)
            if one is not None and not one:
                return False
            other = right(values)
            if other is not None and not other:
                return False
            return None if one is None or other is None else True

        return evaluate

    def compile_or(self, node: exp.Or) -> Evaluate:
        left, right = self.compile(node.this), self.compile(node.expression)

        def evaluate(values: tuple[Any, ...]) -> bool | None:
            one = left(values)
            if one:
                return True
            other = right(values)
            if other:
                return True
            return None if one is None or other is None else False

        return evaluate

    def compile_not(self, node: exp.Not) -> Evaluate:
        inner = self.compile(node.this)

        def evaluate(values: tuple[Any, ...]) -> bool | None:
            it = inner(values)
            return None if it is None else not it

        return evaluate

    def compile_is(self, node: exp.Is) -> Evaluate:
        inner, what = self.compile(node.this), node.expression
        if isinstance(what, exp.Null):
            return lambda values: inner(values) is None
        if isinstance(what, exp.Boolean):
            wanted = bool(what.this)
            return lambda values: (it := inner(values)) is not None and bool(it) is wanted
        raise PlanError(f"SQL '{node.sql()}': IS takes NULL, TRUE or FALSE.")

    def compile_in(self, node: exp.In) -> Evaluate:
        if node.args.get("query") or node.args.get("unnest") or node.args.get("field"):
            raise PlanError(f"SQL '{node.sql()}': IN takes a list of values.")
        inner, options = self.compile(node.this), [self.compile(option) for option in node.expressions]

        def evaluate(values: tuple[Any, ...]) -> bool | None:
            it = inner(values)
            if it is None:
                return None
            unknown = False
            for option in options:
                other = option(values)
                if other is None:
                    unknown = True
                    continue
                if it.__class__ is not other.__class__:
                    _check_comparable(it, other)
                if it == other:
                    return True
            return None if unknown else False

        return evaluate

    def compile_between(self, node: exp.Between) -> Evaluate:
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        return self.compile(exp.And(this=low, expression=high))

    def compile_like(self, node: exp.Like) -> Evaluate:
        return self.matching(node, 0)

    def compile_ilike(self, node: exp.ILike) -> Evaluate:
        return self.matching(node, re.IGNORECASE)

    def matching(self, node: exp.Expr, flags: int) -> Evaluate:
        inner, pattern = self.compile(node.this), self.compile(node.expression)
        compiled = lru_cache(maxsize=64)(lambda text: re.compile(like_pattern(text), flags | re.DOTALL))

        def evaluate(values: tuple[Any, ...]) -> bool | None:
            it, text = inner(values), pattern(values)
            return None if it is None or text is None else compiled(text).fullmatch(it) is not None

        return evaluate

    def compile_regexplike(self, node: exp.RegexpLike) -> Evaluate:
        inner, pattern = self.compile(node.this), self.compile(node.expression)

        def evaluate(values: tuple[Any, ...]) -> bool | None:
            it, text = inner(values), pattern(values)
            return None if it is None or text is None else re.search(text, it) is not None

        return evaluate

    def compile_dpipe(self, node: exp.DPipe) -> Evaluate:
        left, right = self.compile(node.this), self.compile(node.expression)

        def evaluate(values: tuple[Any, ...]) -> str | None:
            one, other = left(values), right(values)
            return None if one is None or other is None else f"{one}{other}"

        return evaluate

    # -- conditions and calls ------------------------------------------------------------------------------------------

    def compile_case(self, node: exp.Case) -> Evaluate:
        compared = node.this
        branches: list[tuple[Evaluate, Evaluate]] = []
        for branch in node.args["ifs"]:
            condition = branch.this
            if compared is not None:
                condition = exp.EQ(this=compared.copy(), expression=condition.copy())
            branches.append((self.compile(condition), self.compile(branch.args["true"])))
        default = self.compile(node.args["default"]) if node.args.get("default") else _constant(None)

        def evaluate(values: tuple[Any, ...]) -> Any:
            for condition, result in branches:
                if condition(values):
                    return result(values)
            return default(values)

        return evaluate

    def compile_if(self, node: exp.If) -> Evaluate:
        condition, yes = self.compile(node.this), self.compile(node.args["true"])
        no = self.compile(node.args["false"]) if node.args.get("false") else _constant(None)
        return lambda values: yes(values) if condition(values) else no(values)

    def compile_coalesce(self, node: exp.Coalesce) -> Evaluate:
        options = [self.compile(option) for option in (node.this, *node.expressions)]

        def evaluate(values: tuple[Any, ...]) -> Any:
            for option in options:
                it = option(values)
                if it is not None:
                    return it
            return None

        return evaluate

    def compile_nullif(self, node: exp.Nullif) -> Evaluate:
        left, right = self.compile(node.this), self.compile(node.expression)
        return lambda values: None if (it := left(values)) == right(values) else it

    def compile_cast(self, node: exp.Cast) -> Evaluate:
        inner, convert = self.compile(node.this), cast_to(node.args["to"].sql())

        def evaluate(values: tuple[Any, ...]) -> Any:
            it = inner(values)
            return None if it is None else convert(it)

        return evaluate

    def compile_trycast(self, node: exp.TryCast) -> Evaluate:
        cast = self.compile_cast(node)

        def evaluate(values: tuple[Any, ...]) -> Any:
            try:
                return cast(values)
            except (TypeError, ValueError):
                return None

        return evaluate

    def call(self, node: exp.Func) -> Evaluate:
        """A function of the table: null for a null argument, unless it says otherwise."""
        function, arguments = called(node)
        given = [self.compile(argument) for argument in arguments]
        call, takes_nulls = function.call, function.takes_nulls

        def evaluate(values: tuple[Any, ...]) -> Any:
            taken = [argument(values) for argument in given]
            return None if not takes_nulls and None in taken else call(*taken)

        return evaluate


def called(node: exp.Func) -> tuple[SqlFunction, list[exp.Expr]]:
    """The function of the table that is called, and its arguments."""
    function = next((FUNCTIONS[name] for name in _names(node) if name in FUNCTIONS), None)
    if function is None:
        kind = "an aggregate: use group_by_key()" if isinstance(node, exp.AggFunc) else "not known"
        raise PlanError(
            f"The SQL function {_names(node)[0].upper()} is {kind}; there are: {', '.join(sorted(FUNCTIONS))}."
        )
    given = _positional(node)
    if not function.fewest <= len(given) <= function.most:
        raise PlanError(f"The SQL function {function.name.upper()} does not take {len(given)} arguments.")
    return function, given


def _names(node: exp.Func) -> list[str]:
    """What the function may be called in the table. sqlglot has one class for some that differ."""
    if isinstance(node, exp.Anonymous):
        return [node.name.lower()]
    if isinstance(node, exp.Trim) and node.args.get("position") in ("LEADING", "TRAILING"):
        return ["ltrim" if node.args["position"] == "LEADING" else "rtrim"]
    if isinstance(node, exp.Pad):
        return ["lpad" if node.args.get("is_left") else "rpad"]
    return [name.lower() for name in type(node).sql_names()]


def _positional(node: exp.Func) -> list[exp.Expr]:
    """The arguments as they were written: sqlglot knows most functions and gives their arguments names."""
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    if isinstance(node, exp.Initcap):
        return [node.this]  # sqlglot adds what it takes for the ends of words
    given: list[exp.Expr] = []
    for name in type(node).arg_types:
        value = node.args.get(name)
        if isinstance(value, exp.Expr):
            given.append(value)
        elif isinstance(value, list):
            given += [one for one in value if isinstance(one, exp.Expr)]
    return given


def _constant(value: Any) -> Evaluate:
    return lambda values: value


def _check_comparable(one: Any, other: Any) -> None:
    text = isinstance(one, str), isinstance(other, str)
    if text[0] != text[1]:
        raise TypeError(f"SQL cannot compare {type(one).__name__} {one!r} with {type(other).__name__} {other!r}")
