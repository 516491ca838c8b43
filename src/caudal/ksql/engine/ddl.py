"""Streams, tables and types: CREATE, DROP, ALTER, and the queries that CREATE … AS SELECT and INSERT INTO start.

Each statement decides on the newest catalog what is to change, makes the topics it needs, and writes the change in one
transaction. The queries that follow from it are started in the background.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from caudal.ksql.catalog import Catalog, PersistentQuery, QueryKind
from caudal.ksql.engine import command_log, properties
from caudal.ksql.engine.command_log import Change, Command
from caudal.ksql.engine.definitions import query_data, source_data, type_data
from caudal.ksql.engine.entities import Entity, current_status, warning
from caudal.ksql.engine.handlers import Request, handles, text_of
from caudal.ksql.errors import KsqlError
from caudal.ksql.formats.ddl import altered, source_of
from caudal.ksql.formats.properties import duration
from caudal.ksql.formats.schemas import register_sink
from caudal.ksql.planner.evolution import check_replacement
from caudal.ksql.planner.partitions import check_partitions
from caudal.ksql.planner.plan import plan_query
from caudal.ksql.planner.planned import PlannedQuery, Sink
from caudal.ksql.sources import OnError, Source, SourceKind
from caudal.ksql.syntax.parser import resolve_type
from caudal.ksql.syntax.statements import (
    AlterSource,
    CreateAsSelect,
    CreateSource,
    CreateType,
    DropSource,
    DropType,
    InsertInto,
    Property,
)

DEFAULT_RETENTION_MS = 7 * 24 * 60 * 60 * 1000


class Already(Exception):
    """IF NOT EXISTS, and it does: a warning. IF EXISTS, and it does not: likewise."""


# -- CREATE STREAM | TABLE ---------------------------------------------------------------------------------------------


@handles(CreateSource)
def create_source(request: Request, statement: CreateSource) -> Entity:
    engine = request.engine
    word = statement.kind.value.lower()

    def decide(catalog: Catalog) -> Command:
        _check_name_is_free(catalog, statement)
        source = source_of(
            statement, catalog, registry=engine.schemas, statement_properties=request.properties.merged()
        )
        source = replace(source, statement=text_of(statement))
        existing = catalog.sources.get(statement.name)
        if existing is not None:
            _check_can_become(catalog, existing, source)
        _ensure_source_topic(request, source, statement.properties)
        # As in ksqlDB, only what has no schema yet gets one: columns may be some of those that others write.
        _register(request, source, only_new=True)
        return Command((_source_change(source),), text_of(statement), dict(request.session))

    try:
        number = engine.log.write(decide)
    except Already as already:
        return warning(text_of(statement), str(already))
    return current_status(text_of(statement), (word, statement.name, "create"), f"{word.capitalize()} created", number)


def _check_name_is_free(catalog: Catalog, statement: CreateSource | CreateAsSelect) -> None:
    existing = catalog.sources.get(statement.name)
    if existing is None:
        return
    word = existing.kind.value.lower()
    text = f"Cannot add {statement.kind.value.lower()} '{statement.name}': A {word} with the same name already exists."
    if statement.if_not_exists:
        raise Already(text)
    if not statement.or_replace:
        raise KsqlError(text.rstrip("."), statement.at)
    if existing.kind is not statement.kind:
        raise KsqlError(
            f"Cannot add {statement.kind.value.lower()} '{statement.name}': "
            f"Incompatible data sources: {statement.name} is a {word} already.",
            statement.at,
        )


def _check_can_become(catalog: Catalog, old: Source, new: Source) -> None:
    """CREATE OR REPLACE without a query: what was written stays readable, and queries that run find their columns."""
    if old.query_id is not None and old.query_id in catalog.queries:
        raise KsqlError(
            f"Cannot add {new.kind.value.lower()} '{new.name}': it is written by query {old.query_id}; "
            f"replace it with CREATE OR REPLACE … AS SELECT, or drop it first."
        )
    for what, former, latter in (
        ("topic", old.topic, new.topic),
        ("key format", old.key_format, new.key_format),
        ("value format", old.value_format, new.value_format),
        ("window", old.window, new.window),
        ("key columns", old.schema.key, new.schema.key),
    ):
        if former != latter:
            raise KsqlError(f"Cannot upgrade data source {new.name}: its {what} would change.")
    for column in old.schema.columns:
        found = new.schema.find(column.name)
        if found is None or found.type != column.type:
            raise KsqlError(
                f"Cannot upgrade data source {new.name}: The following columns are changed, missing or reordered: "
                f"[{column}]."
            )


def _register(request: Request, source: Source, *, only_new: bool = False) -> None:
    """The schemas of a topic are in the registry before the first record is."""
    schema = source.schema
    register_sink(
        request.engine.schemas,
        source.topic,
        source.key_format,
        schema.key,
        source.value_format,
        schema.written,
        only_new=only_new,
    )


def _check_partitions(request: Request, catalog: Catalog, planned: PlannedQuery) -> None:
    if planned.topology.copartitioned:
        found = request.engine.topics.find_all(catalog.sources[name].topic for name in planned.sources)
        check_partitions(planned, catalog, {name: topic.partitions for name, topic in found.items()})


def _source_change(source: Source) -> Change:
    return Change(f"{command_log.SOURCE}/{source.name}", source_data(source))


def _given(given: tuple[Property, ...]) -> dict[str, Any]:
    return {prop.name.upper(): prop.value for prop in given}


def _ensure_source_topic(request: Request, source: Source, given: tuple[Property, ...]) -> None:
    """A topic is made where PARTITIONS is given; else it must be there."""
    topics = request.engine.topics
    values = _given(given)
    partitions, replicas = values.get("PARTITIONS"), values.get("REPLICAS")
    found = topics.find(source.topic)
    if found is None:
        if partitions is None:
            raise KsqlError(
                f"Kafka topic does not exist: {source.topic}. To have it created, give its PARTITIONS in the WITH "
                "clause."
            )
        topics.create(source.topic, int(partitions), _number(replicas), topic_configs(source, values, sink=False))
        return
    if partitions is not None and int(partitions) != found.partitions:
        raise KsqlError(
            f"A Kafka topic with the name '{source.topic}' already exists, with different partition/replica "
            f"configuration than required. KSQL expects {partitions} partitions (topic has {found.partitions})."
        )


def topic_configs(source: Source, given: dict[str, Any], *, sink: bool) -> dict[str, str]:
    """Tables are compacted; windowed ones forget with time as well."""
    retention = given.get("RETENTION_MS")
    if not source.is_table:
        return {} if retention is None else {"retention.ms": str(retention)}
    if source.window is not None:
        kept = retention if retention is not None else source.retention or DEFAULT_RETENTION_MS
        return {"cleanup.policy": "compact,delete", "retention.ms": str(kept)}
    if retention is not None:
        raise KsqlError(
            "Invalid config variable in the WITH clause: RETENTION_MS. Non-windowed tables do not support retention."
        )
    # A table that was made over a topic of its own is compacted too: it is what its keys say last.
    return {"cleanup.policy": "compact"}


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


# -- queries -----------------------------------------------------------------------------------------------------------


@handles(CreateAsSelect)
def create_as_select(request: Request, statement: CreateAsSelect) -> Entity:
    engine = request.engine
    word = statement.kind.value.lower()
    made: dict[str, Any] = {}

    def decide(catalog: Catalog) -> Command:
        _check_name_is_free(catalog, statement)
        existing = catalog.sources.get(statement.name)
        former = catalog.queries.get(existing.query_id) if existing is not None and existing.query_id else None
        if existing is not None and former is None:
            raise KsqlError(
                f"Cannot replace {statement.name}: it was not made by a query; drop it first.", statement.at
            )
        _check_limit(request, catalog, former)
        is_table = statement.kind is SourceKind.TABLE
        query_id = former.id if former else catalog.next_query_id(QueryKind.CREATE_AS, statement.name, is_table)
        sink = Sink(statement.name, statement.kind, tuple((prop.name, prop.value) for prop in statement.properties))
        planned = plan_query(
            statement.query,
            catalog,
            application_id=engine.settings.application_id(query_id),
            sink=sink,
            properties=request.properties.merged(),
        )
        source = source_of_plan(planned, statement, query_id)
        made.update(planned=planned, query_id=query_id)
        if former is not None:
            _check_can_evolve(request, catalog, former, planned)
        _check_topic_is_free(catalog, source)
        _check_partitions(request, catalog, planned)
        _register(request, source)
        _ensure_sink_topic(request, catalog, planned, source, statement.properties)
        _ensure_letters(request, catalog, planned)
        query = PersistentQuery(
            id=query_id,
            sql=text_of(statement),
            kind=QueryKind.CREATE_AS,
            sink=statement.name,
            sink_topic=source.topic,
            sources=planned.sources,
            read=tuple(catalog.sources[name] for name in planned.sources),
            properties=dict(request.session),
            version=former.version + 1 if former else 1,
        )
        changes = [_source_change(source), _query_change(query)]
        if former is None:
            changes.append(Change(command_log.QUERY_COUNTER, catalog.last_query_number + 1))
        return Command(tuple(changes), text_of(statement), dict(request.session))

    try:
        number = engine.log.write(decide)
    except Already as already:
        return warning(text_of(statement), str(already))
    return current_status(
        text_of(statement),
        (word, statement.name, "create"),
        f"Created query with ID {made['query_id']}",
        number,
        query_id=made["query_id"],
        warnings=made["planned"].warnings,
    )


@handles(InsertInto)
def insert_into(request: Request, statement: InsertInto) -> Entity:
    engine = request.engine
    made: dict[str, Any] = {}

    def decide(catalog: Catalog) -> Command:
        target = catalog.source(statement.target, statement.at)
        if target.is_table:
            raise KsqlError(
                f"INSERT INTO can only be used to insert into a stream. {target.name} is a table.", statement.at
            )
        if target.is_source:
            raise KsqlError(f"Cannot insert into read-only stream: {target.name}.", statement.at)
        _check_limit(request, catalog, None)
        wanted = _given(statement.properties).get("QUERY_ID")
        query_id = str(wanted).upper() if wanted else catalog.next_query_id(QueryKind.INSERT, target.name, False)
        if query_id in catalog.queries:
            raise KsqlError(f"Query ID '{query_id}' already exists.", statement.at)
        planned = plan_query(
            statement.query,
            catalog,
            application_id=engine.settings.application_id(query_id),
            sink=Sink(target.name, target.kind, insert=True),
            properties=request.properties.merged(),
        )
        made.update(planned=planned, query_id=query_id)
        _check_partitions(request, catalog, planned)
        _ensure_letters(request, catalog, planned)
        query = PersistentQuery(
            id=query_id,
            sql=text_of(statement),
            kind=QueryKind.INSERT,
            sink=target.name,
            sink_topic=target.topic,
            sources=planned.sources,
            read=tuple(catalog.sources[name] for name in planned.sources),
            properties=dict(request.session),
        )
        counter = Change(command_log.QUERY_COUNTER, catalog.last_query_number + 1)
        return Command((_query_change(query), counter), text_of(statement), dict(request.session))

    number = engine.log.write(decide)
    return current_status(
        text_of(statement),
        ("stream", statement.target, "create"),
        f"Created query with ID {made['query_id']}",
        number,
        query_id=made["query_id"],
        warnings=made["planned"].warnings,
    )


def _query_change(query: PersistentQuery) -> Change:
    return Change(f"{command_log.QUERY}/{query.id}", query_data(query))


def _check_limit(request: Request, catalog: Catalog, former: PersistentQuery | None) -> None:
    most = request.properties[properties.MAX_PERSISTENT]
    if former is None and len(catalog.queries) >= most:
        raise KsqlError(
            "Not executing statement(s) as it would cause the number of active, persistent queries to exceed the "
            f"configured limit of {most}: terminate one first (SHOW QUERIES lists them)."
        )


def source_of_plan(planned: PlannedQuery, statement: CreateAsSelect, query_id: str) -> Source:
    """The stream or table that a query makes."""
    values = _given(statement.properties)
    ttl = values.get("TTL")
    return Source(
        name=statement.name,
        kind=statement.kind,
        schema=planned.schema,
        topic=planned.topic,
        key_format=planned.key_format,
        value_format=planned.value_format,
        window=planned.window,
        timestamp_column=planned.timestamp_column,
        timestamp_format=planned.timestamp_format,
        query_id=query_id,
        ttl=_milliseconds(ttl, "TTL") if ttl is not None else None,
        retention=planned.retention,
        statement=text_of(statement),
        properties=values,
    )


def _milliseconds(value: Any, what: str) -> int:
    """Of a number of them, or of '7 DAYS'."""
    try:
        return value if isinstance(value, int) else duration(value)
    except ValueError as error:
        raise KsqlError(f"Invalid value '{value}' for {what}: {error}.") from None


def _check_topic_is_free(catalog: Catalog, source: Source) -> None:
    """Two queries that write one topic as different things would break each other."""
    for other in catalog.sources.values():
        if other.name != source.name and other.topic == source.topic and other.query_id in catalog.queries:
            raise KsqlError(
                f"The topic {source.topic} is written by query {other.query_id} for {other.name}: choose another with "
                "KAFKA_TOPIC."
            )


def _ensure_sink_topic(
    request: Request, catalog: Catalog, planned: PlannedQuery, source: Source, given: tuple[Property, ...]
) -> None:
    topics = request.engine.topics
    values = _given(given)
    partitions, replicas = _number(values.get("PARTITIONS")), _number(values.get("REPLICAS"))
    found = topics.find(source.topic)
    if found is not None:
        if partitions is not None and partitions != found.partitions:
            raise KsqlError(
                f"A Kafka topic with the name '{source.topic}' already exists, with different partition/replica "
                f"configuration than required. KSQL expects {partitions} partitions (topic has {found.partitions})."
            )
        return
    if partitions is None:
        read = topics.find_all(catalog.sources[name].topic for name in planned.sources)
        first = read.get(catalog.sources[planned.sources[0]].topic)
        if first is None:
            raise KsqlError(f"Kafka topic does not exist: {catalog.sources[planned.sources[0]].topic}.")
        partitions = first.partitions
        replicas = replicas or first.replication
    topics.create(source.topic, partitions, replicas, topic_configs(source, values, sink=True))


def _ensure_letters(request: Request, catalog: Catalog, planned: PlannedQuery) -> None:
    """The topics for records that cannot be read, of sources with ON ERROR DLQ: as wide as those they come from."""
    topics = request.engine.topics
    for source in (catalog.sources[name] for name in planned.sources):
        if source.on_error is OnError.DLQ and topics.find(f"{source.topic}-dlq") is None:
            found = topics.find(source.topic)
            topics.create(f"{source.topic}-dlq", found.partitions if found is not None else 1, None, {})


def _check_can_evolve(request: Request, catalog: Catalog, former: PersistentQuery, planned: PlannedQuery) -> None:
    """CREATE OR REPLACE: the new plan must be able to go on with the state of the old one."""
    from caudal.ksql.engine.queries import planned_query

    before = planned_query(former, catalog, request.engine.settings)
    check_replacement(before, planned)


# -- DROP, ALTER -------------------------------------------------------------------------------------------------------


@handles(DropSource)
def drop_source(request: Request, statement: DropSource) -> Entity:
    engine = request.engine
    word = statement.kind.value.lower()
    dropped: dict[str, Source] = {}

    def decide(catalog: Catalog) -> Command:
        found = catalog.sources.get(statement.name)
        if found is None:
            if statement.if_exists:
                raise Already(f"Source {statement.name} does not exist.")
            catalog.source(statement.name, statement.at)
            raise AssertionError("it raises")
        if found.kind is not statement.kind:
            raise KsqlError(
                f"Incompatible data source type is {found.kind.value}, but statement was DROP {statement.kind.value}",
                statement.at,
            )
        if statement.delete_topic and found.is_source:
            raise KsqlError(f"Cannot delete topic for read-only source: {found.name}", statement.at)
        catalog.check_can_drop(found.name, statement.at)
        changes = [Change(f"{command_log.SOURCE}/{found.name}", None)]
        own = catalog.made_by(found.name)
        if own is not None:
            changes.append(Change(f"{command_log.QUERY}/{own}", None))
        dropped["source"] = found
        return Command(tuple(changes), text_of(statement), dict(request.session))

    try:
        number = engine.log.write(decide)
    except Already as already:
        return warning(text_of(statement), str(already))
    source = dropped["source"]
    message = f"Source `{source.name}` (topic: {source.topic}) was dropped."
    warnings = []
    if source.query_id is not None:
        engine.queries.wait_gone(source.query_id)
    if statement.delete_topic:
        try:
            engine.delete_topic(source)
        except KsqlError as error:
            warnings.append(f"The topic of {source.name} was not deleted: {error}")
    return current_status(text_of(statement), (word, source.name, "drop"), message, number, warnings=warnings)


@handles(AlterSource)
def alter_source(request: Request, statement: AlterSource) -> Entity:
    engine = request.engine

    def decide(catalog: Catalog) -> Command:
        found = catalog.source(statement.name, statement.at)
        if found.kind is not statement.kind:
            raise KsqlError(
                f"Incompatible data source type is {found.kind.value}, but statement was ALTER {statement.kind.value}",
                statement.at,
            )
        if catalog.made_by(found.name) is not None:
            raise KsqlError("ALTER command is not supported for CREATE ... AS statements.", statement.at)
        if found.is_source:
            raise KsqlError(f"Cannot alter {found.kind.value.lower()} '{found.name}': it is read-only.", statement.at)
        changed = replace(altered(found, statement, catalog), statement=f"{found.statement}\n{text_of(statement)}")
        return Command((_source_change(changed),), text_of(statement), dict(request.session))

    number = engine.log.write(decide)
    word = statement.kind.value.lower()
    return current_status(text_of(statement), (word, statement.name, "alter"), f"{word.capitalize()} altered", number)


# -- types -------------------------------------------------------------------------------------------------------------


@handles(CreateType)
def create_type(request: Request, statement: CreateType) -> Entity:
    def decide(catalog: Catalog) -> Command:
        if statement.name.upper() in catalog.types:
            text = f"Cannot register custom type '{statement.name}' since it is already registered with type: "
            text += str(catalog.types[statement.name.upper()])
            raise Already(text) if statement.if_not_exists else KsqlError(text, statement.at)
        found = resolve_type(statement.type, catalog.type)
        change = Change(f"{command_log.TYPE}/{statement.name.upper()}", type_data(found))
        return Command((change,), text_of(statement), dict(request.session))

    try:
        number = request.engine.log.write(decide)
    except Already as already:
        return warning(text_of(statement), str(already))
    found = request.engine.catalog.type(statement.name)
    return current_status(
        text_of(statement),
        ("type", statement.name, "create"),
        f"Registered custom type with name '{statement.name}' and SQL type {found}",
        number,
    )


@handles(DropType)
def drop_type(request: Request, statement: DropType) -> Entity:
    def decide(catalog: Catalog) -> Command:
        if statement.name.upper() not in catalog.types:
            text = f"Type {statement.name} does not exist."
            raise Already(text) if statement.if_exists else KsqlError(text, statement.at)
        change = Change(f"{command_log.TYPE}/{statement.name.upper()}", None)
        return Command((change,), text_of(statement), dict(request.session))

    try:
        number = request.engine.log.write(decide)
    except Already as already:
        return warning(text_of(statement), str(already))
    return current_status(
        text_of(statement), ("type", statement.name, "drop"), f"Dropped type '{statement.name}'", number
    )
