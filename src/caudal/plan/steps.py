"""The steps: what a processor node does, as data. One dataclass per operator, no behaviour.

`caudal.streams` (and later KSQL) makes them, `caudal.runtime.operators` has one class per step that runs it
(`@runs(Filter)`). Times and sizes are milliseconds. `Function` fields take the arguments named in the comment.

A table has a store only where somebody reads it by key or its old values are asked for (Kafka Streams' rule). Where a
step reads another table by key, its field (`store`, `other_store`, `left_store`, `right_store`) names that table's
store or, where it has none or has one of windows, its node in the same sub-topology, which finds the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from caudal.plan.functions import Function
from caudal.serde import Serde


class Step:
    """The base of all steps."""

    __slots__ = ()


# -- stateless, on streams -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filter(Step):
    predicate: Function  # key, value
    negate: bool = False


@dataclass(frozen=True, slots=True)
class Map(Step):
    function: Function  # key, value → (key, value); also select_key


@dataclass(frozen=True, slots=True)
class SelectKey(Step):
    function: Function  # key, value → key


@dataclass(frozen=True, slots=True)
class MapValues(Step):
    function: Function  # key, value → value


@dataclass(frozen=True, slots=True)
class FlatMap(Step):
    function: Function  # key, value → iterable of (key, value)


@dataclass(frozen=True, slots=True)
class FlatMapValues(Step):
    function: Function  # key, value → iterable of values


@dataclass(frozen=True, slots=True)
class Peek(Step):
    function: Function  # key, value
    forward: bool = True  # False: foreach, the end of a stream


@dataclass(frozen=True, slots=True)
class Print(Step):
    label: str


@dataclass(frozen=True, slots=True)
class Branch(Step):
    """Sends a record to the first child whose predicate holds; child i belongs to predicate i, the last one is
    default.
    """

    predicates: tuple[Function, ...]  # key, value
    children: tuple[str, ...]  # names of the child nodes, one per predicate, plus one more where there is a default


@dataclass(frozen=True, slots=True)
class PassThrough(Step):
    """A merge, or the head of a branch."""


@dataclass(frozen=True, slots=True)
class Process(Step):
    """Processor API: `supplier()` gives a `caudal.streams.Processor`."""

    supplier: Function
    values_only: bool = False  # process_values: the key must stay


# -- rows of SQL -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordColumns(Step):
    """KSQL: puts what a record says besides key and value into its value, a tuple; null values stay null."""

    appended: tuple[str, ...]  # ROWTIME, ROWPARTITION, ROWOFFSET: behind the value's columns, in this order
    headers: tuple[tuple[int, str | None], ...] = ()  # columns to fill: with one header's value, or (None) with all


@dataclass(frozen=True, slots=True)
class DropNulls(Step):
    """KSQL: tombstones of a stream are no rows to aggregate; nor are rows with a NULL in their group (`keys`)."""

    keys: bool = False


@dataclass(frozen=True, slots=True)
class ExpireRows(Step):
    """KSQL: a table WITH (TTL=…). In front of the table: a tombstone for each row that stream time has left behind."""

    ttl: int
    index: str  # store of bytes: time and key of every row, in the order of time
    table: str  # the table's store, which knows whether a row is still of that time
    key: Serde


@dataclass(frozen=True, slots=True)
class TableToRows(Step):
    """KSQL: the changes of a table as the rows of a SELECT, for its sink. Of an aggregate `results` come first."""

    results: Function | None  # state → row
    columns: Function | None  # key, row → row


@dataclass(frozen=True, slots=True)
class SetTimestamp(Step):
    """KSQL: the record's time from a column, for sinks WITH (TIMESTAMP=…). Negative: the record is dropped."""

    function: Function  # key, value, timestamp → timestamp


# -- aggregates of streams -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Aggregate(Step):
    store: str
    initializer: Function  # → aggregate
    aggregator: Function  # key, value, aggregate → aggregate


@dataclass(frozen=True, slots=True)
class Reduce(Step):
    store: str
    reducer: Function  # aggregate, value → aggregate


class Emit(Enum):
    ON_UPDATE = "on update"
    ON_CLOSE = "on close"


@dataclass(frozen=True, slots=True)
class TimeWindows:
    size: int
    advance: int  # == size: tumbling
    grace: int


@dataclass(frozen=True, slots=True)
class SlidingWindows:
    difference: int
    grace: int


@dataclass(frozen=True, slots=True)
class SessionWindows:
    gap: int
    grace: int


@dataclass(frozen=True, slots=True)
class WindowAggregate(Step):
    store: str
    windows: TimeWindows | SlidingWindows
    initializer: Function | None  # None with reduce: the first value begins the window
    aggregator: Function  # key, value, aggregate → aggregate
    emit: Emit = Emit.ON_UPDATE


@dataclass(frozen=True, slots=True)
class SessionAggregate(Step):
    store: str
    windows: SessionWindows
    initializer: Function | None
    aggregator: Function  # key, value, aggregate → aggregate
    merger: Function  # key, left aggregate, right aggregate → aggregate
    emit: Emit = Emit.ON_UPDATE


# -- tables ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableSource(Step):
    """Turns the records of a table's topic into changes. Null keys are dropped with a count, as Kafka Streams does."""

    store: str | None  # None: nobody reads it by key, and changes go without old values


@dataclass(frozen=True, slots=True)
class StreamToTable(Step):
    """`to_table`, and the end of a foreign-key join: like TableSource, behind a stream."""

    store: str | None


@dataclass(frozen=True, slots=True)
class TableFilter(Step):
    predicate: Function  # key, value
    negate: bool = False
    store: str | None = None


@dataclass(frozen=True, slots=True)
class TableMapValues(Step):
    function: Function  # key, value → value
    store: str | None = None


@dataclass(frozen=True, slots=True)
class TableTransformValues(Step):
    supplier: Function  # → ValueTransformer with init(context) and transform(key, value)
    store: str | None = None


@dataclass(frozen=True, slots=True)
class TableToStream(Step):
    select_key: Function | None = None  # key, value → key


@dataclass(frozen=True, slots=True)
class TableGroupBy(Step):
    """Re-keys a table: each change becomes a removal under the old key and an addition under the new one."""

    function: Function  # key, value → (key, value)


@dataclass(frozen=True, slots=True)
class TableAggregate(Step):
    store: str
    initializer: Function
    adder: Function  # key, value, aggregate → aggregate
    subtractor: Function  # key, value, aggregate → aggregate


@dataclass(frozen=True, slots=True)
class TableReduce(Step):
    store: str
    adder: Function  # aggregate, value → aggregate
    subtractor: Function  # aggregate, value → aggregate


@dataclass(frozen=True, slots=True)
class Suppress(Step):
    """Holds changes back: until their window closes, or for a time; the buffer is a store with a changelog."""

    store: str
    until_window_closes: bool
    time_limit: int
    grace: int  # of the windows, where until_window_closes
    max_records: int | None = None
    max_bytes: int | None = None
    emit_early_when_full: bool = True  # False: stop the application


# -- joins -----------------------------------------------------------------------------------------------------------


class JoinType(Enum):
    INNER = "inner"
    LEFT = "left"
    OUTER = "outer"


@dataclass(frozen=True, slots=True)
class WindowPut(Step):
    """Keeps one side of a stream-stream join in its window store and passes the record on."""

    store: str


@dataclass(frozen=True, slots=True)
class StreamStreamJoin(Step):
    """One side of a stream-stream join: looks the record up in the other side's window."""

    left_side: bool
    type: JoinType
    before: int  # how much earlier than this side's record the other may be
    after: int
    grace: int
    other_store: str
    outer_store: str | None  # records that have no partner yet, shared by both sides (left and outer joins)
    joiner: Function  # key, left value, right value → value (always left first)


@dataclass(frozen=True, slots=True)
class StreamTableJoin(Step):
    store: str
    left: bool
    joiner: Function  # key, stream value, table value → value
    grace: int | None = None  # with a versioned or buffered table; None: at once


@dataclass(frozen=True, slots=True)
class GlobalTableJoin(Step):
    store: str
    left: bool
    key_selector: Function  # key, value → the table's key
    joiner: Function  # key, stream value, table value → value


@dataclass(frozen=True, slots=True)
class TableTableJoin(Step):
    """One side of a table-table join on the primary key: looks the change up in the other side's store."""

    left_side: bool
    type: JoinType
    other_store: str
    joiner: Function  # key, left value, right value → value


@dataclass(frozen=True, slots=True)
class TableTableMerge(Step):
    """Joins the two sides' changes into one table, materialised where `store` is given."""

    store: str | None = None


# The nodes of a foreign-key join: left table → Send → (registration topic, keyed by foreign key) → Subscribe → Lookup
# → (response topic, keyed by primary key, to the partition that asked) → Resolve → StreamToTable; right table → Notify
# → (response topic). Values on the two topics are `caudal.serde.foreign_key`'s Subscription and SubscriptionResponse.


@dataclass(frozen=True, slots=True)
class ForeignKeySend(Step):
    """Left side of a foreign-key join: tells the right side's partition which key it refers to (subscription)."""

    extractor: Function  # key, value → foreign key
    left: bool
    foreign_key: Serde  # to see whether the foreign key has changed
    value: Serde  # of the left table: its bytes are hashed


@dataclass(frozen=True, slots=True)
class ForeignKeySubscribe(Step):
    """Right side: keeps subscriptions under `combined_key(foreign key, primary key)`, passes (new, old) on as a
    change.
    """

    store: str
    foreign_key: Serde
    primary_key: Serde


@dataclass(frozen=True, slots=True)
class ForeignKeyLookup(Step):
    """Right side: answers a subscription with the right table's current value."""

    right_store: str


@dataclass(frozen=True, slots=True)
class ForeignKeyNotify(Step):
    """Right side: a change of the right table is told to every subscription of its key."""

    store: str
    foreign_key: Serde
    primary_key: Serde


@dataclass(frozen=True, slots=True)
class ForeignKeyResolve(Step):
    """Left side again: drops answers to an outdated value (by hash), joins the others."""

    left_store: str
    left: bool
    joiner: Function  # key, left value, right value → value
    value: Serde  # of the left table: its bytes are hashed
