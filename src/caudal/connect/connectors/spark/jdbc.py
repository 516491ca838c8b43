"""A batch of a query into a table of a database, once: the batch's number is committed in the same transaction.

Spark writes a batch in parallel, in as many transactions; none of them could hold its number. So it goes to a table of
its own (`TABLE_caudal_stage`) first, which every try begins anew, and from there in one transaction with its number in
`caudal_batches`. A batch whose number is there already is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from caudal.connect.errors import ConfigError

BATCHES = "caudal_batches"


def query_id(spark: Any, checkpoint: str) -> str:
    """What Spark calls the query through all its restarts: batches of a new checkpoint are others, from 0 on."""
    return str(json.loads(spark.read.text(f"{checkpoint}/metadata").first()[0])["id"])


class JdbcBatches:
    """For `foreachBatch`."""

    def __init__(self, spark: Any, name: str, options: Mapping[str, str], checkpoint: str) -> None:
        for key in ("url", "dbtable"):
            if not options.get(key):
                raise ConfigError(f"format=jdbc needs spark.option.{key}", f"spark.option.{key}")
        self._spark = spark
        self._name = name
        self._options = dict(options)
        self._checkpoint = checkpoint
        self._table = options["dbtable"]
        self._stage = f"{options['dbtable']}_caudal_stage"
        self._dialect = spark._jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(options["url"])

    def __call__(self, batch: Any, number: int) -> None:
        key = f"{self._name}/{query_id(self._spark, self._checkpoint)}".replace("'", "''")
        if self._last(key) >= number:
            return
        batch.limit(0).write.format("jdbc").options(**self._options).mode("append").save()  # makes the table
        stage = {**self._options, "dbtable": self._stage}
        batch.write.format("jdbc").options(**stage).mode("overwrite").save()
        columns = ", ".join(self._dialect.quoteIdentifier(name) for name in batch.columns)
        self._in_transaction(
            f"INSERT INTO {self._table} ({columns}) SELECT {columns} FROM {self._stage}",
            f"DELETE FROM {BATCHES} WHERE query = '{key}'",
            f"INSERT INTO {BATCHES} (query, batch_id) VALUES ('{key}', {number})",
        )

    def _connect(self) -> Any:
        """By Spark's own registry of drivers, which sees those that the user's jars brought."""
        jvm = self._spark._jvm
        options = jvm.java.util.HashMap()
        for name, value in self._options.items():
            options.put(name, value)
        parsed = jvm.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(jvm.PythonUtils.toScalaMap(options))
        return self._dialect.createConnectionFactory(parsed).apply(-1)

    def _last(self, key: str) -> int:
        connection = self._connect()
        try:
            connection.setAutoCommit(True)
            statement = connection.createStatement()
            if not self._has_batches(connection):
                statement.executeUpdate(
                    f"CREATE TABLE {BATCHES} (query VARCHAR(255) NOT NULL PRIMARY KEY, batch_id BIGINT NOT NULL)"
                )
            found = statement.executeQuery(f"SELECT batch_id FROM {BATCHES} WHERE query = '{key}'")
            return int(found.getLong(1)) if found.next() else -1
        finally:
            connection.close()

    def _has_batches(self, connection: Any) -> bool:
        for name in (BATCHES, BATCHES.upper()):
            if connection.getMetaData().getTables(None, None, name, None).next():
                return True
        return False

    def _in_transaction(self, *statements: str) -> None:
        connection = self._connect()
        try:
            connection.setAutoCommit(False)
            for text in statements:
                connection.createStatement().executeUpdate(text)
            connection.commit()
        finally:
            connection.close()
