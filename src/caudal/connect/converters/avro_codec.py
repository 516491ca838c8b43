"""Avro's bytes by generated functions: one reader and one writer for each schema, of plain Python.

fastavro asks, value by value, what to do next, and reads byte by byte through a file; a function that was written for
the schema does neither, and is two to three times faster. It knows what Connect writes: records, arrays, maps, optional
values, enums, fixed, and Connect's logical types. Schemas with other unions are left to fastavro (`Unsupported`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from caudal.connect.converters import logical
from caudal.serde.wire_format import HEAD_BYTES

Write = Callable[[Any], bytes]
Read = Callable[[bytes], Any]

_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_PACKED = {"float": ("pack_float", "unpack_float", 4), "double": ("pack_double", "unpack_double", 8)}


class Unsupported(Exception):
    """fastavro has to do it."""


def writer(parsed: Any, head: bytes, failed: Callable[[Any, Exception], Exception]) -> Write:
    """`parsed` is fastavro's form. Values were shaped before: their types are right. `failed` makes the error."""
    body = _Writer(parsed).compiled(parsed)
    start = bytearray(head)

    def write(value: Any) -> bytes:
        out = start.copy()
        try:
            body(out, value)
        except Exception as error:
            raise failed(value, error) from None
        return bytes(out)

    return write


def reader(parsed: Any, failed: Callable[[bytes, Exception], Exception]) -> Read:
    """Whole records, head included."""
    body = _Reader(parsed).compiled(parsed)

    def read(data: bytes) -> Any:
        try:
            value, end = body(data, HEAD_BYTES)
            if end != len(data):
                raise ValueError("it is longer or shorter than its schema says")
        except Exception as error:
            raise failed(data, error) from None
        return value

    return read


class _Generator:
    def __init__(self, parsed: Any) -> None:
        self._named: dict[str, Any] = parsed.get("__named_schemas", {}) if isinstance(parsed, dict) else {}
        self._count = 0
        self._functions: dict[str, str] = {}  # of records, by name
        self._source: list[str] = []
        self.scope: dict[str, Any] = {}

    def _variable(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _kept(self, value: Any) -> str:
        name = self._variable("k")
        self.scope[name] = value
        return name

    def _resolved(self, schema: Any) -> tuple[str, Any]:
        """The type's name, and its definition."""
        if isinstance(schema, str):
            schema = self._named.get(schema, schema)
        while isinstance(schema, dict) and isinstance(schema["type"], dict):
            schema = schema["type"]
        if isinstance(schema, list):
            return "union", schema
        return (schema, {}) if isinstance(schema, str) else (schema["type"], schema)

    def _optional(self, members: list[Any]) -> tuple[int, Any]:
        """Where null is, and the other branch."""
        if len(members) != 2 or members.count("null") != 1:
            raise Unsupported
        null = members.index("null")
        return null, members[1 - null]


class _Writer(_Generator):
    def compiled(self, parsed: Any) -> Callable[[bytearray, Any], None]:
        self.scope |= {
            "long": _put_long, "pack_float": _FLOAT.pack, "pack_double": _DOUBLE.pack,
            "days": logical.days_of, "day_ms": logical.day_milliseconds_of, "ms": logical.milliseconds_of,
            "decimal": logical.bytes_of_decimal,
        }  # fmt: skip
        lines = ["def root(o, v):", "    put = o.append", *self._lines(parsed, "v", "    ")]
        exec("\n".join([*self._source, *lines]), self.scope)
        root: Callable[[bytearray, Any], None] = self.scope["root"]
        return root

    def _lines(self, schema: Any, value: str, pad: str) -> list[str]:
        kind, definition = self._resolved(schema)
        logical_type = definition.get("logicalType") if isinstance(definition, dict) else None
        match kind:
            case "null":
                return [f"{pad}pass"]
            case "union":
                null, other = self._optional(definition)
                inner = self._lines(other, value, pad + "    ")
                there, away = (2, 0) if null == 0 else (0, 2)
                return [f"{pad}if {value} is None: put({away})", f"{pad}else:", f"{pad}    put({there})", *inner]
            case "int" | "long":
                number = {"date": "days", "time-millis": "day_ms", "timestamp-millis": "ms"}.get(logical_type or "")
                return self._long(f"{number}({value})" if number else value, pad)
            case "float" | "double":
                return [f"{pad}o += {_PACKED[kind][0]}({value})"]
            case "boolean":
                return [f"{pad}put(1 if {value} else 0)"]
            case "string":
                return self._bytes(f"{value}.encode()", pad)
            case "bytes" if logical_type == "decimal":
                scale = int(definition.get("scale", 0))
                return self._bytes(f"{value} if {value}.__class__ is bytes else decimal({value}, {scale})", pad)
            case "bytes":
                return self._bytes(value, pad)
            case "enum":
                symbols = self._kept({symbol: index for index, symbol in enumerate(definition["symbols"])})
                return self._long(f"{symbols}[{value}]", pad)
            case "fixed" if logical_type is None:
                size = int(definition["size"])
                return [
                    f"{pad}if len({value}) != {size}: raise ValueError('a fixed has another size')",
                    f"{pad}o += {value}",
                ]
            case "array":
                item = self._variable("x")
                inner = self._lines(definition["items"], item, pad + "        ")
                return self._block(value, pad, f"for {item} in {value}:", inner)
            case "map":
                key, item = self._variable("x"), self._variable("x")
                inner = [*self._bytes(f"{key}.encode()", pad + "        "),
                         *self._lines(definition["values"], item, pad + "        ")]  # fmt: skip
                return self._block(value, pad, f"for {key}, {item} in {value}.items():", inner)
            case "record":
                return [f"{pad}{self._record(definition)}(o, {value})"]
        raise Unsupported

    def _long(self, value: str, pad: str) -> list[str]:
        z = self._variable("z")
        return [
            f"{pad}{z} = {value}",
            f"{pad}{z} = ({z} << 1) ^ ({z} >> 63)",
            f"{pad}if {z} < 128: put({z})",
            f"{pad}else: long(o, {z})",
        ]

    def _bytes(self, value: str, pad: str) -> list[str]:
        data, size = self._variable("b"), self._variable("n")
        return [
            f"{pad}{data} = {value}",
            f"{pad}{size} = len({data}) << 1",
            f"{pad}if {size} < 128: put({size})",
            f"{pad}else: long(o, {size})",
            f"{pad}o += {data}",
        ]

    def _block(self, value: str, pad: str, loop: str, inner: list[str]) -> list[str]:
        return [
            f"{pad}if {value}:",
            *self._long(f"len({value})", pad + "    "),
            f"{pad}    {loop}",
            *inner,
            f"{pad}put(0)",
        ]

    def _record(self, definition: Any) -> str:
        name = definition["name"]
        function = self._functions.get(name)
        if function is None:
            self._functions[name] = function = self._variable("f")
            lines = [f"def {function}(o, v):", "    put = o.append"]
            for field in definition["fields"]:
                item = self._variable("x")
                lines += [f"    {item} = v[{field['name']!r}]", *self._lines(field["type"], item, "    ")]
            self._source += lines
        return function


class _Reader(_Generator):
    def compiled(self, parsed: Any) -> Callable[[bytes, int], tuple[Any, int]]:
        self.scope |= {
            "long": _take_long, "bad": _bad, "unpack_float": _FLOAT.unpack_from, "unpack_double": _DOUBLE.unpack_from,
            "date": logical.date_of, "time": logical.time_of, "at": logical.datetime_of, "UTC": UTC,
            "fromtimestamp": datetime.fromtimestamp, "decimal": logical.decimal_of_bytes,
        }  # fmt: skip
        lines = ["def root(d, p):", *self._lines(parsed, "x", "    "), "    return x, p"]
        exec("\n".join([*self._source, *lines]), self.scope)
        root: Callable[[bytes, int], tuple[Any, int]] = self.scope["root"]
        return root

    def _lines(self, schema: Any, target: str, pad: str) -> list[str]:
        kind, definition = self._resolved(schema)
        logical_type = definition.get("logicalType") if isinstance(definition, dict) else None
        match kind:
            case "null":
                return [f"{pad}{target} = None"]
            case "union":
                null, other = self._optional(definition)
                there, away = (2, 0) if null == 0 else (0, 2)
                inner = self._lines(other, target, pad + "    ")
                return [
                    f"{pad}n = d[p]; p += 1",
                    f"{pad}if n == {there}:",
                    *inner,
                    f"{pad}elif n == {away}: {target} = None",
                    f"{pad}else: bad('a branch of a union')",
                ]
            case "int" | "long":
                number = {"date": "date", "time-millis": "time", "timestamp-millis": "at"}.get(logical_type or "")
                plain = "(n >> 1) ^ -(n & 1)"
                return [*self._long(pad), f"{pad}{target} = {f'{number}({plain})' if number else plain}"]
            case "float" | "double":
                _, unpack, size = _PACKED[kind]
                return [f"{pad}{target} = {unpack}(d, p)[0]; p += {size}"]
            case "boolean":
                return [f"{pad}n = d[p]; p += 1", f"{pad}if n > 1: bad('a boolean')", f"{pad}{target} = n == 1"]
            case "string":
                return [*self._slice(pad), f"{pad}{target} = d[p:e].decode(); p = e"]
            case "bytes" if logical_type == "decimal":
                scale = int(definition.get("scale", 0))
                return [*self._slice(pad), f"{pad}{target} = decimal(d[p:e], {scale}); p = e"]
            case "bytes":
                return [*self._slice(pad), f"{pad}{target} = d[p:e]; p = e"]
            case "enum":
                symbols = self._kept(tuple(definition["symbols"]))
                return [*self._long(pad), f"{pad}if n & 1: bad('an enum')", f"{pad}{target} = {symbols}[n >> 1]"]
            case "fixed" if logical_type is None:
                size = int(definition["size"])
                return [f"{pad}{target} = d[p:p + {size}]; p += {size}"]
            case "array":
                item = self._variable("x")
                inner = self._lines(definition["items"], item, pad + "        ")
                return self._blocks(target, "[]", pad, [*inner, f"{pad}        {target}.append({item})"])
            case "map":
                key, item = self._variable("x"), self._variable("x")
                inner = [*self._lines("string", key, pad + "        "),
                         *self._lines(definition["values"], item, pad + "        ")]  # fmt: skip
                return self._blocks(target, "{}", pad, [*inner, f"{pad}        {target}[{key}] = {item}"])
            case "record":
                return [f"{pad}{target}, p = {self._record(definition)}(d, p)"]
        raise Unsupported

    def _long(self, pad: str) -> list[str]:
        return [f"{pad}n = d[p]; p += 1", f"{pad}if n > 127: n, p = long(d, n, p)"]

    def _slice(self, pad: str) -> list[str]:
        """Where bytes end. One that ends behind the record is found when the record's end is compared."""
        return [*self._long(pad), f"{pad}if n & 1: bad('a length')", f"{pad}e = p + (n >> 1)"]

    def _blocks(self, target: str, empty: str, pad: str, inner: list[str]) -> list[str]:
        count = self._variable("c")
        return [
            f"{pad}{target} = {empty}",
            f"{pad}while True:",
            *self._long(pad + "    "),
            f"{pad}    if not n: break",
            f"{pad}    {count} = n >> 1",
            f"{pad}    if n & 1:",  # a block that tells its size in bytes, too
            f"{pad}        {count} += 1",
            *self._long(pad + "        "),
            f"{pad}    if {count} > len(d): bad('the length of a block')",
            f"{pad}    for _ in range({count}):",
            *inner,
        ]

    def _record(self, definition: Any) -> str:
        name = definition["name"]
        function = self._functions.get(name)
        if function is None:
            self._functions[name] = function = self._variable("f")
            lines = [f"def {function}(d, p):"]
            items = []
            for field in definition["fields"]:
                item = self._variable("x")
                items.append(f"{field['name']!r}: {item}")
                lines += self._lines(field["type"], item, "    ")
            self._source += [*lines, f"    return {{{', '.join(items)}}}, p"]
        return function


def _put_long(out: bytearray, z: int) -> None:
    while z > 127:
        out.append(z & 127 | 128)
        z >>= 7
    out.append(z)


def _take_long(data: bytes, n: int, position: int) -> tuple[int, int]:
    """The rest of a number whose first byte is `n`."""
    n &= 127
    shift = 7
    while True:
        byte = data[position]
        position += 1
        n |= (byte & 127) << shift
        if byte < 128:
            if n >> 64:
                _bad("a number")
            return n, position
        shift += 7
        if shift > 63:
            _bad("a number")


def _bad(what: str) -> None:
    raise ValueError(f"there are bytes that {what} cannot have")
