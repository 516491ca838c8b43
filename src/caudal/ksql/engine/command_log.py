"""The command topic: one JSON record per thing that exists, and the catalog that follows from it.

Keys are source/NAME, type/NAME, query/ID, setting/NAME and counter/queries; values have the version of the format, the
statement with the session's properties, the definition, and an id of the change that they are part of. A tombstone
ends the thing. The topic is compacted, so it is as long as the catalog is large. Records that cannot be read are
counted, logged with their offset and skipped; the next one for the key takes their place.

Several servers of one service id write it: all use one transactional id, so that a server that takes the pen fences the
one that had it. A write is: take the pen (if another has it by now), read to the end, decide on that catalog, append in
one transaction, read it back. Whoever wrote in between has taken the pen, so the append fails and the change is decided
anew.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException

from caudal.ksql.catalog import Catalog
from caudal.ksql.engine.definitions import BrokenDefinition, read_query, read_source, read_type
from caudal.ksql.errors import KsqlError
from caudal.registry.errors import RegistryError
from caudal.registry.index import Entry
from caudal.registry.reader import Reader
from caudal.registry.topic import TopicRefused, ensure_topic
from caudal.registry.writer import Pen, PenLost, WriteFailed

log = logging.getLogger("caudal.ksql.command_log")

FORMAT = 1
LOAD_SECONDS = 60.0
READ_SECONDS = 15.0
TRIES = 5

SOURCE, TYPE, QUERY, SETTING, COUNTER = "source", "type", "query", "setting", "counter"
QUERY_COUNTER = f"{COUNTER}/queries"


def command_topic(service_id: str) -> str:
    return f"_caudal-ksql-{service_id}_command"


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one thing; `definition` None: it is gone."""

    key: str
    definition: Any


@dataclass(frozen=True, slots=True)
class Command:
    """Changes that happen together or not at all, with the statement that asked for them."""

    changes: tuple[Change, ...]
    statement: str = ""
    properties: Mapping[str, Any] | None = None


class CommandLog:
    """`catalog` is what the log says so far. `listener` is called in the reader's thread after each change of it."""

    def __init__(self, client: Mapping[str, Any], service_id: str, listener: Callable[[Catalog], None]) -> None:
        self.topic = command_topic(service_id)
        self.catalog = Catalog()
        self.broken = 0  # records that could not be read
        self._client = dict(client)
        self._transactional_id = f"_caudal-ksql-{service_id}"
        self._listener = listener
        self._position = 0
        self._changes: dict[str, int] = {}  # change id → offset of the last record of it; only of those waited for
        self._awaited: set[str] = set()
        self._moved = threading.Condition()
        self._writing = threading.Lock()
        self._pen: Pen | None = None
        self._reader: Reader | None = None

    # -- life ----------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Returns when everything that the topic holds is in the catalog. Raises KsqlError."""
        try:
            ensure_topic(self._client, self.topic, keeps="commands")
        except TopicRefused as error:
            raise KsqlError(f"The command topic cannot be used: {error}.") from None
        self._reader = Reader(self._client, self.topic, self._deliver)
        self._reader.start()
        self._read_to_end(LOAD_SECONDS)

    def stop(self) -> None:
        with self._writing:
            self._drop_pen()
        if self._reader is not None:
            self._reader.stop()

    @property
    def position(self) -> int:
        return self._position

    # -- reading -------------------------------------------------------------------------------------------------------

    def _deliver(self, entries: Sequence[Entry], position: int) -> None:
        catalog = self.catalog.copy() if entries else self.catalog
        for entry in entries:
            self._apply(catalog, entry)
        changed, self.catalog = bool(entries), catalog
        if changed:
            try:
                self._listener(catalog)
            except Exception:
                log.exception("what follows from the command topic was not done")
        with self._moved:
            self._position = position
            self._moved.notify_all()

    def _apply(self, catalog: Catalog, entry: Entry) -> None:
        try:
            key = (entry.key or b"").decode()
            kind, _, name = key.partition("/")
            value = None if entry.value is None else json.loads(entry.value)
            if value is not None:
                if not isinstance(value, dict) or value.get("format") != FORMAT:
                    raise BrokenDefinition("it has a format that this version does not know")
                if value.get("change") in self._awaited:
                    self._changes[value["change"]] = entry.offset
            apply(catalog, kind, name, None if value is None else value.get("definition"))
        except (BrokenDefinition, ValueError, UnicodeDecodeError) as error:
            self.broken += 1
            log.warning("%s: the record at offset %d is left out: %s", self.topic, entry.offset, error)

    def _wait_for(self, position: int, seconds: float) -> None:
        with self._moved:
            if not self._moved.wait_for(lambda: self._position >= position, seconds):
                trouble = self._reader.trouble if self._reader is not None else None
                raise KsqlError(
                    f"The command topic {self.topic} could not be read to its end in {seconds:.0f} s"
                    f"{f' ({trouble})' if trouble else ''}: is the broker there?"
                )

    def _read_to_end(self, seconds: float) -> None:
        assert self._reader is not None
        try:
            end = self._reader.end()
        except (KafkaException, TimeoutError) as error:
            raise KsqlError(f"The command topic {self.topic} cannot be asked for its end: {error}.") from None
        self._wait_for(end, seconds)

    # -- writing -------------------------------------------------------------------------------------------------------

    def write(self, decide: Callable[[Catalog], Command | None]) -> int:
        """`decide` sees everything that was written before, and says what is to change (None: nothing). It may be
        called again where another server was quicker. Returns the offset of the last record; raises what `decide`
        raises, or KsqlError."""
        with self._writing:
            trouble = ""
            for _ in range(TRIES):
                try:
                    if self._pen is None:
                        self._pen = Pen(self._client, self.topic, self._transactional_id)
                    self._read_to_end(READ_SECONDS)
                    command = decide(self.catalog)
                    if command is None or not command.changes:
                        return self._position - 1
                    return self._append(command)
                except PenLost as error:
                    trouble = str(error)
                    self._drop_pen()
                except KafkaException as error:
                    trouble = str(error.args[0])
                    self._drop_pen()
                    time.sleep(0.2)
            raise KsqlError(f"The statement could not be written to the command topic {self.topic}: {trouble}.")

    def _append(self, command: Command) -> int:
        assert self._pen is not None
        change = uuid.uuid4().hex
        self._awaited.add(change)
        try:
            offset = self._pen.append([(each.key.encode(), _value(each, command, change)) for each in command.changes])
            self._wait_for(offset + 1, READ_SECONDS)
            return offset
        except RegistryError as error:  # the broker refused it: nothing was written
            self._drop_pen()
            raise KsqlError(f"The broker did not take the statement: {error}.") from None
        except WriteFailed as error:
            # Whether it is in the log is known as soon as the next pen has closed what was open.
            self._drop_pen()
            self._pen = Pen(self._client, self.topic, self._transactional_id)
            self._read_to_end(READ_SECONDS)
            if change in self._changes:
                return self._changes[change]
            if all(each.definition is None and not self._exists(each.key) for each in command.changes):
                return self._position - 1  # tombstones carry no id; what they end is gone
            raise PenLost(str(error)) from None
        finally:
            self._awaited.discard(change)
            self._changes.pop(change, None)

    def _exists(self, key: str) -> bool:
        kind, _, name = key.partition("/")
        tables: dict[str, Mapping[str, Any]] = {
            SOURCE: self.catalog.sources,
            TYPE: self.catalog.types,
            QUERY: self.catalog.queries,
            SETTING: self.catalog.settings,
        }
        return name in tables.get(kind, {})

    def _drop_pen(self) -> None:
        pen, self._pen = self._pen, None
        if pen is not None:
            pen.close()


def apply(catalog: Catalog, kind: str, name: str, definition: Any) -> None:
    """One record's change to a catalog. Raises BrokenDefinition; nothing has changed then."""
    if kind == SOURCE:
        _set(catalog.sources, name, None if definition is None else read_source(definition))
    elif kind == TYPE:
        _set(catalog.types, name, None if definition is None else read_type(definition))
    elif kind == QUERY:
        _set(catalog.queries, name, None if definition is None else read_query(definition))
    elif kind == SETTING:
        _set(catalog.settings, name, None if definition is None else str(definition))
    elif kind == COUNTER:
        if not isinstance(definition, int):
            raise BrokenDefinition("a counter is a number")
        catalog.last_query_number = max(catalog.last_query_number, definition)
    else:
        raise BrokenDefinition(f"nothing is called '{kind}/…'")


def _set(table: dict[str, Any], name: str, thing: Any) -> None:
    if not name:
        raise BrokenDefinition("it has no name")
    if thing is None:
        table.pop(name, None)
    else:
        table[name] = thing


def _value(change: Change, command: Command, change_id: str) -> bytes | None:
    if change.definition is None:
        return None
    return json.dumps(
        {
            "format": FORMAT,
            "statement": command.statement,
            "properties": dict(command.properties or {}),
            "definition": change.definition,
            "change": change_id,
        },
        separators=(",", ":"),
        default=str,
    ).encode()
