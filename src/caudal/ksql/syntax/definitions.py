"""The statements that make, change and fill things: CREATE, ALTER, DROP, INSERT."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from caudal.ksql.schema import Place
from caudal.ksql.sources import SourceKind
from caudal.ksql.syntax.lexer import Kind
from caudal.ksql.syntax.queries import QueryParser
from caudal.ksql.syntax.statements import (
    AlterSource,
    ColumnDefinition,
    CreateAsSelect,
    CreateConnector,
    CreateSource,
    CreateType,
    DropConnector,
    DropSource,
    DropType,
    InsertInto,
    InsertValues,
    Property,
    Statement,
)
from caudal.ksql.syntax.tree import Expression, Literal, Null


class DefinitionParser(QueryParser):
    # -- CREATE --------------------------------------------------------------------------------------------------------

    def create(self) -> Statement:
        self.advance()
        or_replace = self.take_word("OR")
        if or_replace:
            self.expect_word("REPLACE")
        if not or_replace:
            if self.take_word("TYPE"):
                return self._create_type()
            for kind in ("SOURCE", "SINK"):
                if self.take_word(kind, "CONNECTOR"):
                    return self._create_connector(kind)
        is_source = self.take_word("SOURCE")
        kind_of_source = self._source_kind(*([] if or_replace or is_source else ["TYPE", "SOURCE", "SINK"]))
        if_not_exists = self._if_not_exists()
        name = self.name(f"a name for the {kind_of_source.value.lower()}")
        columns = self._columns() if self.is_sign("(") else None
        properties = self._with()
        if self.is_word("AS"):
            if columns is not None:
                raise self.problem("With AS SELECT the columns are those of the query: leave out the list.", self.at())
            if is_source:
                raise self.problem("A SOURCE is read only: it cannot be written AS SELECT.", self.at())
            self.advance()
            if not self.is_word("SELECT"):
                raise self.unexpected("SELECT")
            return CreateAsSelect(kind_of_source, name, properties, self.query(), or_replace, if_not_exists)
        on_error = None
        if self.take_word("ON"):
            self.expect_word("ERROR")
            on_error = self.one_of("FAIL", "SKIP", "DLQ")
        return CreateSource(
            kind_of_source, name, columns or (), properties, or_replace, if_not_exists, is_source, on_error
        )

    def source_definition(self) -> CreateSource:
        """`STREAM s (…) WITH (…)` of ASSERT, without CREATE."""
        kind = self._source_kind()
        name = self.name(f"the name of the {kind.value.lower()}")
        columns = self._columns() if self.is_sign("(") else ()
        return CreateSource(kind, name, columns, self._with())

    def _source_kind(self, *others: str) -> SourceKind:
        for kind in SourceKind:
            if self.take_word(kind.value):
                return kind
        raise self.unexpected(*(kind.value for kind in SourceKind), *others)

    def _if_not_exists(self) -> bool:
        if not self.take_word("IF"):
            return False
        self.expect_word("NOT", "EXISTS")
        return True

    def _if_exists(self) -> bool:
        if not self.take_word("IF"):
            return False
        self.expect_word("EXISTS")
        return True

    def _columns(self) -> tuple[ColumnDefinition, ...]:
        self.expect_sign("(")
        return self._list(self._column, ")")

    def _column(self) -> ColumnDefinition:
        at = self.at()
        name = self.name("a column's name")
        of = self.type()
        if self.take_word("PRIMARY"):
            self.expect_word("KEY")
            return ColumnDefinition(name, of, Place.KEY, primary=True, at=at)
        if self.take_word("KEY"):
            return ColumnDefinition(name, of, Place.KEY, at=at)
        if self.take_word("HEADERS"):
            return ColumnDefinition(name, of, Place.HEADERS, at=at)
        if self.take_word("HEADER"):
            self.expect_sign("(")
            header = self.string("the header's name as a string")
            self.expect_sign(")")
            return ColumnDefinition(name, of, Place.HEADERS, header=header, at=at)
        return ColumnDefinition(name, of, at=at)

    def _create_type(self) -> Statement:
        if_not_exists = self._if_not_exists()
        name = self.name("a name for the type")
        self.expect_word("AS")
        return CreateType(name, self.type(), if_not_exists)

    def _create_connector(self, kind: str) -> Statement:
        if_not_exists = self._if_not_exists()
        name = self.name("a name for the connector")
        if not self.is_word("WITH"):
            raise self.unexpected("WITH")
        return CreateConnector(kind, name, self._with(), if_not_exists)

    # -- WITH ----------------------------------------------------------------------------------------------------------

    def _with(self) -> tuple[Property, ...]:
        if not self.take_word("WITH"):
            return ()
        self.expect_sign("(")
        found: dict[str, Property] = {}
        for one in self._list(self._property, ")"):
            if one.name in found:
                raise self.problem(f"The property {one.name} is given twice.", one.at)
            found[one.name] = one
        return tuple(found.values())

    def _property(self) -> Property:
        at = self.at()
        name = self.advance().value if self.token.kind is Kind.STRING else self.name("a property's name")
        self.expect_sign("=")
        return Property(name, self._literal(), at=at)

    def _literal(self) -> Any:
        """A number, string, TRUE, FALSE or NULL: its value."""
        token, following = self.token, self.ahead()
        numbers = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)
        is_literal = (
            token.kind in (Kind.STRING, *numbers)
            or (token.text == "-" and following.kind in numbers)
            or (token.kind is Kind.WORD and token.value in ("TRUE", "FALSE", "NULL"))
        )
        if not is_literal:
            raise self.unexpected("a string, a number, TRUE, FALSE or NULL")
        literal: Expression = self._primary()
        if isinstance(literal, Null):
            return None
        value = literal.value if isinstance(literal, Literal) else None
        assert isinstance(value, bool | int | float | str | Decimal)
        return value

    # -- the rest ------------------------------------------------------------------------------------------------------

    def drop(self) -> Statement:
        self.advance()
        if self.take_word("TYPE"):
            if_exists = self._if_exists()
            return DropType(self.name("the type's name"), if_exists)
        if self.take_word("CONNECTOR"):
            if_exists = self._if_exists()
            return DropConnector(self.name("the connector's name"), if_exists)
        kind = self._source_kind("TYPE", "CONNECTOR")
        if_exists = self._if_exists()
        name = self.name(f"the name of the {kind.value.lower()}")
        delete_topic = self.take_word("DELETE")
        if delete_topic:
            self.expect_word("TOPIC")
        return DropSource(kind, name, if_exists, delete_topic)

    def alter_source(self) -> Statement:
        kind = self._source_kind("SYSTEM")
        name = self.name(f"the name of the {kind.value.lower()}")
        columns: list[ColumnDefinition] = []
        # ksqlDB's reference shows several without commas, its grammar has them: both are read.
        while not columns or self.take_sign(",") or self.is_word("ADD"):
            self.expect_word("ADD")
            # COLUMN is not reserved: `ADD column INT` adds one of that name.
            if self.is_word("COLUMN") and self.ahead().kind in (Kind.WORD, Kind.QUOTED) and self._has_two_ahead():
                self.advance()
            at = self.at()
            column = self.name("a column's name")
            columns.append(ColumnDefinition(column, self.type(), at=at))
        return AlterSource(kind, name, tuple(columns))

    def _has_two_ahead(self) -> bool:
        """`COLUMN name TYPE` has a second word behind COLUMN, `column TYPE` has not."""
        return self.ahead(2).kind in (Kind.WORD, Kind.QUOTED)

    def insert(self) -> Statement:
        self.advance()
        self.expect_word("INTO")
        target = self.name("the name of a stream or table")
        if self.is_word("WITH"):
            properties = self._with()
            if not self.is_word("SELECT"):
                raise self.unexpected("SELECT")
            return InsertInto(target, self.query(), properties)
        if self.is_word("SELECT"):
            return InsertInto(target, self.query())
        columns = self._column_names() if self.is_sign("(") else ()
        if not self.take_word("VALUES"):
            raise self.unexpected(*(("VALUES",) if columns else ("'('", "VALUES", "WITH", "SELECT")))
        at = self.at()
        values = self._values()
        if columns and len(columns) != len(values):
            raise self.problem(f"Expected a value for each column. Expected {len(columns)}, got {len(values)}.", at)
        return InsertValues(target, columns, values)

    def _column_names(self) -> tuple[str, ...]:
        self.expect_sign("(")
        return self._list(lambda: self.name("a column's name"), ")")

    def _values(self) -> tuple[Expression, ...]:
        self.expect_sign("(")
        return self._list(self.value, ")", may_be_empty=True)
