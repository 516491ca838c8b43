"""What a sink task can ask of the framework (SinkContext). Requests are noted here and done between two polls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from caudal.connect.records import SinkRecord, TopicPartition
from caudal.connect.runtime.tasks.error_policy import Failure, Stage

if TYPE_CHECKING:
    from caudal.connect.runtime.tasks.sink_run import SinkRun


class SinkTaskContext:
    def __init__(self, run: SinkRun) -> None:
        self.config: Mapping[str, str] = run.spec.task_config
        self.stopping: Any = run.call.stopping
        self.assigned: set[TopicPartition] = set()
        self.paused: set[TopicPartition] = set()  # by the task
        self.commit_requested = False
        self._run = run
        self._seeks: dict[TopicPartition, int] = {}
        self._retry_after: float | None = None

    # -- the task's side ---------------------------------------------------------------------------------------------

    def assignment(self) -> set[TopicPartition]:
        return set(self.assigned)

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._seeks.update({TopicPartition(*place): offset for place, offset in offsets.items()})

    def pause(self, *partitions: TopicPartition) -> None:
        places = self._own(partitions)
        self.paused |= places
        self._run.pause_partitions(places)

    def resume(self, *partitions: TopicPartition) -> None:
        places = self._own(partitions)
        self.paused -= places
        self._run.resume_partitions(places)

    def _own(self, partitions: tuple[TopicPartition, ...]) -> set[TopicPartition]:
        places = {TopicPartition(*one) for one in partitions}
        if unknown := places - self.assigned:
            raise ValueError(f"{sorted(unknown)} are not assigned to this task; see context.assignment().")
        return places

    def request_commit(self) -> None:
        self.commit_requested = True

    def retry_after(self, seconds: float) -> None:
        self._retry_after = seconds

    def report_error(self, record: SinkRecord, error: Exception) -> None:
        executing = type(self._run.parts.task)
        name = f"{executing.__module__}.{executing.__qualname__}"
        message = getattr(record, "message", None)
        self._run.errors.fail(Failure(Stage.TASK_PUT, name, error, message, record))

    # -- the framework's side ----------------------------------------------------------------------------------------

    def take_seeks(self) -> dict[TopicPartition, int]:
        seeks, self._seeks = self._seeks, {}
        return seeks

    def take_retry_after(self) -> float | None:
        wait, self._retry_after = self._retry_after, None
        return wait

    def forget(self, gone: set[TopicPartition]) -> None:
        self.assigned -= gone
        self.paused -= gone
