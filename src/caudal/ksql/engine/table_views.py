"""Tables as pull queries see them: each a view of the table's topic, opened when it is first asked for.

A view gives flat rows: key columns, value columns, then ROWTIME, and of windowed tables WINDOWSTART and WINDOWEND. Keys
of windowed tables are in the topic as key, then start (sessions: end, start), so the windows of one key lie next to
each other in a scan from that key on.

How fresh: a query waits until the view has read what the log held when the query came. That costs a question to the
broker, so it is asked at most every FRESH_SECONDS per view, and always after a row was inserted through this server.
"""

from __future__ import annotations

import logging
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from caudal.ksql.engine.dml import bound_serdes
from caudal.ksql.engine.settings import EngineSettings
from caudal.ksql.errors import KsqlError
from caudal.ksql.formats.serdes import key_serde
from caudal.ksql.sources import Source, WindowKind
from caudal.runtime.spark.settings import Settings
from caudal.serde.serde import Serde, bound, with_registry
from caudal.views import NotCaughtUp, ViewError, open_view
from caudal.views.follower import Follower

log = logging.getLogger("caudal.ksql.pull")

FRESH_SECONDS = 0.05
UNUSED_SECONDS = 3600.0
OPEN_SECONDS = 60.0
_LOWEST, _HIGHEST = 0, (1 << 63) - 1
_time = struct.Struct(">q")

Row = tuple[Any, ...]


class _NotingWindows:
    """The key serde of a windowed table, that notes the latest window it has seen: the table's stream time."""

    def __init__(self, serde: Serde) -> None:
        self._serde = serde
        self.latest = -1

    def serialize(self, value: Any) -> bytes:
        return self._serde.serialize(value)

    def deserialize(self, data: bytes) -> Any:
        windowed = self._serde.deserialize(data)
        if windowed.start > self.latest:
            self.latest = windowed.start
        return windowed


class TableView:
    def __init__(self, source: Source, settings: EngineSettings, follower: Follower) -> None:
        self.source = source
        self.used = time.monotonic()
        key, value = bound_serdes(source, settings)
        self._windows = _NotingWindows(key) if source.window is not None else None
        self._plain_key = key if source.window is None else _plain_key(source, settings)
        self._view = open_view(
            source.topic,
            key=self._windows or key,
            value=value,
            bootstrap=settings.bootstrap,
            name=source.name,
            state_dir=str(Path(settings.state_dir) / f"ksql-{settings.service_id}"),
            client=settings.client,
            follower=follower,
        )
        self._values = len(source.schema.value)
        self._fresh = 0.0
        self._scanned = False
        self._lock = threading.Lock()

    def touch(self) -> None:
        """Something was written: the next query waits for it."""
        self._fresh = 0.0

    def close(self) -> None:
        self._view.close()

    def refresh(self, wait: float, max_lag: int | None) -> None:
        """Waits until the view is as near to the log as is asked for. Raises KsqlError."""
        self.used = now = time.monotonic()
        if max_lag is None and now - self._fresh < FRESH_SECONDS:
            return
        with self._lock:
            if max_lag is None and time.monotonic() - self._fresh < FRESH_SECONDS:
                return
            asked = time.monotonic()
            try:
                if not self._view.is_ready:
                    self._view.wait(max(wait, OPEN_SECONDS))
                self._view._wait(wait, max_lag or 0)
            except NotCaughtUp as error:
                if max_lag is not None or not self._view.is_ready:
                    raise KsqlError(f"{self.source.name} cannot be asked yet: {error}") from None
                log.info("%s is answered from a view that is behind: %s", self.source.name, error)
            except ViewError as error:
                raise KsqlError(f"{self.source.name} cannot be asked: {error}") from None
            self._fresh = asked

    # -- rows ----------------------------------------------------------------------------------------------------------

    def lookup(self, keys: list[Row], start: tuple[int, int]) -> Iterator[Row]:
        """The rows of these keys; of windowed tables those whose WINDOWSTART is within the bounds."""
        if self.source.window is not None:
            for key in keys:
                yield from self._windows_of(key, start)
            return
        oldest = self._oldest()
        for key in keys:
            found = self._view.get_with_timestamp(key)
            if found is not None and found[1] >= oldest:
                yield (*key, *found[0], found[1])

    def scan(self) -> Iterator[Row]:
        oldest = self._oldest()
        if self._windows is None:
            read = self._plain_key.deserialize
            for raw, value, timestamp in self._view.raw_range(b"", None):
                if timestamp >= oldest:
                    yield (*read(raw), *value, timestamp)
            return
        first = self._first_window()
        for raw, value, timestamp in self._view.raw_range(b"", None):
            windowed = self._windows.deserialize(raw)
            if windowed.start >= first:
                yield (*windowed.key, *value, timestamp, windowed.start, windowed.end)

    def _windows_of(self, key: Row, start: tuple[int, int]) -> Iterator[Row]:
        assert self._windows is not None and self.source.window is not None
        raw_key = self._plain_key.serialize(key)
        first = max(self._first_window(), start[0], 0)
        is_session = self.source.window.kind is WindowKind.SESSION
        tail = 16 if is_session else 8
        low = _LOWEST if is_session else min(first, _HIGHEST)
        high = _HIGHEST if is_session else max(min(start[1], _HIGHEST), 0)
        begin, end = (
            raw_key + _time.pack(low),
            raw_key + _time.pack(high) + (b"\xff" * 8 if is_session else b"") + b"\0",
        )
        for raw, value, timestamp in self._view.raw_range(begin, end):
            if len(raw) != len(raw_key) + tail or not raw.startswith(raw_key):
                continue  # of another key that happens to lie in between
            windowed = self._windows.deserialize(raw)
            if first <= windowed.start <= start[1]:
                yield (*key, *value, timestamp, windowed.start, windowed.end)

    def _oldest(self) -> int:
        """Rows from before are gone (TTL)."""
        return -(1 << 62) if self.source.ttl is None else int(time.time() * 1000) - self.source.ttl

    def _first_window(self) -> int:
        """Windows that start before are gone: the retention, counted from the latest window."""
        assert self._windows is not None
        if self.source.retention is None:
            return -1
        if not self._scanned:  # a view that was found on disk has not read its keys
            self._scanned = True
            for raw, _, _ in self._view.raw_range(b"", None):
                self._windows.deserialize(raw)
        return self._windows.latest - self.source.retention


def _plain_key(source: Source, settings: EngineSettings) -> Serde:
    from caudal.registry.client import configured_registry

    serde = key_serde(source.key_format, source.schema.key, None)
    return bound(with_registry(serde, settings.registry or configured_registry()), source.topic, True)


class TableViews:
    """All views, with one thread that follows their topics."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._views: dict[str, TableView] = {}
        self._lock = threading.Lock()
        self._follower: Follower | None = None

    def of(self, source: Source) -> TableView:
        view = self._views.get(source.name)
        if view is not None and view.source is source:
            return view
        with self._lock:
            view = self._views.get(source.name)
            if view is not None and view.source == source:
                view.source = source  # read again from the log, and the same
                return view
            if view is not None:
                view.close()
            if self._follower is None:
                self._follower = Follower(
                    Settings(
                        bootstrap=self._settings.bootstrap,
                        state_dir=self._settings.state_dir,
                        client=tuple(sorted(self._settings.client.items())),
                    ),
                    "ksql",
                )
            view = self._views[source.name] = TableView(source, self._settings, self._follower)
            return view

    def touch(self, topic: str) -> None:
        for view in list(self._views.values()):
            if view.source.topic == topic:
                view.touch()

    def keep(self, sources: dict[str, Source]) -> None:
        """Views of tables that are gone, or that nobody has asked for a while, are closed."""
        now = time.monotonic()
        with self._lock:
            for name, view in list(self._views.items()):
                if name not in sources or now - view.used > UNUSED_SECONDS:
                    del self._views[name]
                    view.close()

    def close(self) -> None:
        with self._lock:
            self._views.clear()
            if self._follower is not None:
                self._follower.close()
