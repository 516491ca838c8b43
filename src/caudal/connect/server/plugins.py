"""/connector-plugins: what is installed, what it can be told, and whether a configuration is right."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from caudal.connect import plugins
from caudal.connect.configuration import ConfigDef
from caudal.connect.connector import SinkConnector, SourceConnector
from caudal.connect.errors import ConfigError
from caudal.connect.framework_keys import ISOLATION, framework_def
from caudal.connect.plugin_versions import Requirement
from caudal.connect.plugins import Plugin, PluginKind
from caudal.connect.runtime.model import RestError
from caudal.connect.server.answers import config_of, flag, json_response, parsed, path_text
from caudal.connect.server.asking import Asking
from caudal.connect.validation_answer import key_body

CONNECTORS = (PluginKind.SOURCE, PluginKind.SINK)
# Kafka Connect's order.
KINDS = (PluginKind.SINK, PluginKind.SOURCE, *(kind for kind in PluginKind if kind not in CONNECTORS))

INTERNAL = "caudal."  # keys that the worker fills in


class Plugins:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def all(self, request: Request, body: bytes) -> Response:
        kinds = CONNECTORS if flag(request, "connectorsOnly", True) else KINDS
        detail = flag(request, "detail")
        return json_response(await self._asking.ask(lambda: _listed(kinds, detail)))

    async def config(self, request: Request, body: bytes) -> Response:
        name, version = path_text(request, "plugin"), request.query_params.get("version")
        return json_response(await self._asking.ask(lambda: _keys(_in_version(_found(name), version))))

    async def validate(self, request: Request, body: bytes) -> Response:
        name, config = path_text(request, "plugin"), config_of(parsed(body))
        return await self._asking.ask_or_forward(request, body, lambda: self._validated(name, config), json_response)

    def _validated(self, name: str, config: dict[str, Any]) -> dict[str, Any]:
        plugin = _found(name, *CONNECTORS)
        included = config.get("connector.class")
        if included is not None and _is_another(plugin, included):
            raise RestError(400, f"Included connector type {included} does not match request type {name}")
        return self._asking.herder.validate(name, {"connector.class": name, **config})


def _listed(kinds: tuple[PluginKind, ...], detail: bool) -> list[dict[str, Any]]:
    listed = [_plugin(plugin, detail) for kind in kinds for plugin in plugins.plugins(kind)]
    if detail:
        listed += [{"class": one.module, "type": "broken", "error": one.reason} for one in plugins.broken_plugins()]
    return listed


def _plugin(plugin: Plugin, detail: bool) -> dict[str, Any]:
    shown = {"class": _class(plugin), "type": plugin.kind.value, "version": plugin.version}
    if not detail:
        return shown
    words = " ".join((plugin.cls.__doc__ or "").split("\n\n")[0].split())
    return {
        **shown,
        "name": plugin.name,
        "python": plugin.full_name,
        "delivery": _delivery(plugin.cls),
        "documentation": words,
    }


def _delivery(cls: type[Any]) -> str | None:
    if issubclass(cls, SinkConnector):
        return cls.delivery
    if not issubclass(cls, SourceConnector):
        return None
    says = cls.exactly_once_support is not SourceConnector.exactly_once_support
    return "exactly once, as far as its configuration allows" if says else "at least once"


def _class(plugin: Plugin) -> str:
    """The Java name that Kafka Connect's clients know, of what is the same thing there; `connector.class` takes the
    short one too. (Our sink for any object store is also what S3SinkConnector means, but it is not that.)"""
    java = plugin.java_name or ""
    simple = java.rpartition(".")[2].replace("$", "")
    return java if simple.startswith(plugin.name.replace("$", "")) else plugin.full_name


def _found(name: str, *kinds: PluginKind) -> Plugin:
    try:
        return plugins.find(name, *kinds)
    except ConfigError as error:
        raise RestError(404, str(error)) from None


def _in_version(plugin: Plugin, version: str | None) -> Plugin:
    try:
        wanted = Requirement.of(version) if version is not None else Requirement()
    except ValueError as error:
        raise RestError(400, f"The parameter version: {error}, not '{version}'.") from None
    if not wanted.is_met_by(plugin.version):
        raise RestError(404, f"{plugin.name} is installed in version {plugin.version}, not in {version}.")
    return plugin


def _is_another(plugin: Plugin, included: str) -> bool:
    """One that is not found is no other one: the validation names it."""
    try:
        return plugins.find(included, *CONNECTORS).cls is not plugin.cls
    except ConfigError:
        return False


def _keys(plugin: Plugin) -> list[dict[str, Any]]:
    """The keys of the plugin, and of a connector the framework's too; where both have one, the connector's counts."""
    own: ConfigDef = plugin.cls.config()
    keys = list(own.keys)
    if plugin.kind in CONNECTORS:
        keys += [key for key in framework_def(plugin.kind, {}).keys if own.key(key.name) is None]
    definition = ConfigDef(tuple(keys))
    return [key_body(key, definition) for key in keys if key.name == ISOLATION or not key.name.startswith(INTERNAL)]
