"""Implicit conversions: the common type of several expressions, and an expression made one of another type.

Numbers widen (INTEGER → BIGINT → DECIMAL → DOUBLE), collections element by element, structs field by field. Literals
may do more: any literal can be a STRING, and a string literal can be a number, a boolean or a time if that is what it
says.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal as Number
from decimal import InvalidOperation

from caudal.ksql import types
from caudal.ksql.errors import KsqlError, Position
from caudal.ksql.expressions import typed
from caudal.ksql.expressions.casts import boolean_of_text, caster
from caudal.ksql.expressions.typed import Typed
from caudal.ksql.functions.signatures import as_decimal, can_widen, widest
from caudal.ksql.types import Array, Base, Decimal, Map, SqlType, Struct

NUMBERS = frozenset({Base.INTEGER, Base.BIGINT, Base.DECIMAL, Base.DOUBLE})
TIMES = frozenset({Base.DATE, Base.TIME, Base.TIMESTAMP})


def is_number(given: SqlType | None) -> bool:
    return given is not None and given.base in NUMBERS


def decimal_type(value: Number) -> Decimal:
    """The narrowest that holds a value.

    >>> str(decimal_type(Number("1.50"))), str(decimal_type(Number("0.05"))), str(decimal_type(Number("0.0")))
    ('DECIMAL(3, 2)', 'DECIMAL(2, 2)', 'DECIMAL(2, 1)')
    """
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    if not value:
        return types.decimal(scale + 1, scale)
    return types.decimal(max(len(digits) + max(exponent, 0), scale), scale)


def number_type_of_text(text: str) -> SqlType | None:
    """The numeric type that a text is of: '10' INTEGER, '1.5' DECIMAL(2, 1); None where it is no number."""
    try:
        value = Number(text.strip())
    except InvalidOperation:
        return None
    if not value.is_finite():
        return None
    if not any(sign in text for sign in ".eE"):
        if -(2**31) <= value < 2**31:
            return types.INTEGER
        if -(2**63) <= value < 2**63:
            return types.BIGINT
    return decimal_type(value)


def common_type(items: Sequence[Typed], at: Position | None = None) -> SqlType | None:
    """What all of them can be made; None where all are NULL."""
    common: SqlType | None = None
    for item in items:
        if item.type is None:
            continue
        if common is None:
            common = item.type
            continue
        found = _common(common, item, at)
        if found is None:
            raise KsqlError(f"Operator failed to coerce: expected {common}, but got {item.type}.", at)
        common = found
    return common


def _common(common: SqlType, item: Typed, at: Position | None) -> SqlType | None:
    given = item.type
    assert given is not None
    found = widest(common, given)
    if found is not None:
        return found
    if not isinstance(item, typed.Constant):
        return None
    if given.base is Base.STRING:
        if common.base in NUMBERS:
            number = number_type_of_text(item.value)
            if number is None:
                raise KsqlError(f'Invalid input syntax for type {common.base.value}: "{item.value}".', at)
            return widest(common, number)
        if common.base is Base.BOOLEAN:
            if boolean_of_text(item.value) is None:
                raise KsqlError(f'Invalid input syntax for type BOOLEAN: "{item.value}".', at)
            return common
        if common.base in TIMES:
            return common
    return common if common.base is Base.STRING else None


def convert(item: Typed, target: SqlType, at: Position | None = None) -> Typed:
    """The expression as one of another type, by the rules above."""
    if item.type == target:
        return item
    if item.type is None:
        return typed.Constant(target, None)
    if isinstance(item, typed.Constant):
        return _literal(item, target, at)
    if isinstance(item, typed.ArrayOf) and isinstance(target, Array):
        return typed.ArrayOf(target, tuple(convert(one, target.element, at) for one in item.items))
    if isinstance(item, typed.MapOf) and isinstance(target, Map):
        entries = tuple((convert(k, target.key, at), convert(v, target.value, at)) for k, v in item.entries)
        return typed.MapOf(target, entries)
    if isinstance(item, typed.StructOf) and isinstance(target, Struct):
        return _struct(item, target, at)
    if not can_widen(item.type, target):
        raise _mismatch(item.type, target, at)
    return cast(item, target, at, is_explicit=False)


def _struct(item: typed.StructOf, target: Struct, at: Position | None) -> Typed:
    given = dict(item.fields)
    unknown = [name for name in given if target.field(name) is None]
    if unknown:
        raise _mismatch(item.type, target, at)
    fields = tuple(
        (field.name, convert(given.get(field.name, typed.Constant(None, None)), field.type, at))
        for field in target.fields
    )
    return typed.StructOf(target, fields)


def cast(item: Typed, target: SqlType, at: Position | None = None, *, is_explicit: bool = True) -> Typed:
    """`CAST(item AS target)`, also what is only possible when it is asked for."""
    if item.type == target:
        return item
    if item.type is None:
        return typed.Constant(target, None)
    caster(item.type, target, at)  # says whether there is one
    return typed.Cast(target, item, is_explicit)


def _literal(item: typed.Constant, target: SqlType, at: Position | None) -> Typed:
    given = item.type
    assert given is not None
    if item.value is None:
        return typed.Constant(target, None)
    if target.base is Base.STRING and isinstance(given, Array | Map | Struct):
        raise _mismatch(given, target, at)
    if given.base is Base.STRING:
        possible = target.base in NUMBERS | TIMES | {Base.BOOLEAN, Base.BYTES}
        if target.base is Base.BOOLEAN and boolean_of_text(item.value) is None:
            raise KsqlError(f'Invalid input syntax for type BOOLEAN: "{item.value}".', at)
    elif isinstance(target, Decimal) and as_decimal(given) is not None:
        possible = True  # whether the value fits is what counts, not its type
    else:
        possible = target.base is Base.STRING or can_widen(given, target)
        if not possible and given.base in NUMBERS and target.base in {Base.INTEGER, Base.BIGINT}:
            # A BIGINT literal in a list of INTEGERs, say: no digit may be lost.
            possible = given.base is not Base.DOUBLE and item.value == int(item.value)
            limit = 2**31 if target.base is Base.INTEGER else 2**63
            possible = possible and -limit <= item.value < limit
    if not possible:
        raise _mismatch(given, target, at)
    try:
        make = caster(given, target, at)
        return typed.Constant(target, item.value if make is None else make(item.value))
    except (ValueError, ArithmeticError) as error:
        raise KsqlError(f"Invalid input syntax for type {target}: {error}", at) from error


def _mismatch(given: SqlType | None, target: SqlType, at: Position | None) -> KsqlError:
    return KsqlError(f"Expected type {target}, but got {given}.", at)
