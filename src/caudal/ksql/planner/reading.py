"""Where a plan begins: the topic of a source as a stream or table of rows, with the pseudo and header columns that the
query names and no others (each costs time for every record)."""

from __future__ import annotations

from caudal.ksql.errors import KsqlError, Position
from caudal.ksql.expressions.scope import Binding
from caudal.ksql.expressions.scope import Where as Place
from caudal.ksql.formats.serdes import key_serde, row_serde, value_serde
from caudal.ksql.formats.timestamps import timestamp_extractor
from caudal.ksql.planner.flow import Flow, KeyBytes, KeyColumn, Planning, described
from caudal.ksql.planner.logical import LogicalStep
from caudal.ksql.schema import PSEUDO_COLUMNS, WINDOW_COLUMNS, WINDOWSTART
from caudal.ksql.schema import Place as ColumnPlace
from caudal.ksql.sources import Source
from caudal.ksql.syntax.tree import Name
from caudal.plan import steps
from caudal.plan.errors import PlanError
from caudal.plan.functions import Function
from caudal.plan.topology import StoreKind, StoreSpec
from caudal.serde import Bytes
from caudal.streams.stream import KStream


def read(
    planning: Planning,
    source: Source,
    alias: str,
    used: frozenset[str],
    *,
    store: str | None,
    name: str,
    at: Position | None = None,
) -> Flow:
    """`used` are the names of pseudo and header columns that the query mentions; `store` names a table's state, where
    something will read it by key."""
    schema = source.schema
    key_columns, value_columns = schema.key, schema.value
    node = _stream(planning, source, at)
    appended = tuple(one for one in PSEUDO_COLUMNS if one in used)
    headers = tuple(
        (index, column.header)
        for index, column in enumerate(value_columns)
        if column.place is ColumnPlace.HEADERS and column.name in used
    )
    types = tuple(column.type for column in value_columns) + tuple(PSEUDO_COLUMNS[one] for one in appended)
    if appended or headers:
        node = node._then("KSTREAM-PROCESSVALUES", steps.RecordColumns(appended, headers), None, value=row_serde(types))
    bindings = {
        column.name: Binding(column.name, column.type, Place.KEY, index, alias)
        for index, column in enumerate(key_columns)
    }
    bindings |= {
        column.name: Binding(column.name, column.type, Place.VALUE, index, alias)
        for index, column in enumerate(value_columns)
    }
    ordered = (*key_columns, *value_columns)
    columns = tuple(bindings[column.name] for column in ordered)
    pseudo = [
        Binding(one, PSEUDO_COLUMNS[one], Place.VALUE, len(value_columns) + index, alias)
        for index, one in enumerate(appended)
    ]
    if source.window is not None:
        pseudo += [
            Binding(one, type, Place.WINDOW_START if one == WINDOWSTART else Place.WINDOW_END, 0, alias)
            for one, type in WINDOW_COLUMNS.items()
        ]
    key = tuple(KeyColumn(column.name, column.type, (Name(column.name, alias),)) for column in key_columns)
    table = None
    if source.is_table:
        if source.ttl is not None:
            store = store or f"{name}-Reduce"
            node = _expiring(node, source.ttl, store)
        table = node.to_table(store=store, value=row_serde(types))
    if source.name not in planning.sources:
        planning.sources.append(source.name)
    return Flow(
        node if table is None else table,
        columns,
        key,
        types,
        LogicalStep("SOURCE", described(columns, key), source.name, (), name),
        tuple(pseudo),
        source.window,
        source.retention,
        KeyBytes(source.key_format, key_columns),
    )


def _expiring(stream: KStream, ttl: int, store: str) -> KStream:
    """Rows that are older than a table's TTL are taken back as time goes on."""
    index = f"{store}-Ttl"
    stream._graph.add_new_store(StoreSpec(index, StoreKind.KEY_VALUE, Bytes(), Bytes()))
    step = steps.ExpireRows(ttl, index, store, stream._key)
    return stream._then("KSTREAM-PROCESSVALUES", step, None, value=stream._value, stores=(index, store))


def _stream(planning: Planning, source: Source, at: Position | None) -> KStream:
    schema = source.schema
    extractor = timestamp_extractor(
        schema, source.timestamp_column, source.timestamp_format, is_windowed=source.window is not None
    )
    try:
        return planning.builder.stream(
            source.topic,
            key=key_serde(source.key_format, schema.key, source.window),
            value=value_serde(source.value_format, schema.value),
            timestamp=None if extractor is None else Function(extractor, sql=source.timestamp_column),
            reset=_reset(planning, source),
        )
    except PlanError as error:
        raise KsqlError(
            f"The topic '{source.topic}' of {source.name} is read in this query by another source as well, with other "
            "columns or formats; write the two as separate queries.",
            at,
        ) from error


def _reset(planning: Planning, source: Source) -> str:
    """Where to begin: a stream at the end unless told otherwise, a table always at its beginning, as in ksqlDB: what a
    join looks up was mostly written before the query came."""
    properties = {name.lower().removeprefix("ksql.streams."): value for name, value in planning.properties.items()}
    given = properties.get("auto.offset.reset", "latest")
    text = str(given).lower()
    if text not in ("earliest", "latest"):
        raise KsqlError(f"auto.offset.reset must be 'earliest' or 'latest', not '{given}'.")
    # A topic that is read twice is read by one consumer: the two have to begin together.
    return "earliest" if source.is_table and planning.reads[source.topic] == 1 else text
