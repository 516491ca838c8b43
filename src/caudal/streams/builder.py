"""StreamsBuilder: where a topology begins. It only describes; `build()` gives the plan, `start()` and `run()` hand it
to the application (caudal.streams.application), which brings Spark in."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from os.path import abspath
from typing import TYPE_CHECKING, Any

from caudal.plan import cut, steps
from caudal.plan.errors import PlanError
from caudal.plan.functions import Function
from caudal.plan.graph import Graph
from caudal.plan.naming import checked_name
from caudal.plan.topology import SourceNode, StaticFile, StoreKind, StoreSpec, Topology
from caudal.serde import Bytes, Json, Serde
from caudal.streams import functions
from caudal.streams.functions import UserFunction
from caudal.streams.global_table import GlobalKTable
from caudal.streams.stores import Store, kept
from caudal.streams.stream import KStream
from caudal.streams.table import KTable
from caudal.streams.table_state import SourceState

if TYPE_CHECKING:
    from caudal.runtime.batch.bounds import Bound
    from caudal.runtime.batch.result import BatchResult
    from caudal.streams.application import Application


class StreamsBuilder:
    """Describes an application. The id names its consumer group, its internal topics and its state.

    `key` and `value` are the serdes of topics that give none of their own: raw bytes unless told otherwise.

    >>> builder = StreamsBuilder("hello")
    >>> builder.stream("names", key=String(), value=String()).map_values("upper(value)").to("shouted")
    >>> print(builder.build().describe())
    Topologies:
       Sub-topology: 0
        Source: KSTREAM-SOURCE-0000000000 (topics: [names])
          --> KSTREAM-MAPVALUES-0000000001
        Processor: KSTREAM-MAPVALUES-0000000001 (stores: [])
          --> KSTREAM-SINK-0000000002
          <-- KSTREAM-SOURCE-0000000000
        Sink: KSTREAM-SINK-0000000002 (topic: shouted)
          <-- KSTREAM-MAPVALUES-0000000001
    <BLANKLINE>
    <BLANKLINE>
    """

    def __init__(
        self, application_id: str, *, key: Serde | None = None, value: Serde | None = None, optimize: bool = False
    ) -> None:
        self._graph = Graph(checked_name(application_id))
        self._key: Serde = key if key is not None else Bytes()
        self._value: Serde = value if value is not None else Bytes()
        self._optimize = optimize

    @property
    def application_id(self) -> str:
        return self._graph.application_id

    def __repr__(self) -> str:
        return f"StreamsBuilder({self.application_id!r})"

    def stream(
        self,
        topics: str | Iterable[str],
        *,
        key: Serde | None = None,
        value: Serde | None = None,
        timestamp: UserFunction | None = None,
        reset: str = "earliest",
        name: str | None = None,
    ) -> KStream:
        """A stream of the records of one or several topics.

        `timestamp` gives the event time (epoch milliseconds) from (key, value), in place of the record's own; `reset`
        says where to begin when the group has no offsets yet: "earliest" or "latest".

        >>> builder.stream(["north", "south"], key=String(), value=Json(), timestamp="value.at").to("all")
        >>> show(("north", "ana", {"at": 5}))
        all: ana {'at': 5}
        """
        graph, listed = self._graph, _topics(topics)
        node = graph.names.next("KSTREAM-SOURCE", name)
        extractor = None if timestamp is None else functions.timestamp_extractor(timestamp, "stream(timestamp=)")
        source = self._source(node, listed, key, value, extractor, reset)
        known = graph.reader_of(listed)
        if known is not None and not graph.is_table_source(known.name):
            # As in Kafka Streams, a topic is read once: both streams hang on the same source.
            _check_alike(known, source)
            source = known
        else:
            graph.add_source(source)
        return KStream(graph, source.name, source.key, source.value, frozenset((source.name,)))

    def table(
        self,
        topic: str,
        *,
        key: Serde | None = None,
        value: Serde | None = None,
        store: Store | None = None,
        timestamp: UserFunction | None = None,
        reset: str = "earliest",
        name: str | None = None,
    ) -> KTable:
        """A table of a topic: the last value of each key. It gets a store when something needs one, or by `store=`.

        >>> builder.table("users", key=String(), value=Json()).filter("city = 'Soria'").to("soria")
        >>> show(("users", "ana", {"city": "Soria"}))
        soria: ana {'city': 'Soria'}
        """
        graph, keep = self._graph, kept(store)
        _check_topic(topic)
        store_name = keep.name or graph.names.store(topic)
        source_name = graph.names.next("KSTREAM-SOURCE", name, "-source")
        node = graph.names.next("KTABLE-SOURCE", name)
        extractor = None if timestamp is None else functions.timestamp_extractor(timestamp, "table(timestamp=)")
        source = self._source(source_name, (topic,), key, value, extractor, reset)
        graph.add_source(source, table=True)
        spec = StoreSpec(
            store_name,
            StoreKind.TIMESTAMPED,
            source.key,
            source.value,
            keep.persistent,
            keep.logged,
            topic_configs=keep.topic_configs,
        )
        state = SourceState(node, graph, spec, needed=keep.name is not None, topic=topic)
        graph.add_processor(
            node, lambda: steps.TableSource(state.store), (source_name,), state.store_names, lambda: state.sends_old
        )
        return KTable(graph, node, source.key, source.value, frozenset((source_name,)), state)

    def global_table(
        self,
        topic: str,
        *,
        key: Serde | None = None,
        value: Serde | None = None,
        store: Store | None = None,
        timestamp: UserFunction | None = None,
        name: str | None = None,
    ) -> GlobalKTable:
        """A table of which every task has all partitions: streams join it by any expression.

        >>> cities = builder.global_table("cities", key=String(), value=Json())
        >>> orders.join(cities, lambda order, city: city["name"], key_selector="city").to("names")
        >>> show(("cities", "S", {"name": "Soria"}), ("orders", "ana", {"city": "S"}))
        names: ana Soria
        """
        graph, keep = self._graph, kept(store)
        _check_topic(topic)
        store_name = keep.name or graph.names.store(topic)
        source_name = graph.names.next("KSTREAM-SOURCE", name, "-source")
        node = graph.names.next("KTABLE-SOURCE", name)
        extractor = None if timestamp is None else functions.timestamp_extractor(timestamp, "global_table(timestamp=)")
        key, value = key or self._key, value or self._value
        graph.add_source(SourceNode(source_name, (topic,), key, value, extractor, is_global=True), table=True)
        spec = StoreSpec(
            store_name,
            StoreKind.TIMESTAMPED,
            key,
            value,
            keep.persistent,
            logged=False,  # its topic is its changelog
            changelog=topic,
            is_global=True,
        )
        graph.add_new_store(spec)
        graph.add_processor(node, steps.TableSource(store_name), (source_name,), (store_name,))
        return GlobalKTable(graph, store_name, key, value)

    def static_table(
        self, path: str | PathLike[str], *, key: str, columns: Iterable[str] | None = None, store: str | None = None
    ) -> GlobalKTable:
        """A Parquet file or folder as a table to look things up in: streams join it by `key_selector=`, as a global
        table. A value is a row: a dict of its columns. Every worker reads it once, when the application starts.

        >>> customers = builder.static_table("customers.parquet", key="id", columns=["city"])
        >>> orders.join(customers, lambda order, row: row["city"], key_selector="customer").to("cities")
        """
        if not isinstance(key, str):
            raise PlanError(f"static_table() needs the name of the key's column, not {key!r}.")
        graph = self._graph
        place = fspath(path)
        file = StaticFile(place if "://" in place else abspath(place), key, None if columns is None else tuple(columns))
        name = store or graph.names.store("static")
        spec = StoreSpec(
            name, StoreKind.TIMESTAMPED, Json(), Json(), persistent=False, logged=False, is_global=True, static=file
        )
        graph.add_new_store(spec)
        return GlobalKTable(graph, name, spec.key, spec.value)

    def add_state_store(self, store: StoreSpec) -> StreamsBuilder:
        """Adds a store for processors, which name it in `stores=`.

        >>> builder = StreamsBuilder("app").add_state_store(key_value_store("seen", key=String(), value=Long()))
        """
        if not isinstance(store, StoreSpec):
            raise PlanError(
                "add_state_store() needs key_value_store(), timestamped_store(), window_store() or session_store()."
            )
        self._graph.add_store(store)
        return self

    def build(self, *, optimize: bool | None = None) -> Topology:
        """The plan: named, cut into sub-topologies, internal topics listed.

        With `optimize`, a table that is read straight from a topic uses that topic as its changelog.

        >>> [sub.id for sub in builder.build().subtopologies]
        [0]
        """
        return cut.finish(self._graph, self._optimize if optimize is None else optimize)

    def start(self, **settings: Any) -> Application:
        """Starts the application and gives it back: bootstrap=, master=, mode=, guarantee=, threads= and so on."""
        from caudal.streams.application import start

        return start(self, **settings)

    def run_batch(
        self, *, starting: Bound = "earliest", ending: Bound = "latest", write: bool = False, **settings: Any
    ) -> BatchResult:
        """Runs the topology over what is in its topics now, as Spark batch, and gives its topics and tables back.

        Takes the settings of `start`; `Application.run_batch` says what the bounds are.
        """
        from caudal.streams.application import Application

        return Application(self, **settings).run_batch(starting=starting, ending=ending, write=write)

    def run(self) -> None:
        """Runs the application until it is stopped, with the flags of `caudal run` from the command line."""
        from caudal.streams.application import run

        run(self)

    def _source(
        self,
        node: str,
        topics: tuple[str, ...],
        key: Serde | None,
        value: Serde | None,
        timestamp: Function | None,
        reset: str,
    ) -> SourceNode:
        if reset not in ("earliest", "latest"):
            raise PlanError(f"reset must be 'earliest' or 'latest', not {reset!r}.")
        return SourceNode(node, topics, key or self._key, value or self._value, timestamp, reset)


def _topics(topics: Any) -> tuple[str, ...]:
    if not isinstance(topics, Iterable):
        _check_topic(topics)
    listed = (topics,) if isinstance(topics, str) else tuple(dict.fromkeys(topics))
    if not listed:
        raise PlanError("stream() needs at least one topic.")
    for topic in listed:
        _check_topic(topic)
    return listed


def _check_topic(topic: Any) -> None:
    if not isinstance(topic, str):
        raise PlanError(f"A topic is named by text, not by {type(topic).__name__} {topic!r}.")
    checked_name(topic)


def _check_alike(known: SourceNode, again: SourceNode) -> None:
    for what, one, two in (
        ("key serdes", known.key, again.key),
        ("value serdes", known.value, again.value),
        ("reset", known.reset, again.reset),
    ):
        if one != two:
            topics = ", ".join(known.topics)
            raise PlanError(f"Topic '{topics}' is read twice with different {what}: {one!r} and {two!r}.")
