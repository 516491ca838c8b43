"""A connector's whole configuration: validated as Kafka Connect's REST API answers, and made into its parts.

The keys are the framework's, the connector's own, and those of every converter, transformation and predicate that the
configuration names. Secrets are filled in before anything is checked, and never shown: an answer has the texts as they
were given.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from caudal.connect.configuration import ConfigDef, Type, as_text
from caudal.connect.connector import SourceConnector
from caudal.connect.converter import Converter
from caudal.connect.errors import ConfigError
from caudal.connect.framework_keys import CONNECTOR_VERSION, DEAD_LETTER, aliases, framework_def
from caudal.connect.plugin_versions import check_version
from caudal.connect.plugins import Plugin, PluginKind, find
from caudal.connect.runtime.secrets import Filled, fill_with_errors
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.transform_chain import (
    TransformChain,
    building_errors,
    chain_def,
    chain_errors,
    configure,
    prefixed,
    transforms_of,
)
from caudal.connect.validation_answer import validation_body

ALLOWED_FOLDERS = "caudal.allowed.folders"  # the worker's word, whatever the configuration says
WORKER = "caudal.worker"  # JSON: what jobs need that make clients, converters or a Spark session themselves
_INTERNAL = (ALLOWED_FOLDERS, WORKER)
_FOR_JOBS = ("bootstrap", "url", "key_converter", "value_converter", "header_converter", "registry", "master")
_CONVERTERS = {
    "key": PluginKind.CONVERTER,
    "value": PluginKind.CONVERTER,
    "header": PluginKind.HEADER_CONVERTER,
}

__all__ = [
    "Converters",
    "TransformChain",
    "as_texts",
    "connector_plugin",
    "converters_of",
    "parse",
    "parse_framework",
    "passwords_of",
    "transforms_of",
    "validate",
    "with_worker_properties",
    "worker_settings",
]


class Converters(NamedTuple):
    key: Converter
    value: Converter
    header: Converter

    def close(self) -> None:
        for converter in self:
            converter.close()


# ---------------------------------------------------------------------- parts of a running connector


def as_texts(config: Mapping[str, Any]) -> dict[str, str]:
    """As the REST API takes it: JSON numbers and booleans are texts, null is no property."""
    return {name: text for name, value in config.items() if (text := as_text(value)) is not None}


def connector_plugin(config: Mapping[str, str]) -> Plugin:
    """In the version that is asked for. Raises ConfigError."""
    plugin = _connector_class(config)
    check_version(plugin, CONNECTOR_VERSION, config.get(CONNECTOR_VERSION))
    return plugin


def _connector_class(config: Mapping[str, str]) -> Plugin:
    name = config.get("connector.class")
    if not name:
        missing = 'Missing required configuration "connector.class" which has no default value.'
        raise ConfigError(missing, "connector.class")
    try:
        return find(name, PluginKind.SOURCE, PluginKind.SINK)
    except ConfigError as error:
        raise ConfigError(str(error), "connector.class") from None


def with_worker_properties(config: Mapping[str, str], settings: WorkerSettings) -> dict[str, str]:
    """With what only the worker knows; for connectors and tasks, never stored."""
    told = {name: getattr(settings, name) for name in _FOR_JOBS}
    told |= {"converter_properties": dict(settings.converter_properties), "client": dict(settings.client)}
    folders = os.pathsep.join(str(folder) for folder in settings.allowed_folders)
    return {**config, ALLOWED_FOLDERS: folders, WORKER: json.dumps(told, default=str)}


def worker_settings(config: Mapping[str, Any]) -> WorkerSettings:
    """Of the worker that runs a job, from the configuration that `start` got."""
    return WorkerSettings(**json.loads(config[WORKER]))


def parse_framework(config: Mapping[str, str]) -> dict[str, Any]:
    """The framework's keys, typed. Raises ConfigError."""
    return framework_def(connector_plugin(config).kind, config).parse(config)


def parse(config: Mapping[str, str], settings: WorkerSettings) -> dict[str, Any]:
    """What `start` of a connector or task gets: its own keys and the framework's, typed, with defaults; properties
    that no key names as they are. Secrets are to be filled in before. Raises ConfigError."""
    plugin = connector_plugin(config)
    given = with_worker_properties(config, settings)
    return {
        **given,
        **framework_def(plugin.kind, config).parse(given),
        **plugin.cls.config().parse(given),
    }


def converters_of(config: Mapping[str, str], settings: WorkerSettings) -> Converters:
    """Made and configured. Raises ConfigError that names the property."""
    return Converters(*(_made_converter(part, config, settings) for part in _CONVERTERS))


def _made_converter(part: str, config: Mapping[str, str], settings: WorkerSettings) -> Converter:
    name = f"{part}.converter"
    plugin, given = _converter(part, config, settings)
    check_version(plugin, f"{name}.plugin.version", given.get(f"{name}.plugin.version"))
    converter: Converter = plugin.cls()
    configure(converter, plugin.cls, given, f"{name}.", part == "key", blame=name)
    return converter


def _converter(part: str, config: Mapping[str, str], settings: WorkerSettings) -> tuple[Plugin, dict[str, str]]:
    """The plugin, and its properties with their prefix. The worker's hold where the connector has the worker's
    converter and says nothing else."""
    name, prefix, kind = f"{part}.converter", f"{part}.converter.", _CONVERTERS[part]
    worker = {"key": settings.key_converter, "value": settings.value_converter, "header": settings.header_converter}
    given = config.get(name) or _own_converter(config)
    try:
        plugin = find(given or worker[part], kind)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}", name) from None
    properties: dict[str, str] = {}
    if not given or find(worker[part], kind).cls is plugin.cls:
        properties |= {key: value for key, value in settings.converter_properties.items() if key.startswith(prefix)}
    if settings.registry is not None:
        properties.setdefault(f"{prefix}schema.registry.url", settings.registry)
    properties |= {key: value for key, value in config.items() if key.startswith(prefix)}
    return plugin, properties


def _own_converter(config: Mapping[str, str]) -> str | None:
    """What the connector itself wants where nothing is said: a mirror copies bytes."""
    try:
        converter: str | None = _connector_class(config).cls.converter
    except ConfigError:  # validation says it elsewhere
        return None
    return converter


# ---------------------------------------------------------------------- validation


def validate(config: Mapping[str, Any], settings: WorkerSettings) -> dict[str, Any]:
    """Kafka Connect's answer: name, error_count, groups, configs. Never raises for what the user wrote."""
    given = as_texts(config)
    filled, unfilled = fill_with_errors(given, settings.allowed_folders)
    texts = with_worker_properties(filled.config, settings)
    checks = _Checks()
    for name, message in unfilled.items():
        checks.add(name, message)
    plugin: Plugin | None = None
    try:
        plugin = _connector_class(texts)
    except ConfigError:
        pass  # its key says so
    definition = _definition(plugin, texts, settings, checks)
    seen = _with_worker_converters(texts, settings)
    filled = Filled(filled.config, filled.secrets | _passwords(definition, seen))
    values = [value for value in definition.validate(seen) if value.key.name not in _INTERNAL]
    for value in values:
        for message in value.errors:
            if value.key.name not in unfilled:
                checks.add(value.key.name, message)
    _check_together(plugin, texts, settings, checks)
    if plugin is not None and not checks.errors:
        _ask_connector(plugin, texts, settings, checks)
    return validation_body(given, definition, values, checks.errors, filled)


def passwords_of(config: Mapping[str, str], settings: WorkerSettings) -> frozenset[str]:
    """The values of all keys that are passwords, secrets filled in: what no log, trace or answer may show."""
    definition = _definition(_connector_class(config), config, settings, _Checks())
    return _passwords(definition, _with_worker_converters(config, settings))


def _passwords(definition: ConfigDef, texts: Mapping[str, str]) -> frozenset[str]:
    return frozenset(text for key in definition.keys if key.type is Type.PASSWORD and (text := texts.get(key.name)))


class _Checks:
    def __init__(self) -> None:
        self.errors: dict[str, list[str]] = {}

    def add(self, name: str, message: str) -> None:
        known = self.errors.setdefault(name, [])
        if message not in known:
            known.append(message)


def _definition(
    plugin: Plugin | None, texts: Mapping[str, str], settings: WorkerSettings, checks: _Checks
) -> ConfigDef:
    """All keys; of two with one name the connector's own wins."""
    keys = list(framework_def(PluginKind.SOURCE if plugin is None else plugin.kind, texts).keys)
    if plugin is not None:
        own = plugin.cls.config().keys
        names = {key.name for key in own}
        keys = [key for key in keys if key.name not in names] + list(own)
    keys += chain_def(texts).keys
    for part in _CONVERTERS:
        try:
            found, _ = _converter(part, texts, settings)
        except ConfigError as error:
            if f"{part}.converter" not in texts:  # the worker's own is wrong
                checks.add(f"{part}.converter", str(error))
            continue
        keys += prefixed(found.cls.config().keys, f"{part}.converter.", f"{part.capitalize()} Converter")
    return ConfigDef(tuple(keys))


def _with_worker_converters(texts: Mapping[str, str], settings: WorkerSettings) -> dict[str, str]:
    seen = dict(texts)
    for part in _CONVERTERS:
        try:
            _, properties = _converter(part, texts, settings)
        except ConfigError:
            continue
        seen = {**properties, **seen}
    return seen


def _check_together(plugin: Plugin | None, texts: Mapping[str, str], settings: WorkerSettings, checks: _Checks) -> None:
    for errors in (chain_errors(texts), building_errors(texts, checks.errors)):
        for name, message in errors.items():
            checks.add(name, message)
    for part in _CONVERTERS:
        _check_converter(part, texts, settings, checks)
    if plugin is None:
        return
    if CONNECTOR_VERSION not in checks.errors:
        try:
            check_version(plugin, CONNECTOR_VERSION, texts.get(CONNECTOR_VERSION))
        except ConfigError as error:
            checks.add(CONNECTOR_VERSION, str(error))
    if plugin.kind is PluginKind.SINK:
        _check_topics(texts, checks)
    else:
        _check_exactly_once(plugin, texts, settings, checks)


def _check_converter(part: str, texts: Mapping[str, str], settings: WorkerSettings, checks: _Checks) -> None:
    """Keys that are right by themselves and do not go together."""
    if any(name.startswith(f"{part}.converter") for name in checks.errors):
        return
    try:
        _made_converter(part, texts, settings).close()
    except ConfigError as error:
        checks.add(error.key or f"{part}.converter", str(error))


def _check_topics(texts: Mapping[str, str], checks: _Checks) -> None:
    topics = aliases(texts, "topics")
    regex = (texts.get("topics.regex") or "").strip()
    if topics and regex:
        for name in ("topics", "topics.regex"):
            checks.add(name, "topics and topics.regex are mutually exclusive options, but both are set.")
    if not topics and not regex:
        for name in ("topics", "topics.regex"):
            checks.add(name, "Must configure one of topics or topics.regex.")
    dead = (texts.get(f"{DEAD_LETTER}topic.name") or "").strip()
    if not dead:
        return
    included = f"The dead letter topic '{dead}' may not be one of the topics that the sink reads."
    if dead in topics:
        checks.add("topics", included)
    elif regex:
        try:
            if re.fullmatch(regex, dead):
                checks.add("topics.regex", included)
        except re.error:
            return  # its key says so


def _check_exactly_once(plugin: Plugin, texts: Mapping[str, str], settings: WorkerSettings, checks: _Checks) -> None:
    required = (texts.get("exactly.once.support") or "").strip().lower() == "required"
    if required and not settings.exactly_once_source:
        checks.add("exactly.once.support", "This worker does not have exactly-once source support enabled.")
    if (texts.get("transaction.boundary") or "").strip().lower() == "connector":
        checks.add(
            "transaction.boundary",
            "The connector does not support connector-defined transaction boundaries with the given configuration.",
        )


def _ask_connector(plugin: Plugin, texts: Mapping[str, str], settings: WorkerSettings, checks: _Checks) -> None:
    """What only the connector knows; it may ask the thing outside."""
    try:
        typed = parse(texts, settings)
        for name, messages in plugin.cls.check(typed).items():
            for message in messages:
                checks.add(name, message)
        if plugin.kind is PluginKind.SOURCE and typed["exactly.once.support"] == "required":
            source: SourceConnector = plugin.cls()
            answer = source.exactly_once_support(typed)
            if answer is None:
                checks.add(
                    "exactly.once.support",
                    "The connector does not say whether it supports exactly once with this configuration; "
                    "exactly.once.support=requested creates it without this check.",
                )
            elif not answer:
                checks.add(
                    "exactly.once.support",
                    "The connector does not support exactly-once semantics with the provided configuration.",
                )
    except ConfigError as error:
        checks.add(error.key or "connector.class", str(error))
    except Exception as error:
        words = " ".join(str(error).split()) or type(error).__name__
        checks.add("connector.class", f"The connector could not check its configuration: {words}")
