"""A topology as one Spark SQL plan, in text: what the native lane runs (caudal.runtime.spark.native makes the query).

Recognised: sources → filter, filter_not, map_values, map, select_key, merge, split → sinks, all by SQL strings (or
Columns) over values whose types are declared. Every path from a source to a sink becomes a condition and the bytes of
key and value, all in terms of the source's columns: `_key`, `_value`, and `_kp`, `_vp` where JSON is parsed. What is
not recognised is said with the step and the reason.

A count per key, or per key and time window, is recognised where it is asked for (`counts`): its state is Spark's, and
it gives one result per key and batch. Left out: all else that has state, functions that choose topics, partitions or
times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from caudal.plan import steps
from caudal.plan.functions import Function
from caudal.plan.topology import Node, ProcessorNode, SinkNode, SourceNode, SubTopology, Topology
from caudal.plan.typed_sql import NULL, NoSparkForm, SqlType, Typed, null_test, quoted_name, text_literal
from caudal.serde import Bytes, Json, Long, Serde, String, TimeWindowed

_NULL_BYTES = "CAST(NULL AS BINARY)"
# Strict JSON: Spark would take single quotes and NaN.
_READ_JSON = (
    "map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', 'x', 'allowSingleQuotes', 'false', "
    "'allowNonNumericNumbers', 'false')"
)
_WRITE_JSON = "map('ignoreNullFields', 'false')"


class NotNative(Exception):
    """Which step cannot run natively, and why: a clause without a full stop."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A user's Column: its `key` and `value` are these; what it gives is called `name`."""

    name: str
    column: Any
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Output:
    node: str
    topic: str
    where: str | None  # None: every record
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class NativeSource:
    node: str
    topics: tuple[str, ...]
    reads: str  # the serdes, for people
    parsed: tuple[tuple[str, str], ...]  # columns to make of _key and _value
    bad: str | None  # whether the record does not parse; never null
    columns: tuple[Bound, ...]
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """What the sources write goes into a count by key (their values are not used)."""

    node: str
    windows: steps.TimeWindows | None


@dataclass(frozen=True, slots=True)
class NativePlan:
    sources: tuple[NativeSource, ...]
    may_fail: str | None  # the node of an expression that can fail for some values
    count: Count | None = None
    by_id: str | None = None  # the node that reads by the schemas that are known at the start


def native_plan(topology: Topology, counts: bool = False) -> NativePlan:
    """Raises NotNative. With `counts`, which is for those who ask for this lane, one count is recognised too, and
    Avro."""
    children: dict[str, list[Node]] = {}
    for node in topology.nodes:
        for parent in () if isinstance(node, SourceNode) else node.parents:
            children.setdefault(parent, []).append(node)
    internal = {
        topic: node
        for node in topology.nodes
        if isinstance(node, SourceNode)
        for topic in node.topics
        if topic in topology.internal_topics
    }
    read = [node for node in topology.nodes if isinstance(node, SourceNode) and node not in internal.values()]
    walks = [_Walk(node, children, internal, by_name=counts) for node in read]
    sources = tuple(walk.source for walk in walks)
    for source in sources:
        if not source.outputs:
            raise NotNative(f"{source.node} leads to no topic")
    found = {walk.count.node: walk.count for walk in walks if walk.count is not None}
    if topology.internal_topics and not (found and counts):
        names = ", ".join(topology.internal_topics)
        raise NotNative(f"it needs internal topics ({names}), for state or another partitioning")
    if found and (len(found) > 1 or any(walk.plain for walk in walks) or any(walk.count is None for walk in walks)):
        raise NotNative(
            f"{next(iter(found))} would be in a query with results of other kinds; Spark runs a count alone"
        )
    may_fail = next((walk.may_fail for walk in walks if walk.may_fail is not None), None)
    by_id = next((node.name for node in read if _is_avro(node.key) or _is_avro(node.value)), None)
    return NativePlan(sources, may_fail, next(iter(found.values()), None), by_id)


def without_state(topology: Topology) -> Topology:
    """The topics that a native query reads and writes, and nothing between them: what a count's host must know."""
    own = topology.internal_topics.keys()
    sources = [node for node in topology.nodes if isinstance(node, SourceNode) and not own & set(node.topics)]
    sinks = [
        replace(node, parents=tuple(source.name for source in sources))
        for node in topology.nodes
        if isinstance(node, SinkNode) and node.topic not in own
    ]
    names = tuple(topic for source in sources for topic in source.topics)
    targets = tuple(str(sink.topic) for sink in sinks)
    sub = SubTopology(0, [*sources, *sinks], [], names, targets)
    return Topology(topology.application_id, [*sources, *sinks], subtopologies=[sub])


@dataclass(frozen=True, slots=True)
class _Record:
    """What a record is at a node."""

    key: Typed
    value: Typed
    where: tuple[str, ...] = ()

    def also(self, *conditions: str) -> _Record:
        return replace(self, where=(*self.where, *conditions))


@dataclass(slots=True)
class _Walk:
    """From one source to all sinks behind it."""

    node: SourceNode
    children: Mapping[str, list[Node]]
    internal: Mapping[str, SourceNode]  # repartition topics: a native count needs none
    outputs: list[Output] = field(default_factory=list)
    columns: list[Bound] = field(default_factory=list)
    may_fail: str | None = None
    count: Count | None = None
    plain: bool = False  # it has results that are not counted
    by_name: bool = False

    @property
    def source(self) -> NativeSource:
        node = self.node
        if node.is_global or node.changes:
            raise NotNative(f"{node.name} reads a table")
        if node.timestamp is not None:
            raise NotNative(f"{node.name} takes the time of a record from a function")
        parsed: list[tuple[str, str]] = []
        bad: list[str] = []
        where = f"{node.name} reads {', '.join(repr(topic) for topic in node.topics)} with"
        key = _read(node.key, "_key", "_kp", f"{where} key=", parsed, bad, self.by_name)
        value = _read(node.value, "_value", "_vp", f"{where} value=", parsed, bad, self.by_name)
        self.behind(node.name, _Record(key, value))
        unreadable = f"coalesce({' OR '.join(bad)}, FALSE)" if bad else None
        return NativeSource(
            node.name,
            node.topics,
            f"key={node.key!r}, value={node.value!r}",
            tuple(parsed),
            unreadable,
            tuple(self.columns),
            tuple(self.outputs),
        )

    def behind(self, name: str, record: _Record, only: str | None = None) -> None:
        for child in self.children.get(name, ()):
            if only is None or child.name == only:
                self.visit(child, record)

    def visit(self, node: Node, record: _Record) -> None:
        if isinstance(node, SinkNode):
            if node.topic in self.internal:
                self.behind(self.internal[str(node.topic)].name, record)
                return
            self.outputs.append(_output(node, record))
            self.plain = True
            return
        assert isinstance(node, ProcessorNode)
        step = node.step
        if isinstance(step, steps.PassThrough):
            self.behind(node.name, record)
        elif isinstance(step, steps.Filter):
            condition = self.condition(node, step.predicate, record)
            self.behind(node.name, record.also(f"(NOT {condition})" if step.negate else condition))
        elif isinstance(step, steps.MapValues):
            self.behind(node.name, replace(record, value=self.one(node, step.function, record)))
        elif isinstance(step, steps.SelectKey):
            self.behind(node.name, replace(record, key=self.one(node, step.function, record)))
        elif isinstance(step, steps.Map):
            key, value = self.pair(node, step.function, record)
            self.behind(node.name, replace(record, key=key, value=value))
        elif isinstance(step, steps.Branch):
            self.branch(node, step, record)
        elif isinstance(step, (steps.Aggregate, steps.WindowAggregate)):
            self.counted(node, step, record)
        else:
            raise NotNative(f"{node.name} ({type(step).__name__}) has no native form")

    def branch(self, node: ProcessorNode, step: steps.Branch, record: _Record) -> None:
        for predicate, child in zip(step.predicates, step.children, strict=False):
            condition = self.condition(node, predicate, record)
            self.behind(node.name, record.also(condition), child)
            record = record.also(f"(NOT {condition})")
        for child in step.children[len(step.predicates) :]:
            self.behind(node.name, record, child)

    def counted(self, node: ProcessorNode, step: steps.Aggregate | steps.WindowAggregate, record: _Record) -> None:
        """`count()` and nothing but a sink behind it. Records with a null key or value do not count."""
        begin, add = step.initializer, step.aggregator
        windows = step.windows if isinstance(step, steps.WindowAggregate) else None
        emit = step.emit if isinstance(step, steps.WindowAggregate) else steps.Emit.ON_UPDATE
        if begin is None or (begin.sql, add.sql) != ("0", "aggregate + 1"):
            raise NotNative(f"{node.name} is not a count()")
        if isinstance(windows, steps.SlidingWindows) or emit is not steps.Emit.ON_UPDATE:
            raise NotNative(f"{node.name} counts in sliding windows or on their close")
        sink = self.only_sink(node)
        key_serde = sink.key.key if windows is not None and isinstance(sink.key, TimeWindowed) else sink.key
        if type(sink.value) is not Long or (windows is not None and not isinstance(sink.key, TimeWindowed)):
            raise NotNative(f"{sink.name} writes a count with key={sink.key!r}, value={sink.value!r}")
        present = [f"(NOT {null_test(one)})" for one in (record.key, record.value)]
        output = _output(replace(sink, key=key_serde, value=Bytes()), replace(record.also(*present), value=NULL))
        self.outputs.append(replace(output, node=node.name))
        self.count = Count(node.name, windows)

    def only_sink(self, node: ProcessorNode) -> SinkNode:
        behind = self.children.get(node.name, [])
        step = behind[0].step if len(behind) == 1 and isinstance(behind[0], ProcessorNode) else None
        last = self.children.get(behind[0].name, []) if isinstance(step, steps.TableToStream) else []
        if not isinstance(step, steps.TableToStream) or step.select_key is not None or len(last) != 1:
            raise NotNative(f"{node.name} has something else behind it than one topic")
        if not isinstance(last[0], SinkNode):
            raise NotNative(f"{last[0].name} works on a count")
        return last[0]

    # -- functions -------------------------------------------------------------------------------------------------

    def condition(self, node: ProcessorNode, function: Function, record: _Record) -> str:
        """True or false: unknown is not true. One expression, so that Spark leaves its parts in their order."""
        if function.column is not None:
            return f"coalesce({self.bound(function.column, record)}, FALSE)"
        made = self.one(node, function, record)
        if made.type is SqlType.NULL:
            return "FALSE"
        if made.type is not SqlType.BOOLEAN:
            raise NotNative(f"{node.name}: '{function}' is {made.type.value} and not BOOLEAN")
        return f"coalesce({made.sql}, FALSE)"

    def one(self, node: ProcessorNode, function: Function, record: _Record) -> Typed:
        if function.column is not None:
            return Typed(self.bound(function.column, record), SqlType.OPAQUE)
        text = _sql_of(node, function)
        from caudal.plan.expressions.spark_sql import spark_form  # needs sqlglot, which Python functions do not

        try:
            return self.noted(node, spark_form(text, {"key": record.key, "value": record.value}))
        except NoSparkForm as error:
            raise NotNative(f"{node.name}: '{text}' has no Spark form: {error}") from None

    def pair(self, node: ProcessorNode, function: Function, record: _Record) -> tuple[Typed, Typed]:
        text = _sql_of(node, function)
        from caudal.plan.expressions.spark_sql import spark_forms

        try:
            parts = spark_forms(text, {"key": record.key, "value": record.value})
        except NoSparkForm as error:
            raise NotNative(f"{node.name}: '{text}' has no Spark form: {error}") from None
        if len(parts) != 2:
            raise NotNative(f"{node.name}: '{text}' is not written as (key, value)")
        return self.noted(node, parts[0]), self.noted(node, parts[1])

    def noted(self, node: ProcessorNode, made: Typed) -> Typed:
        if made.may_fail and self.may_fail is None:
            self.may_fail = node.name
        return made

    def bound(self, column: Any, record: _Record) -> str:
        name = f"_c{len(self.columns)}"
        self.columns.append(Bound(name, column, _whole(record.key), _whole(record.value)))
        return name


def _sql_of(node: ProcessorNode, function: Function) -> str:
    if function.sql is None:
        raise NotNative(f"{node.name} has the Python function {function}; a SQL string could run natively")
    return function.sql


# -- bytes to values ---------------------------------------------------------------------------------------------------


def _read(
    serde: Serde, raw: str, name: str, where: str, parsed: list[tuple[str, str]], bad: list[str], by_name: bool
) -> Typed:
    """The typed value of a column of bytes. Adds what must be parsed, and how to see that it cannot be."""
    text = f"CAST({raw} AS STRING)"
    if type(serde) is Bytes:
        return Typed(raw, SqlType.BINARY, raw=raw)
    if type(serde) is String and serde.encoding == "utf-8":
        bad.append(f"(NOT is_valid_utf8({text}))")
        return Typed(text, SqlType.STRING, raw=raw)
    if type(serde) is Long:
        bad.append(f"(octet_length({raw}) <> 8)")
        return Typed(f"CAST(conv(hex({raw}), 16, -10) AS BIGINT)", SqlType.BIGINT, raw=raw)
    if type(serde) is Json and serde.fields:
        return _read_json(serde, raw, name, parsed, bad)
    if _is_avro(serde):
        if not by_name:
            raise NotNative(f"{where}{serde!r}, whose schemas may grow while it runs: lane='native' may read them")
        return _read_avro(serde, raw, name, where, parsed, bad)
    hint = "; declare the fields: Json(schema='amount DOUBLE, user STRING')" if type(serde) is Json else ""
    raise NotNative(f"{where}{serde!r}, whose values have no type before they are read{hint}")


def _is_avro(serde: Serde) -> bool:
    return type(serde).__name__ == "Avro" and type(serde).__module__ == "caudal.serde.avro"


def _read_avro(serde: Any, raw: str, name: str, where: str, parsed: list[tuple[str, str]], bad: list[str]) -> Typed:
    from caudal.plan.native_avro import NoNativeForm, read_avro

    try:
        made, unreadable, value = read_avro(serde, raw, name)
    except NoNativeForm as error:
        raise NotNative(f"{where}{serde!r}, which {error}") from None
    parsed.append((name, made))
    bad.append(unreadable)
    return value


def _write_avro(serde: Any, value: Typed, where: str) -> str:
    from caudal.plan.native_avro import NoNativeForm, write_avro

    try:
        return write_avro(serde, value)
    except NoNativeForm as error:
        raise NotNative(f"{where}{serde!r}, which {error}") from None


def _read_json(serde: Json, raw: str, name: str, parsed: list[tuple[str, str]], bad: list[str]) -> Typed:
    """Strictly, as the serde reads it. Spark stops at the end of a document and does not look at what follows; so the
    document is put into another one: alone in a list, with a field behind it that is only there if nothing stood in
    between. And it would take a number for a text; so text is read as a VARIANT, which knows what it was.
    """
    kinds = {"STRING": "VARIANT"}
    declared = ", ".join(f"{quoted_name(one)}: {kinds.get(kind, kind)}" for one, kind in serde.fields)
    schema = text_literal(f"v ARRAY<STRUCT<{declared}>>, caudal_end INT, x STRING")
    text = f"CAST({raw} AS STRING)"
    parsed.append((name, f"from_json(concat('{{\"v\":[', {text}, '],\"caudal_end\":1}}'), {schema}, {_READ_JSON})"))
    here = f"get({name}.v, 0)"
    signs = [f"{name}.x IS NOT NULL", f"{name}.caudal_end IS NULL", f"{here} IS NULL", f"size({name}.v) <> 1"]
    signs.append(f"NOT is_valid_utf8({text})")
    fields: list[tuple[str, Typed]] = []
    for declared_name, kind in serde.fields:
        sql = f"{here}.{quoted_name(declared_name)}"
        if kind == "STRING":
            signs.append(f"schema_of_variant({sql}) NOT IN ('STRING', 'VOID')")
            sql = f"CAST({sql} AS STRING)"
        elif kind == "DOUBLE":
            signs.append(f"abs({sql}) = double('Infinity')")
        fields.append((declared_name, Typed(sql, SqlType[kind])))
    bad.append(f"({raw} IS NOT NULL AND ({' OR '.join(signs)}))")
    return Typed("", SqlType.STRUCT, fields=tuple(fields), is_null=f"({raw} IS NULL)", raw=raw)


# -- values to bytes ---------------------------------------------------------------------------------------------------


def _output(sink: SinkNode, record: _Record) -> Output:
    if not isinstance(sink.topic, str):
        raise NotNative(f"{sink.name} chooses its topic by the function {sink.topic}")
    if sink.partitioner is not None:
        raise NotNative(f"{sink.name} chooses partitions by the function {sink.partitioner}")
    where = f"{sink.name} writes to '{sink.topic}' with"
    key = _write(sink.key, record.key, f"{where} key=", as_key=True)
    value = _write(sink.value, record.value, f"{where} value=")
    return Output(sink.name, sink.topic, " AND ".join(record.where) or None, key, value)


def _write(serde: Serde, value: Typed, where: str, as_key: bool = False) -> str:
    """The bytes that the serde would write."""
    kind = type(serde)
    if value.type is SqlType.NULL:
        return _NULL_BYTES
    if _is_avro(serde):
        return _write_avro(serde, value, where)
    if kind is Json:
        assert isinstance(serde, Json)
        if as_key and (value.raw or _contains(value, SqlType.DOUBLE)):
            what = "a document as it came" if value.raw else "a DOUBLE"
            raise NotNative(f"{where}{serde!r} {what}, which the task lane spells in its own way: keys must be alike")
        return _json(serde, value, where)
    if value.type is SqlType.OPAQUE:
        if kind is String:
            return f"CAST(CAST({value.sql} AS STRING) AS BINARY)"
        if kind is Bytes:
            return value.sql
    if kind is Bytes and value.type is SqlType.BINARY:
        return value.sql
    if isinstance(serde, String) and serde.encoding == "utf-8" and value.type is SqlType.STRING:
        return value.raw or f"CAST({value.sql} AS BINARY)"
    if kind is Long and value.type in (SqlType.BIGINT, SqlType.OPAQUE):
        return value.raw or f"unhex(lpad(hex({value.sql}), 16, '0'))"
    raise NotNative(f"{where}{serde!r} what is {value.type.value}, which has no native form")


def _json(serde: Json, value: Typed, where: str) -> str:
    if _contains(value, SqlType.BINARY):
        raise NotNative(f"{where}{serde!r} what is BINARY, which JSON cannot hold")
    if value.type is not SqlType.STRUCT:
        inside = f"to_json(named_struct('v', {_plain(value)}), {_WRITE_JSON})"
        text = f"substring({inside}, 6, length({inside}) - 6)"
        return f"CASE WHEN {value.sql} IS NOT NULL THEN CAST({text} AS BINARY) END"
    if value.raw:
        if serde.sort_keys:
            raise NotNative(f"{where}{serde!r} a document as it came, of which only the declared fields are known")
        return value.raw
    if not value.fields:
        return "CAST('{}' AS BINARY)"
    return f"CAST(to_json({_struct(value, serde.sort_keys)}, {_WRITE_JSON}) AS BINARY)"


def _whole(value: Typed) -> str:
    """A value of any type as one expression."""
    if value.type is SqlType.NULL:
        return "CAST(NULL AS STRING)"
    return _struct(value, False) if value.type is SqlType.STRUCT else value.sql


def _struct(value: Typed, sort_keys: bool) -> str:
    ordered = sorted(value.fields) if sort_keys else value.fields
    parts = ", ".join(
        f"{text_literal(name)}, "
        + (_struct(one, sort_keys) if one.type is SqlType.STRUCT and one.fields else _plain(one))
        for name, one in ordered
    )
    made = f"named_struct({parts})"
    return f"CASE WHEN NOT {value.is_null} THEN {made} END" if value.is_null else made


def _plain(value: Typed) -> str:
    """A scalar for JSON, where NaN and infinity are null, as orjson writes them."""
    if value.type is SqlType.NULL:
        return "CAST(NULL AS STRING)"
    if value.type is SqlType.STRUCT:
        return "map()"
    if value.type is SqlType.DOUBLE and not value.finite:
        infinite = f"abs({value.sql}) = double('Infinity')"
        return f"CASE WHEN isnan({value.sql}) OR {infinite} THEN NULL ELSE {value.sql} END"
    return value.sql


def _contains(value: Typed, kind: SqlType) -> bool:
    return value.type is kind or any(_contains(one, kind) for _, one in value.fields)
