"""What the tables held when the slot was made: read in the slot's own snapshot, so that no change falls in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import psycopg
from psycopg import sql

from caudal.connect.connectors.postgres_cdc.catalogue import Catalogue
from caudal.connect.connectors.postgres_cdc.changes import Changes
from caudal.connect.connectors.postgres_cdc.envelope import CapturedTable
from caudal.connect.connectors.postgres_cdc.pgoutput import Relation
from caudal.connect.connectors.sql.database import reason
from caudal.connect.errors import ConnectError, DataError, RetriableError
from caudal.connect.records import SourceRecord


class Snapshot:
    """Not to be resumed: one that was interrupted begins anew, with a new slot."""

    def __init__(
        self, config: Mapping[str, Any], changes: Changes, lsn: int, name: str,
        table_of: Callable[[Catalogue, Relation], CapturedTable], report: Callable[[SourceRecord, Exception], None],
    ) -> None:  # fmt: skip
        self._config = config
        self._changes = changes
        self._lsn = lsn
        self._table_of = table_of
        self._report = report
        self._catalogue = Catalogue(config)
        self._catalogue.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._catalogue.run(f"SET TRANSACTION SNAPSHOT '{name}'")
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
        for schema, name in self._catalogue.tables():
            table = self._table_of(self._catalogue, self._catalogue.relation(schema, name))
            for batch in self._table(table):
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
        return {"lsn": self._lsn, "snapshot_completed": True}

    def _table(self, table: CapturedTable) -> Iterator[list[SourceRecord]]:
        offset = {"lsn": self._lsn, "snapshot": True}
        partition = self._changes.partition
        relation = table.relation
        columns = sql.SQL(", ").join(sql.Identifier(one.name) for one in relation.columns)
        query = sql.SQL("SELECT {} FROM {}").format(columns, sql.Identifier(relation.schema, relation.name))
        if not relation.columns:
            return
        with self._catalogue.connection.cursor(name="caudal_snapshot") as cursor:
            cursor.execute(query)
            while rows := cursor.fetchmany(self._config["max.batch.size"]):
                records = []
                for values in rows:
                    try:
                        row = table.loaded_row(values)
                    except DataError as error:
                        where = f"A row of {relation.schema}.{relation.name} does not convert: {error}"
                        self._report(SourceRecord(partition, offset, table.topic), DataError(where))
                        continue
                    key = table.key(row)
                    value = self._changes.envelope(table, "r", None, row, self._lsn, "true")
                    records.append(
                        SourceRecord(partition, offset, table.topic, value, table.schema, key, table.key_schema)
                    )
                if records:
                    yield records
