"""What REST asks of a herder: how things are, changes, restarts, offsets; the same for every kind of worker.

Questions about how things are read immutable snapshots, in the asking thread. Everything that changes something is a
call in the herder's queue, and the asker waits for it. Configurations are checked before that, in the asking thread: a
database that does not answer holds up nobody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import TimeoutError as AnswerTimeout
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

import caudal
from caudal.connect.connector_config import as_texts
from caudal.connect.connector_config import validate as validate_config
from caudal.connect.runtime import answers, config_state
from caudal.connect.runtime.config_state import RestartRequest
from caudal.connect.runtime.connector_offsets import ConnectorOffsets
from caudal.connect.runtime.herder import WorkerHerder
from caudal.connect.runtime.model import RestError, TargetState, TaskId

HEALTH_SECONDS = 5.0
CLUSTER_SECONDS = 10.0


class RestHerder(WorkerHerder):
    """`Herder` of `model.py`, as far as it does not depend on who else there is."""

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
            self._must_be_free(name)
            self.write(config_state.removal_records(name))

        self.ask(delete)

    def set_target(self, name: str, target: TargetState) -> None:
        def aim() -> None:
            self.check_leader()
            self._must_exist(name)
            self._must_be_free(name)
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
        with self._changing_offsets(name):
            return self._offsets(name).alter(body)

    def reset_offsets(self, name: str) -> str:
        with self._changing_offsets(name):
            return self._offsets(name).reset()

    @contextmanager
    def _changing_offsets(self, name: str) -> Iterator[None]:
        """Meanwhile the connector stays as it is: nothing begins where it should not."""
        self.ask(lambda: self._begin_to_change_offsets(name))
        try:
            yield
        finally:
            self._offsets_changing.discard(name)

    def _begin_to_change_offsets(self, name: str) -> None:
        self.check_leader()
        self._must_exist(name)
        self._must_be_free(name)
        configs = self.newest()
        if configs.target(name) is not TargetState.STOPPED or configs.tasks(name):
            raise RestError(
                400,
                "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for "
                f"the specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint",
            )
        self._offsets_changing.add(name)

    def _offsets(self, name: str) -> ConnectorOffsets:
        configs = self.newest()
        fenced = configs.fenced.get(name, (0, 0))[0]
        return ConnectorOffsets(self.settings, name, self._fill_in(configs.connectors[name]).config, fenced)

    # -- from other workers ------------------------------------------------------------------------------------------

    def put_task_configs(self, name: str, configs: list[dict[str, str]], signature: str | None) -> None:
        raise RestError(400, "A worker that is alone takes no task configurations from others.")

    def fence(self, name: str, signature: str | None) -> None:
        raise RestError(400, "A worker that is alone fences for no others.")

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

    def _must_be_free(self, name: str) -> None:
        if name in self._offsets_changing:
            raise RestError(409, f"The offsets of connector {name} are being changed at the moment; try again.")

    def _must_exist(self, name: str) -> None:
        if name not in self.newest():
            raise answers.not_found(name)
