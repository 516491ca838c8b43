"""Messages of the stream to records, with offsets that tell exactly how far it was read.

An offset names the end of the last whole transaction (`lsn`, where the stream begins again) and, in the middle of
another, that one's commit (`lsn_commit`) and how many of its changes were read (`events`). Decoding gives the same
changes in the same order each time, so those are skipped after a restart: nothing is lost, nothing comes twice. After
a snapshot that was interrupted it also has the snapshot's `views`, until the stream has passed them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from caudal.connect.connectors.postgres_cdc import pgoutput
from caudal.connect.connectors.postgres_cdc.envelope import CapturedTable
from caudal.connect.connectors.postgres_cdc.pgoutput import Delete, Insert, Relation, Truncate, Update, Values
from caudal.connect.connectors.postgres_cdc.views import IsWithin, Views
from caudal.connect.errors import ConnectError, DataError
from caudal.connect.records import SourceRecord

_LOG = logging.getLogger(__name__)
Change = Insert | Update | Delete | Truncate
_OPERATIONS: dict[type[Any], str] = {Insert: "c", Update: "u", Delete: "d", Truncate: "t"}


class Changes:
    """`position` is the offset of what was read last."""

    def __init__(
        self,
        config: Mapping[str, Any],
        table_of: Callable[[Relation], CapturedTable | None],
        report: Callable[[SourceRecord, Exception], None],
        is_within: IsWithin,
    ) -> None:
        self._config = config
        self._is_within = is_within
        self._views: Views | None = None
        self._listed_views: dict[str, Any] = {}  # as offsets carry them
        self._table_of = table_of
        self._report = report
        self.partition = {"server": config["topic.prefix"]}
        self.position: dict[str, Any] = {}
        self._tables: dict[int, CapturedTable | None] = {}
        self._begin: pgoutput.Begin | None = None
        self._events = 0
        self._skip = 0
        self._skipped_operations = set(config["skipped.operations"])
        self._tombstones: bool = config["tombstones.on.delete"]
        self._source = {
            "version": "1.0", "connector": "postgresql", "name": config["topic.prefix"], "snapshot": "false",
            "db": config["database.dbname"], "sequence": None, "xmin": None,
        }  # fmt: skip

    @property
    def is_inside(self) -> bool:
        return self._begin is not None

    def resume(self, position: Mapping[str, Any]) -> None:
        """A new stream begins at `position["lsn"]`."""
        self.position = dict(position)
        self._tables.clear()
        self._begin = None
        self._carry(position.get("views"), position["lsn"])

    def _carry(self, listed: Any, lsn: int) -> None:
        self._views = Views(listed, self._is_within) if listed else None
        if self._views is not None and lsn >= self._views.end:
            self._views = None
        self._listed_views = {"views": listed} if self._views is not None else {}

    def take(self, lsn: int, data: bytes, records: list[SourceRecord]) -> None:
        """What one message means is added to `records`."""
        message = pgoutput.decode(data)
        if message is None:
            return
        match message:
            case pgoutput.Begin():
                self._begin = message
                self._events = 0
                is_half_read = self.position.get("lsn_commit") == message.commit_lsn
                self._skip = self.position["events"] if is_half_read else 0
            case pgoutput.Commit():
                self._begin = None
                if self._views is not None:
                    self._carry(self._listed_views["views"], message.end_lsn)
                self.position = {"lsn": message.end_lsn, "ts_usec": message.micros, **self._listed_views}
                if records and records[-1].offset.get("lsn_commit") == message.commit_lsn:
                    records[-1].offset = self.position
            case Relation():
                known = self._tables.get(message.id)
                if known is None or known.relation != message:
                    self._tables[message.id] = self._table_of(message)
            case _:
                self._events += 1
                if self._events > self._skip:
                    self._change(lsn, message, records)

    def _change(self, lsn: int, message: Change, records: list[SourceRecord]) -> None:
        begin = self._begin
        if begin is None:
            raise ConnectError("The stream of changes is broken: a change came outside of a transaction.")
        before = self.position
        self.position = after = {
            "lsn": before.get("lsn", 0), "lsn_commit": begin.commit_lsn, "events": self._events,
            "txId": begin.transaction, "ts_usec": begin.micros, **self._listed_views,
        }  # fmt: skip
        if _OPERATIONS[type(message)] in self._skipped_operations:
            return
        relations = message.relations if isinstance(message, Truncate) else (message.relation,)
        for number in relations:
            if number not in self._tables:
                raise ConnectError("The stream of changes is broken: a change came before the shape of its table.")
            table = self._tables[number]
            if table is None:
                continue
            first = len(records)
            try:
                self._records(table, lsn, message, before, records)
            except DataError as error:
                del records[first:]
                place = f"A change of {table.relation.schema}.{table.relation.name} at {pgoutput.lsn_text(lsn)}"
                self._report(
                    SourceRecord(self.partition, after, table.topic), DataError(f"{place} does not convert: {error}")
                )
            else:
                if len(records) > first:
                    records[-1].offset = after

    def _was_shown(self, table: CapturedTable, values: Values | None) -> bool:
        """Whether the snapshot has this change already; `values` of a row, or None for all of the table."""
        if self._views is None or self._begin is None:
            return False
        transaction, lsn = self._begin.transaction, self._begin.commit_lsn
        schema, name = table.relation.schema, table.relation.name
        if values is None:
            return self._views.have_shown_all(transaction, lsn, schema, name)
        return self._views.have_shown(transaction, lsn, schema, name, table.key_texts(values))

    def _records(
        self, table: CapturedTable, lsn: int, message: Change, offset: dict[str, Any], records: list[SourceRecord]
    ) -> None:
        def add(op: str, key: Any, before: Any, after: Any) -> None:
            value = self.envelope(table, op, before, after, lsn)
            records.append(
                SourceRecord(
                    self.partition, offset, table.topic, value, table.schema, key, table.key_schema if key else None
                )
            )

        def tombstone(key: Any) -> None:
            if self._tombstones and key is not None:
                records.append(SourceRecord(self.partition, offset, table.topic, key=key, key_schema=table.key_schema))

        match message:
            case Insert():
                if self._was_shown(table, message.new):
                    return
                new = table.row(message.new)
                add("c", table.key(new), None, new)
            case Update():
                old = None if message.old is None else table.row(message.old)
                new = table.row(message.new, old if message.old_is_full else None)
                key, old_key = table.key(new), None if old is None else table.key(old)
                if message.old is not None and old_key is not None and old_key != key:
                    # Another key is another row to everybody who reads: the old one goes, a new one comes.
                    if not self._was_shown(table, message.old):
                        add("d", old_key, old, None)
                        tombstone(old_key)
                    if not self._was_shown(table, message.new):
                        add("c", key, None, new)
                elif not self._was_shown(table, message.old or message.new):
                    add("u", key, old, new)
            case Delete():
                if self._was_shown(table, message.old):
                    return
                old = table.row(message.old)
                key = table.key(old)
                add("d", key, old, None)
                tombstone(key)
            case Truncate():
                if not self._was_shown(table, None):
                    add("t", None, None, None)

    def envelope(
        self, table: CapturedTable, op: str, before: Any, after: Any, lsn: int, snapshot: str | None = None
    ) -> dict[str, Any]:
        begin = self._begin
        now = time.time_ns()
        micros = begin.micros if begin is not None else now // 1000
        return {
            "before": before,
            "after": after,
            "source": {
                **self._source,
                "snapshot": snapshot or "false",
                "ts_ms": micros // 1000,
                "ts_us": micros,
                "ts_ns": micros * 1000,
                "schema": table.relation.schema,
                "table": table.relation.name,
                "txId": None if begin is None else begin.transaction,
                "lsn": lsn,
            },
            "op": op,
            "ts_ms": now // 1_000_000,
            "ts_us": now // 1000,
            "ts_ns": now,
        }
