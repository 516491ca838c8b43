"""The life of one run of a task, whatever it is: assembled, started, paused, stopped or failed, and what is told of it.

A run is one call of `run()` in a thread of its own; everything else comes from other threads and only sets flags. What
a source and what a sink do in between is in their own files.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from caudal.connect.errors import ConnectError, trace_of
from caudal.connect.runtime.model import Listener, State, TargetState, TaskSpec
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.tasks.assembly import Parts
from caudal.connect.runtime.tasks.calling import Caller
from caudal.connect.runtime.tasks.error_policy import ErrorPolicy, RunStopped
from caudal.connect.runtime.tasks.task_metrics import TaskMetrics

log = logging.getLogger("caudal.connect")

PAUSED_LOOK_SECONDS = 1.0


class Abandoned(Exception):
    """Nobody waits for this run any more: it must write nothing."""


class Run:
    """`check` is asked before a run writes for the first time, and raises when a newer one has taken its place."""

    def __init__(
        self,
        spec: TaskSpec,
        settings: WorkerSettings,
        listener: Listener,
        target: TargetState,
        assemble: Callable[[], Parts],
        check: Callable[[], None] | None = None,
    ) -> None:
        self.id = spec.id
        self.spec = spec
        self.settings = settings
        self.metric = TaskMetrics()
        self.ended = threading.Event()
        self.stopping = threading.Event()
        self.abandoned = False
        self.parts: Parts
        self.call: Caller
        self.errors: ErrorPolicy
        self.check = check
        self._assemble = assemble
        self._listener = listener
        self._paused = target is not TargetState.STARTED
        self._woken = threading.Condition()
        self._topics: set[str] = set()

    # -- from outside ------------------------------------------------------------------------------------------------

    def pause(self) -> None:
        with self._woken:
            self._paused = True
            self._woken.notify_all()

    def resume(self) -> None:
        with self._woken:
            self._paused = False
            self._woken.notify_all()

    def stop(self) -> None:
        with self._woken:
            self.stopping.set()
            self._woken.notify_all()
        if caller := getattr(self, "call", None):
            caller.wake()

    def abandon(self) -> None:
        """Whoever stops it waits no longer. The thread cannot be ended: it may be in the task for ever, or come back.
        From now on it tells nothing, produces nothing and commits nothing."""
        self.abandoned = True
        self.stop()

    def metrics(self) -> dict[str, float]:
        return self.metric.values()

    # -- the run -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Never raises, whatever the task does."""
        state, trace = State.UNASSIGNED, None
        try:
            self._live()
        except (RunStopped, Abandoned):
            pass
        except BaseException as error:  # SystemExit and MemoryError too: a task may do anything
            state, trace = State.FAILED, self.trace(error)
            words = "failed, after it was abandoned" if self.abandoned else "failed and will not go on by itself"
            log.error("Task %s %s.\n%s", self.id, words, trace)
        finally:
            self.metric.now_is("")
            if self.abandoned:
                log.info("Task %s, which was abandoned, has come to its end; nothing of it was written since.", self.id)
            try:
                self.tell(state, trace)
            except Exception:
                log.exception("The state of task %s could not be told.", self.id)
            self.ended.set()

    def _live(self) -> None:
        if self._paused and not self.stand_still():
            return
        self.parts = parts = self._assemble()
        try:
            self.call = Caller(parts.task, self.stopping)
            self.errors = ErrorPolicy(parts.errors, self.metric, self.stopping, str(self.id))
            self.prepare()
            if self.stopping.is_set():
                return
            try:
                self.call(parts.task.start, parts.task_config)
                self.still_wanted()
                self.tell(State.RUNNING)
                self.metric.now_is("running")
                self.work()
            finally:
                self._end_task()
        finally:
            self.release()
            parts.close()

    def _end_task(self) -> None:
        try:
            self.call(self.parts.task.stop)
        except BaseException:
            log.exception("Task %s raised in stop(), after its end; nothing depends on it.", self.id)

    def prepare(self) -> None:
        """Clients and context, before the task is started."""

    def work(self) -> None:
        """Until `stopping` is set; returns when everything is flushed and committed."""

    def release(self) -> None:
        """Clients closed. Always called when `prepare` was, and must not raise."""

    # -- for the two kinds -------------------------------------------------------------------------------------------

    def stand_still(self) -> bool:
        """Waits while paused. False when it is to stop."""
        if not self._paused:
            return not self.stopping.is_set()
        self.tell(State.PAUSED)
        self.metric.now_is("paused")
        while self.is_paused and not self.stopping.is_set():
            self.while_paused()
        if self.stopping.is_set():
            return False
        if hasattr(self, "call"):
            self.tell(State.RUNNING)
            self.metric.now_is("running")
        return True

    @property
    def is_paused(self) -> bool:
        return self._paused

    def while_paused(self) -> None:
        with self._woken:
            if self._paused and not self.stopping.is_set():
                self._woken.wait(PAUSED_LOOK_SECONDS)

    def tell(self, state: State, trace: str | None = None) -> None:
        if not self.abandoned:
            self._listener.on_state(self.id, state, trace)

    def used_topic(self, topic: str) -> None:
        if topic not in self._topics:
            self._topics.add(topic)
            if not self.abandoned:
                self._listener.on_topic(self.id.connector, topic, self.id.task)

    def still_wanted(self) -> None:
        if self.abandoned:
            raise Abandoned

    def trace(self, error: BaseException) -> str:
        """Without the values of secrets."""
        try:
            text = trace_of(error)
        except BaseException:  # no memory for it
            text = f"{type(error).__name__}: {error}"
        for secret in _secrets(self.spec.connector_config, self.spec.task_config):
            text = text.replace(secret, "[hidden]")
        return text


_SECRET_WORDS = ("password", "secret", "token", "jaas", "credential", "access.key", "api.key", "private.key")


def _secrets(*configs: Mapping[str, str]) -> set[str]:
    """Values that no trace may show. By name: a trace can come from code that knows nothing of the ConfigDef."""
    return {
        str(value)
        for config in configs
        for name, value in config.items()
        if any(word in name.lower() for word in _SECRET_WORDS) and value and len(str(value)) > 3
    }


def kafka_failure(what: str, error: Any) -> ConnectError:
    return ConnectError(f"{what}: {' '.join(error.str().split()).rstrip('.')}.")
