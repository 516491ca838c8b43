"""DescribeConfigs 1–4, AlterConfigs 0–2, IncrementalAlterConfigs 0–1, ListConfigResources 0–1.

Resources are topics, this broker, all brokers (a broker resource without a name) and this broker's loggers. What a
property may be is `config/`'s business; here the four resources are told apart and changes are worked out against what
is set now. A resource fails alone: the others of its request go through.

Left out: configs of groups and of client metrics, which are answered with an error that says so.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from caudal.broker.config import ConfigDef, ConfigError, ConfigType, Scope, Setting, definition_of
from caudal.broker.config.broker_config import DEFAULT, DYNAMIC_DEFAULT_BROKER
from caudal.broker.controller import WantedConfigs
from caudal.broker.controller.topic_names import name_fault
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from caudal.broker.broker import Broker


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


ALL_BROKERS: Final = ""
LOGGER_SOURCE: Final = 6
_LEVELS: Final = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_ROOT_LOGGER: Final = "caudal"


# DescribeConfigs


@handles(ApiKey.DESCRIBE_CONFIGS, 1, 4)
def describe_configs(request: Any, ctx: RequestContext) -> dict[str, Any]:
    documentation = getattr(request, "include_documentation", False)
    return {
        "results": [
            _described(ctx.broker, resource, request.include_synonyms, documentation) for resource in request.resources
        ]
    }


def _described(broker: Broker, resource: Any, synonyms: bool, documentation: bool) -> dict[str, Any]:
    result = {"resource_type": resource.resource_type, "resource_name": resource.resource_name}
    try:
        entries = _entries(broker, resource.resource_type, resource.resource_name)
    except KafkaError as error:
        return {**result, "error_code": error.code, "error_message": error.message, "configs": ()}
    if resource.configuration_keys:
        entries = {name: entries[name] for name in resource.configuration_keys if name in entries}
    configs = []
    for name, entry in sorted(entries.items()):
        shown = {**entry, "name": name}
        if not synonyms:
            shown["synonyms"] = ()
        if not documentation:
            shown["documentation"] = None
        configs.append(shown)
    return {**result, "error_code": ErrorCode.none, "error_message": None, "configs": configs}


def _entries(broker: Broker, resource_type: int, name: str) -> dict[str, dict[str, Any]]:
    """Everything there is to describe of a resource, by property."""
    config = broker.config
    if resource_type == ResourceType.TOPIC:
        overrides = _topic_configs(broker, name)
        return {
            key: _entry(
                definition, config.topic_value(key, overrides), config.topic_settings(key, overrides), read_only=False
            )
            for key, definition in config.topic_defs.items()
            if not definition.internal or key in overrides
        }
    if resource_type == ResourceType.BROKER and name == ALL_BROKERS:
        found = {}
        for key, text in broker.metadata.default_broker_configs.items():
            definition = definition_of(key)
            value = definition.format(definition.parse(text))
            found[key] = _entry(definition, value, [Setting(key, value, DYNAMIC_DEFAULT_BROKER)], read_only=False)
        return found
    if resource_type == ResourceType.BROKER:
        _check_broker(broker, name)
        prefixed = [key for key in (*config.properties, *broker.metadata.broker_configs) if key not in config.defs]
        return {
            key: _entry(
                definition,
                definition.format(config[key]),
                config.broker_settings(key),
                read_only=definition.scope is Scope.READ_ONLY,
            )
            for key, definition in (*config.defs.items(), *((key, definition_of(key)) for key in prefixed))
        }
    if resource_type == ResourceType.BROKER_LOGGER:
        _check_broker(broker, name)
        return {logger: _logger_entry(logger) for logger in _loggers()}
    raise _unsupported(resource_type)


def _entry(definition: ConfigDef, value: str | None, settings: list[Setting], *, read_only: bool) -> dict[str, Any]:
    hidden = definition.sensitive
    return {
        "value": None if hidden else value,
        "read_only": read_only,
        "is_default": not settings or settings[0].source == DEFAULT,
        "config_source": settings[0].source if settings else DEFAULT,
        "is_sensitive": hidden,
        "synonyms": [
            {"name": place.name, "value": None if hidden else place.value, "source": place.source} for place in settings
        ],
        "config_type": int(definition.type),
        "documentation": definition.documentation,
    }


# AlterConfigs and IncrementalAlterConfigs


@handles(ApiKey.ALTER_CONFIGS, 0, 2)
async def alter_configs(request: Any, ctx: RequestContext) -> dict[str, Any]:
    """Replaces all that is set on a resource."""

    def replaced(resource: Any, now: Mapping[str, str]) -> dict[str, str]:
        return {item.name: _given(item) for item in resource.configs}

    return await _alter(request, ctx.broker, replaced)


@handles(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1)
async def incremental_alter_configs(request: Any, ctx: RequestContext) -> dict[str, Any]:
    """Changes single properties: set, delete, and append to or subtract from a list."""

    def changed(resource: Any, now: Mapping[str, str]) -> dict[str, str]:
        configs = dict(now)
        for item in resource.configs:
            _change(ctx.broker, resource.resource_type, configs, item)
        return configs

    return await _alter(request, ctx.broker, changed)


async def _alter(
    request: Any, broker: Broker, wanted: Callable[[Any, Mapping[str, str]], dict[str, str]]
) -> dict[str, Any]:
    """`wanted` says what shall be set on a resource, from what is set when its turn comes."""
    counts = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
    responses = []
    for resource in request.resources:
        code, message = ErrorCode.none, None
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise KafkaError(ErrorCode.invalid_request, "Each resource must appear at most once.")
            if len({item.name for item in resource.configs}) != len(resource.configs):
                raise KafkaError(ErrorCode.invalid_request, "A config is named more than once.")
            if resource.resource_type == ResourceType.BROKER_LOGGER:
                _alter_loggers(broker, resource, request.validate_only)
            else:
                await _apply(broker, resource, partial(wanted, resource), request.validate_only)
        except KafkaError as error:
            code, message = error.code, error.message
        except ConfigError as error:
            code, message = ErrorCode.invalid_config, str(error)
        responses.append(
            {
                "error_code": code,
                "error_message": message,
                "resource_type": resource.resource_type,
                "resource_name": resource.resource_name,
            }
        )
    return {"responses": responses}


async def _apply(broker: Broker, resource: Any, configs: WantedConfigs, validate_only: bool) -> None:
    name = resource.resource_name
    if resource.resource_type == ResourceType.TOPIC:
        _topic_configs(broker, name)
        await broker.metadata.set_topic_configs(name, configs, validate_only)
    elif resource.resource_type == ResourceType.BROKER:
        if name != ALL_BROKERS:
            _check_broker(broker, name)
        await broker.metadata.set_broker_configs(int(name) if name else None, configs, validate_only)
    else:
        raise _unsupported(resource.resource_type)


def _change(broker: Broker, resource_type: int, configs: dict[str, str], item: Any) -> None:
    operation = item.config_operation
    if operation == Operation.DELETE:
        configs.pop(item.name, None)
    elif operation == Operation.SET:
        configs[item.name] = _given(item)
    elif operation in (Operation.APPEND, Operation.SUBTRACT):
        definition = _definition(broker, resource_type, item.name)
        if definition.type is not ConfigType.LIST:
            raise KafkaError(
                ErrorCode.invalid_config,
                f"{Operation(operation).name} needs a list, and {item.name} is of type {definition.type.name}.",
            )
        if resource_type == ResourceType.TOPIC:
            present = broker.config.topic_value(item.name, configs)
        else:
            present = configs.get(item.name, definition.format(broker.config[item.name]))
        values = [value for value in (present or "").split(",") if value]
        given = [value.strip() for value in _given(item).split(",")]
        if operation == Operation.APPEND:
            values += [value for value in given if value not in values]
        else:
            values = [value for value in values if value not in given]
        configs[item.name] = ",".join(values)
    else:
        raise KafkaError(ErrorCode.invalid_request, f"Operation {operation} on {item.name} is not known.")


def _definition(broker: Broker, resource_type: int, name: str) -> ConfigDef:
    if resource_type != ResourceType.TOPIC:
        return definition_of(name)
    broker.config.check_topic_name(name)
    return broker.config.topic_defs[name]


def _given(item: Any) -> str:
    if item.value is None:
        raise KafkaError(ErrorCode.invalid_request, f"Null value not supported for {item.name}.")
    return str(item.value)


# Resources


def _topic_configs(broker: Broker, name: str) -> Mapping[str, str]:
    fault = name_fault(name)
    if fault is not None:
        raise KafkaError(ErrorCode.invalid_topic_exception, fault)
    topic = broker.metadata.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.unknown_topic_or_partition, f"There is no topic '{name}'.")
    return topic.configs


def _check_broker(broker: Broker, name: str) -> None:
    if name != str(broker.node_id):
        raise KafkaError(ErrorCode.invalid_request, f"There is no broker '{name}'; this one is {broker.node_id}.")


def _unsupported(resource_type: int) -> KafkaError:
    known = {ResourceType.CLIENT_METRICS: "client metrics", ResourceType.GROUP: "groups"}.get(resource_type)  # type: ignore[call-overload]
    if known is None:
        return KafkaError(ErrorCode.invalid_request, f"Resource type {resource_type} is not known.")
    return KafkaError(ErrorCode.invalid_request, f"This broker has no configs of {known}.")


# Loggers: Python's, with the level names of Kafka's tools.


def _loggers() -> list[str]:
    names = logging.Logger.manager.loggerDict
    return [_ROOT_LOGGER, *sorted(name for name in names if name.startswith(_ROOT_LOGGER + "."))]


def _level_name(logger: str) -> str:
    level = logging.getLogger(logger).getEffectiveLevel()
    return next((name for name, value in _LEVELS.items() if value >= level and name != "TRACE"), "FATAL")


def _logger_entry(logger: str) -> dict[str, Any]:
    level = _level_name(logger)
    return {
        "value": level,
        "read_only": False,
        "config_source": LOGGER_SOURCE,
        "is_sensitive": False,
        "synonyms": [{"name": logger, "value": level, "source": LOGGER_SOURCE}],
        "config_type": int(ConfigType.STRING),
        "documentation": "Level from which this part of the broker writes to its log.",
    }


def _alter_loggers(broker: Broker, resource: Any, validate_only: bool) -> None:
    """Levels last until the broker stops."""
    _check_broker(broker, resource.resource_name)
    known = _loggers()
    changes: list[tuple[str, int]] = []
    for item in resource.configs:
        operation = getattr(item, "config_operation", None)
        if operation is None:
            raise KafkaError(ErrorCode.invalid_request, "Loggers are changed by IncrementalAlterConfigs only.")
        if item.name not in known:
            raise KafkaError(ErrorCode.invalid_config, f"There is no logger '{item.name}'.")
        if operation == Operation.DELETE:
            if item.name == _ROOT_LOGGER:
                raise KafkaError(ErrorCode.invalid_request, f"The logger '{_ROOT_LOGGER}' must keep a level.")
            changes.append((item.name, logging.NOTSET))
        elif operation == Operation.SET:
            level = _LEVELS.get(_given(item).upper())
            if level is None:
                raise KafkaError(
                    ErrorCode.invalid_config, f"'{item.value}' is not a level; use one of {', '.join(_LEVELS)}."
                )
            changes.append((item.name, level))
        else:
            raise KafkaError(ErrorCode.invalid_request, "Levels can be set and deleted, nothing else.")
    if not validate_only:
        for name, level in changes:
            logging.getLogger(name).setLevel(level)


# ListConfigResources


@handles(ApiKey.LIST_CONFIG_RESOURCES, 0, 1)
def list_config_resources(request: Any, ctx: RequestContext) -> dict[str, Any]:
    """Version 0 asks for client metrics only; an empty list of types asks for all of them."""
    asked = set(getattr(request, "resource_types", (ResourceType.CLIENT_METRICS,))) or {
        int(kind) for kind in ResourceType
    }
    unknown = asked - {int(kind) for kind in ResourceType}
    if unknown:
        return {"error_code": ErrorCode.unsupported_version, "config_resources": ()}
    broker = ctx.broker
    found = []
    if ResourceType.TOPIC in asked:
        found += [(name, ResourceType.TOPIC) for name in broker.metadata.topics]
    for kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        if kind in asked:
            found.append((str(broker.node_id), kind))
    return {
        "error_code": ErrorCode.none,
        "config_resources": [{"resource_name": name, "resource_type": int(kind)} for name, kind in found],
    }
