"""What the tables held when the slot was made: read in the slot's own snapshot, so that no change falls in between.

One that was interrupted goes on behind the last row that was stored, in a snapshot of now: see `views.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import psycopg
from psycopg import sql

from caudal.connect.connectors.postgres_cdc.catalogue import Catalogue
from caudal.connect.connectors.postgres_cdc.changes import Changes
from caudal.connect.connectors.postgres_cdc.envelope import CapturedTable
from caudal.connect.connectors.postgres_cdc.pgoutput import Relation
from caudal.connect.connectors.postgres_cdc.views import View
from caudal.connect.connectors.sql.database import reason
from caudal.connect.errors import ConnectError, DataError, RetriableError
from caudal.connect.records import SourceRecord


class Snapshot:
    """`name` is the slot's snapshot, or None to go on behind `views`."""

    def __init__(
        self, config: Mapping[str, Any], changes: Changes, lsn: int, name: str | None, views: Sequence[Sequence[Any]],
        table_of: Callable[[Catalogue, Relation], CapturedTable], report: Callable[[SourceRecord, Exception], None],
    ) -> None:  # fmt: skip
        self._config = config
        self._changes = changes
        self._lsn = lsn
        self._earlier = [list(one) for one in views]
        self._table_of = table_of
        self._report = report
        self._catalogue = Catalogue(config)
        self._catalogue.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._view = View(None, 0)
        if name is not None:
            self._catalogue.run(f"SET TRANSACTION SNAPSHOT '{name}'")
        else:
            self._view = View(*self._catalogue.now())
        self._batches = self._read()

    def next_batch(self) -> list[SourceRecord] | None:
        """None at the end. The last record carries the offset from which changes are read."""
        try:
            return next(self._batches, None)
        except psycopg.Error as error:
            if self._catalogue.connection.closed:
                raise RetriableError(f"The database went away during the snapshot: {reason(error)}.") from error
            raise ConnectError(f"The snapshot failed: {reason(error)}.") from error

    def close(self) -> None:
        self._catalogue.close()

    def _read(self) -> Iterator[list[SourceRecord]]:
        held: list[SourceRecord] = []  # until it is known whether it is the last
        begin = View(*self._earlier[-1]) if self._earlier else self._view
        for schema, name in self._catalogue.tables():
            if begin.schema is not None and (schema, name) < (begin.schema, begin.table):
                continue
            table = self._table_of(self._catalogue, self._catalogue.relation(schema, name))
            is_begun = (schema, name) == (begin.schema, begin.table)
            for batch in self._table(table, begin.key if is_begun else None):
                if held:
                    yield held
                held = batch
        self._catalogue.run("COMMIT")  # now, not at the next poll: its locks hold up whoever changes a table
        if held:
            held[-1].offset = self.completed
            held[-1].value["source"]["snapshot"] = "last"
            yield held

    @property
    def completed(self) -> dict[str, Any]:
        done = {"lsn": self._lsn, "snapshot_completed": True}
        return {**done, "views": [*self._earlier, list(self._view)]} if self._earlier else done

    def _table(self, table: CapturedTable, behind: Sequence[str] | None) -> Iterator[list[SourceRecord]]:
        """In the order of the primary key, where that names rows; from `behind` on."""
        partition = self._changes.partition
        relation = table.relation
        if not relation.columns:
            return
        key = self._catalogue.ordered_key(relation.schema, relation.name)
        if behind is not None and len(key) != len(behind):
            raise ConnectError(
                f"The primary key of {relation.schema}.{relation.name} was changed while its snapshot was interrupted: "
                "reset the connector's offsets, and it takes a new one."
            )
        with self._catalogue.connection.cursor(name="caudal_snapshot") as cursor:
            cursor.execute(_query(relation, key, behind))
            while rows := cursor.fetchmany(self._config["max.batch.size"]):
                records = []
                for values in rows:
                    at = list(values[len(relation.columns) :]) or None
                    offset = {"lsn": self._lsn, "snapshot": True, "views": [
                        *self._earlier, [self._view.snapshot, self._view.end, relation.schema, relation.name, at]
                    ]}  # fmt: skip
                    try:
                        row = table.loaded_row(values[: len(relation.columns)])
                    except DataError as error:
                        where = f"A row of {relation.schema}.{relation.name} does not convert: {error}"
                        self._report(SourceRecord(partition, offset, table.topic), DataError(where))
                        continue
                    value = self._changes.envelope(table, "r", None, row, self._lsn, "true")
                    records.append(
                        SourceRecord(
                            partition, offset, table.topic, value, table.schema, table.key(row), table.key_schema
                        )
                    )
                if records:
                    yield records


def _query(relation: Relation, key: Sequence[str], behind: Sequence[str] | None) -> sql.Composed:
    """All columns, and those of the key once more as text."""
    names = sql.SQL(", ").join(sql.Identifier(relation.schema, relation.name, one) for one in key)
    columns: list[sql.Composable] = [sql.Identifier(one.name) for one in relation.columns]
    columns += [sql.SQL("{}::text").format(sql.Identifier(one)) for one in key]
    query = sql.SQL("SELECT {} FROM {}").format(
        sql.SQL(", ").join(columns), sql.Identifier(relation.schema, relation.name)
    )
    if behind is not None:
        query += sql.SQL(" WHERE ({}) > ({})").format(names, sql.SQL(", ").join(map(sql.Literal, behind)))
    return query + sql.SQL(" ORDER BY {}").format(names) if key else query
