"""A run of a connector: its object, and the thread in which all of its methods are called.

Nothing here blocks whoever starts or stops it. A connector that hangs keeps its own thread and nobody else's; it is
given up after `START_SECONDS`, or when it does not stop in time.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from caudal.connect.connector import Connector
from caudal.connect.connector_config import connector_plugin, parse
from caudal.connect.errors import ConnectError, trace_of
from caudal.connect.runtime.model import State
from caudal.connect.runtime.secrets import Filled
from caudal.connect.runtime.settings import WorkerSettings

log = logging.getLogger("caudal.connect.connector")

START_SECONDS = 120.0


class ConnectorListener(Protocol):
    """Told from the connector's thread."""

    def on_state(self, state: State, trace: str | None, error: Exception | None) -> None: ...

    def on_task_configs(self, configs: list[dict[str, str]]) -> None: ...


class ConnectorRun:
    def __init__(
        self,
        name: str,
        config: Mapping[str, str],
        settings: WorkerSettings,
        fill_in: Callable[[Mapping[str, str]], Filled],
        listener: ConnectorListener,
    ) -> None:
        """`config` as it was given; `fill_in` puts the secrets in."""
        self.name = name
        self.started: float | None = None  # when it began to run
        self.version: str | None = None
        self.config: Mapping[str, str] = {}  # what the connector sees: secrets filled in
        self._config = config
        self._settings = settings
        self._filled: Filled | None = None
        self._connector: Connector | None = None
        self._most = 1
        self._is_enforced = True
        self._fill_in = fill_in
        self._listener = listener
        self._asked: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._abandoned = False
        self._begun = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"connector-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask_for_tasks(self) -> None:
        self._asked.put(("tasks", None))

    def tell_failure(self, error: Exception, task: int | None) -> None:
        self._asked.put(("failure", (error, task)))

    def stop(self) -> None:
        self._asked.put(("stop", None))

    def wait(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def abandon(self) -> None:
        """Whatever it still says is not heard. When it comes back, it is told that it was given up, and stopped."""
        self._abandoned = True
        self.stop()

    def is_stuck(self) -> bool:
        return self.started is None and self._thread.is_alive() and time.monotonic() - self._begun > START_SECONDS

    # ConnectorContext

    def request_task_reconfiguration(self) -> None:
        self.ask_for_tasks()

    def raise_error(self, error: Exception) -> None:
        self._asked.put(("error", error))

    def _run(self) -> None:
        failure: Exception | None = None
        try:
            self._begin()
            if self._abandoned:
                raise ConnectError(f"The connector {self.name} has not started in time and was abandoned.")
            self._serve()
        except Exception as error:
            failure = error
        except BaseException as error:  # SystemExit and the like: a connector may do anything, and ends only itself
            failure = ConnectError(f"{type(error).__name__}: {error}")
            failure.__cause__ = error
        if failure is not None:
            log.warning("the connector %s has failed: %s", self.name, self._hide(trace_of(failure)))
        if self._connector is not None:
            if failure is not None:
                self._call("on_failure", partial(self._connector.on_failure, failure, None))
            self._call("stop", self._connector.stop)
        if failure is not None:
            self._tell(State.FAILED, self._hide(trace_of(failure)), failure)
        else:
            self._tell(State.UNASSIGNED, None, None)

    def _begin(self) -> None:
        self._filled = self._fill_in(self._config)
        config = self.config = self._filled.config
        plugin = connector_plugin(config)
        given = parse(config, self._settings)
        self.version = plugin.version
        self._most = int(given["tasks.max"])
        self._is_enforced = bool(given["tasks.max.enforce"])
        connector: Connector = plugin.cls()
        connector.name = self.name
        connector.context = self
        self._connector = connector
        connector.start(given)

    def _serve(self) -> None:
        connector = self._connector
        assert connector is not None
        self.started = time.monotonic()
        self._tell(State.RUNNING, None, None)
        self._tasks(connector)
        while True:
            what, given = self._asked.get()
            if what == "stop":
                return
            if what == "error":
                raise given
            if what == "tasks":
                self._tasks(connector)
            else:
                self._call("on_failure", partial(connector.on_failure, *given))

    def _tasks(self, connector: Connector) -> None:
        if self._abandoned:
            return
        configs = connector.task_configs(self._most)
        if len(configs) > self._most:
            wrong = (
                f"The connector {self.name} has made {len(configs)} task configurations, but tasks.max is {self._most}."
            )
            if self._is_enforced:
                raise ConnectError(wrong)
            log.warning("%s It may, because of tasks.max.enforce=false.", wrong)
        if not self._abandoned:
            self._listener.on_task_configs([{str(k): v for k, v in config.items()} for config in configs])

    def _tell(self, state: State, trace: str | None, error: Exception | None) -> None:
        if not self._abandoned:
            self._listener.on_state(state, trace, error)

    def _hide(self, trace: str) -> str:
        return trace if self._filled is None else self._filled.hide(trace)

    def _call(self, what: str, call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException:
            log.exception("%s of the connector %s has failed", what, self.name)
