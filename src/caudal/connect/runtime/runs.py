"""What runs on this worker: connectors and tasks are started and stopped until they are what is wanted.

Owned by the herder's thread; runs report to it through its queue. A run is replaced when what it was made of has
changed (the configuration of a connector, the generation of its tasks), paused and resumed where only the target state
has. One that fails is tried again with back-off; meanwhile it is RESTARTING, with its trace.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from caudal.connect.errors import ConnectError, trace_of
from caudal.connect.runtime import answers
from caudal.connect.runtime.config_state import Configs
from caudal.connect.runtime.connector_run import START_SECONDS, ConnectorRun
from caudal.connect.runtime.group_protocol import Load
from caudal.connect.runtime.model import Listener, RunningTask, State, TargetState, TaskId, TaskSpec
from caudal.connect.runtime.request_queue import RequestQueue
from caudal.connect.runtime.restarts import Restarts
from caudal.connect.runtime.run_reports import ConnectorReports, TaskReports
from caudal.connect.runtime.secrets import Filled
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.statuses import Status, Statuses

log = logging.getLogger("caudal.connect.runs")

Check = Callable[[], None]
StartTask = Callable[[TaskSpec, WorkerSettings, Listener, TargetState, Check], RunningTask]
FillIn = Callable[[Mapping[str, str]], Filled]
TaskConfigs = Callable[[str, list[dict[str, str]]], None]
# Calls the second when the tasks of this connector may start, or the third with the reason why not; in any thread.
Prepare = Callable[[str, Callable[[], None], Callable[[Exception], None]], None]

CONNECTOR_STOP_SECONDS = 1.0  # at least, however long tasks took
COUNTED = (State.RUNNING, State.PAUSED, State.FAILED, State.UNASSIGNED, State.RESTARTING)
# A run that got this far did some work: its restarts are counted from none.
PROGRESS = ("source-record-write-total", "sink-record-send-total", "offset-commit-success-total")


@dataclass(eq=False)
class ConnectorEntry:
    """One run of a connector. Its identity tells late reports of earlier runs apart."""

    made_of: tuple[int, TargetState]
    run: ConnectorRun | None = None
    state: State = State.UNASSIGNED
    trace: str | None = None
    version: str | None = None


@dataclass(eq=False)
class TaskEntry:
    generation: int
    target: TargetState
    run: RunningTask | None = None
    state: State = State.UNASSIGNED
    trace: str | None = None
    version: str | None = None  # of its connector


class Runs:
    def __init__(
        self,
        settings: WorkerSettings,
        statuses: Statuses,
        queue: RequestQueue,
        worker_id: str,
        *,
        start_task: StartTask,
        fill_in: FillIn,
        on_task_configs: TaskConfigs,
        prepare: Prepare,
        may_run: Callable[[TaskId, int], None],
    ) -> None:
        self.group_generation = 0
        self._settings = settings
        self._statuses = statuses
        self._queue = queue
        self._worker_id = worker_id
        self._start_task = start_task
        self._fill_in = fill_in
        self._on_task_configs = on_task_configs
        self._prepare = prepare
        self._may_run = may_run
        self._configs = Configs()
        self._connectors: dict[str, ConnectorEntry] = {}
        self._tasks: dict[TaskId, TaskEntry] = {}
        self._counts = {
            f"{what}-startup-{how}-total": 0.0
            for what in ("connector", "task")
            for how in ("attempts", "success", "failure")
        }
        self._restarts = Restarts(
            settings.restart_backoff_seconds, settings.restart_backoff_max_seconds, settings.restart_attempts
        )

    @property
    def load(self) -> Load:
        return Load(frozenset(self._connectors), frozenset(self._tasks))

    def metrics(self) -> dict[str, dict[str, float]]:
        """Of this worker (""), of connectors by what their tasks here do, and of the tasks. Any thread may ask."""
        connectors, tasks = dict(self._connectors), dict(self._tasks)
        found: dict[str, dict[str, float]] = {
            "": {"connector-count": len(connectors), "task-count": len(tasks), **with_percentages(self._counts)}
        }
        for name in {*connectors, *(id.connector for id in tasks)}:
            states = [task.state for id, task in tasks.items() if id.connector == name]
            counted = {f"connector-{state.lower()}-task-count": float(states.count(state)) for state in COUNTED}
            found[name] = {"connector-total-task-count": len(states), **counted}
        found |= {str(id): task.run.metrics() for id, task in tasks.items() if task.run is not None}
        return found

    def reconcile(self, wanted: Load, configs: Configs) -> None:
        """Stops what is not wanted or has changed, and waits for it; then starts what is missing."""
        self._configs = configs
        wanted = wanted & configs.load()
        for name in wanted.connectors & self._connectors.keys():
            if self._connectors[name].made_of != self._connector_key(name):
                self._restarts.forget(name)
        for id in wanted.tasks & self._tasks.keys():
            if self._tasks[id].generation != configs.generation(id.connector):
                self._restarts.forget(id)
        kept = Load(
            frozenset(n for n in wanted.connectors if n in self._connectors and self._is_current(n)),
            frozenset(i for i in wanted.tasks if i in self._tasks and self._is_current_task(i)),
        )
        self._stop(self.load - kept)
        for name in sorted(wanted.connectors - self._connectors.keys()):
            self._start_connector(name)
        for id in sorted(wanted.tasks - self._tasks.keys()):
            self._begin_task(id)
        for id in kept.tasks:
            self._aim(id, configs.target(id.connector))

    def stop_all(self, quietly: bool = False) -> None:
        """`quietly`: others may have taken over already, so nothing is said of it."""
        self._stop(self.load, None if quietly else State.UNASSIGNED)

    def restart_connector(self, name: str) -> bool:
        if name not in self._connectors:
            return False
        self._restarts.forget(name)
        self._publish(name, State.RESTARTING)
        self._stop(Load(frozenset([name])), State.RESTARTING)
        if name in self._configs:
            self._start_connector(name)
        return True

    def restart_tasks(self, ids: Iterable[TaskId]) -> None:
        """Those that are here."""
        mine = [id for id in ids if id in self._tasks]
        for id in mine:
            self._restarts.forget(id)
            self._publish(id, State.RESTARTING)
        self._stop(Load(tasks=frozenset(mine)), State.RESTARTING)
        for id in mine:
            if self._is_configured(id):
                self._begin_task(id)

    def ask_for_tasks(self, name: str) -> None:
        connector = self._connectors.get(name)
        if connector is not None and connector.run is not None:
            connector.run.ask_for_tasks()

    def tell_failure(self, id: TaskId, status: Status) -> None:
        """The connector hears of its tasks' failures, wherever they ran."""
        connector = self._connectors.get(id.connector)
        if connector is not None and connector.run is not None and status.trace:
            connector.run.tell_failure(ConnectError(status.trace.splitlines()[0]), id.task)

    def hear_goodbye(self, id: TaskId | str, status: Status) -> None:
        """A former owner's last word may come after ours, when it was cut off meanwhile: ours is said again."""
        if status.worker_id == self._worker_id:
            return
        task = self._tasks.get(id) if isinstance(id, TaskId) else None
        connector = self._connectors.get(id) if isinstance(id, str) else None
        entry = task or connector
        if entry is not None and entry.state is not State.UNASSIGNED:
            self._publish(id, entry.state, entry.trace, entry.version)

    def look_after(self) -> None:
        """Gives up connectors whose start hangs. Called now and then."""
        for name, connector in list(self._connectors.items()):
            run = connector.run
            if run is not None and connector.state is State.UNASSIGNED and run.is_stuck():
                run.abandon()
                error = ConnectError(f"The connector {name} has not started within {START_SECONDS:.0f} s.")
                self._connector_failed(name, connector, str(error))

    # -- connectors --------------------------------------------------------------------------------------------------

    def _connector_key(self, name: str) -> tuple[int, TargetState]:
        return self._configs.written[name], self._configs.target(name)

    def _is_current(self, name: str) -> bool:
        return self._connectors[name].made_of == self._connector_key(name)

    def _start_connector(self, name: str) -> None:
        connector = self._connectors[name] = ConnectorEntry(self._connector_key(name))
        target = self._configs.target(name)
        if target is TargetState.STARTED:
            reports = ConnectorReports(self, name, connector)
            connector.run = ConnectorRun(name, self._configs.connectors[name], self._settings, self._fill_in, reports)
            connector.run.start()
            self._counts["connector-startup-attempts-total"] += 1
        else:
            # A connector that is paused or stopped has no object at all: nothing of it can do anything.
            connector.state = State.PAUSED if target is TargetState.PAUSED else State.STOPPED
            self._publish(name, connector.state)

    def connector_reports(self, name: str, connector: ConnectorEntry, state: State, trace: str | None) -> None:
        if self._connectors.get(name) is not connector:
            return  # of a run that was replaced
        if state is State.RUNNING:
            self._counts["connector-startup-success-total"] += 1
            connector.state, connector.trace = state, None
            connector.version = connector.run.version if connector.run is not None else None
            self._publish(name, state, version=connector.version)
        elif state is State.FAILED:
            self._connector_failed(name, connector, trace)

    def task_configs_reported(self, name: str, connector: ConnectorEntry, configs: list[dict[str, str]]) -> None:
        if self._connectors.get(name) is connector:
            self._on_task_configs(name, configs)

    def _connector_failed(self, name: str, connector: ConnectorEntry, trace: str | None) -> None:
        run = connector.run
        if run is None or run.started is None:
            self._counts["connector-startup-failure-total"] += 1
        ran = time.monotonic() - run.started if run is not None and run.started is not None else 0.0
        delay = self._restarts.failed(name, ran > self._settings.restart_backoff_max_seconds)
        connector.run = None
        connector.state = State.FAILED if delay is None else State.RESTARTING
        connector.trace, connector.version = trace, run.version if run is not None else None
        self._publish(name, connector.state, trace, connector.version)
        if delay is not None:
            self._queue.post(lambda: self._try_connector_again(name, connector), delay)

    def _try_connector_again(self, name: str, connector: ConnectorEntry) -> None:
        if self._connectors.get(name) is connector and name in self._configs:
            self._start_connector(name)

    # -- tasks -------------------------------------------------------------------------------------------------------

    def _is_current_task(self, id: TaskId) -> bool:
        return self._tasks[id].generation == self._configs.generation(id.connector)

    def _begin_task(self, id: TaskId) -> None:
        name = id.connector
        task = self._tasks[id] = TaskEntry(self._configs.generation(name), self._configs.target(name))

        def start() -> None:
            self._queue.post(lambda: self._run_task(id, task))

        def refuse(error: Exception) -> None:
            self._queue.post(lambda: self.task_reports(id, task, State.FAILED, trace_of(error)))

        self._prepare(name, start, refuse)

    def _run_task(self, id: TaskId, task: TaskEntry) -> None:
        if self._tasks.get(id) is not task or not self._is_current_task(id):
            return
        configs = self._configs
        target = configs.target(id.connector)
        if target is TargetState.STOPPED:
            return  # its removal is on the way
        try:
            spec = TaskSpec(
                id,
                self._fill_in(configs.connectors[id.connector]).config,
                self._fill_in(configs.tasks(id.connector)[id.task]).config,
                task.generation,
                len(configs.tasks(id.connector)),
            )
            task.target = target
            task.version = answers.version_of(spec.connector_config)
            reports = TaskReports(self, id, task)
            check = partial(self._may_run, id, task.generation)
            self._counts["task-startup-attempts-total"] += 1
            task.run = self._start_task(spec, self._settings, reports, target, check)
        except Exception as error:
            log.warning("the task %s cannot start", id, exc_info=error)
            self.task_reports(id, task, State.FAILED, trace_of(error))

    def task_reports(self, id: TaskId, task: TaskEntry, state: State, trace: str | None) -> None:
        if self._tasks.get(id) is not task:
            return  # of a run that was replaced
        if state is State.FAILED:
            self._task_failed(id, task, trace)
        elif state is not State.UNASSIGNED:  # who stops a task says so itself
            if task.state is State.UNASSIGNED:
                self._counts["task-startup-success-total"] += 1
            task.state, task.trace = state, trace
            self._publish(id, state, trace, task.version)

    def _task_failed(self, id: TaskId, task: TaskEntry, trace: str | None) -> None:
        metrics = task.run.metrics() if task.run is not None else {}
        if task.state is State.UNASSIGNED:
            self._counts["task-startup-failure-total"] += 1
        delay = self._restarts.failed(id, any(metrics.get(name, 0) > 0 for name in PROGRESS))
        task.run = None
        task.state, task.trace = State.FAILED if delay is None else State.RESTARTING, trace
        self._publish(id, task.state, trace, task.version)
        if delay is not None:
            self._queue.post(lambda: self._try_task_again(id, task), delay)

    def _try_task_again(self, id: TaskId, task: TaskEntry) -> None:
        if self._tasks.get(id) is task and task.run is None:
            self._begin_task(id)

    def _aim(self, id: TaskId, target: TargetState) -> None:
        task = self._tasks[id]
        if task.target is target:
            return
        task.target = target
        if task.run is not None:
            (task.run.resume if target is TargetState.STARTED else task.run.pause)()

    # -- both --------------------------------------------------------------------------------------------------------

    def _stop(self, load: Load, last: State | None = State.UNASSIGNED) -> None:
        """All at the same time, and no longer than task.shutdown.graceful.timeout.ms for all together; tasks before
        connectors, which are to hear of those that do not stop. `last` is what is said of them; None is nothing."""
        connectors = {name: self._connectors.pop(name) for name in load.connectors}
        tasks = {id: self._tasks.pop(id) for id in load.tasks}
        deadline = time.monotonic() + self._settings.task_shutdown_seconds
        reasons: dict[TaskId | str, str] = dict(self._end({id: one.run for id, one in tasks.items()}, deadline))
        for id, reason in reasons.items():
            assert isinstance(id, TaskId)
            owner = connectors.get(id.connector) or self._connectors.get(id.connector)
            if owner is not None and owner.run is not None and last is not State.RESTARTING:  # else by its status
                owner.run.tell_failure(ConnectError(reason), id.task)
        deadline = max(deadline, time.monotonic() + CONNECTOR_STOP_SECONDS)
        reasons |= self._end({name: one.run for name, one in connectors.items()}, deadline)
        stopped: list[TaskId | str] = [*connectors, *tasks]
        for each in stopped:
            self._say_last(each, last, reasons.get(each))

    def _end(self, runs: Mapping[Any, Any], deadline: float) -> dict[Any, str]:
        """Why those were abandoned that did not stop in time."""
        living = {id: run for id, run in runs.items() if run is not None}
        for run in living.values():
            run.stop()
        reasons = {}
        for id, run in living.items():
            if not run.wait(max(0.0, deadline - time.monotonic())):
                run.abandon()
                what = "task" if isinstance(id, TaskId) else "connector"
                reasons[id] = (
                    f"The {what} {id} has not stopped within {self._settings.task_shutdown_seconds:g} s and was "
                    "abandoned: what it still does is not written, committed or reported."
                )
                log.warning("%s", reasons[id])
        return reasons

    def _say_last(self, id: TaskId | str, last: State | None, reason: str | None) -> None:
        if last is State.UNASSIGNED:
            self._restarts.forget(id)
            if self._is_configured(id):
                self._statuses.put_if_mine(id, Status(last, self._worker_id, self.group_generation, reason))
            else:
                self._statuses.remove(id)
        elif last is not None and reason is not None:
            self._publish(id, last, reason)

    def _is_configured(self, id: TaskId | str) -> bool:
        return id.task < len(self._configs.tasks(id.connector)) if isinstance(id, TaskId) else id in self._configs

    def _publish(self, id: TaskId | str, state: State, trace: str | None = None, version: str | None = None) -> None:
        self._statuses.put(id, Status(state, self._worker_id, self.group_generation, trace, version))

    def on_topic(self, connector: str, topic: str, task: int) -> None:
        if connector in self._configs:
            self._statuses.add_topic(connector, topic, task)

    def post(self, call: Callable[[], Any]) -> None:
        self._queue.post(call)


def with_percentages(counts: Mapping[str, float]) -> dict[str, float]:
    """Of starts, how many in a hundred went well."""
    found = dict(counts)
    for what in ("connector", "task"):
        attempts = counts[f"{what}-startup-attempts-total"]
        for how in ("success", "failure"):
            share = counts[f"{what}-startup-{how}-total"] / attempts if attempts else 0.0
            found[f"{what}-startup-{how}-percentage"] = min(100.0, 100.0 * share)
    return found
