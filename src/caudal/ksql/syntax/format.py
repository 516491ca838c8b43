"""Statements back to text that reads as the same tree, on one line. Expressions are in `format_expression.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from caudal.ksql.schema import Place
from caudal.ksql.syntax import statements as ast
from caudal.ksql.syntax.format_expression import format_expression, format_literal, format_type, format_value
from caudal.ksql.syntax.names import written_name, written_string
from caudal.ksql.syntax.statements import Statement
from caudal.ksql.syntax.words import UNITS

__all__ = ["format_expression", "format_literal", "format_statement", "format_type"]


def format_statement(statement: Statement) -> str:
    """
    >>> from caudal.ksql.syntax.parser import parse_statement
    >>> format_statement(parse_statement("select id, count(*) c from s window tumbling (size 60 seconds) group by id;"))
    'SELECT ID, COUNT(*) AS C FROM S WINDOW TUMBLING (SIZE 1 MINUTES) GROUP BY ID'
    """
    return _WRITERS[type(statement)](statement)


# -- parts -------------------------------------------------------------------------------------------------------------


def _words(*parts: Any) -> str:
    """The parts that are there, with blanks between them."""
    return " ".join(part for part in parts if part and isinstance(part, str))


def _when(condition: bool, text: str) -> str:
    return text if condition else ""


def _names(names: Iterable[str]) -> str:
    return f"({', '.join(written_name(name) for name in names)})"


def _values(values: Iterable[Any]) -> str:
    return f"({', '.join(format_value(value) for value in values)})"


def _property(one: ast.Property) -> str:
    name = written_name(one.name)
    return f"{written_string(one.name) if name.startswith('`') else name} = {format_literal(one.value)}"


def _with(properties: tuple[ast.Property, ...]) -> str:
    return f"WITH ({', '.join(_property(one) for one in properties)})" if properties else ""


def _span(milliseconds: int) -> str:
    unit = next(unit for unit, size in UNITS.items() if milliseconds % size == 0 and (milliseconds or unit == "SECOND"))
    return f"{milliseconds // UNITS[unit]} {unit}S"


def _clause(word: str, milliseconds: int | None) -> str:
    return "" if milliseconds is None else f"{word} {_span(milliseconds)}"


def _column(column: ast.ColumnDefinition) -> str:
    place = ""
    if column.place is Place.KEY:
        place = "PRIMARY KEY" if column.primary else "KEY"
    elif column.place is Place.HEADERS:
        place = "HEADERS" if column.header is None else f"HEADER({written_string(column.header)})"
    return _words(written_name(column.name), format_type(column.type), place)


# -- queries -----------------------------------------------------------------------------------------------------------


def _query(query: ast.Query) -> str:
    parts, following = [_select(query)], query
    while following.union is not None:
        parts.append("UNION ALL" if following.union_all else "UNION")
        following = following.union
        parts.append(_select(following))
    order = ", ".join(format_value(item.expression) + _when(item.descending, " DESC") for item in query.order_by)
    return _words(
        *parts,
        order and f"ORDER BY {order}",
        query.emit and f"EMIT {query.emit.value}",
        None if query.limit is None else f"LIMIT {query.limit}",
    )


def _select(query: ast.Query) -> str:
    return _words(
        "SELECT",
        _when(query.distinct, "DISTINCT"),
        ", ".join(_item(item) for item in query.items),
        "FROM",
        _relation(query.relation),
        *(_join(join) for join in query.joins),
        query.window and f"WINDOW {_window(query.window)}",
        query.where and f"WHERE {format_expression(query.where)}",
        query.group_by and f"GROUP BY {_keys(query.group_by)}",
        query.partition_by and f"PARTITION BY {_keys(query.partition_by)}",
        query.having and f"HAVING {format_expression(query.having)}",
    )


def _item(item: ast.SelectItem) -> str:
    text = format_expression(item.expression)
    return text if item.alias is None else f"{text} AS {written_name(item.alias)}"


def _relation(relation: ast.Relation) -> str:
    if relation.query is not None:
        return f"({_query(relation.query)}) AS {written_name(relation.alias)}"
    name = written_name(relation.name)
    return name if relation.alias == relation.name else f"{name} AS {written_name(relation.alias)}"


def _join(join: ast.Join) -> str:
    within = ""
    if join.within is not None:
        before, after = _span(join.within.before), _span(join.within.after)
        span = before if before == after else f"({before}, {after})"
        within = _words("WITHIN", span, _clause("GRACE PERIOD", join.within.grace))
    return _words(join.kind.value, "JOIN", _relation(join.right), within, "ON", format_expression(join.on))


def _window(window: ast.WindowClause) -> str:
    is_session = window.kind.value == "SESSION"
    parts = [
        _span(window.size) if is_session else _clause("SIZE", window.size),
        _clause("ADVANCE BY", window.advance),
        _clause("RETENTION", window.retention),
        _clause("GRACE PERIOD", window.grace),
    ]
    return f"{window.kind.value} ({', '.join(part for part in parts if part)})"


def _keys(keys: tuple[Any, ...]) -> str:
    return ", ".join(format_value(key) for key in keys)


# -- statements --------------------------------------------------------------------------------------------------------


def _create_source(statement: ast.CreateSource) -> str:
    return _words(
        "CREATE",
        _when(statement.or_replace, "OR REPLACE"),
        _when(statement.is_source, "SOURCE"),
        statement.kind.value,
        _when(statement.if_not_exists, "IF NOT EXISTS"),
        written_name(statement.name),
        statement.columns and f"({', '.join(_column(column) for column in statement.columns)})",
        _with(statement.properties),
        statement.on_error and f"ON ERROR {statement.on_error}",
    )


def _create_as(statement: ast.CreateAsSelect) -> str:
    return _words(
        "CREATE",
        _when(statement.or_replace, "OR REPLACE"),
        statement.kind.value,
        _when(statement.if_not_exists, "IF NOT EXISTS"),
        written_name(statement.name),
        _with(statement.properties),
        "AS",
        _query(statement.query),
    )


def _insert_values(statement: ast.InsertValues) -> str:
    columns = statement.columns and _names(statement.columns)
    return _words("INSERT INTO", written_name(statement.target), columns, "VALUES", _values(statement.values))


def _drop(what: str, statement: Any, *more: str) -> str:
    return _words("DROP", what, _when(statement.if_exists, "IF EXISTS"), written_name(statement.name), *more)


def _alter(statement: ast.AlterSource) -> str:
    columns = ", ".join(f"ADD COLUMN {_column(column)}" for column in statement.columns)
    return _words("ALTER", statement.kind.value, written_name(statement.name), columns)


def _print(statement: ast.PrintTopic) -> str:
    return _words(
        "PRINT",
        written_string(statement.topic),
        _when(statement.from_beginning, "FROM BEGINNING"),
        None if statement.interval is None else f"INTERVAL {statement.interval}",
        None if statement.limit is None else f"LIMIT {statement.limit}",
    )


def _explain(statement: ast.Explain) -> str:
    if statement.statement is not None:
        return f"EXPLAIN {format_statement(statement.statement)}"
    return f"EXPLAIN {written_name(statement.query_id or '')}"


def _describe(statement: ast.Describe) -> str:
    return _words(
        "DESCRIBE",
        "" if statement.what == "SOURCE" else statement.what,
        statement.name and written_name(statement.name),
        _when(statement.extended, "EXTENDED"),
    )


def _assert_schema(statement: ast.AssertSchema) -> str:
    return _words(
        "ASSERT",
        _when(not statement.exists, "NOT EXISTS"),
        "SCHEMA",
        None if statement.subject is None else f"SUBJECT {written_string(statement.subject)}",
        None if statement.id is None else f"ID {statement.id}",
        _clause("TIMEOUT", statement.timeout),
    )


def _assert_topic(statement: ast.AssertTopic) -> str:
    exists = _when(not statement.exists, "NOT EXISTS")
    topic = written_string(statement.topic)
    return _words("ASSERT", exists, "TOPIC", topic, _with(statement.properties), _clause("TIMEOUT", statement.timeout))


def _assert_values(statement: ast.AssertValues) -> str:
    return _words(
        "ASSERT",
        "NULL VALUES" if statement.tombstone else "VALUES",
        written_name(statement.target),
        statement.columns and _names(statement.columns),
        "KEY" if statement.tombstone else "VALUES",
        _values(statement.values),
    )


def _if_not_exists(statement: Any) -> str:
    return _when(statement.if_not_exists, "IF NOT EXISTS")


_WRITERS: dict[type[Statement], Callable[[Any], str]] = {
    ast.Query: _query,
    ast.CreateSource: _create_source,
    ast.CreateAsSelect: _create_as,
    ast.InsertInto: lambda one: _words(
        "INSERT INTO", written_name(one.target), _with(one.properties), _query(one.query)
    ),
    ast.InsertValues: _insert_values,
    ast.DropSource: lambda one: _drop(one.kind.value, one, _when(one.delete_topic, "DELETE TOPIC")),
    ast.DropType: lambda one: _drop("TYPE", one),
    ast.DropConnector: lambda one: _drop("CONNECTOR", one),
    ast.AlterSource: _alter,
    ast.CreateType: lambda one: _words(
        "CREATE TYPE", _if_not_exists(one), written_name(one.name), "AS", format_type(one.type)
    ),
    ast.CreateConnector: lambda one: _words(
        "CREATE", one.kind, "CONNECTOR", _if_not_exists(one), written_name(one.name), _with(one.properties)
    ),
    ast.QueryControl: lambda one: f"{one.action} {'ALL' if one.query_id is None else written_name(one.query_id)}",
    ast.Explain: _explain,
    ast.PrintTopic: _print,
    ast.SetProperty: lambda one: f"SET {written_string(one.name)} = {written_string(one.value)}",
    ast.UnsetProperty: lambda one: f"UNSET {written_string(one.name)}",
    ast.AlterSystem: lambda one: f"ALTER SYSTEM {written_string(one.name)} = {written_string(one.value)}",
    ast.Define: lambda one: f"DEFINE {one.name} = {written_string(one.value)}",
    ast.Undefine: lambda one: f"UNDEFINE {one.name}",
    ast.Show: lambda one: _words("SHOW", _when(one.all, "ALL"), one.kind, one.what, _when(one.extended, "EXTENDED")),
    ast.Describe: _describe,
    ast.AssertTopic: _assert_topic,
    ast.AssertSchema: _assert_schema,
    ast.AssertValues: _assert_values,
    ast.AssertSource: lambda one: "ASSERT" + _create_source(one.definition).removeprefix("CREATE"),
    ast.RunScript: lambda one: f"RUN SCRIPT {written_string(one.path)}",
}
