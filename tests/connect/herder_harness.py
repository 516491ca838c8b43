"""Herders in one process, with tasks that do as they are told; the REST between them is a call, with its signature."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from confluent_kafka import Consumer, TopicPartition

from caudal.connect.runtime import session_key, worker_client
from caudal.connect.runtime.config_state import SessionKey
from caudal.connect.runtime.distributed import DistributedHerder
from caudal.connect.runtime.model import (
    Forward,
    Listener,
    RestError,
    State,
    TargetState,
    TaskId,
    TaskSpec,
)
from caudal.connect.runtime.settings import WorkerSettings

PLUGINS = Path(__file__).parent / "herder_plugins"
PATIENCE = 60.0
T = TypeVar("T")

_names = itertools.count(1)


def wait_for(condition: Callable[[], T], what: str = "it", seconds: float = PATIENCE) -> T:
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"{what} has not come: {found!r}"
        time.sleep(0.02)


@dataclass
class FakeTask:
    """RunningTask, by hand."""

    id: TaskId
    spec: TaskSpec
    url: str
    listener: Listener
    stopped: threading.Event = field(default_factory=threading.Event)
    hangs: bool = False
    abandoned: bool = False
    counted: dict[str, float] = field(default_factory=dict)

    def pause(self) -> None:
        self.listener.on_state(self.id, State.PAUSED)

    def resume(self) -> None:
        self.listener.on_state(self.id, State.RUNNING)

    def fail(self, trace: str) -> None:
        self.stopped.set()
        self.listener.on_state(self.id, State.FAILED, trace)

    def stop(self) -> None:
        if not self.hangs:
            self.stopped.set()
            self.listener.on_state(self.id, State.UNASSIGNED)

    def wait(self, seconds: float) -> bool:
        return self.stopped.wait(seconds)

    def abandon(self) -> None:
        self.abandoned = True
        self.stopped.set()

    def metrics(self) -> dict[str, float]:
        return self.counted


class FakeTasks:
    """All runs there have been, on all workers."""

    def __init__(self) -> None:
        self.runs: list[FakeTask] = []

    def __call__(
        self, spec: TaskSpec, settings: WorkerSettings, listener: Listener, target: TargetState, check: Any
    ) -> FakeTask:
        task = FakeTask(spec.id, spec, settings.url, listener)
        self.runs.append(task)
        listener.on_state(spec.id, State.RUNNING if target is TargetState.STARTED else State.PAUSED)
        return task

    def running(self) -> dict[TaskId, FakeTask]:
        now = [run for run in list(self.runs) if not run.stopped.is_set()]
        assert len({run.id for run in now}) == len(now), f"a task runs twice: {sorted(run.id for run in now)}"
        return {run.id: run for run in now}

    def by_worker(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for run in self.running().values():
            counts[run.url] = counts.get(run.url, 0) + 1
        return counts


class Cluster:
    """Workers of one group, with topics of their own."""

    live: ClassVar[list[Cluster]] = []  # whatever a test leaves running disturbs the next

    def __init__(self, bootstrap: str, monkeypatch: pytest.MonkeyPatch, fake: bool = True, **settings: Any) -> None:
        self.live.append(self)
        self.name = f"cluster{next(_names)}"
        self.tasks = FakeTasks()
        self.herders: dict[str, DistributedHerder] = {}
        self._fake = fake
        self._ports = itertools.count(9001)
        self._settings: dict[str, Any] = {
            "bootstrap": bootstrap,
            "group_id": self.name,
            "config_topic": f"{self.name}-configs",
            "offset_topic": f"{self.name}-offsets",
            "status_topic": f"{self.name}-status",
            "offset_partitions": 2,
            "status_partitions": 2,
            "session_timeout_ms": 3000,
            "heartbeat_interval_ms": 200,
            "scheduled_rebalance_delay_seconds": 0.0,
            "restart_backoff_seconds": 0.05,
            "restart_backoff_max_seconds": 0.2,
            "offset_flush_seconds": 0.2,
            "plugin_path": (PLUGINS,),
            "converter_properties": {"value.converter.schemas.enable": "false"},
            **settings,
        }
        monkeypatch.setattr(worker_client, "send_task_configs", self._send_task_configs)
        monkeypatch.setattr(worker_client, "send_fence", self._send_fence)

    @property
    def settings(self) -> WorkerSettings:
        return WorkerSettings(url="http://127.0.0.1:9000", **self._settings)

    def start(self, url: str | None = None, **settings: Any) -> DistributedHerder:
        url = url or f"http://127.0.0.1:{next(self._ports)}"
        given = WorkerSettings(url=url, **{**self._settings, **settings})
        herder = DistributedHerder(given, self.tasks if self._fake else None)
        herder.start()
        self.herders[url] = herder
        return herder

    def stop(self, url: str) -> None:
        self.herders.pop(url).stop()

    def stop_all(self) -> None:
        for url in list(self.herders):
            self.stop(url)

    def crash(self, url: str) -> None:
        """As if its process were gone: no heartbeat, no goodbye, nothing that it still does counts."""
        herder = self.herders.pop(url)
        herder.runs.stop_all = lambda *_: None  # type: ignore[method-assign]
        herder.close = lambda: _cut(herder)  # type: ignore[method-assign]
        herder.statuses.flush = lambda: None  # type: ignore[method-assign]
        herder.stop()
        for run in self.tasks.runs:
            if run.url == url:
                run.stopped.set()

    def ask(self, call: Callable[[DistributedHerder], T], url: str | None = None) -> T:
        """As REST does it: forwarded to who can answer, tried again while the group is being rebalanced."""
        deadline = time.monotonic() + PATIENCE
        herder = self.herders[url or next(iter(self.herders))]
        while True:
            try:
                return call(herder)
            except Forward as forward:
                if forward.url in self.herders:
                    herder = self.herders[forward.url]
                    continue
            except RestError as error:
                if error.status != 409 or "rebalance" not in error.message:
                    raise
            assert time.monotonic() < deadline, "nobody answers"
            time.sleep(0.05)

    def create(self, name: str, tasks: int = 2, initial: TargetState | None = None, **config: str) -> dict[str, Any]:
        given = {"connector.class": "Numbers", "tasks.max": str(tasks), "parts": str(tasks)}
        given |= {key.replace("_", "."): value for key, value in config.items()}
        return self.ask(lambda herder: herder.create(name, given, initial))

    def status(self, name: str) -> dict[str, Any]:
        return self.ask(lambda herder: herder.status(name))

    def states(self, name: str) -> list[str]:
        status = self.status(name)
        return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]

    def wait_for_states(self, name: str, *states: str) -> None:
        wait_for(lambda: self.states(name) == list(states), f"{name} in {states}, not {self.states(name)}")

    def leader(self) -> DistributedHerder:
        return wait_for(lambda: [herder for herder in self.herders.values() if herder._leads], "a leader")[0]

    def records(self, topic: str) -> dict[str, bytes | None]:
        """The last value of each key."""
        return dict(read_topic(self._settings["bootstrap"], topic))

    def _send_task_configs(self, leader: str, name: str, configs: list[dict[str, str]], key: SessionKey | None) -> None:
        self._sent(
            leader, key, session_key.task_configs_body(configs), lambda h, s: h.put_task_configs(name, configs, s)
        )

    def _send_fence(self, leader: str, name: str, key: SessionKey | None) -> None:
        self._sent(leader, key, b"", lambda h, s: h.fence(name, s))

    def _sent(self, leader: str, key: SessionKey | None, body: bytes, call: Callable[[Any, str | None], None]) -> None:
        try:
            herder = self.herders[leader]
            call(herder, None if key is None else session_key.sign(key, body))
        except KeyError:
            raise RestError(503, f"nobody is at {leader}") from None
        except Forward:
            raise RestError(409, "rebalance: not the leader any more") from None


def _cut(herder: DistributedHerder) -> None:
    """Its connections go, and nobody is told."""
    herder._membership._client.close()
    herder._store._pen = None
    herder._store.stop()


def read_topic(bootstrap: str, topic: str) -> list[tuple[str, bytes | None]]:
    """Committed records of all partitions, up to their ends."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "tests",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    try:
        partitions = list(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found: list[tuple[str, bytes | None]] = []
        left = set(partitions)
        while left:
            message = consumer.poll(10)
            assert message is not None, f"the end of {topic} was not reached"
            if message.error() is None:
                found.append(((message.key() or b"").decode(), message.value()))
            else:
                left.discard(message.partition())
        return found
    finally:
        consumer.close()
