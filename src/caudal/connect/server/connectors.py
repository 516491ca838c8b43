"""/connectors: to create, change, watch, pause, restart and delete them, and what workers say to each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from caudal.connect.runtime.model import RestError, TargetState, TaskId
from caudal.connect.server.answers import (
    config_of,
    empty_response,
    flag,
    json_response,
    parsed,
    parsed_object,
    path_text,
)
from caudal.connect.server.asking import SIGNATURE, SIGNATURE_ALGORITHM, Asking

T = TypeVar("T")

INITIAL_STATES = {"RUNNING": TargetState.STARTED, "PAUSED": TargetState.PAUSED, "STOPPED": TargetState.STOPPED}
EXPANSIONS = ("status", "info")
KEY_ALGORITHM = "HmacSHA256"


class Connectors:
    """One method per endpoint; `body` is what was sent, already known to be JSON or nothing."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._herder = asking.herder

    async def all(self, request: Request, body: bytes) -> Response:
        wanted = request.query_params.getlist("expand")
        if not wanted:
            return json_response(await self._asking.ask(self._herder.connectors))
        return json_response(await self._asking.ask(lambda: self._expanded(wanted)))

    def _expanded(self, wanted: list[str]) -> dict[str, dict[str, Any]]:
        expand = {"status": self._herder.status, "info": self._herder.info}
        listed = {}
        for name in self._herder.connectors():
            try:
                listed[name] = {what: expand[what](name) for what in EXPANSIONS if what in wanted}
            except RestError as error:
                if error.status != 404:  # deleted in this moment
                    raise
        return listed

    async def create(self, request: Request, body: bytes) -> Response:
        given = parsed_object(body, "name", "config", "initial_state")
        name = given.get("name")
        if name is not None and not isinstance(name, str):
            raise RestError(400, "'name' must be text.")
        name = (name or "").strip()
        if "config" not in given:
            raise RestError(400, "The body has no 'config'.")
        config = _named(config_of(given["config"]), name)
        initial = given.get("initial_state")
        if initial is not None and (not isinstance(initial, str) or initial.upper() not in INITIAL_STATES):
            raise RestError(400, f"'initial_state' is one of {', '.join(INITIAL_STATES)}, not '{initial}'.")
        target = None if initial is None else INITIAL_STATES[initial.upper()]
        return await self._ask(
            request, body, lambda: self._herder.create(name, config, target), lambda info: _created(name, info)
        )

    async def info(self, request: Request, body: bytes) -> Response:
        name = _name(request)
        return await self._ask(request, body, lambda: self._herder.info(name))

    async def config(self, request: Request, body: bytes) -> Response:
        name = _name(request)
        return await self._ask(
            request, body, lambda: self._herder.info(name), lambda info: json_response(info["config"])
        )

    async def put_config(self, request: Request, body: bytes) -> Response:
        name = _name(request)
        config = _named(config_of(parsed(body)), name)

        def answer(result: tuple[bool, dict[str, Any]]) -> Response:
            is_new, info = result
            return _created(name, info) if is_new else json_response(info)

        return await self._ask(request, body, lambda: self._herder.put_config(name, config), answer)

    async def patch_config(self, request: Request, body: bytes) -> Response:
        name = _name(request)
        patch = config_of(parsed(body), nulls=True)
        if "name" in patch:
            _named(patch, name)  # it cannot be changed
        return await self._ask(request, body, lambda: self._herder.patch_config(name, patch))

    async def delete(self, request: Request, body: bytes) -> Response:
        name = _name(request)
        return await self._ask(request, body, lambda: self._herder.delete(name), _no_content)

    async def status(self, request: Request, body: bytes) -> Response:
        name = _name(request)
        return await self._ask(request, body, lambda: self._herder.status(name))

    async def tasks(self, request: Request, body: bytes) -> Response:
        name = _name(request)
        return await self._ask(request, body, lambda: self._herder.tasks(name))

    async def task_status(self, request: Request, body: bytes) -> Response:
        id = _task(request)
        return await self._ask(request, body, lambda: self._herder.task_status(id))

    async def restart(self, request: Request, body: bytes) -> Response:
        name = _name(request)
        include_tasks, only_failed = flag(request, "includeTasks"), flag(request, "onlyFailed")
        return await self._ask(
            request,
            body,
            lambda: self._herder.restart(name, include_tasks, only_failed),
            lambda plan: empty_response(204) if plan is None else json_response(plan, 202),
        )

    async def restart_task(self, request: Request, body: bytes) -> Response:
        id = _task(request)
        return await self._ask(request, body, lambda: self._herder.restart_task(id), _no_content)

    async def pause(self, request: Request, body: bytes) -> Response:
        return await self._set_target(request, body, TargetState.PAUSED)

    async def resume(self, request: Request, body: bytes) -> Response:
        return await self._set_target(request, body, TargetState.STARTED)

    async def stop(self, request: Request, body: bytes) -> Response:
        """Unlike the two before, it has happened when it is answered: the configuration of no tasks is written."""
        return await self._set_target(request, body, TargetState.STOPPED, _no_content)

    async def _set_target(
        self,
        request: Request,
        body: bytes,
        target: TargetState,
        answer: Callable[[object], Response] | None = None,
    ) -> Response:
        name = _name(request)
        return await self._ask(request, body, lambda: self._herder.set_target(name, target), answer or _accepted)

    async def topics(self, request: Request, body: bytes) -> Response:
        name = _name(request)
        return await self._ask(
            request,
            body,
            lambda: self._herder.topics(name),
            lambda topics: json_response({name: {"topics": topics}}),
        )

    async def reset_topics(self, request: Request, body: bytes) -> Response:
        name = _name(request)
        return await self._ask(request, body, lambda: self._herder.reset_topics(name), _accepted)

    async def offsets(self, request: Request, body: bytes) -> Response:
        name = _name(request)
        return await self._ask(request, body, lambda: self._herder.offsets(name))

    async def alter_offsets(self, request: Request, body: bytes) -> Response:
        name = _name(request)
        given = _offsets(parsed_object(body, "offsets"))
        return await self._ask(request, body, lambda: self._herder.alter_offsets(name, given), _message)

    async def reset_offsets(self, request: Request, body: bytes) -> Response:
        name = _name(request)
        return await self._ask(request, body, lambda: self._herder.reset_offsets(name), _message)

    # Between workers: signed with the session key that the leader writes to the topic of configurations.

    async def put_task_configs(self, request: Request, body: bytes) -> Response:
        name, signature = _name(request), _signature(request)
        given = parsed(body)
        if not isinstance(given, list):
            raise RestError(400, "The body must be a JSON array of configurations.")
        configs = [config_of(each) for each in given]
        return await self._ask(
            request, body, lambda: self._herder.put_task_configs(name, configs, signature), _no_content
        )

    async def fence(self, request: Request, body: bytes) -> Response:
        name, signature = _name(request), _signature(request)
        return await self._ask(request, body, lambda: self._herder.fence(name, signature), _no_content)

    async def _ask(
        self,
        request: Request,
        body: bytes,
        call: Callable[[], T],
        answer: Callable[[T], Response] = json_response,
    ) -> Response:
        return await self._asking.ask_or_forward(request, body, call, answer)


def _name(request: Request) -> str:
    return path_text(request, "connector")


def _task(request: Request) -> TaskId:
    name, task = _name(request), path_text(request, "task")
    if not (task.isascii() and task.isdigit()):
        raise RestError(404, f"There is no task '{task}' of connector {name}: tasks are numbered from 0.")
    return TaskId(name, int(task))


def _named(config: dict[str, Any], name: str) -> dict[str, Any]:
    """With its name in it. One that says another name is a mistake."""
    if config.get("name", name) != name:
        raise RestError(
            400, f"Connector name configuration ({config['name']}) doesn't match connector name in the URL ({name})"
        )
    return {**config, "name": name}


def _offsets(body: dict[str, Any]) -> dict[str, Any]:
    offsets = body.get("offsets")
    if not isinstance(offsets, list) or not offsets:
        raise RestError(400, "Partitions / offsets need to be provided for an alter offsets request")
    for each in offsets:
        fine = isinstance(each, dict) and each.keys() == {"partition", "offset"}
        if not fine or not isinstance(each["partition"], dict) or not isinstance(each["offset"], dict | None):
            raise RestError(400, 'Each of the offsets is {"partition": {…}, "offset": {…} or null}.')
    return {"offsets": offsets}


def _signature(request: Request) -> str | None:
    algorithm = request.headers.get(SIGNATURE_ALGORITHM)
    if algorithm is not None and algorithm.lower() != KEY_ALGORITHM.lower():
        raise RestError(400, f"Requests between workers are signed with {KEY_ALGORITHM}, not with {algorithm}.")
    return None if algorithm is None else request.headers.get(SIGNATURE)


def _created(name: str, info: dict[str, Any]) -> Response:
    return json_response(info, 201, {"location": f"/connectors/{quote(name, safe='')}"})


def _accepted(result: object) -> Response:
    return empty_response(202)


def _no_content(result: object) -> Response:
    return empty_response(204)


def _message(message: str) -> Response:
    return json_response({"message": message})
