"""What the distributed and the standalone herder have in common: one thread that owns the state, and REST's questions.

Questions about how things are read immutable snapshots, in the asking thread. Everything that changes something is a
call in the herder's queue, and the asker waits for it. Nothing is locked, because nothing is shared.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import TimeoutError as AnswerTimeout
from typing import Any, TypeVar
from urllib.parse import urlsplit

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

import caudal
from caudal.connect.connector_config import as_texts
from caudal.connect.connector_config import validate as validate_config
from caudal.connect.errors import ConnectError
from caudal.connect.plugins import add_plugin_path
from caudal.connect.runtime import answers, config_state
from caudal.connect.runtime.config_state import Asked, Configs, LogLevel, Record, RestartRequest
from caudal.connect.runtime.connector_offsets import ConnectorOffsets
from caudal.connect.runtime.log_levels import LEVELS, set_log_level
from caudal.connect.runtime.model import RestError, State, TargetState, TaskId
from caudal.connect.runtime.request_queue import RequestQueue
from caudal.connect.runtime.runs import Runs, StartTask
from caudal.connect.runtime.secrets import Filled, fill
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.statuses import Status, Statuses
from caudal.connect.runtime.task_secrets import with_placeholders

log = logging.getLogger("caudal.connect.herder")

REQUEST_SECONDS = 90.0
HEALTH_SECONDS = 5.0
TICK_SECONDS = 1.0
STOP_SECONDS = 20.0
RETRY_SECONDS = 1.0
CLUSTER_SECONDS = 10.0

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
        self.open()
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
        self.runs.stop_all()
        self.statuses.flush()
        self.close()
        self.statuses.stop()

    def ask(self, call: Callable[[], T]) -> T:
        """The answer of the herder's thread."""
        answer = self.queue.ask(call)
        try:
            return answer.result(REQUEST_SECONDS)
        except AnswerTimeout:
            answer.cancel()
            raise RestError(500, "Request timed out. The worker is busy, or its group is being rebalanced.") from None

    # -- how things are ----------------------------------------------------------------------------------------------

    def root(self) -> dict[str, Any]:
        if self._cluster_id is None:
            try:
                admin = AdminClient(self.settings.librdkafka())
                self._cluster_id = admin.list_topics(timeout=CLUSTER_SECONDS).cluster_id
            except KafkaException as error:
                raise RestError(500, f"The broker does not answer: {error.args[0].str()}") from None
        return {"version": caudal.__version__, "commit": "unknown", "kafka_cluster_id": self._cluster_id}

    def is_healthy(self) -> tuple[bool, str]:
        if not self._thread.is_alive():
            return False, "Worker is still starting up, or has stopped."
        try:
            self.queue.ask(lambda: None).result(HEALTH_SECONDS)
        except AnswerTimeout:
            return False, "Worker was unable to handle this request and may be unable to handle other requests."
        return True, "Worker has completed startup and is ready to handle requests."

    def connectors(self) -> list[str]:
        return sorted(self.newest().connectors)

    def info(self, name: str) -> dict[str, Any]:
        return answers.info(name, self.newest())

    def status(self, name: str) -> dict[str, Any]:
        return answers.status(name, self.newest(), self.statuses)

    def task_status(self, id: TaskId) -> dict[str, Any]:
        return answers.task_status(id, self.newest(), self.statuses)

    def tasks(self, name: str) -> list[dict[str, Any]]:
        return answers.tasks(name, self.newest())

    def topics(self, name: str) -> list[str]:
        self._must_exist(name)
        return self.statuses.topics(name)

    def metrics(self) -> dict[str, dict[str, float]]:
        return self.runs.metrics()

    def validate(self, plugin: str, config: Mapping[str, Any]) -> dict[str, Any]:
        return validate_config({"connector.class": plugin, **config}, self.settings)

    # -- changes -----------------------------------------------------------------------------------------------------

    def create(self, name: str, config: Mapping[str, Any], initial_state: TargetState | None) -> dict[str, Any]:
        texts = self._checked(name, config)

        def create() -> None:
            self.check_leader()
            if name in self.newest():
                raise RestError(409, f"Connector {name} already exists")
            state = [config_state.target_record(name, initial_state)] if initial_state is not None else []
            self.write([*state, config_state.connector_record(name, texts)])

        self.ask(create)
        return self.info(name)

    def put_config(self, name: str, config: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
        texts = self._checked(name, config)

        def put() -> bool:
            self.check_leader()
            is_new = name not in self.newest()
            self.write([config_state.connector_record(name, texts)])
            return is_new

        return self.ask(put), self.info(name)

    def patch_config(self, name: str, patch: Mapping[str, Any]) -> dict[str, Any]:
        removed = {key for key, value in patch.items() if value is None}
        added = as_texts({key: value for key, value in patch.items() if value is not None})
        while True:
            self.ask(self.check_leader)
            self._must_exist(name)
            before = self.newest().connectors[name]
            patched = {key: value for key, value in {**before, **added}.items() if key not in removed}
            texts = self._checked(name, patched)
            if self.ask(lambda before=before, texts=texts: self._replace(name, before, texts)):  # type: ignore[misc]
                return self.info(name)

    def _replace(self, name: str, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
        """Unless somebody else has changed it meanwhile."""
        self.check_leader()
        if self.newest().connectors.get(name) != before:
            return False
        self.write([config_state.connector_record(name, after)])
        return True

    def delete(self, name: str) -> None:
        def delete() -> None:
            self.check_leader()
            self._must_exist(name)
            self.write(config_state.removal_records(name))

        self.ask(delete)

    def set_target(self, name: str, target: TargetState) -> None:
        def aim() -> None:
            self.check_leader()
            self._must_exist(name)
            records = [config_state.target_record(name, target)]
            if target is TargetState.STOPPED:
                records += config_state.task_records(name, [])  # a stopped connector has no tasks
            if self.newest().target(name) is not target or (len(records) > 1 and self.newest().tasks(name)):
                self.write(records)

        self.ask(aim)

    def restart(self, name: str, include_tasks: bool, only_failed: bool) -> dict[str, Any] | None:
        self._must_exist(name)
        request = RestartRequest(name, include_tasks, only_failed)

        def restart() -> dict[str, Any] | None:
            if not include_tasks and not only_failed:
                if not self.runs.restart_connector(name):
                    self.forward_to_owner(name)
                return None
            self.check_leader()
            body = answers.status_when_restarting(request, self.newest(), self.statuses)
            self.write([config_state.restart_record(request)])
            return body

        return self.ask(restart)

    def restart_task(self, id: TaskId) -> None:
        self._must_exist(id.connector)
        if id not in self.newest().task_ids(id.connector):
            raise RestError(404, f"Task {id} not found")

        def restart() -> None:
            if id not in self.runs.load.tasks:
                self.forward_to_owner(id)
            self.runs.restart_tasks([id])

        self.ask(restart)

    def set_cluster_log_level(self, name: str, level: str) -> None:
        def write() -> None:
            self.check_leader()
            self.write([config_state.log_level_record(name, level)])

        self.ask(write)

    def reset_topics(self, name: str) -> None:
        self._must_exist(name)
        self.statuses.remove_topics(name)

    # -- offsets -----------------------------------------------------------------------------------------------------

    def offsets(self, name: str) -> dict[str, Any]:
        self._must_exist(name)
        return {"offsets": self._offsets(name).read()}

    def alter_offsets(self, name: str, body: Mapping[str, Any]) -> str:
        self._may_change_offsets(name)
        return self._offsets(name).alter(body)

    def reset_offsets(self, name: str) -> str:
        self._may_change_offsets(name)
        return self._offsets(name).reset()

    def _may_change_offsets(self, name: str) -> None:
        self.ask(self.check_leader)
        self._must_exist(name)
        configs = self.newest()
        if configs.target(name) is not TargetState.STOPPED or configs.tasks(name):
            raise RestError(
                400,
                "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for "
                f"the specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint",
            )

    def _offsets(self, name: str) -> ConnectorOffsets:
        configs = self.newest()
        fenced = configs.fenced.get(name, (0, 0))[0]
        return ConnectorOffsets(self.settings, name, self._fill_in(configs.connectors[name]).config, fenced)

    # -- from other workers ------------------------------------------------------------------------------------------

    def put_task_configs(self, name: str, configs: list[dict[str, str]], signature: str | None) -> None:
        raise RestError(400, "A worker that is alone takes no task configurations from others.")

    def fence(self, name: str, signature: str | None) -> None:
        raise RestError(400, "A worker that is alone fences for no others.")

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
        if isinstance(id, TaskId) and status.trace and status.state in (State.FAILED, State.RESTARTING):
            self.queue.post(lambda: self.runs.tell_failure(id, status))

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

    def _checked(self, name: str, config: Mapping[str, Any]) -> dict[str, str]:
        texts = as_texts(config)
        if texts.setdefault("name", name) != name:
            raise RestError(
                400, f"Connector name configuration ({texts['name']}) doesn't match connector name ({name})"
            )
        errors = answers.errors_of(validate_config(texts, self.settings))
        if self.settings.mode == "distributed" and f"connect-{name}" == self.settings.group_id:
            errors.append(f"The group of a sink named {name} would be {self.settings.group_id}, the workers' own.")
        if errors:
            raise answers.invalid(errors)
        return texts

    def _fill_in(self, config: Mapping[str, str]) -> Filled:
        return fill(as_texts(config), self.settings.allowed_folders)

    def _must_exist(self, name: str) -> None:
        if name not in self.newest():
            raise answers.not_found(name)


def _start_task(*given: Any) -> Any:
    from caudal.connect.runtime.tasks import start_task

    return start_task(*given)
