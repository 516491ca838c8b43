"""What the connector asks PostgreSQL over an ordinary connection: tables, keys, slot and publication."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import adapt, sql
from psycopg.types.string import TextLoader

from caudal.connect.connectors.postgres_cdc.pgoutput import Relation, RelationColumn, lsn_number
from caudal.connect.connectors.sql.database import _AS_TEXT, reason
from caudal.connect.errors import ConnectError, RetriableError

# Changes of a partitioned table come under its own name, as its rows do in the snapshot.
_VIA_ROOT = "WITH (publish_via_partition_root = true)"


def parameters(config: Mapping[str, Any]) -> dict[str, Any]:
    """libpq's."""
    given = {
        "host": config["database.hostname"], "port": config["database.port"], "user": config["database.user"],
        "password": config["database.password"], "dbname": config["database.dbname"],
        "sslmode": config["database.sslmode"], "connect_timeout": 10, "application_name": "caudal-connect",
    }  # fmt: skip
    return {name: str.__str__(value) if isinstance(value, str) else value for name, value in given.items() if value}


def place(config: Mapping[str, Any]) -> str:
    return f"postgresql://{config['database.hostname']}:{config['database.port']}/{config['database.dbname']}"


class Catalogue:
    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self._where = place(config)
        self._casts: dict[tuple[str, str], list[sql.SQL]] = {}
        try:
            self.connection = psycopg.connect(**parameters(config), autocommit=True, prepare_threshold=None)
        except psycopg.Error as error:
            raise RetriableError(f"The database {self._where} cannot be reached: {reason(error)}.") from error
        for name in _AS_TEXT:
            self.connection.adapters.register_loader(name, TextLoader)
        self._ask("SET TIME ZONE 'UTC'")

    def close(self) -> None:
        self.connection.close()

    def transformer(self) -> Any:
        """psycopg's loaders of values, by type."""
        return adapt.Transformer(self.connection)

    def wal_level(self) -> str:
        return str(self._ask("SHOW wal_level")[0][0])

    def tables(self) -> list[tuple[str, str]]:
        """Those that the lists ask for, in order."""
        rows = self._ask(
            "SELECT nspname, relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE relkind IN ('r', 'p') AND NOT relispartition AND nspname <> 'information_schema' "
            "AND nspname NOT LIKE 'pg\\_%' ORDER BY 1, 2"
        )
        return [(schema, name) for schema, name in rows if is_included(self._config, schema, name)]

    def relation(self, schema: str, name: str) -> Relation:
        """As pgoutput would tell it, for the snapshot."""
        rows = self._ask(
            "SELECT attrelid, attname, atttypid, atttypmod FROM pg_attribute "
            "JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE nspname = %s AND relname = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            schema, name,
        )  # fmt: skip
        columns = tuple(RelationColumn(column, type, modifier, False) for _, column, type, modifier in rows)
        return Relation(rows[0][0] if rows else 0, schema, name, "d", columns)

    def primary_key(self, schema: str, name: str) -> tuple[str, ...]:
        """Its columns, in its own order."""
        return tuple(column for column, _, _ in self._key_columns(schema, name))

    def ordered_key(self, schema: str, name: str) -> tuple[str, ...]:
        """The primary key, if the log names every row by it: nothing where it does not, or there is none."""
        rows = self._ask(
            "SELECT relreplident IN ('d', 'f') AND (relkind <> 'p' OR COALESCE((SELECT pubviaroot FROM pg_publication "
            "WHERE pubname = %s), false)) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE nspname = %s AND relname = %s",
            self._config["publication.name"], schema, name,
        )  # fmt: skip
        return self.primary_key(schema, name) if rows and rows[0][0] else ()

    def is_within(self, schema: str, name: str, key: tuple[str, ...], bound: tuple[str, ...]) -> bool:
        """Whether a key of the table is at most this one, by the table's types and collations. False where the table
        or its key is not there any more."""
        if (schema, name) not in self._casts:
            self._casts[schema, name] = [
                sql.SQL("CAST(%s AS " + type + ")" + (f" COLLATE {collation}" if collation else ""))
                for _, type, collation in self._key_columns(schema, name)
            ]
        casts = sql.SQL(", ").join(self._casts[schema, name])
        if len(self._casts[schema, name]) != len(key):
            return False
        rows = self._ask(sql.SQL("SELECT ROW({0}) <= ROW({0})").format(casts), *key, *bound)
        return bool(rows[0][0])

    def _key_columns(self, schema: str, name: str) -> list[tuple[str, str, str | None]]:
        rows = self._ask(
            "SELECT attname, format_type(atttypid, atttypmod), "
            "(SELECT format('%%I.%%I', s.nspname, collname) FROM pg_collation o JOIN pg_namespace s "
            "ON s.oid = collnamespace WHERE o.oid = attcollation) FROM pg_index JOIN pg_class c ON c.oid = indrelid "
            "JOIN pg_namespace n ON n.oid = relnamespace JOIN pg_attribute ON attrelid = indrelid "
            "AND attnum = ANY (indkey) WHERE indisprimary AND nspname = %s AND relname = %s "
            "ORDER BY array_position(indkey::int2[], attnum)",
            schema, name,
        )  # fmt: skip
        return [(column, type, collation) for column, type, collation in rows]

    def now(self) -> tuple[str, int]:
        """What this transaction sees, and a place in the log behind all of it."""
        ((snapshot, lsn),) = self._ask("SELECT pg_current_snapshot()::text, pg_current_wal_insert_lsn()::text")
        return snapshot, lsn_number(lsn)

    def slot_position(self, name: str) -> int | None:
        """What the slot has been told is done; None when there is no such slot here."""
        rows = self._ask(
            "SELECT confirmed_flush_lsn::text, database = current_database(), plugin, wal_status "
            "FROM pg_replication_slots WHERE slot_name = %s",
            name,
        )
        if not rows:
            return None
        position, is_ours, plugin, status = rows[0]
        if not is_ours or plugin != "pgoutput":
            raise ConnectError(
                f"The replication slot {name} belongs to another database or plug-in: choose another slot.name."
            )
        if status == "lost":
            raise ConnectError(
                f"The replication slot {name} is lost: the server has removed log that it needed "
                "(max_slot_wal_keep_size). Drop the slot and reset the connector's offsets; it takes a new snapshot."
            )
        return lsn_number(position)

    def drop_slot(self, name: str) -> None:
        self._ask("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", name)

    def make_publication(self, tables: list[tuple[str, str]]) -> None:
        """Where the configuration allows it, and there is none or it has other tables."""
        name, mode = self._config["publication.name"], self._config["publication.autocreate.mode"]
        found = self._ask("SELECT puballtables FROM pg_publication WHERE pubname = %s", name)
        if mode == "disabled":
            if not found:
                raise ConnectError(
                    f"The publication {name} does not exist: make it, or set publication.autocreate.mode to filtered."
                )
            return
        listed = sql.SQL(", ").join(sql.Identifier(*table) for table in tables)
        if mode == "filtered" and tables:
            if not found:
                self._ask(
                    sql.SQL("CREATE PUBLICATION {} FOR TABLE {} " + _VIA_ROOT).format(sql.Identifier(name), listed)
                )
            elif not found[0][0]:
                rows = self._ask("SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", name)
                if {(schema, table) for schema, table in rows} != set(tables):
                    self._ask(sql.SQL("ALTER PUBLICATION {} SET TABLE {}").format(sql.Identifier(name), listed))
        elif not found:
            everything = " " if mode == "filtered" else " FOR ALL TABLES "
            self._ask(sql.SQL("CREATE PUBLICATION {}" + everything + _VIA_ROOT).format(sql.Identifier(name)))

    def run(self, statement: str) -> None:
        self._ask(statement)

    def _ask(self, query: Any, *values: Any) -> list[Any]:
        try:
            cursor = self.connection.execute(query, values or None)
            return cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as error:
            state = error.sqlstate or ""
            if self.connection.closed or state[:2] in ("08", "53", "57", "40", "55"):
                raise RetriableError(f"The database {self._where} is not available: {reason(error)}.") from error
            raise ConnectError(f"The database {self._where} refused a statement: {reason(error)}.") from error


def is_included(config: Mapping[str, Any], schema: str, name: str) -> bool:
    table = f"{schema}.{name}"

    def among(key: str, text: str) -> bool:
        return any(re.fullmatch(pattern, text, re.IGNORECASE) for pattern in config[key])

    if config["schema.include.list"] and not among("schema.include.list", schema):
        return False
    if among("schema.exclude.list", schema) or among("table.exclude.list", table):
        return False
    return not config["table.include.list"] or among("table.include.list", table)
