"""The processors that golden cases choose by name; java/Processors.java holds the same ones in Java.

The store of a processor is the first one that the case names beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caudal.runtime.record import Record, Windowed
from caudal.streams import Processor

from .functions import text


class Base(Processor):
    def __init__(self, parameters: list[Any], stores: list[str], prefix: str) -> None:
        self.parameters = parameters
        self.stores = stores
        self.prefix = prefix  # of the topics, which the expected results do not have

    def init(self, context: Any) -> None:
        self.context = context
        self.store: Any = context.get_state_store(self.stores[0]) if self.stores else None

    def forward(self, record: Record, value: Any) -> None:
        self.context.forward(Record(record.key, value, record.timestamp, record.headers))


class RunningTotal(Base):
    """A sum per key in a key-value store; a null value deletes the key."""

    def process(self, record: Record) -> None:
        if record.value is None:
            self.forward(record, {"deleted": self.store.delete(record.key)})
            return
        total = (self.store.get(record.key) or 0) + record.value
        self.store.put(record.key, total)
        self.forward(record, total)


class Dedupe(Base):
    """Only the first record of a key goes on."""

    def process(self, record: Record) -> None:
        if self.store.put_if_absent(record.key, 1) is None:
            self.context.forward(record)


class CountUntilTick(Base):
    """Counts per key; a punctuator forwards all counts (with the time it is given) and clears them."""

    type = "stream_time"

    def init(self, context: Any) -> None:
        super().init(context)
        context.schedule(self.parameters[0], self.type, self.tick)

    def tick(self, now: int) -> None:
        for key, value in list(self.store.all()):
            self.context.forward(Record(key, value, now))
            self.store.delete(key)

    def process(self, record: Record) -> None:
        self.store.put(record.key, (self.store.get(record.key) or 0) + 1)


class CountUntilWallTick(CountUntilTick):
    type = "wall_clock_time"


class Ticks(Base):
    """Forwards every tick by itself as key "tick", and records as they come; stops ticking after so many (0: never)."""

    type = "stream_time"

    def init(self, context: Any) -> None:
        super().init(context)
        self.ticks = 0
        self.schedule = context.schedule(self.parameters[0], self.type, self.tick)

    def tick(self, now: int) -> None:
        self.ticks += 1
        self.context.forward(Record("tick", self.ticks, now))
        if self.ticks == self.parameters[1]:
            self.schedule.cancel()

    def process(self, record: Record) -> None:
        self.context.forward(record)


class WallTicks(Ticks):
    type = "wall_clock_time"


class Metadata(Base):
    """Where the record came from, and what the clock of the task says."""

    def process(self, record: Record) -> None:
        metadata = self.context.record_metadata
        assert metadata is not None and metadata.topic is not None
        value = {
            "topic": metadata.topic.removeprefix(self.prefix),
            "partition": metadata.partition,
            "offset": metadata.offset,
        }
        self.forward(record, value | {"stream_time": self.context.current_stream_time()})


class Shift(Base):
    """Moves a record by so many milliseconds."""

    def process(self, record: Record) -> None:
        self.context.forward(Record(record.key, record.value, record.timestamp + self.parameters[0], record.headers))


class AddHeader(Base):
    """Adds a header, and forwards the record twice, once under another key."""

    def process(self, record: Record) -> None:
        headers = (*record.headers, ("seen", b"yes"))
        self.context.forward(Record(record.key, record.value, record.timestamp, headers))
        self.context.forward(Record(f"{record.key}-again", record.value, record.timestamp, headers))


class Route(Base):
    """Sends even numbers to the child "even" and the others to the child "odd"."""

    def process(self, record: Record) -> None:
        self.context.forward(record, "odd" if record.value % 2 else "even")


class Scan(Base):
    """Obeys the value: put, or one of the store's scans, whose rows it forwards as lists."""

    def process(self, record: Record) -> None:
        if not isinstance(record.value, list):
            self.store.put(record.key, record.value)
            return
        command, *bounds = record.value
        scan: Callable[..., Any] = getattr(self.store, "prefix_scan" if command == "prefix" else command)
        self.forward(record, [list(row) for row in scan(*bounds)])


class Previous(Base):
    """Keeps value and timestamp, forwards what was there before."""

    def process(self, record: Record) -> None:
        old = self.store.get(record.key)
        self.store.put(record.key, record.value, record.timestamp)
        self.forward(record, None if old is None else {"value": old[0], "timestamp": old[1]})


class Recent(Base):
    """Keeps values in a window store at their own time, forwards those of the last so many milliseconds."""

    def process(self, record: Record) -> None:
        self.store.put(record.key, record.value, record.timestamp)
        rows = self.store.fetch_range(record.key, record.timestamp - self.parameters[0], record.timestamp)
        self.forward(record, [list(row) for row in rows])


class WindowScan(Base):
    """All keys of a window store between two times, or all of it, sorted: Kafka promises no order between keys."""

    def process(self, record: Record) -> None:
        if not isinstance(record.value, list):
            self.store.put(record.key, record.value, record.timestamp)
            return
        command, *bounds = record.value
        rows = getattr(self.store, command)(*bounds)
        self.forward(record, sorted(([window.key, window.start, value] for window, value in rows), key=str))


class Sessions(Base):
    """Puts a session [length, value] that ends at the record's time, or removes it; forwards the key's sessions."""

    def process(self, record: Record) -> None:
        length, value = record.value
        session = Windowed(record.key, record.timestamp - length, record.timestamp)
        if value is None:
            self.store.remove(session)
        else:
            self.store.put(session, value)
        rows = self.store.fetch(record.key)
        self.forward(record, [[window.start, window.end, kept] for window, kept in rows])


class Numbered(Base):
    """process_values: the number of the record within its key."""

    def process(self, record: Record) -> None:
        count = (self.store.get(record.key) or 0) + 1
        self.store.put(record.key, count)
        self.forward(record, f"{count}:{text(record.value)}")


class Repeat(Base):
    """process_values: none, one or two records out of one."""

    def process(self, record: Record) -> None:
        for number in range(record.value):
            self.forward(record, number)


class Describe:
    """transform_values of a table: key and value as text; a removed value stays removed."""

    def init(self, context: Any) -> None:
        pass

    def transform(self, key: Any, value: Any) -> Any:
        return None if value is None else f"{key}={value}"

    def close(self) -> None:
        pass


PROCESSORS: dict[str, type[Base]] = {
    "running_total": RunningTotal,
    "dedupe": Dedupe,
    "count_until_stream_tick": CountUntilTick,
    "count_until_wall_tick": CountUntilWallTick,
    "stream_ticks": Ticks,
    "wall_ticks": WallTicks,
    "metadata": Metadata,
    "shift": Shift,
    "add_header": AddHeader,
    "route": Route,
    "scan": Scan,
    "previous": Previous,
    "recent": Recent,
    "window_scan": WindowScan,
    "sessions": Sessions,
    "numbered": Numbered,
    "repeat": Repeat,
}


def supplier(choice: Any, stores: list[str], prefix: str = "") -> Callable[[], Base]:
    """What `process` takes: called once per task."""
    name, *parameters = choice if isinstance(choice, list) else [choice]
    return lambda: PROCESSORS[name](parameters, stores, prefix)
