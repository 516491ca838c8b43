"""Functions from one shape of a value to another, made once per schema: what all converters with schemas share.

A `Shaping` has the function for any value, and a condition that holds for values which stay as they are. A struct's
function is generated from those of its fields, as one dict display: a field that stays costs a look-up and its
condition. Where a field cannot be shaped, the error says which.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

from caudal.connect.data import Kind, Schema
from caudal.connect.errors import DataError

Shape = Callable[[Any], Any]
_NAMES: dict[str, Any] = {"Decimal": Decimal, "UTC": UTC, "date": date, "datetime": datetime, "time": time}

RANGES = {
    Kind.INT8: (-(1 << 7), (1 << 7) - 1),
    Kind.INT16: (-(1 << 15), (1 << 15) - 1),
    Kind.INT32: (-(1 << 31), (1 << 31) - 1),
    Kind.INT64: (-(1 << 63), (1 << 63) - 1),
}


class Shaping(NamedTuple):
    shape: Shape
    unchanged: str | None = None  # an expression that begins with `x`; "": every value stays; None: none is sure to


STAYS = Shaping(lambda value: value, "")
FLOAT = "x.__class__ is float and x - x == 0.0"  # finite


def plain(kind: Kind) -> Shaping:
    """Values of Connect's kinds that are not containers, checked."""
    if kind in RANGES:
        low, high = RANGES[kind]
        return Shaping(_integer(kind, low, high), f"x.__class__ is int and {low} <= x <= {high}")
    if kind is Kind.FLOAT32 or kind is Kind.FLOAT64:
        return Shaping(floating, "x.__class__ is float")
    if kind is Kind.BOOLEAN:
        return Shaping(boolean, "x.__class__ is bool")
    if kind is Kind.STRING:
        return Shaping(text, "x.__class__ is str")
    return Shaping(binary, "x.__class__ is bytes")


def _integer(kind: Kind, low: int, high: int) -> Shape:
    def integer(value: Any) -> int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise DataError(f"{_shown(value)} is not {kind}.")
        number = operator.index(value)
        if not low <= number <= high:
            raise DataError(f"{number} is outside the range of {kind}.")
        return number

    return integer


def floating(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise DataError(f"{_shown(value)} is not a floating-point number.")


def boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise DataError(f"{_shown(value)} is not boolean.")


def text(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    raise DataError(f"{_shown(value)} is not a string.")


def binary(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise DataError(f"{_shown(value)} is not bytes.")


def nullable(schema: Schema, shaping: Shaping, *, default_for_null: bool = True, default: Any = None) -> Shaping:
    """The same shaping, and what None becomes: the default, nothing where that is allowed, or an error.
    `default` is the schema's, shaped already."""
    inner = shaping.shape
    if schema.has_default and schema.default is not None and default_for_null:

        def shape(value: Any) -> Any:
            return default if value is None else inner(value)
    elif schema.optional:

        def shape(value: Any) -> Any:
            return None if value is None else inner(value)
    else:

        def shape(value: Any) -> Any:
            if value is None:
                raise DataError(f"There is no value for {_called(schema)}, which is required and has no default.")
            return inner(value)

    return Shaping(shape, shaping.unchanged or None)


def listed(items: Shaping) -> Shape:
    """Of an array."""
    shape, unchanged = items
    each = "x" if unchanged == "" else f"x if {unchanged} else shape(x)" if unchanged else "shape(x)"
    loop: Shape = eval(f"lambda values: [{each} for x in values]", {**_NAMES, "shape": shape})

    def shaped(value: Any) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise DataError(f"{_shown(value)} is not a list, which an array is.")
        result: list[Any] = loop(value)
        return result

    return shaped


def mapped(keys: Shaping, values: Shaping) -> Shape:
    """Of a map, from and to a dict."""
    key, value_of = keys.shape, values.shape

    def shaped(value: Any) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise DataError(f"{_shown(value)} is not a dict, which a map is.")
        return {key(each): value_of(item) for each, item in value.items()}

    return shaped


class Member(NamedTuple):
    """One field of a struct: its name here, its name there, and how its values change."""

    name: str
    target: str
    shaping: Shaping


def struct_shape(members: Sequence[Member], called: str, *, strict: bool = True) -> Shape:
    """From a dict to a dict. `strict` refuses fields that the schema does not have."""
    lines = []
    scope: dict[str, Any] = dict(_NAMES)
    for index, (name, target, (shape, unchanged)) in enumerate(members):
        scope[f"c{index}"] = shape
        if unchanged == "":
            lines.append(f"{target!r}: get({name!r}),")
        elif unchanged is None:
            lines.append(f"{target!r}: c{index}(get({name!r})),")
        else:  # the first x is where it is bound
            condition = unchanged.replace("x", f"(x := get({name!r}))", 1)
            lines.append(f"{target!r}: x if {condition} else c{index}(x),")
    known = frozenset(member.name for member in members)

    def unknown(value: dict[str, Any]) -> None:
        if strict and (extra := [name for name in value if name not in known]):
            raise DataError(f"{called} has no field named '{extra[0]}'.")

    def failed(value: dict[str, Any], error: Exception) -> DataError:
        """The error with the name of the field that it came from."""
        for name, _, (shape, _) in members:
            try:
                shape(value.get(name))
            except DataError as found:
                return DataError(_within(name, str(found)))
        return error if isinstance(error, DataError) else DataError(str(error))

    def not_a_struct(value: Any) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        raise DataError(f"{_shown(value)} is not a dict, which a struct is ({called}).")

    scope.update(unknown=unknown, failed=failed, not_a_struct=not_a_struct, DataError=DataError)
    source = "\n".join(
        [
            "def shaped(value):",
            "    if value.__class__ is not dict: value = not_a_struct(value)",
            f"    if len(value) != {len(members)}: unknown(value)",
            "    get = value.get",
            "    try:",
            "        return {" + " ".join(lines) + "}",
            "    except DataError as error:",
            "        failure = failed(value, error)",
            "    raise failure",
        ]
    )
    exec(source, scope)
    result: Shape = scope["shaped"]
    return result


def _within(name: str, message: str) -> str:
    """'Field a: Field b: …' as 'Field a.b: …'."""
    if message.startswith("Field "):
        return f"Field {name}.{message[6:]}"
    return f"Field {name}: {message}"


def _called(schema: Schema) -> str:
    return schema.name if schema.name is not None else f"a {schema.kind}"


def _shown(value: Any) -> str:
    """A value in an error: short, for it may be anything."""
    words = repr(value)
    return f"{words if len(words) <= 40 else words[:37] + '...'} ({type(value).__name__})"
