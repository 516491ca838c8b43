"""The statements that look and steer: SHOW, DESCRIBE, EXPLAIN, PRINT, TERMINATE, SET, DEFINE, ASSERT and their kin; and
which statement it is that stands here."""

from __future__ import annotations

from dataclasses import replace

from caudal.ksql.errors import suggestion
from caudal.ksql.syntax.definitions import DefinitionParser
from caudal.ksql.syntax.lexer import Kind
from caudal.ksql.syntax.statements import (
    AlterSystem,
    AssertSchema,
    AssertSource,
    AssertTopic,
    AssertValues,
    Define,
    Describe,
    Explain,
    PrintTopic,
    QueryControl,
    RunScript,
    SetProperty,
    Show,
    Statement,
    Undefine,
    UnsetProperty,
)
from caudal.ksql.syntax.words import STATEMENTS

_SHOWN = ("TOPICS", "STREAMS", "TABLES", "QUERIES", "FUNCTIONS", "PROPERTIES", "CONNECTORS", "TYPES", "VARIABLES")
_EXTENDED = ("TOPICS", "STREAMS", "TABLES", "QUERIES")


class StatementParser(DefinitionParser):
    def statement(self) -> Statement:
        """One statement, with its text; what ends it is left to be read."""
        at, start = self.at(), self.token.start
        found = self._statement()
        return replace(found, text=self.source.text[start : self.tokens[self.index - 1].end], at=at)

    def _statement(self) -> Statement:
        token = self.token
        if token.kind is Kind.WORD:
            match token.value:
                case "SELECT":
                    return self.query()
                case "CREATE":
                    return self.create()
                case "INSERT":
                    return self.insert()
                case "DROP":
                    return self.drop()
                case "ALTER":
                    return self._alter()
                case "SHOW" | "LIST":
                    return self._show()
                case "DESCRIBE":
                    return self._describe()
                case "EXPLAIN":
                    return self._explain()
                case "PRINT":
                    return self._print()
                case "TERMINATE" | "PAUSE" | "RESUME":
                    return self._query_control()
                case "SET":
                    self.advance()
                    return SetProperty(*self._assignment())
                case "UNSET":
                    self.advance()
                    return UnsetProperty(self.string("a property's name as a string"))
                case "DEFINE":
                    return self._define()
                case "UNDEFINE":
                    self.advance()
                    return Undefine(self._variable_name())
                case "ASSERT":
                    return self._assert()
                case "RUN":
                    self.advance()
                    self.expect_word("SCRIPT")
                    return RunScript(self.string("the script's path as a string"))
            hint = suggestion(token.value, STATEMENTS)
            raise self.problem(f"Unknown statement '{token.text}'.{hint}", self.at())
        raise self.unexpected("a statement")

    # -- what is there -------------------------------------------------------------------------------------------------

    def _show(self) -> Statement:
        self.advance()
        for kind in ("SOURCE", "SINK"):
            if self.take_word(kind):
                self.expect_word("CONNECTORS")
                return Show("CONNECTORS", kind=kind)
        if self.take_word("CONNECTOR"):
            self.expect_word("PLUGINS")
            return Show("CONNECTOR PLUGINS")
        all_topics = self.take_word("ALL")
        what = self.one_of(*(("TOPICS",) if all_topics else _SHOWN))
        extended = what in _EXTENDED and self.take_word("EXTENDED")
        return Show(what, extended, all_topics)

    def _describe(self) -> Statement:
        self.advance()
        for what in ("STREAMS", "TABLES"):
            if self.take_word(what):
                return Describe(what, extended=self.take_word("EXTENDED"))
        if self.is_word("EXTENDED") and self.ahead().kind in (Kind.WORD, Kind.QUOTED):
            raise self.problem("EXTENDED stands behind the name: DESCRIBE name EXTENDED.", self.at())
        for what in ("FUNCTION", "CONNECTOR"):
            # Neither is reserved: DESCRIBE function; is about a source of that name.
            if self.is_word(what) and self.ahead().kind in (Kind.WORD, Kind.QUOTED):
                self.advance()
                return Describe(what, self.name(f"the {what.lower()}'s name"))
        name = self.name("the name of a stream or table")
        return Describe("SOURCE", name, self.take_word("EXTENDED"))

    def _explain(self) -> Statement:
        self.advance()
        following = self.ahead()
        ends = following.kind is Kind.END or following.text == ";"
        if self.token.kind is Kind.WORD and self.token.value in STATEMENTS and not ends:
            self.deeper()
            explained = self.statement()
            self.shallower()
            return Explain(explained)
        return Explain(None, self.name("a statement or the id of a query"))

    def _print(self) -> Statement:
        self.advance()
        topic = self._resource("a topic's name")
        from_beginning = self.take_word("FROM")
        if from_beginning:
            self.expect_word("BEGINNING")
        interval = None
        if self.take_word("INTERVAL") or self.take_word("SAMPLE"):
            interval = self.whole_number("a whole number")
        return PrintTopic(topic, from_beginning, interval, self._limit())

    def _resource(self, what: str) -> str:
        """A name outside of SQL, such as a topic's: as it is written, since those are not upper case."""
        token = self.token
        if token.kind is Kind.STRING:
            return self.advance().value
        name = self.name(what)
        return token.text if token.kind is Kind.WORD else name

    # -- steering ------------------------------------------------------------------------------------------------------

    def _query_control(self) -> Statement:
        action = self.advance().value
        if self.take_word("ALL"):
            return QueryControl(action, None)
        return QueryControl(action, self.name("the id of a query or ALL"))

    def _alter(self) -> Statement:
        self.advance()
        if self.take_word("SYSTEM"):
            return AlterSystem(*self._assignment())
        return self.alter_source()

    def _assignment(self) -> tuple[str, str]:
        name = self.string("a property's name as a string")
        self.expect_sign("=")
        return name, self.string("the value as a string")

    def _define(self) -> Statement:
        self.advance()
        name = self._variable_name()
        self.expect_sign("=")
        return Define(name, self.string("the value as a string"))

    def _variable_name(self) -> str:
        if self.token.kind is not Kind.WORD:
            raise self.unexpected("a variable's name")
        return self.advance().text

    # -- ASSERT --------------------------------------------------------------------------------------------------------

    def _assert(self) -> Statement:
        self.advance()
        exists = not self.is_word("NOT")
        if not exists:
            self.expect_word("NOT", "EXISTS")
        if self.take_word("TOPIC"):
            topic = self._resource("a topic's name")
            properties = self._with()
            return AssertTopic(topic, properties, self._timeout(), exists)
        if self.take_word("SCHEMA"):
            return self._assert_schema(exists)
        if not exists:
            raise self.unexpected("TOPIC", "SCHEMA")
        if self.take_word("NULL"):
            self.expect_word("VALUES")
            return self._assert_values("KEY", tombstone=True)
        if self.take_word("VALUES"):
            return self._assert_values("VALUES", tombstone=False)
        if self.is_word("STREAM") or self.is_word("TABLE"):
            return AssertSource(self.source_definition())
        raise self.unexpected("TOPIC", "SCHEMA", "STREAM", "TABLE", "VALUES", "NULL VALUES", "NOT EXISTS")

    def _assert_schema(self, exists: bool) -> Statement:
        subject = self._resource("a subject's name") if self.take_word("SUBJECT") else None
        schema_id = self.whole_number("the schema's id") if self.take_word("ID") else None
        if subject is None and schema_id is None:
            raise self.unexpected("SUBJECT", "ID")
        return AssertSchema(subject, schema_id, self._timeout(), exists)

    def _assert_values(self, before_values: str, *, tombstone: bool) -> Statement:
        target = self.name("the name of a stream or table")
        columns = self._column_names() if self.is_sign("(") else ()
        self.expect_word(before_values)
        return AssertValues(target, columns, self._values(), tombstone)

    def _timeout(self) -> int | None:
        return self._span() if self.take_word("TIMEOUT") else None
