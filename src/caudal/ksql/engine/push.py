"""Push queries: each in a process of its own, on the interpreter that persistent queries run on.

Why not on the Spark host: it runs one Spark query for all applications, and starting it anew for every push query would
stop all persistent queries for a second. In a process of its own a push query starts in milliseconds (a process is kept
warm, with everything imported), computes on another core, and is killed when nobody wants it. A query that ended by
itself leaves its process to the next one.

Rows come over a pipe, in batches. A reader that is slow fills the pipe, and then the process waits with its next read
of Kafka: nothing piles up here.
"""

from __future__ import annotations

import itertools
import logging
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from caudal.ksql.engine.push_worker import Job, Tombstone
from caudal.ksql.errors import KsqlError
from caudal.ksql.schema import Schema

log = logging.getLogger("caudal.ksql.push")

__all__ = ["PushPool", "PushQuery", "Tombstone"]

WARM = 1
MOST_IDLE = 4  # processes that have ended a query and wait for another
READY_SECONDS = 30.0


class _Process:
    """A worker process and our end of its pipe."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "caudal.ksql.engine.push_worker", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        theirs.close()
        self.pipe = Connection(ours.detach())
        self.ready = False

    def wait_ready(self) -> bool:
        try:
            if not self.ready and self.pipe.poll(READY_SECONDS):
                self.ready = self.pipe.recv() == ("ready",)
        except (EOFError, OSError):
            pass
        return self.ready

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        try:
            self.pipe.close()
        except OSError:
            pass


class PushQuery:
    """Iterate over it for rows (tuples in the order of `schema`; `Tombstone`s of tables), from one thread. `close` may
    be called by any."""

    def __init__(self, query_id: str, schema: Schema, sql: str, process: _Process, pool: PushPool) -> None:
        self.query_id = query_id
        self.schema = schema
        self.sql = sql
        self.started = time.time()
        self.is_complete = False  # it ended by itself: its limit, or all that there was
        self._process = process
        self._pool = pool
        self._rows: deque[Any] = deque()
        self._closed = threading.Event()

    def poll(self, seconds: float | None = None) -> list[Any] | None:
        """The rows that are there, waiting so long for the first (None: for ever); [] where there are none yet, None at
        the end. Raises KsqlError where the query has failed."""
        pipe = self._process.pipe
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self._closed.is_set():
            wait = 0.2 if deadline is None else min(0.2, max(0.0, deadline - time.monotonic()))
            try:
                if not pipe.poll(wait):
                    if deadline is not None and time.monotonic() >= deadline:
                        return []
                    continue
                kind, *rest = pipe.recv()
            except (EOFError, OSError):
                if self._closed.is_set():
                    return None
                self.close()
                raise KsqlError(f"The process of push query {self.query_id} has died.") from None
            if kind == "rows":
                return list(rest[0])
            self.is_complete = kind == "end"
            self._finished()
            if kind == "error":
                raise KsqlError(rest[0])
            return None
        return None

    def __iter__(self) -> Iterator[Any]:
        while True:
            while self._rows:
                yield self._rows.popleft()
            rows = self.poll()
            if rows is None:
                return
            self._rows.extend(rows)

    def _finished(self) -> None:
        """It ended by itself: its process is as good as new."""
        if not self._closed.is_set():
            self._closed.set()
            self._pool.ended(self)
            self._pool.give_back(self._process)

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            self._process.kill()
            self._pool.ended(self)

    def __enter__(self) -> PushQuery:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PushPool:
    """Starts push queries on warm processes; keeps the list of those that run."""

    def __init__(self, warm: int = WARM) -> None:
        self._warm = warm
        self._idle: deque[_Process] = deque()
        self._running: dict[str, PushQuery] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._closing = False
        self._filling = threading.Lock()

    def start(self) -> None:
        """Processes get warm in the background."""
        threading.Thread(target=self._fill, name="ksql-push-pool", daemon=True).start()

    def query(self, job: Job, schema: Schema, sql: str, about: str, most: int) -> PushQuery:
        """Raises KsqlError where there are `most` of them already."""
        with self._lock:
            if len(self._running) >= most:
                raise KsqlError(
                    f"Not executing statement(s) as it would cause the number of active push queries to exceed the "
                    f"limit of {most} (ksql.max.push.queries): close one first."
                )
        data = pickle.dumps(job)
        process = self._take()
        query = PushQuery(
            f"transient_{about}_{next(self._numbers)}_{time.time_ns() // 1_000_000}", schema, sql, process, self
        )
        with self._lock:
            self._running[query.query_id] = query
        try:
            process.pipe.send_bytes(data)
        except OSError:
            query.close()
            raise KsqlError("The process of the push query did not start.") from None
        return query

    def running(self) -> list[PushQuery]:
        with self._lock:
            return list(self._running.values())

    def get(self, query_id: str) -> PushQuery | None:
        """By its id in any case: a statement has it in upper case unless it is quoted."""
        with self._lock:
            found = (query for name, query in self._running.items() if name.upper() == query_id.upper())
            return next(found, None)

    def ended(self, query: PushQuery) -> None:
        with self._lock:
            self._running.pop(query.query_id, None)

    def give_back(self, process: _Process) -> None:
        with self._lock:
            if not self._closing and len(self._idle) < MOST_IDLE:
                self._idle.append(process)
                return
        process.kill()

    def close(self) -> None:
        self._closing = True
        for query in self.running():
            query.close()
        with self._filling:
            while self._idle:
                self._idle.popleft().kill()

    def _take(self) -> _Process:
        while True:
            with self._lock:
                process = self._idle.popleft() if self._idle else None
            fresh = process is None
            if process is None:
                process = _Process()
            if process.wait_ready():
                self.start()
                return process
            process.kill()
            if fresh:
                raise KsqlError("The process of the push query did not start.")

    def _fill(self) -> None:
        with self._filling:
            while not self._closing and len(self._idle) < self._warm:
                process = _Process()
                if process.wait_ready():
                    with self._lock:
                        self._idle.append(process)
                else:
                    process.kill()
                    return
