"""The sink's offsets, in the database itself: they change with the rows, in one transaction.

One row for each connector, topic and partition: `next_offset`, and an `epoch` that every task raises when it takes the
partition over. A task writes only under its own epoch. One that was thought dead finds another there, whatever it has
prepared is rolled back, and it fails; one that has committed just before is waited for by the lock on the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlalchemy
from sqlalchemy import exc

from caudal.connect.connectors.sql.database import Database
from caudal.connect.errors import ConnectError
from caudal.connect.records import TopicPartition

OFFSETS_TABLE = "_caudal_connect_offsets"


class OffsetTable:
    def __init__(self, database: Database, name: str, connector: str) -> None:
        self._database = database
        self._connector = connector
        self._table = sqlalchemy.Table(
            name,
            sqlalchemy.MetaData(),
            sqlalchemy.Column("connector", sqlalchemy.String(200), primary_key=True),
            sqlalchemy.Column("topic", sqlalchemy.String(249), primary_key=True),
            sqlalchemy.Column("partition", sqlalchemy.Integer, primary_key=True, autoincrement=False),
            sqlalchemy.Column("next_offset", sqlalchemy.BigInteger, nullable=True),
            sqlalchemy.Column("epoch", sqlalchemy.BigInteger, nullable=False),
        )
        self._epochs: dict[TopicPartition, int] = {}

    def make(self) -> None:
        connection = self._database.connection()
        try:
            if not sqlalchemy.inspect(connection).has_table(self._table.name):
                self._table.create(connection, checkfirst=True)
            connection.commit()
        except exc.SQLAlchemyError as error:
            self._database.end()
            if self._database.is_passing(error):
                raise self._database.translated(error) from error
            connection = self._database.connection()
            if not sqlalchemy.inspect(connection).has_table(self._table.name):  # another task may have made it
                raise ConnectError(
                    f"The table {self._table.name}, which keeps the offsets with the rows, cannot be made: {error}. "
                    "Grant CREATE, make it by hand, or set offsets.table to nothing for at least once."
                ) from error
            self._database.end()

    def claim(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """From now on these are ours. Where to go on, for those that were written before."""
        connection = self._database.connection()
        found: dict[TopicPartition, int] = {}
        try:
            for partition in sorted(partitions):
                where = self._is(partition)
                raised = self._table.update().where(where).values(epoch=self._table.c.epoch + 1)
                if connection.execute(raised).rowcount == 0:
                    connection.execute(
                        self._table.insert().values(
                            connector=self._connector, topic=partition.topic, partition=partition.partition, epoch=1
                        )
                    )
                row = connection.execute(
                    sqlalchemy.select(self._table.c.next_offset, self._table.c.epoch).where(where)
                ).one()
                self._epochs[partition] = row.epoch
                if row.next_offset is not None:
                    found[partition] = row.next_offset
            connection.commit()
        except exc.IntegrityError as error:  # two began at once with a partition that was never written
            self._database.end()
            raise ConnectError(f"Another task claims the same partitions at this moment: {error.orig}.") from error
        except exc.SQLAlchemyError as error:
            self._database.end()
            raise self._database.translated(error) from error
        return found

    def release(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._epochs.pop(partition, None)

    def current(self) -> dict[TopicPartition, int]:
        """After a connection was lost, when it is not known whether the last transaction was committed."""
        connection = self._database.connection()
        found: dict[TopicPartition, int] = {}
        try:
            for partition, epoch in self._epochs.items():
                row = connection.execute(
                    sqlalchemy.select(self._table.c.next_offset, self._table.c.epoch).where(self._is(partition))
                ).one_or_none()
                if row is None or row.epoch != epoch:
                    raise self._fenced(partition)
                if row.next_offset is not None:
                    found[partition] = row.next_offset
        except exc.SQLAlchemyError as error:
            raise self._database.translated(error) from error
        finally:
            self._database.end()
        return found

    def store(self, connection: sqlalchemy.Connection, offsets: Mapping[TopicPartition, int]) -> None:
        """In the transaction of the rows. Raises when somebody else has claimed one of the partitions."""
        for partition, offset in sorted(offsets.items()):
            epoch = self._epochs.get(partition)
            changed = connection.execute(
                self._table.update()
                .where(self._is(partition), self._table.c.epoch == (-1 if epoch is None else epoch))
                .values(next_offset=offset)
            ).rowcount
            if changed != 1:
                raise self._fenced(partition)

    def alter(self, offsets: Mapping[TopicPartition, int | None]) -> None:
        """By hand: None forgets. Tasks that still run are fenced."""
        connection = self._database.connection()
        try:
            for partition, offset in offsets.items():
                where = self._is(partition)
                changed = self._table.update().where(where).values(epoch=self._table.c.epoch + 1, next_offset=offset)
                if connection.execute(changed).rowcount == 0 and offset is not None:
                    connection.execute(
                        self._table.insert().values(
                            connector=self._connector, topic=partition.topic, partition=partition.partition,
                            epoch=1, next_offset=offset,
                        )
                    )  # fmt: skip
            connection.commit()
        except exc.SQLAlchemyError as error:
            self._database.end()
            raise self._database.translated(error) from error

    def _is(self, partition: TopicPartition) -> sqlalchemy.ColumnElement[bool]:
        columns = self._table.c
        return sqlalchemy.and_(
            columns.connector == self._connector,
            columns.topic == partition.topic,
            columns.partition == partition.partition,
        )

    def _fenced(self, partition: TopicPartition) -> ConnectError:
        return ConnectError(
            f"Another task has taken {partition.topic}-{partition.partition} over; this one has written nothing of it "
            "since, and stops."
        )
