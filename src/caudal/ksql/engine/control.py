"""TERMINATE, PAUSE and RESUME, SET and UNSET, ALTER SYSTEM, DEFINE and UNDEFINE."""

from __future__ import annotations

from dataclasses import replace

from caudal.ksql.catalog import Catalog, PersistentQuery, Wanted
from caudal.ksql.engine import command_log, properties
from caudal.ksql.engine.command_log import Change, Command
from caudal.ksql.engine.definitions import query_data
from caudal.ksql.engine.entities import Entity, current_status, entity, warning
from caudal.ksql.engine.handlers import Request, handles, text_of
from caudal.ksql.errors import KsqlError
from caudal.ksql.syntax.statements import (
    AlterSystem,
    Define,
    QueryControl,
    SetProperty,
    Undefine,
    UnsetProperty,
)

_DONE = {"TERMINATE": "Query terminated.", "PAUSE": "Query paused.", "RESUME": "Query resumed."}


@handles(QueryControl)
def query_control(request: Request, statement: QueryControl) -> Entity | list[Entity]:
    engine = request.engine
    if statement.query_id is not None and statement.action == "TERMINATE":
        transient = engine.push_queries.get(statement.query_id)
        if transient is not None:
            transient.close()
            return entity("terminate_query", text_of(statement), queryId=transient.query_id, wasTerminated=True)
    controlled: list[str] = []

    def decide(catalog: Catalog) -> Command | None:
        controlled.clear()
        chosen = [catalog.query(statement.query_id, statement.at)] if statement.query_id else catalog.queries.values()
        changes = [_change(statement.action, query) for query in chosen]
        controlled.extend(query.id for query in chosen)
        return Command(tuple(changes), text_of(statement), dict(request.session)) if changes else None

    number = engine.log.write(decide)
    if not controlled:
        return warning(text_of(statement), "There are no queries.")
    for query_id in controlled:
        if statement.action == "RESUME" and engine.queries.is_failed(query_id):
            engine.queries.restart(query_id)
        elif statement.action == "TERMINATE":
            engine.queries.wait_gone(query_id)
    answers = [
        current_status(
            text_of(statement), (statement.action.lower(), query_id, "execute"), _DONE[statement.action], number
        )
        for query_id in controlled
    ]
    return answers[0] if statement.query_id else answers


def _change(action: str, query: PersistentQuery) -> Change:
    key = f"{command_log.QUERY}/{query.id}"
    if action == "TERMINATE":
        return Change(key, None)
    wanted = Wanted.PAUSED if action == "PAUSE" else Wanted.RUNNING
    return Change(key, query_data(replace(query, wanted=wanted)))


@handles(SetProperty)
def set_property(request: Request, statement: SetProperty) -> None:
    """For the statements after it in this request; the shell keeps it and sends it with each."""
    try:
        name, value = properties.checked(statement.name, statement.value)
    except KsqlError as error:
        error.at = error.at or statement.at
        raise
    request.session[name] = value


@handles(UnsetProperty)
def unset_property(request: Request, statement: UnsetProperty) -> None:
    request.session.pop(properties.canonical(statement.name), None)


@handles(AlterSystem)
def alter_system(request: Request, statement: AlterSystem) -> Entity:
    name, value = properties.checked(statement.name, statement.value)

    def decide(catalog: Catalog) -> Command:
        change = Change(f"{command_log.SETTING}/{name}", str(value))
        return Command((change,), text_of(statement), dict(request.session))

    number = request.engine.log.write(decide)
    return current_status(
        text_of(statement), ("cluster", name, "alter"), f"System property {name} was set to {value}.", number
    )


@handles(Define)
def define(request: Request, statement: Define) -> None:
    request.variables[statement.name] = statement.value


@handles(Undefine)
def undefine(request: Request, statement: Undefine) -> Entity | None:
    if request.variables.pop(statement.name, None) is None:
        return warning(text_of(statement), f"Cannot find variable with name: {statement.name}")
    return None
