"""Types as they are written: `DECIMAL(10, 2)`, `MAP<STRING, ARRAY<INT>>`, `STRUCT<a INT, b address>`.

A name that is not built in is one of CREATE TYPE, and only the catalog knows it: then the whole type is a TypeName
with its text, and `resolve_type` (in parser.py) reads that again with the catalog at hand.
"""

from __future__ import annotations

from collections.abc import Callable

from caudal.ksql.errors import Position
from caudal.ksql.syntax.cursor import Cursor
from caudal.ksql.syntax.lexer import Kind, Text
from caudal.ksql.syntax.names import written_name, written_type
from caudal.ksql.syntax.tree import TypeName
from caudal.ksql.types import SIMPLE_TYPES, STRING, Field, SqlType, array, decimal, mapping, struct

Custom = Callable[[str, Position], SqlType]  # what a custom type is; raises where there is none


class TypeParser(Cursor):
    def __init__(self, source: Text, custom: Custom | None = None) -> None:
        super().__init__(source)
        self._custom = custom

    def type(self) -> SqlType | TypeName:
        at = self.at()
        self.deeper()
        found = self._prefix_type(at)
        while self.is_word("ARRAY"):  # the older way to write it: INT ARRAY
            self.advance()
            found = self._whole(at, "ARRAY<{}>", found, make=lambda parts: array(parts[0]))
        self.shallower()
        return found

    def _prefix_type(self, at: Position) -> SqlType | TypeName:
        if self.is_word("DECIMAL"):
            return self._decimal(at)
        opened = self.ahead().text == "<"
        if opened and self.take_word("ARRAY"):
            self.advance()
            element = self.type()
            self.expect_sign(">")
            return self._whole(at, "ARRAY<{}>", element, make=lambda parts: array(parts[0]))
        if opened and self.take_word("MAP"):
            self.advance()
            key = self.type()
            self.expect_sign(",")
            value = self.type()
            self.expect_sign(">")
            return self._whole(at, "MAP<{}, {}>", key, value, make=lambda parts: mapping(parts[0], parts[1]))
        if self.is_word("STRUCT") and self.ahead().text in ("<", "<>"):
            return self._struct(at)
        return self._simple(at)

    def _simple(self, at: Position) -> SqlType | TypeName:
        token = self.token
        name = self.name("a type")
        if token.kind is Kind.WORD:
            if name in ("ARRAY", "MAP", "STRUCT"):
                raise self.unexpected(f"'<' after {name}")
            built_in = SIMPLE_TYPES.get(name)
            if built_in is not None:
                if built_in is STRING and self.take_sign("("):  # VARCHAR(20): the length is not kept, as in ksqlDB
                    self.whole_number("a length")
                    self.expect_sign(")")
                return built_in
        return self._custom(name, at) if self._custom is not None else TypeName(written_name(name), at=at)

    def _decimal(self, at: Position) -> SqlType:
        self.advance()
        if not self.is_sign("("):
            raise self.problem("DECIMAL needs a precision and a scale: DECIMAL(10, 2).", at)
        self.advance()
        precision = self.whole_number("the precision")
        self.expect_sign(",")
        scale = self.whole_number("the scale")
        self.expect_sign(")")
        if precision < 1:
            raise self.problem(f"DECIMAL precision must be >= 1: DECIMAL({precision},{scale}).", at)
        if scale > precision:
            raise self.problem(f"DECIMAL precision must be >= scale: DECIMAL({precision},{scale}).", at)
        return decimal(precision, scale)

    def _struct(self, at: Position) -> SqlType | TypeName:
        self.advance()
        names: list[str] = []
        types: list[SqlType | TypeName] = []
        if not self.take_sign("<>"):
            self.expect_sign("<")
            while not (not names and self.is_sign(">")):
                field_at = self.at()
                name = self.name("a field's name")
                if name in names:
                    raise self.problem(f"Duplicate field '{name}' in a STRUCT.", field_at)
                names.append(name)
                types.append(self.type())
                if not self.take_sign(","):
                    break
            self.expect_sign(">", ",")
        shape = "STRUCT<" + ", ".join(
            f"{written_name(name).replace('{', '{{').replace('}', '}}')} {{}}" for name in names
        )
        return self._whole(
            at,
            shape + ">",
            *types,
            make=lambda parts: struct(*(Field(name, one) for name, one in zip(names, parts, strict=True))),
        )

    def _whole(
        self,
        at: Position,
        shape: str,
        *parts: SqlType | TypeName,
        make: Callable[[list[SqlType]], SqlType],
    ) -> SqlType | TypeName:
        known = [part for part in parts if isinstance(part, SqlType)]
        if len(known) == len(parts):
            return make(known)
        texts = [part.text if isinstance(part, TypeName) else written_type(part) for part in parts]
        return TypeName(shape.format(*texts), at=at)
