"""JSON: a row is an object with a field per column, or, unwrapped, the value of its one column.

The functions are made as source for the columns at hand: for text and numbers a row costs a look-up and a type check
per column. Names, converters and limits reach the source by reference; nothing of the user's is pasted into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from caudal.ksql.formats.columns import ColumnsSerde
from caudal.ksql.formats.json_values import Convert, Fields, Reread, exact_loads, number, reader_at, writer
from caudal.ksql.formats.values import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN, Misfit
from caudal.ksql.generated import code_of
from caudal.ksql.schema import Column, Place
from caudal.ksql.types import Base, SqlType
from caudal.ksql.types import Decimal as DecimalType
from caudal.serde.serde import SerdeError
from caudal.serde.wire_format import HEAD_BYTES

# Where a value is of no more than this class, it is right as it is.
_PLAIN = {
    Base.BOOLEAN: "{0}.__class__ is not bool",
    Base.INTEGER: f"{{0}}.__class__ is not int or not {INT_MIN} <= {{0}} <= {INT_MAX}",
    Base.BIGINT: f"{{0}}.__class__ is not int or not {LONG_MIN} <= {{0}} <= {LONG_MAX}",
    Base.DOUBLE: "{0}.__class__ is not float",
    Base.STRING: "{0}.__class__ is not str",
}
_PLAIN_OF_ORJSON = {**_PLAIN, Base.BIGINT: f"{{0}}.__class__ is not int or {{0}} > {LONG_MAX}"}  # none are smaller


class JsonRow(ColumnsSerde):
    """
    >>> from caudal.ksql import types
    >>> serde = JsonRow([Column("ID", types.BIGINT), Column("NAME", types.STRING)])
    >>> serde.deserialize(b'{"id": 7, "name": "ana", "more": []}')
    (7, 'ana')
    >>> serde.serialize((7, None))
    b'{"ID":7,"NAME":null}'
    """

    __slots__ = ()
    format = "JSON"

    def __init__(self, columns: Sequence[Any], wrapped: bool = True) -> None:
        super().__init__(columns, wrapped)
        self.deserialize = json_reader(self)
        self.serialize = json_writer(self)


def json_reader(serde: ColumnsSerde, *, begin: int = 0) -> Convert:
    """`begin`: where the JSON begins; what is before it is another's."""
    exact = _needs_exact(serde.columns)

    def loaded(data: bytes) -> Any:
        """Where the document is not simply there."""
        text = data[begin:]
        try:
            return exact_loads(text) if exact else orjson.loads(text)
        except ValueError as error:
            # JSON_SR's records can be read as JSON: what is in front is the schema's id. And orjson has no number for
            # what a double cannot be.
            has_id = not begin and data[:1] == b"\0"
            if has_id or "infinity" in str(error):
                try:
                    return exact_loads(data[HEAD_BYTES:] if has_id else text)
                except ValueError:
                    pass
            raise serde.unreadable(data, f"it is not JSON: {error}") from None

    def exactly(data: bytes) -> Any:
        try:
            return convert(exact_loads(data[HEAD_BYTES:] if data[:1] == b"\0" else data))
        except ValueError as error:
            raise serde.unreadable(data, error) from None

    known = {"loaded": loaded, "exactly": exactly, "unreadable": serde.unreadable, "Reread": Reread, "Misfit": Misfit}
    known |= {"loads": loaded if begin or exact else orjson.loads}
    source, constants = _reading(serde, _PLAIN if begin or exact else _PLAIN_OF_ORJSON)
    functions = _compiled(source, {**known, **constants})
    convert: Convert = functions["convert"]
    read: Convert = functions["read"]
    return read


def json_writer(serde: ColumnsSerde, *, dumps: Any = orjson.dumps) -> Convert:
    """`dumps` makes the bytes of what orjson can write."""
    return _writing(serde, dumps)


def _needs_exact(columns: Sequence[Column]) -> bool:
    """Whether every document is better read with exact fractions at once."""

    def wide(type: SqlType) -> bool:
        if isinstance(type, DecimalType):
            return type.precision > 15
        inner = [getattr(type, name, None) for name in ("element", "key", "value")]
        inner += [field.type for field in getattr(type, "fields", ())]
        return any(wide(each) for each in inner if each is not None)

    return any(wide(column.type) for column in columns)


# -- the source of a reader --------------------------------------------------------------------------------------------


def _reading(serde: ColumnsSerde, plain: dict[Base, str]) -> tuple[str, dict[str, Any]]:
    """`read`, from bytes, and `convert`, from a document of any making, with what they refer to. `plain`: when `read`
    need not convert a value."""
    known: dict[str, Any] = {"other": _other}
    names = []
    bodies: tuple[list[str], list[str]] = ([], [])
    for place, column in enumerate(serde.written):
        name, path = f"v{place}", "" if not serde.wrapped else f".{column.name}"
        names.append(name)
        known[f"c{place}"] = reader_at(path, column.type)
        for body, tests in zip(bodies, (_PLAIN, plain), strict=True):
            test = tests.get(column.type.base, "{0} is not None").format(name)
            body.append(f"if {test}: {name} = c{place}({name})")
    row = iter(names)
    result = ", ".join("None" if column.place is Place.HEADERS else next(row) for column in serde.columns)
    if serde.wrapped:
        fields = Fields([column.name for column in serde.written])
        known |= {"shapes": fields.shapes, "learnt": fields.learnt}
        head = [
            "if document.__class__ is not dict: return other(document)",
            "get = shapes.get(tuple(document))",
            "if get is None: get = learnt(document)",
            f"{''.join(name + ', ' for name in names)}= get(document)" if names else "",
        ]
    else:
        head = ["v0 = document"]
    end = f"return ({result},)" if result else "return ()"
    source = ["def convert(document):", *(f"    {line}" for line in [*head, *bodies[0], end]), "def read(data):"]
    source += [
        "    try:",
        "        document = loads(data)",
        "    except ValueError:",
        "        document = loaded(data)",
    ]
    source += ["    try:", *(f"        {line}" for line in [*head, *bodies[1], end])]
    source += ["    except Reread:", "        return exactly(data)"]
    source += ["    except Misfit as error:", "        raise unreadable(data, error) from None"]
    return "\n".join(source), known


def _other(document: Any) -> Any:
    """A document that is no object."""
    if document is None:
        return None
    kinds = {bool: "boolean", str: "string", list: "array"}
    kind = kinds.get(document.__class__, "number")
    raise Misfit(f"Can't convert type. sourceType: {kind}, requiredType: STRUCT")


# -- the source of a writer --------------------------------------------------------------------------------------------


def _writing(serde: ColumnsSerde, dumps: Any) -> Convert:
    known: dict[str, Any] = {"dumps": dumps, "number": number, "unwritable": serde.unwritable, "SerdeError": SerdeError}
    names: dict[str, str] = {}
    row, items, again, doubles = [], [], [], []
    for place, column in enumerate(serde.columns):
        row.append(f"v{place}")
        if column.place is Place.HEADERS:
            continue
        names[f"n{place}"] = column.name
        value = safe = f"v{place}"
        if column.type.base is Base.DOUBLE:
            safe = f"None if v{place} is None else number(v{place})"
            doubles.append(f"v{place} is not None and v{place} - v{place} != 0")
        else:
            convert = writer(column.type)
            if convert is not None:
                known[f"c{place}"] = convert
                value = safe = f"None if v{place} is None else c{place}(v{place})"
        items.append(f"'n{place}': {value}" if serde.wrapped else value)
        again.append(f"'n{place}': {safe}" if serde.wrapped else safe)
    shape = "{{{}}}" if serde.wrapped else "{}"
    lines = ["def write(row):", "    try:", f"        {''.join(name + ', ' for name in row)}= row" if row else ""]
    if not serde.wrapped:
        only = serde.places[0]
        lines.append(f"        if v{only} is None: return None")
    lines.append(f"        out = dumps({shape.format(', '.join(items))})")
    if doubles:
        # Of a number that is not finite orjson makes null; x - x is 0 for all others.
        lines.append(f"        if {' or '.join(doubles)}:")
        lines.append(f"            out = dumps({shape.format(', '.join(again))})")
    lines += ["    except SerdeError:", "        raise"]
    lines += ["    except (TypeError, ValueError, AttributeError, KeyError) as error:"]
    lines += ["        raise unwritable(row, error) from None", "    return out"]
    made: Convert = _compiled("\n".join(lines), known, names)["write"]
    return made


def _compiled(source: str, known: dict[str, Any], names: dict[str, str] | None = None) -> dict[str, Any]:
    exec(code_of(source, "caudal.ksql.formats.json", tuple((names or {}).items())), known)
    return known
