"""The life of a run, with a task that does as it is told and no broker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from caudal.connect.connector import Task
from caudal.connect.converter import Converter
from caudal.connect.runtime.model import State, TargetState, TaskId, TaskSpec
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.tasks.assembly import Parts
from caudal.connect.runtime.tasks.run import Run

SETTINGS = WorkerSettings(bootstrap="127.0.0.1:1", url="http://127.0.0.1:1")


class Scripted(Task):
    def __init__(self, work: Callable[[], None]) -> None:
        self.calls: list[str] = []
        self.work = work

    def start(self, config: dict[str, Any]) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")


class ScriptedRun(Run):
    def work(self) -> None:
        self.parts.task.work()


class Told:
    def __init__(self) -> None:
        self.states: list[State] = []
        self.trace = ""

    def on_state(self, id: TaskId | str, state: State, trace: str | None = None) -> None:
        self.states.append(state)
        self.trace = trace or self.trace

    def on_topic(self, connector: str, topic: str, task: int) -> None: ...


def make(
    work: Callable[[], None], target: TargetState = TargetState.STARTED, config: Mapping[str, str] | None = None
) -> Any:
    task, told = Scripted(work), Told()
    spec = TaskSpec(TaskId("c", 0), config or {}, config or {}, 1, 1)
    parts = Parts(task, {}, Converter(), Converter(), Converter())
    return ScriptedRun(spec, SETTINGS, told, target, lambda: parts), task, told


def test_a_run_that_ends_well() -> None:
    run, task, told = make(lambda: None)
    run.run()
    assert told.states == [State.RUNNING, State.UNASSIGNED]
    assert task.calls == ["start", "stop"]
    assert run.ended.is_set()


@pytest.mark.parametrize(
    "error", [ValueError("no"), SystemExit(1), KeyboardInterrupt(), MemoryError(), GeneratorExit()]
)
def test_whatever_a_task_raises_it_has_failed(error: BaseException) -> None:
    def work() -> None:
        raise error

    run, task, told = make(work)
    run.run()
    assert told.states == [State.RUNNING, State.FAILED]
    assert type(error).__name__ in told.trace and "test_run.py" in told.trace
    assert task.calls == ["start", "stop"]


def test_secrets_are_not_in_the_trace() -> None:
    def work() -> None:
        raise ValueError("cannot use s3cret!")

    run, _, told = make(work, config={"db.password": "s3cret!"})
    run.run()
    assert "s3cret!" not in told.trace and "cannot use [hidden]" in told.trace


def test_a_run_that_is_paused_from_the_start_is_not_started() -> None:
    run, task, told = make(lambda: None, TargetState.PAUSED)
    thread = threading.Thread(target=run.run)
    thread.start()
    while told.states != [State.PAUSED]:
        run.ended.wait(0.005)
    assert task.calls == []
    run.stop()
    thread.join(30)
    assert told.states == [State.PAUSED, State.UNASSIGNED]
    assert task.calls == []


def test_an_abandoned_run_is_silent() -> None:
    run, _, told = make(lambda: None)
    run.abandon()
    run.run()
    assert told.states == []
