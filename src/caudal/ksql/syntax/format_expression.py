"""Expressions back to text that reads as the same tree, with the parentheses that are needed and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from caudal.ksql.syntax import tree
from caudal.ksql.syntax.names import written_name, written_string, written_type
from caudal.ksql.syntax.tree import Expression, TypeName
from caudal.ksql.syntax.words import MILLISECONDS, UNIT_FUNCTIONS
from caudal.ksql.types import SqlType

# How tightly a node holds together; a part that holds less than its place asks for gets parentheses.
_ANY, _OR, _AND, _NOT, _PREDICATE, _VALUE, _SUM, _PRODUCT, _SIGNED, _ZONED, _POSTFIXED, _ALONE = range(12)
_ARITHMETIC = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}


def format_expression(expression: Expression) -> str:
    """
    >>> from caudal.ksql.syntax.parser import parse_expression
    >>> format_expression(parse_expression("(a+1)*(`b` || 'x') >= s->f[1] and not (c)"))
    "(A + 1) * (`b` || 'x') >= S->F[1] AND NOT C"
    """
    return _text(expression, _ANY)


def format_value(expression: Expression) -> str:
    """For places where only a value may stand (GROUP BY, VALUES): AND, OR, NOT and predicates get parentheses."""
    return _text(expression, _VALUE)


def format_type(of: SqlType | TypeName) -> str:
    return of.text if isinstance(of, TypeName) else written_type(of)


def format_literal(value: bool | int | float | str | Decimal | None) -> str:
    """The value of a literal as one: TRUE, 1, 1.5 (DECIMAL), 1.5E0 (DOUBLE), 'it''s'."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return written_string(value)
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text if "." in text else text + "."
    if isinstance(value, float):
        text = repr(value).upper()
        return text if "E" in text else text + "E0"
    return str(value)


def _text(node: Expression, needed: int) -> str:
    tightness, write = _WRITERS[type(node)]
    if isinstance(node, tree.Arithmetic):
        tightness = _ARITHMETIC[node.operator]
    text = write(node)
    return f"({text})" if tightness < needed else text


def _between(operator: str, left: int, right: int) -> Callable[[Any], str]:
    return lambda node: f"{_text(node.left, left)} {operator} {_text(node.right, right)}"


def _all(parts: Iterable[Expression]) -> str:
    return ", ".join(_text(part, _ANY) for part in parts)


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _arithmetic(node: tree.Arithmetic) -> str:
    level = _ARITHMETIC[node.operator]
    return f"{_text(node.left, level)} {node.operator} {_text(node.right, level + 1)}"


def _negative(node: tree.Negative) -> str:
    operand = _text(node.operand, _SIGNED)
    if operand[0] in "0123456789.":
        return f"-({operand})"  # -1 is a literal, and this is none
    return f"- {operand}" if operand[0] == "-" else f"-{operand}"  # two signs side by side begin a comment


def _comparison(node: tree.Comparison) -> str:
    return f"{_text(node.left, _VALUE)} {node.operator} {_text(node.right, _VALUE)}"


def _range(node: tree.Between) -> str:
    bounds = f"{_text(node.low, _VALUE)} AND {_text(node.high, _VALUE)}"
    return f"{_text(node.operand, _VALUE)} {_not(node.negated)}BETWEEN {bounds}"


def _like(node: tree.Like) -> str:
    escape = "" if node.escape is None else f" ESCAPE {written_string(node.escape)}"
    return f"{_text(node.operand, _VALUE)} {_not(node.negated)}LIKE {_text(node.pattern, _VALUE)}{escape}"


def _case(node: tree.Case) -> str:
    parts = ["CASE"]
    if node.operand is not None:
        parts.append(_text(node.operand, _VALUE))
    parts += [f"WHEN {_text(when.condition, _ANY)} THEN {_text(when.result, _ANY)}" for when in node.whens]
    if node.default is not None:
        parts.append(f"ELSE {_text(node.default, _ANY)}")
    return " ".join([*parts, "END"])


def _call(node: tree.Call) -> str:
    arguments = [_text(one, _ANY) for one in node.arguments]
    first = node.arguments[0] if len(node.arguments) > 1 else None
    if node.name in UNIT_FUNCTIONS and isinstance(first, tree.Literal) and first.value in MILLISECONDS:
        arguments[0] = str(first.value)
    return f"{written_name(node.name)}({', '.join(arguments)})"


def _name(node: tree.Name) -> str:
    own = written_name(node.name)
    return own if node.source is None else f"{written_name(node.source)}.{own}"


def _lambda(node: tree.Lambda) -> str:
    names = ", ".join(written_name(name) for name in node.parameters)
    return f"{names if len(node.parameters) == 1 else f'({names})'} => {_text(node.body, _ANY)}"


def _entries(node: tree.MapOf) -> str:
    return ", ".join(f"{_text(key, _ANY)} := {_text(value, _ANY)}" for key, value in node.entries)


def _fields(node: tree.StructOf) -> str:
    return ", ".join(f"{written_name(name)} := {_text(value, _ANY)}" for name, value in node.fields)


_WRITERS: dict[type[Expression], tuple[int, Callable[[Any], str]]] = {
    tree.Null: (_ALONE, lambda node: "NULL"),
    tree.Literal: (_ALONE, lambda node: format_literal(node.value)),
    tree.TypedLiteral: (_ALONE, lambda node: f"{node.type} {written_string(node.text)}"),
    tree.Name: (_ALONE, _name),
    tree.Or: (_OR, _between("OR", _OR, _AND)),
    tree.And: (_AND, _between("AND", _AND, _NOT)),
    tree.Not: (_NOT, lambda node: f"NOT {_text(node.operand, _NOT)}"),
    tree.Comparison: (_PREDICATE, _comparison),
    tree.IsNull: (_PREDICATE, lambda node: f"{_text(node.operand, _VALUE)} IS {_not(node.negated)}NULL"),
    tree.Between: (_PREDICATE, _range),
    tree.In: (_PREDICATE, lambda node: f"{_text(node.operand, _VALUE)} {_not(node.negated)}IN ({_all(node.options)})"),
    tree.Like: (_PREDICATE, _like),
    tree.Concatenation: (_VALUE, _between("||", _VALUE, _SUM)),
    tree.Arithmetic: (_SUM, _arithmetic),
    tree.Negative: (_SIGNED, _negative),
    tree.AtTimeZone: (_ZONED, lambda node: f"{_text(node.operand, _ZONED)} AT TIME ZONE {_text(node.zone, _ALONE)}"),
    tree.Subscript: (_POSTFIXED, lambda node: f"{_text(node.operand, _POSTFIXED)}[{_text(node.index, _VALUE)}]"),
    tree.Dereference: (_POSTFIXED, lambda node: f"{_text(node.operand, _POSTFIXED)}->{written_name(node.field)}"),
    tree.StructStar: (_POSTFIXED, lambda node: f"{_text(node.operand, _POSTFIXED)}->*"),
    tree.Star: (_ALONE, lambda node: "*" if node.source is None else f"{written_name(node.source)}.*"),
    tree.Case: (_ALONE, _case),
    tree.Cast: (_ALONE, lambda node: f"CAST({_text(node.operand, _ANY)} AS {format_type(node.type)})"),
    tree.Call: (_ALONE, _call),
    tree.ArrayOf: (_ALONE, lambda node: f"ARRAY[{_all(node.items)}]"),
    tree.MapOf: (_ALONE, lambda node: f"MAP({_entries(node)})"),
    tree.StructOf: (_ALONE, lambda node: f"STRUCT({_fields(node)})"),
    tree.Lambda: (_ANY, _lambda),
    tree.TypeName: (_ALONE, lambda node: node.text),
}
