"""Where a task runs: in a thread of this process or in a process of its own; and which kind of run it needs."""

from __future__ import annotations

import threading
from collections.abc import Callable

from caudal.connect.connector import JobTask, SinkTask
from caudal.connect.errors import ConfigError
from caudal.connect.framework_keys import ISOLATION
from caudal.connect.runtime.model import Listener, RunningTask, TargetState, TaskId, TaskSpec
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.tasks.assembly import Parts, assemble, task_class
from caudal.connect.runtime.tasks.at_least_once import AtLeastOnce
from caudal.connect.runtime.tasks.exactly_once import ExactlyOnce
from caudal.connect.runtime.tasks.job_run import JobRun
from caudal.connect.runtime.tasks.process_host import TaskProcess
from caudal.connect.runtime.tasks.run import Run
from caudal.connect.runtime.tasks.sink_run import SinkRun


def make_run(
    spec: TaskSpec,
    settings: WorkerSettings,
    listener: Listener,
    target: TargetState,
    check: Callable[[], None] | None = None,
) -> Run:
    try:
        if (given := spec.connector_config.get(ISOLATION, "thread").lower()) not in ("thread", "process"):
            raise ConfigError(f"{ISOLATION} is thread or process, not {given}.", ISOLATION)
        kind = _kind(spec, settings)
    except Exception as error:  # told like any other failure: `start_task` never raises
        wrong = error

        def raise_it() -> Parts:
            raise wrong

        return Run(spec, settings, listener, TargetState.STARTED, raise_it)
    return kind(spec, settings, listener, target, lambda: assemble(spec, settings), check)


def _kind(spec: TaskSpec, settings: WorkerSettings) -> type[Run]:
    cls = task_class(spec, settings)
    if issubclass(cls, JobTask):
        return JobRun
    if issubclass(cls, SinkTask):
        return SinkRun
    if str(spec.connector_config.get("exactly.once.support", "")).lower() == "required":
        if not settings.exactly_once_source:
            raise ConfigError(
                "exactly.once.support=required, but this worker has exactly.once.source.support disabled.",
                "exactly.once.support",
            )
        return ExactlyOnce
    return AtLeastOnce


class TaskThread:
    """RunningTask."""

    def __init__(self, run: Run) -> None:
        self.id: TaskId = run.id
        self._run = run
        # A daemon: a task that never returns must not keep the worker from ending.
        self._thread = threading.Thread(target=run.run, name=f"task-{run.id}", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        self._run.pause()

    def resume(self) -> None:
        self._run.resume()

    def stop(self) -> None:
        self._run.stop()

    def wait(self, seconds: float) -> bool:
        return self._run.ended.wait(seconds)

    def abandon(self) -> None:
        self._run.abandon()

    def metrics(self) -> dict[str, float]:
        return self._run.metrics()


def start_task(
    spec: TaskSpec,
    settings: WorkerSettings,
    listener: Listener,
    target: TargetState,
    check: Callable[[], None] | None = None,
) -> RunningTask:
    """`check` is for exactly-once sources: asked before and after the producer takes its transactional id, it raises
    when the cluster has a newer generation of this task, so that a late one does not fence it."""
    if _isolation(spec, settings) == "process":
        return TaskProcess(spec, settings, listener, target, check)
    return TaskThread(make_run(spec, settings, listener, target, check))


def _isolation(spec: TaskSpec, settings: WorkerSettings) -> str:
    """What the configuration says, or else the task's class."""
    given = spec.connector_config.get(ISOLATION)
    if given is not None and given.lower() in ("thread", "process"):
        return given.lower()
    try:
        return task_class(spec, settings).isolation
    except Exception:
        return "thread"  # the run itself says what is wrong
