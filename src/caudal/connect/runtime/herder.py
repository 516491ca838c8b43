"""One thread that owns the state of a worker, as the distributed and the standalone herder have it in common.

What others want is a call in its queue (`ask`), what runs here is in `runs`. Nothing is locked, because nothing is
shared. Subclasses say where configurations are kept; what REST asks is in `rest_herder.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import TimeoutError as AnswerTimeout
from typing import Any, TypeVar
from urllib.parse import urlsplit

from caudal.connect.connector_config import as_texts
from caudal.connect.errors import ConnectError
from caudal.connect.plugins import add_plugin_path
from caudal.connect.runtime import answers, config_state
from caudal.connect.runtime.answers import FAILED
from caudal.connect.runtime.config_state import Asked, Configs, LogLevel, Record
from caudal.connect.runtime.log_levels import LEVELS, set_log_level
from caudal.connect.runtime.model import Rebalancing, RestError, State, TargetState, TaskId
from caudal.connect.runtime.request_queue import RequestQueue
from caudal.connect.runtime.runs import Runs, StartTask
from caudal.connect.runtime.secrets import Filled, fill
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.statuses import Status, Statuses
from caudal.connect.runtime.task_secrets import with_placeholders

log = logging.getLogger("caudal.connect.herder")

REQUEST_SECONDS = 90.0
REBALANCE_SECONDS = 20.0
TICK_SECONDS = 1.0
STOP_SECONDS = 20.0
RETRY_SECONDS = 1.0

T = TypeVar("T")


class WorkerHerder:
    """Subclasses say where configurations are kept, who may write them, and what of them runs here."""

    def __init__(self, settings: WorkerSettings, statuses: Statuses, start_task: StartTask | None = None) -> None:
        add_plugin_path(settings.plugin_path)
        self.settings = settings
        self.worker_id = urlsplit(settings.url).netloc or settings.url
        self.queue = RequestQueue()
        self.statuses = statuses
        self.configs = Configs()  # as the herder's thread has taken it over; replaced as a whole
        self.stopping = threading.Event()
        self.runs = Runs(
            settings,
            statuses,
            self.queue,
            self.worker_id,
            start_task=start_task or _start_task,
            fill_in=self._fill_in,
            on_task_configs=self._on_task_configs,
            prepare=self.prepare,
            may_run=self.may_run,
        )
        self._thread = threading.Thread(target=self._main, name="connect-herder", daemon=True)
        self._cluster_id: str | None = None
        self._offsets_changing: set[str] = set()  # connectors whose offsets somebody changes just now

    # -- what subclasses do ------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Before the thread starts."""

    def close(self) -> None:
        """In the thread, at the end; what runs is stopped already."""

    def tick(self) -> None:
        """A turn of the thread."""
        self.serve(TICK_SECONDS)

    def newest(self) -> Configs:
        """The newest snapshot, taken over by the thread or not yet."""
        raise NotImplementedError

    def check_leader(self) -> None:
        """Raises Forward where another worker has to write, Rebalancing where nobody knows who."""

    def write(self, records: list[Record]) -> None:
        """To the configurations; they are in `newest` when this returns. In the thread, after `check_leader`."""
        raise NotImplementedError

    def forward_to_owner(self, id: TaskId | str) -> None:
        """Raises Forward to the worker that runs it, or RestError."""
        raise RestError(409, f"{id} is not assigned to a worker at the moment; try again.")

    def store_task_configs(self, name: str, configs: list[dict[str, str]]) -> None:
        """Of a connector that runs here; in the thread."""
        self.write(config_state.task_records(name, configs))

    def prepare(self, name: str, start: Callable[[], None], refuse: Callable[[Exception], None]) -> None:
        """Before tasks of this connector start; in the thread."""
        start()

    def may_run(self, id: TaskId, generation: int) -> None:
        """Raises when a newer run of this task is due, here or elsewhere. Any thread may ask; it may block."""
        if self.newest().generation(id.connector) != generation:
            raise ConnectError(f"The task {id} was configured anew: this run ends.")

    # -- life --------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        try:
            self.open()
        except BaseException:
            self.close()
            self.statuses.stop()
            raise
        self._thread.start()

    def stop(self) -> None:
        """Stops everything in good order."""
        self.stopping.set()
        self.queue.post(lambda: None)
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS + self.settings.task_shutdown_seconds)

    def serve(self, seconds: float) -> None:
        """Waits for a call, and then does all that are due."""
        call = self.queue.take(seconds)
        while call is not None:
            try:
                call()
            except Exception:
                log.exception("a call in the herder's thread has failed")
            call = None if self.stopping.is_set() else self.queue.take(0)
        self.runs.look_after()

    def _main(self) -> None:
        while not self.stopping.is_set():
            try:
                self.tick()
            except Exception:
                log.exception("the herder's thread goes on after an error")
                self.stopping.wait(RETRY_SECONDS)
        for step in (self.queue.close, self.runs.stop_all, self.statuses.flush, self.close, self.statuses.stop):
            try:
                step()
            except Exception:  # the others are due all the same: a group that is not left waits for this worker
                log.exception("the worker goes on with its end after an error")

    def ask(self, call: Callable[[], T]) -> T:
        """The answer of the herder's thread. While the group is being rebalanced it is asked again, for a while."""
        deadline = time.monotonic() + REQUEST_SECONDS
        while True:
            answer = self.queue.ask(call)
            try:
                return answer.result(max(0.0, deadline - time.monotonic()))
            except Rebalancing:
                # Nothing was written. Most rebalances take less than a second.
                if time.monotonic() > deadline - REQUEST_SECONDS + REBALANCE_SECONDS or self.stopping.wait(0.1):
                    raise
            except AnswerTimeout:
                answer.cancel()
                raise RestError(500, "Request timed out. The worker is busy, or its group is rebalancing.") from None

    # -- in the thread -----------------------------------------------------------------------------------------------

    def do_as_asked(self, request: Asked) -> None:
        """What was asked of all workers: of a restart, what of it runs here."""
        if isinstance(request, LogLevel):
            if request.level in LEVELS:
                set_log_level(request.logger, request.level)
            return
        itself, ids = answers.to_restart(request, self.configs, self.statuses)
        if itself:
            self.runs.restart_connector(request.connector)
        self.runs.restart_tasks(ids)

    def on_status(self, id: TaskId | str, status: Status) -> None:
        """Seen in the status topic, from any worker; in any thread."""
        is_theirs = status.worker_id != self.worker_id
        if isinstance(id, TaskId) and status.trace and (status.state in FAILED or is_theirs):
            self.queue.post(lambda: self.runs.tell_failure(id, status))
        if status.state is State.UNASSIGNED and is_theirs:
            self.queue.post(lambda: self.runs.hear_goodbye(id, status))

    def _on_task_configs(self, name: str, configs: list[dict[str, str]]) -> None:
        known = self.configs
        if name not in known or known.target(name) is not TargetState.STARTED:
            return
        given = known.connectors[name]
        safe = with_placeholders(configs, given, self._fill_in(given).config)
        # Tasks that were configured before their connector's last change have its old converters and transforms.
        is_newer = known.generation(name) > known.written[name]
        if is_newer and name not in known.inconsistent and list(known.tasks(name)) == safe:
            return
        try:
            self.store_task_configs(name, safe)
        except RestError as error:
            log.warning("the tasks of %s could not be stored: %s; they are asked for again", name, error)
            self.ask_for_tasks_again(name)

    def ask_for_tasks_again(self, name: str) -> None:
        self.queue.post(lambda: self.runs.ask_for_tasks(name), RETRY_SECONDS)

    def forget_the_deleted(self) -> None:
        """Of connectors and tasks that are not configured any more no status is left."""
        for name in self.statuses.names():
            if name not in self.configs:
                self.statuses.forget(name)
                continue
            for task in sorted(self.statuses.tasks(name)):
                if task >= len(self.configs.tasks(name)):
                    self.statuses.remove(TaskId(name, task))

    # -- small things ------------------------------------------------------------------------------------------------

    def _fill_in(self, config: Mapping[str, str]) -> Filled:
        return fill(as_texts(config), self.settings.allowed_folders)


def _start_task(*given: Any) -> Any:
    from caudal.connect.runtime.tasks import start_task

    return start_task(*given)
