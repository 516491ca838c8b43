"""The collector is calmed in processes of our own, and left alone in those of others."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from caudal.cli import connect_process, http_process
from caudal.connect.runtime.collector import COLLECT_AFTER
from caudal.connect.runtime.model import State, TargetState, TaskId, TaskSpec
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.tasks import start_task


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


class _Told:
    def __init__(self) -> None:
        self.failed = threading.Event()

    def on_state(self, id: TaskId | str, state: State, trace: str | None = None) -> None:
        if state is State.FAILED:
            self.failed.set()

    def on_topic(self, connector: str, topic: str, task: int) -> None: ...


def test_a_task_in_a_thread_changes_nothing_of_its_process() -> None:
    told = _Told()
    config = {"name": "x", "connector.class": "NoSuchConnector"}
    settings = WorkerSettings(bootstrap="127.0.0.1:1", url="http://127.0.0.1:1")
    start_task(TaskSpec(TaskId("x", 0), config, config, 1, 1), settings, told, TargetState.STARTED)
    assert told.failed.wait(60)
    assert gc.get_threshold() == (700, 10, 10)


def test_the_process_of_a_worker_is_calm(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> None:
        raise SystemExit(gc.get_threshold()[0])

    monkeypatch.setattr(http_process, "run", run)
    with pytest.raises(SystemExit) as ended:
        connect_process.run(connect_process.Options(port=0))
    assert ended.value.code == COLLECT_AFTER
