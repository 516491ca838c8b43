"""From a golden case to a topology: the same operations as java/Topologies.java, with Caudal's DSL.

The seam for hosts is `prepare(case, prefix)`: a builder whose topics carry the prefix (so that all cases can live in
one cluster), the steps with the same topics, and the serdes between the rows of the case files and bytes. With `into`
the case is built into that builder as well: many cases, told apart by their prefixes, then make one application.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from caudal.plan.topology import SinkNode, SourceNode, Topology
from caudal.runtime.record import Record, Windowed
from caudal.serde import Json, Long, Serde, String
from caudal.streams import (
    StreamsBuilder,
    hopping,
    key_value_store,
    session,
    session_store,
    sliding,
    timestamped_store,
    tumbling,
    until_time_limit,
    until_window_closes,
    window_store,
)

from . import functions, processors
from .case_files import Case, Row, Step, operation_parts

SERDES: dict[str, Serde] = {"string": String(), "long": Long(), "json": Json()}
Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(slots=True)
class Prepared:
    """A case that a host can run."""

    case: Case
    builder: StreamsBuilder
    topology: Topology
    steps: list[Step]  # with prefixed topics
    sinks: dict[str, tuple[Serde, Serde]]  # by prefixed topic, every topic that may be written

    def encode(self, topic: str, row: Row) -> tuple[bytes | None, bytes | None, int, Headers]:
        """A row of input as key, value, timestamp and headers of a Kafka record."""
        source = next(node for node in self.topology.nodes if isinstance(node, SourceNode) and topic in node.topics)
        key = None if row[0] is None else source.key.serialize(row[0])
        value = None if row[1] is None else source.value.serialize(row[1])
        return key, value, row[2], headers_of(row)

    def decode(self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers = ()) -> Row:
        """A Kafka record of output as a row of the case files."""
        key_serde, value_serde = self.sinks[topic]
        return row_of(
            Record(
                None if key is None else key_serde.deserialize(key),
                None if value is None else value_serde.deserialize(value),
                timestamp,
                headers,
            )
        )


def headers_of(row: Row) -> Headers:
    return tuple((name, text.encode()) for name, text in row[3].items()) if len(row) > 3 else ()


def row_of(record: Record) -> Row:
    """A record as the case files write it."""
    key = record.key
    if isinstance(key, Windowed):
        key = {"key": key.key, "window": [key.start, key.end]}
    row = [key, record.value, record.timestamp]
    if record.headers:
        row.append({name: (value or b"").decode() for name, value in record.headers})
    return row


def prepare(case: Case, prefix: str = "", into: StreamsBuilder | None = None) -> Prepared:
    if into is not None:
        _Builder(case, prefix, into)
    made = _Builder(case, prefix)
    topology = made.builder.build()
    steps = [
        replace(
            step,
            topic=None if step.topic is None else prefix + step.topic,
            expect={prefix + topic: rows for topic, rows in step.expect.items()},
        )
        for step in case.steps
    ]
    sinks: dict[str, tuple[Serde, Serde]] = {}
    for node in topology.nodes:
        if isinstance(node, SinkNode):
            # a sink that chooses its topic is alone in its case, and the case lists the topics
            topics = [node.topic] if isinstance(node.topic, str) else made.dynamic_topics
            sinks |= {topic: (node.key, node.value) for topic in topics if topic not in topology.internal_topics}
    return Prepared(case, made.builder, topology, steps, sinks)


class _Builder:
    def __init__(self, case: Case, prefix: str, into: StreamsBuilder | None = None) -> None:
        self.builder = into or StreamsBuilder(prefix + case.slug)
        self.prefix = prefix
        self.dynamic_topics: list[str] = []
        self.results: dict[str, Any] = {}
        last: Any = None
        for operation in case.topology:
            name, arguments, keywords = operation_parts(operation)
            keywords = dict(keywords)
            on = self.results[keywords.pop("on")] if "on" in keywords else last
            result_name = keywords.pop("as", None)
            if "store" in keywords:
                keywords["store"] = prefix + keywords["store"]
            result = getattr(self, f"_{name}")(on, *arguments, **keywords)
            if result is not None:
                last = result
                if result_name is not None:
                    self.results[result_name] = result

    # -- sources and stores --------------------------------------------------------------------------------------------

    def _source(self, kind: str, topic: Any, key: str = "string", value: str = "json", **keywords: Any) -> Any:
        topics = [self.prefix + name for name in topic] if isinstance(topic, list) else self.prefix + topic
        if "timestamp" in keywords:
            keywords["timestamp"] = functions.named(keywords["timestamp"])
        return getattr(self.builder, kind)(topics, key=SERDES[key], value=SERDES[value], **keywords)

    def _stream(self, on: Any, topic: Any, **keywords: Any) -> Any:
        return self._source("stream", topic, **keywords)

    def _table(self, on: Any, topic: str, **keywords: Any) -> Any:
        return self._source("table", topic, **keywords)

    def _global_table(self, on: Any, topic: str, **keywords: Any) -> Any:
        return self._source("global_table", topic, **keywords)

    def _add_state_store(self, on: Any, name: str, kind: str, size: int = 0, retention: int = 1_000_000) -> None:
        name = self.prefix + name
        serdes: dict[str, Any] = {"key": String(), "value": Json()}
        spec = {
            "key-value": lambda: key_value_store(name, **serdes),
            "timestamped": lambda: timestamped_store(name, **serdes),
            "window": lambda: window_store(name, **serdes, retention=retention, window_size=size),
            "session": lambda: session_store(name, **serdes, retention=retention),
        }[kind]()
        self.builder.add_state_store(spec)

    # -- streams and tables --------------------------------------------------------------------------------------------

    def _filter(self, on: Any, predicate: Any, **keywords: Any) -> Any:
        return on.filter(functions.named(predicate), **keywords)

    def _filter_not(self, on: Any, predicate: Any, **keywords: Any) -> Any:
        return on.filter_not(functions.named(predicate), **keywords)

    def _map(self, on: Any, mapper: Any, key: str = "string") -> Any:
        return on.map(functions.named(mapper), key=SERDES[key], value=Json())

    def _map_values(self, on: Any, mapper: Any, **keywords: Any) -> Any:
        return on.map_values(functions.named(mapper), value=Json(), **keywords)

    def _flat_map(self, on: Any, mapper: Any, key: str = "string") -> Any:
        return on.flat_map(functions.named(mapper), key=SERDES[key], value=Json())

    def _flat_map_values(self, on: Any, mapper: Any) -> Any:
        return on.flat_map_values(functions.named(mapper), value=Json())

    def _select_key(self, on: Any, selector: Any, key: str = "string") -> Any:
        return on.select_key(functions.named(selector), key=SERDES[key])

    def _peek(self, on: Any, action: Any) -> Any:
        return on.peek(functions.named(action))

    def _foreach(self, on: Any, action: Any) -> None:
        on.foreach(functions.named(action))

    def _merge(self, on: Any, *others: str) -> Any:
        for other in others:
            on = on.merge(self.results[other])
        return on

    def _split(self, on: Any, *branches: list[Any], default: str | None = None) -> None:
        split = on.split()
        for name, predicate in branches:
            split.branch(functions.named(predicate), name=name)
        made = split.default_branch(name=default) if default else split.no_default_branch()
        for name in [*(branch[0] for branch in branches), *([default] if default else [])]:
            self.results[name] = made[name]

    def _repartition(self, on: Any, name: str | None = None) -> Any:
        return on.repartition(name=name)

    def _to(self, on: Any, topic: Any, value: str = "json", topics: list[str] | None = None) -> None:
        if isinstance(topic, str):
            on.to(self.prefix + topic, value=SERDES[value])
            return
        choose = functions.named(topic)
        self.dynamic_topics = [self.prefix + name for name in topics or []]
        on.to(lambda key, value: self.prefix + choose(key, value), value=SERDES[value])

    def _to_table(self, on: Any, **keywords: Any) -> Any:
        return on.to_table(**keywords)

    def _to_stream(self, on: Any, selector: Any = None) -> Any:
        return on.to_stream() if selector is None else on.to_stream(functions.named(selector), key=String())

    def _transform_values(self, on: Any, transformer: str, **keywords: Any) -> Any:
        assert transformer == "describe"
        return on.transform_values(processors.Describe, value=Json(), **keywords)

    def _suppress(self, on: Any, time_limit: int | None = None, full: str | None = None, **limits: int) -> Any:
        if time_limit is None:
            return on.suppress(until_window_closes(**limits))
        return on.suppress(until_time_limit(time_limit, **limits, when_full="stop" if full else "emit"))

    # -- groups --------------------------------------------------------------------------------------------------------

    def _group_by_key(self, on: Any) -> Any:
        return on.group_by_key()

    def _group_by(self, on: Any, selector: Any, key: str = "string") -> Any:
        return on.group_by(functions.named(selector), key=SERDES[key], value=Json())

    def _windowed_by(self, on: Any, kind: str, *sizes: int, grace: int = 0, emit: str = "update") -> Any:
        make: Any = {"tumbling": tumbling, "hopping": hopping, "sliding": sliding, "session": session}[kind]
        windows = make(*sizes, grace=grace)
        return on.windowed_by(windows, emit="on_close") if emit == "close" else on.windowed_by(windows)

    def _cogroup(self, on: Any, aggregator: Any, other: str | None = None) -> Any:
        if other is None:
            return on.cogroup(functions.named(aggregator))
        return on.cogroup(self.results[other], functions.named(aggregator))

    def _count(self, on: Any, **keywords: Any) -> Any:
        return on.count(**keywords)

    def _reduce(self, on: Any, *reducers: Any, **keywords: Any) -> Any:
        return on.reduce(*map(functions.named, reducers), **keywords)

    def _aggregate(self, on: Any, *parts: Any, **keywords: Any) -> Any:
        return on.aggregate(*map(functions.named, parts), value=Json(), **keywords)

    # -- joins ---------------------------------------------------------------------------------------------------------

    def _any_join(self, kind: str, on: Any, other: str, joiner: Any, **keywords: Any) -> Any:
        if "select" in keywords:
            keywords["key_selector"] = functions.named(keywords.pop("select"))
        if "foreign_key" in keywords:
            keywords["key_extractor"] = functions.named(keywords.pop("foreign_key"))
        return getattr(on, kind)(self.results[other], functions.named(joiner), value=Json(), **keywords)

    def _join(self, on: Any, other: str, joiner: Any, **keywords: Any) -> Any:
        return self._any_join("join", on, other, joiner, **keywords)

    def _left_join(self, on: Any, other: str, joiner: Any, **keywords: Any) -> Any:
        return self._any_join("left_join", on, other, joiner, **keywords)

    def _outer_join(self, on: Any, other: str, joiner: Any, **keywords: Any) -> Any:
        return self._any_join("outer_join", on, other, joiner, **keywords)

    # -- Processor API -------------------------------------------------------------------------------------------------

    def _process(self, on: Any, processor: Any, stores: list[str] | None = None) -> Any:
        names = [self.prefix + name for name in stores or []]
        return on.process(processors.supplier(processor, names, self.prefix), stores=names, value=Json())

    def _process_values(self, on: Any, processor: Any, stores: list[str] | None = None) -> Any:
        names = [self.prefix + name for name in stores or []]
        return on.process_values(processors.supplier(processor, names, self.prefix), stores=names, value=Json())
