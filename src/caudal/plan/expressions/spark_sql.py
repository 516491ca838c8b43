"""From sqlglot's tree to typed Spark SQL, where that means the same as the Python form (compiler.py); else NoSparkForm.

The text needs a session with ANSI mode and case-sensitive names. The names of an expression are replaced by what they
stand for, so the text of a chain of steps speaks of the source's columns only. Where Spark differs in more than how an
error reads (regular expressions, rounding, text to number, doubles as text, NaN), there is no form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from caudal.plan.expressions.compiler import called
from caudal.plan.expressions.dialect import parse
from caudal.plan.typed_sql import (
    EXACT,
    NULL,
    NoSparkForm,
    SqlType,
    Typed,
    alike,
    any_fails,
    joined,
    null_test,
    number_literal,
    text_literal,
)

STRING, BIGINT, DOUBLE, BOOLEAN = SqlType.STRING, SqlType.BIGINT, SqlType.DOUBLE, SqlType.BOOLEAN
_NUMBERS = (BIGINT, DOUBLE)
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.EQ: "=",
    exp.NEQ: "<>",
}
_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Mod: "%"}
_NEVER = (exp.RegexpLike, exp.TryCast, exp.Array)  # operators that sqlglot counts among the functions
_INTEGERS = ("INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "LONG")
_DOUBLES = ("DOUBLE", "FLOAT", "REAL", "DOUBLE PRECISION")
_TEXTS = ("TEXT", "VARCHAR", "STRING", "CHAR")


def spark_form(text: str, arguments: Mapping[str, Typed]) -> Typed:
    """The Spark form of an expression whose arguments stand for these."""
    return _Former(arguments).form(parse(text))


def spark_forms(text: str, arguments: Mapping[str, Typed]) -> tuple[Typed, ...]:
    """Of `(key, value)`: each part's."""
    tree = parse(text)
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if not isinstance(tree, exp.Tuple):
        raise NoSparkForm("it is not written as (key, value)")
    former = _Former(arguments)
    return tuple(former.form(part) for part in tree.expressions)


class _Former:
    def __init__(self, arguments: Mapping[str, Typed]) -> None:
        self.arguments = arguments

    def form(self, node: exp.Expr) -> Typed:
        kind = type(node)
        if kind in _COMPARISONS:
            return _compared(self.form(node.this), self.form(node.expression), _COMPARISONS[kind])
        if kind in _ARITHMETIC:
            return _computed(self.form(node.this), self.form(node.expression), _ARITHMETIC[kind])
        method = getattr(self, f"form_{kind.__name__.lower()}", None)
        if method is not None:
            return method(node)  # type: ignore[no-any-return]
        if isinstance(node, exp.Func) and not isinstance(node, _NEVER):
            function, given = called(node)
            if function.spark is None:
                raise NoSparkForm(f"{function.name.upper()} is not the same in Spark")
            try:
                return function.spark([self.form(argument) for argument in given])
            except NoSparkForm as error:
                raise NoSparkForm(f"{function.name.upper()}: {error}") from None
        raise NoSparkForm(f"'{node.sql()}' is not the same in Spark")

    # -- names and literals ----------------------------------------------------------------------------------------

    def form_column(self, node: exp.Column) -> Typed:
        return self.path([part.name for part in node.parts])

    def form_identifier(self, node: exp.Identifier) -> Typed:
        return self.path([node.name])

    def form_dot(self, node: exp.Dot) -> Typed:
        return _field(self.form(node.this), node.expression.name)

    def form_jsonextract(self, node: exp.JSONExtract) -> Typed:
        parts = node.expression
        names = [part.name for part in parts.find_all(exp.JSONPathKey)] if isinstance(parts, exp.JSONPath) else []
        here = self.form(node.this)
        for name in names or [parts.name]:
            here = _field(here, name)
        return here

    def form_bracket(self, node: exp.Bracket) -> Typed:
        of, at = self.form(node.this), self.form(node.expressions[0])
        if of.type is SqlType.STRUCT and at.type is STRING and at.is_literal:
            return of.field(at.literal)
        raise NoSparkForm(f"'{node.sql()}' takes an element")

    def path(self, names: list[str]) -> Typed:
        first = names[0]
        here = self.arguments.get(first, self.arguments.get(first.lower()))
        rest = names[1:]
        if here is None:
            here, rest = self.arguments["value"], names
        for name in rest:
            here = _field(here, name)
        return here

    def form_literal(self, node: exp.Literal) -> Typed:
        if node.is_string:
            return Typed(text_literal(node.this), STRING, literal=node.this)
        return number_literal(int(node.this) if node.is_int else float(node.this))

    def form_boolean(self, node: exp.Boolean) -> Typed:
        return Typed("TRUE" if node.this else "FALSE", BOOLEAN, literal=bool(node.this))

    def form_null(self, _: exp.Null) -> Typed:
        return NULL

    def form_paren(self, node: exp.Paren) -> Typed:
        return self.form(node.this)

    def form_struct(self, node: exp.Struct) -> Typed:
        fields: dict[str, Typed] = {}
        for part in node.expressions:
            if isinstance(part, (exp.PropertyEQ, exp.EQ)):
                fields[part.this.name] = self.form(part.expression)
            elif isinstance(part, exp.Alias):
                fields[part.alias] = self.form(part.this)
            else:
                fields[part.name] = self.form(part)
        if any(one.type is SqlType.STRUCT and one.raw for one in fields.values()):
            raise NoSparkForm("it takes a whole document, of which only the declared fields are known")
        return Typed("", SqlType.STRUCT, fields=tuple(fields.items()), may_fail=any_fails(list(fields.values())))

    # -- logic -----------------------------------------------------------------------------------------------------

    def form_and(self, node: exp.And) -> Typed:
        return self.logic(node, "AND")

    def form_or(self, node: exp.Or) -> Typed:
        return self.logic(node, "OR")

    def logic(self, node: exp.Expr, word: str) -> Typed:
        left, right = _boolean(self.form(node.this)), _boolean(self.form(node.expression))
        return Typed(f"({left.sql} {word} {right.sql})", BOOLEAN, may_fail=any_fails((left, right)))

    def form_not(self, node: exp.Not) -> Typed:
        inner = _boolean(self.form(node.this))
        return Typed(f"(NOT {inner.sql})", BOOLEAN, may_fail=inner.may_fail)

    def form_is(self, node: exp.Is) -> Typed:
        inner, what = self.form(node.this), node.expression
        if isinstance(what, exp.Null):
            return Typed(null_test(inner), BOOLEAN, may_fail=inner.may_fail)
        return Typed(
            f"({_boolean(inner).sql} <=> {'TRUE' if what.this else 'FALSE'})", BOOLEAN, may_fail=inner.may_fail
        )

    def form_in(self, node: exp.In) -> Typed:
        inner, options = self.form(node.this), [self.form(option) for option in node.expressions]
        if inner.type is SqlType.NULL:
            return NULL
        equal = [_compared(inner, option, "=") for option in options]
        parts = [_boolean(one) for one in equal]
        return Typed("(" + " OR ".join(part.sql for part in parts) + ")", BOOLEAN, may_fail=any_fails(parts))

    def form_between(self, node: exp.Between) -> Typed:
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        return self.form(exp.And(this=low, expression=high))

    def form_like(self, node: exp.Like) -> Typed:
        inner, pattern = self.form(node.this), self.form(node.expression)
        if SqlType.NULL in (inner.type, pattern.type):
            return NULL
        if inner.type is not STRING or not pattern.is_literal or "\\" in str(pattern.literal):
            raise NoSparkForm("LIKE is only the same for text and a constant pattern without backslashes")
        return Typed(f"({inner.sql} LIKE {pattern.sql})", BOOLEAN, may_fail=inner.may_fail)

    # -- numbers and text ------------------------------------------------------------------------------------------

    def form_div(self, node: exp.Div) -> Typed:
        return _computed(self.form(node.this), self.form(node.expression), "/")

    def form_intdiv(self, node: exp.IntDiv) -> Typed:
        left, right = self.form(node.this), self.form(node.expression)
        if SqlType.NULL in (left.type, right.type):
            return NULL
        if (left.type, right.type) != (BIGINT, BIGINT):
            raise NoSparkForm("DIV is only the same for BIGINT")
        return Typed(f"({left.sql} DIV {right.sql})", BIGINT, may_fail=True)

    def form_neg(self, node: exp.Neg) -> Typed:
        inner = self.form(node.this)
        if inner.type is SqlType.NULL:
            return NULL
        if inner.is_literal and inner.type in _NUMBERS:
            negative = -inner.literal
            return Typed(f"(-{inner.sql})", inner.type, literal=negative)
        if inner.type not in _NUMBERS:
            raise NoSparkForm(f"- of {inner.type.value}")
        return Typed(f"(-{inner.sql})", inner.type, inner.finite, may_fail=inner.type is BIGINT or inner.may_fail)

    def form_dpipe(self, node: exp.DPipe) -> Typed:
        try:
            return joined([self.form(node.this), self.form(node.expression)])
        except NoSparkForm as error:
            raise NoSparkForm(f"||: {error}") from None

    # -- choices ---------------------------------------------------------------------------------------------------

    def form_case(self, node: exp.Case) -> Typed:
        branches: list[tuple[Typed, Typed]] = []
        for branch in node.args["ifs"]:
            condition = branch.this
            if node.this is not None:
                condition = exp.EQ(this=node.this.copy(), expression=condition.copy())
            branches.append((_boolean(self.form(condition)), self.form(branch.args["true"])))
        default = self.form(node.args["default"]) if node.args.get("default") else NULL
        return _chosen(branches, default)

    def form_if(self, node: exp.If) -> Typed:
        no = self.form(node.args["false"]) if node.args.get("false") else NULL
        return _chosen([(_boolean(self.form(node.this)), self.form(node.args["true"]))], no)

    def form_coalesce(self, node: exp.Coalesce) -> Typed:
        options = [self.form(option) for option in (node.this, *node.expressions)]
        kind = alike(options)
        if kind is SqlType.NULL:
            return NULL
        finite, fails = all(option.finite for option in options), any_fails(options)
        return Typed(f"coalesce({', '.join(option.sql for option in options)})", kind, finite, may_fail=fails)

    def form_nullif(self, node: exp.Nullif) -> Typed:
        left, right = self.form(node.this), self.form(node.expression)
        if left.type is SqlType.NULL or right.type is SqlType.NULL:
            return left
        equal = _compared(left, right, "=")
        text = f"CASE WHEN {equal.sql} THEN NULL ELSE {left.sql} END"
        return Typed(text, left.type, left.finite, may_fail=equal.may_fail)

    def form_cast(self, node: exp.Cast) -> Typed:
        inner, to = self.form(node.this), node.args["to"].sql().upper()
        kind = inner.type
        if kind is SqlType.NULL:
            return NULL
        fails = inner.may_fail
        if (
            (to in _TEXTS and kind is STRING)
            or (to in _INTEGERS and kind is BIGINT)
            or (to in _DOUBLES and kind is DOUBLE)
        ):
            return inner
        if to in _TEXTS and kind in (BIGINT, BOOLEAN):
            return Typed(f"CAST({inner.sql} AS STRING)", STRING, may_fail=fails)
        if to in _DOUBLES and kind is BIGINT:
            return Typed(f"CAST({inner.sql} AS DOUBLE)", DOUBLE, may_fail=fails)
        if to in _INTEGERS and kind is DOUBLE:
            return Typed(f"CAST({inner.sql} AS BIGINT)", BIGINT, may_fail=True)
        if to in _INTEGERS and kind is BOOLEAN:
            return Typed(f"CAST({inner.sql} AS BIGINT)", BIGINT, may_fail=fails)
        raise NoSparkForm(f"CAST from {kind.value} to {to} is not the same in Spark")


def _field(of: Typed, name: str) -> Typed:
    if of.type is SqlType.STRUCT:
        return of.field(name)
    if of.type is SqlType.NULL:
        return NULL
    if of.type is SqlType.OPAQUE:
        raise NoSparkForm(f"the field '{name}' is of a value that a Column made, so its type is not known here")
    raise NoSparkForm(f"{of.type.value} has no field '{name}'")


def _boolean(one: Typed) -> Typed:
    if one.type is SqlType.NULL:
        return Typed("CAST(NULL AS BOOLEAN)", BOOLEAN)
    if one.type is not BOOLEAN:
        raise NoSparkForm(f"a condition is {one.type.value} and not BOOLEAN")
    return one


def _as_double(one: Typed) -> Typed | None:
    """A constant integer as a double of the same value."""
    if one.type is BIGINT and one.is_literal and abs(one.literal) <= EXACT:
        return Typed(f"CAST({one.sql} AS DOUBLE)", DOUBLE, literal=float(one.literal))
    return None


def _compared(left: Typed, right: Typed, sign: str) -> Typed:
    if SqlType.NULL in (left.type, right.type):
        return NULL
    if left.type is not right.type:
        if left.type is DOUBLE:
            right = _as_double(right) or right
        elif right.type is DOUBLE:
            left = _as_double(left) or left
    if left.type is not right.type or left.type not in (STRING, BOOLEAN, *_NUMBERS):
        raise NoSparkForm(f"{left.type.value} {sign} {right.type.value} is not the same in Spark")
    text, fails = f"({left.sql} {sign} {right.sql})", any_fails((left, right))
    if not (left.finite and right.finite):
        # Spark takes NaN for equal to itself and above all numbers; to Python every comparison with it is false.
        otherwise = "TRUE" if sign == "<>" else "FALSE"
        text = (
            f"CASE WHEN {left.sql} IS NULL OR {right.sql} IS NULL THEN NULL "
            f"WHEN isnan({left.sql}) OR isnan({right.sql}) THEN {otherwise} ELSE {text} END"
        )
    return Typed(text, BOOLEAN, may_fail=fails)


def _computed(left: Typed, right: Typed, sign: str) -> Typed:
    if SqlType.NULL in (left.type, right.type):
        return NULL
    if left.type not in _NUMBERS or right.type not in _NUMBERS:
        raise NoSparkForm(f"{left.type.value} {sign} {right.type.value} is not the same in Spark")
    whole = left.type is right.type is BIGINT
    kind = BIGINT if whole and sign != "/" else DOUBLE
    parts = [one if one.type is kind else Typed(f"CAST({one.sql} AS DOUBLE)", DOUBLE) for one in (left, right)]
    fails = whole or sign in "/%" or any_fails((left, right))
    return Typed(f"({parts[0].sql} {sign} {parts[1].sql})", kind, kind is BIGINT, may_fail=fails)


def _chosen(branches: Sequence[tuple[Typed, Typed]], default: Typed) -> Typed:
    results = [result for _, result in branches] + [default]
    kind = alike(results)
    if kind is SqlType.NULL:
        return NULL
    cases = " ".join(f"WHEN {condition.sql} THEN {result.sql}" for condition, result in branches)
    fails = any_fails(results) or any_fails([condition for condition, _ in branches])
    finite = all(result.finite for result in results)
    return Typed(f"CASE {cases} ELSE {default.sql} END", kind, finite, may_fail=fails)
