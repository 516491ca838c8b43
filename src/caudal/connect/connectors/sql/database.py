"""A database as both SQL connectors see it: where it is, one connection to it, and which of its errors pass.

SQLAlchemy chooses the driver, knows the dialect and reads the catalogue; rows go through the driver's own cursors,
because a million small objects on the way would cost more than the conversion does.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy
from sqlalchemy import event, exc, pool
from sqlalchemy.engine import URL, make_url

from caudal.connect.configuration import Importance, Key, Type
from caudal.connect.connectors.local_paths import ALLOWED_FOLDERS, allowed_path
from caudal.connect.errors import ConfigError, ConnectError, RetriableError

# JDBC's names of what libpq calls otherwise. The rest of JDBC's properties speak to the Java driver only.
_JDBC_POSTGRES = {"ApplicationName": "application_name", "connectTimeout": "connect_timeout", "sslmode": "sslmode"}
_JDBC_DRIVERS = {"mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql"}
# What PostgreSQL's driver gives as texts, because Connect has no type of its own for it.
_AS_TEXT = ("uuid", "json", "jsonb", "inet", "cidr", "interval", "timetz", "int4range", "int8range", "numrange",
            "daterange", "tsrange", "tstzrange")  # fmt: skip
# Classes of SQLSTATE that are not the statement's fault: connection, transaction rollback, resources, operator.
_PASSING_CLASSES = ("08", "40", "53", "57")
_PASSING_STATES = ("55P03", "25006")  # lock not available; read only, while a standby becomes the primary

CONNECTION_KEYS = (
    Key(name="connection.url", importance=Importance.HIGH, group="Database", order=1, width="LONG",
        doc="SQLAlchemy URL of the database (postgresql+psycopg://host:5432/shop, sqlite:////data/shop.db), or a JDBC "
            "URL of PostgreSQL, SQLite, MySQL or MariaDB."),
    ALLOWED_FOLDERS,
    Key(name="connection.user", default=None, importance=Importance.HIGH, group="Database", order=2,
        doc="User, where the URL does not say."),
    Key(name="connection.password", type=Type.PASSWORD, default=None, importance=Importance.HIGH, group="Database",
        order=3, doc="Password, where the URL does not say."),
    Key(name="connection.attempts", type=Type.INT, default=3, minimum=1, importance=Importance.LOW, group="Database",
        order=4, doc="How often in a row connecting is tried before the call fails; it is repeated later."),
    Key(name="connection.backoff.ms", type=Type.LONG, default=10_000, minimum=0, importance=Importance.LOW,
        group="Database", order=5, doc="The pause between attempts to connect."),
    Key(name="dialect.name", default="", importance=Importance.LOW, group="Database", order=6,
        doc="Accepted for compatibility; the URL says which dialect it is."),
    Key(name="db.timezone", default="UTC", group="Database", order=7,
        doc="Time zone of timestamps that the database keeps without one."),
    Key(name="quote.sql.identifiers", default="ALWAYS", choices=("ALWAYS", "NEVER"), group="Database", order=8,
        doc="Whether names of tables and columns are quoted. NEVER lets the database fold their case."),
)  # fmt: skip


def database_url(text: str, user: str | None = None, password: str | None = None) -> URL:
    """
    >>> database_url("jdbc:postgresql://db:5433/shop?user=me&sslmode=require").render_as_string()
    'postgresql+psycopg://me@db:5433/shop?sslmode=require'
    >>> database_url("jdbc:sqlite:/data/shop.db").render_as_string()
    'sqlite:////data/shop.db'
    """
    try:
        url = _jdbc_url(text[5:]) if text.startswith("jdbc:") else make_url(text)
    except (exc.ArgumentError, ValueError):
        raise ConfigError(
            "connection.url is not a URL of a database: write dialect://host:port/database, or a jdbc: URL.",
            "connection.url",
        ) from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg2"):
        url = url.set(drivername="postgresql+psycopg")
    if user:
        url = url.set(username=user)
    if password:
        url = url.set(password=str.__str__(password))
    return url


def _jdbc_url(text: str) -> URL:
    kind, colon, rest = text.partition(":")
    if kind == "sqlite" and colon:
        return URL.create("sqlite", database=None if rest in ("", ":memory:") else rest.removeprefix("file:"))
    driver = "postgresql+psycopg" if kind == "postgresql" else _JDBC_DRIVERS.get(kind)
    if driver is None or not colon:
        raise ValueError
    if not rest.startswith("//"):
        rest = "//localhost/" + rest
    parts = urllib.parse.urlsplit(f"jdbc:{rest}")
    given = {name: values[-1] for name, values in urllib.parse.parse_qs(parts.query).items()}
    query: dict[str, str] = {}
    if kind == "postgresql":
        query = {name: given[key] for key, name in _JDBC_POSTGRES.items() if key in given}
        if given.get("ssl", "").lower() == "true":
            query.setdefault("sslmode", "verify-full")
        if "currentSchema" in given:
            query["options"] = f"-csearch_path={given['currentSchema']}"
    return URL.create(
        driver, given.get("user"), given.get("password"), parts.hostname, parts.port,
        urllib.parse.unquote(parts.path.lstrip("/")) or None, query,
    )  # fmt: skip


def _sqlite_file(database: str) -> str:
    """
    >>> _sqlite_file("file:/data/%2e%2e/shop.db?mode=ro")
    '/data/../shop.db'
    """
    if not database.startswith("file:"):
        return database
    return urllib.parse.unquote(database.removeprefix("file:").partition("?")[0])


class Database:
    """At most one connection at a time; after an error that is its end, the next use makes another."""

    def __init__(self, config: Mapping[str, Any], *, isolation_level: str | None = None, writes: bool = False) -> None:
        self.url = database_url(
            config["connection.url"], config.get("connection.user"), config.get("connection.password")
        )
        self._attempts: int = config.get("connection.attempts") or 1
        self._backoff: float = (config.get("connection.backoff.ms") or 0) / 1000
        self._always_quote = config.get("quote.sql.identifiers", "ALWAYS") == "ALWAYS"
        options: dict[str, Any] = {}
        name = self.url.get_backend_name()
        self.is_postgres = self.url.drivername == "postgresql+psycopg"
        self.is_sqlite = name == "sqlite"
        if self.is_postgres:
            # A prepared statement would refuse to go on after ALTER TABLE ("cached plan must not change result type").
            options = {"connect_args": {"prepare_threshold": None}, "use_native_hstore": False}
        elif self.is_sqlite:
            options = {"connect_args": {"check_same_thread": False}}
            if (file := _sqlite_file(self.url.database or "")) not in ("", ":memory:"):
                allowed_path(file, config, "connection.url")
        if isolation_level is not None:
            options["isolation_level"] = isolation_level
        try:
            self.engine = sqlalchemy.create_engine(self.url, poolclass=pool.NullPool, **options)
        except (exc.ArgumentError, ImportError) as error:
            raise ConfigError(
                f"connection.url names {self.url.drivername}, which cannot be used here ({error}): "
                "install its driver, or use PostgreSQL or SQLite.",
                "connection.url",
            ) from None
        if self.is_postgres:
            event.listen(self.engine, "connect", _prepare_postgres)
        elif self.is_sqlite:
            # Python's module begins transactions where it thinks fit, and not before SAVEPOINT.
            event.listen(self.engine, "connect", _prepare_sqlite)
            begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
            event.listen(self.engine, "begin", lambda connection: connection.exec_driver_sql(begin))
        self.dialect = self.engine.dialect
        self.lenient = False  # dates that Python cannot hold come as Unreadable instead of an error
        self._connection: sqlalchemy.Connection | None = None

    @property
    def where(self) -> str:
        """For messages: without user and password."""
        return URL.create(
            self.url.get_backend_name(), host=self.url.host, port=self.url.port, database=self.url.database
        ).render_as_string()

    def quoted(self, name: str) -> str:
        return self.dialect.identifier_preparer.quote_identifier(name) if self._always_quote else name

    def qualified(self, schema: str | None, table: str) -> str:
        return f"{self.quoted(schema)}.{self.quoted(table)}" if schema else self.quoted(table)

    def placeholder(self, number: int) -> str:
        """Of the parameter `number`, from 1."""
        style = self.dialect.paramstyle
        if style == "qmark":
            return "?"
        return "%s" if style in ("format", "pyformat") else f":p{number}"

    def literal(self, sql: str) -> str:
        """SQL that was written by somebody, as the driver wants it next to parameters."""
        return sql.replace("%", "%%") if self.dialect.paramstyle in ("format", "pyformat") else sql

    def parameters(self, values: Sequence[Any]) -> Any:
        if self.dialect.paramstyle in ("qmark", "format", "pyformat"):
            return tuple(values)
        return {f"p{number}": value for number, value in enumerate(values, 1)}

    def connection(self, stopping: Any = None) -> sqlalchemy.Connection:
        """Raises RetriableError when the database cannot be reached."""
        connection = self._connection
        if connection is not None and not connection.closed and not connection.invalidated:
            return connection
        self.discard()
        for attempt in range(1, self._attempts + 1):
            try:
                self._connection = connection = self.engine.connect()
                return connection
            except (exc.SQLAlchemyError, OSError) as error:
                failure = error
            if attempt < self._attempts and stopping is not None and stopping.wait(self._backoff):
                break
        raise RetriableError(f"The database {self.where} cannot be reached: {reason(failure)}.") from failure

    def cursor(self, sql: str, values: Sequence[Any] = (), *, stream: bool = False) -> Any:
        """The driver's cursor after this statement. A stream is read from the server as it is fetched."""
        connection = self.connection()
        try:
            if not stream:
                return connection.exec_driver_sql(sql, self.parameters(values)).cursor
            # Not by SQLAlchemy's stream_results: its result takes the first row for itself.
            if not connection.in_transaction():
                connection.begin()
            driver: Any = connection.connection
            if self.is_postgres:
                cursor = driver.cursor(name="caudal")
            else:
                unbuffered = getattr(self.dialect, "_sscursor", None)  # of MySQL's drivers
                cursor = driver.cursor(unbuffered) if unbuffered is not None else driver.cursor()
            cursor.execute(sql, self.parameters(values))
            return cursor
        except (exc.SQLAlchemyError, self.dialect.loaded_dbapi.Error) as error:
            raise self.translated(error) from error

    def end(self) -> None:
        """Of a transaction that has only read."""
        if self._connection is not None:
            try:
                self._connection.rollback()
            except exc.SQLAlchemyError:
                self.discard()

    def be_lenient(self) -> None:
        if not self.lenient and self.is_postgres:
            event.listen(self.engine, "connect", _read_any_date)
            self.discard()
        self.lenient = True

    def discard(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception:  # it is gone anyway
                connection.invalidate()

    def close(self) -> None:
        self.discard()
        self.engine.dispose()

    def is_passing(self, error: BaseException) -> bool:
        """Whether the same statement may succeed later: the database is away, busy, or has rolled back for another."""
        original = getattr(error, "orig", None) or error
        if getattr(error, "connection_invalidated", False) or isinstance(error, OSError):
            return True
        state = getattr(original, "sqlstate", None)
        if state:
            return state[:2] in _PASSING_CLASSES or state in _PASSING_STATES
        dbapi = self.dialect.loaded_dbapi
        if self.is_sqlite:
            words = str(original)
            return isinstance(original, dbapi.OperationalError) and any(
                each in words for each in ("locked", "unable to open", "disk is full", "disk I/O error")
            )
        return isinstance(original, (dbapi.OperationalError, dbapi.InterfaceError))

    def is_about_statement(self, error: BaseException) -> bool:
        """Whether no row could have been written by it: the table or a column is gone, or nobody may write there."""
        original = getattr(error, "orig", None) or error
        state = getattr(original, "sqlstate", None)
        if state:
            return state[:2] in ("42", "3F")  # syntax or access, or a schema that is not there
        dbapi = self.dialect.loaded_dbapi
        return isinstance(original, dbapi.OperationalError if self.is_sqlite else dbapi.ProgrammingError)

    def translated(self, error: BaseException) -> ConnectError:
        """What the framework understands: RetriableError for what passes, ConnectError for what does not."""
        if isinstance(error, ConnectError):
            return error
        if self.is_passing(error):
            self.discard()
            return RetriableError(f"The database {self.where} is not available: {reason(error)}.")
        return ConnectError(f"The database {self.where} refused a statement: {reason(error)}.")


class Unreadable:
    """A value that Python's types cannot hold (a date after the year 9999, infinity)."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return repr(self.text)


def reason(error: BaseException) -> str:
    """The database's own words, in one line, without SQLAlchemy's frame around them."""
    original = getattr(error, "orig", None) or error
    return re.sub(r"\s+", " ", str(original)).strip().rstrip(".") or type(original).__name__


def _prepare_postgres(connection: Any, record: Any) -> None:
    from psycopg.types.string import TextLoader

    for name in _AS_TEXT:
        connection.adapters.register_loader(name, TextLoader)
    connection.execute("SET TIME ZONE 'UTC'")
    connection.commit()


def _prepare_sqlite(connection: Any, record: Any) -> None:
    connection.isolation_level = None


def _read_any_date(connection: Any, record: Any) -> None:
    """Slower, in Python: only for a database where such a date was met."""
    import psycopg
    from psycopg.types import datetime as loaders

    for name, loader in (
        ("date", loaders.DateLoader),
        ("time", loaders.TimeLoader),
        ("timestamp", loaders.TimestampLoader),
        ("timestamptz", loaders.TimestamptzLoader),
    ):

        class Lenient(loader):  # type: ignore[misc, valid-type]
            def load(self, data: Any) -> Any:
                try:
                    return super().load(data)
                except (psycopg.DataError, ValueError, OverflowError):
                    return Unreadable(bytes(data).decode())

        connection.adapters.register_loader(name, Lenient)
