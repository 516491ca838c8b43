"""The framework's own properties of a connector: what every source and every sink can be told, whatever it does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from caudal.connect.configuration import REQUIRED, ConfigDef, Importance, Key, Type, config_def, not_empty, valid_regex
from caudal.connect.plugin_versions import version_key
from caudal.connect.plugins import PluginKind, find

COMMON = "Common"
TRANSFORMS = "Transforms"
PREDICATES = "Predicates"
ERRORS = "Error Handling"
TOPIC_CREATION = "Topic Creation"
EXACTLY_ONCE = "Exactly Once Support"
OFFSETS = "offsets.topic"
DEAD_LETTER = "errors.deadletterqueue."
ISOLATION = "caudal.task.isolation"
CONNECTOR_VERSION = "connector.plugin.version"


def _name(name: str, value: Any) -> None:
    not_empty(name, value)
    if re.search(r"[\x00-\x1f\x7f-\x9f]", value):
        raise ValueError("String may not contain control sequences but had some")


def _unique(name: str, value: Any) -> None:
    if len(set(value)) != len(value):
        raise ValueError("Duplicate alias provided.")


def _plugin_of(*kinds: PluginKind) -> Any:
    def validator(name: str, value: Any) -> None:
        find(value, *kinds)

    return validator


def _minus_one_or_positive(name: str, value: Any) -> None:
    if value != -1 and value < 1:
        raise ValueError("Value must be -1 or at least 1")


def _regexes(name: str, value: Any) -> None:
    for each in value:
        valid_regex(name, each)


def _regex_or_empty(name: str, value: Any) -> None:
    if value:
        valid_regex(name, value)


_CONVERTERS = (
    (5, "key", "keys", PluginKind.CONVERTER),
    (6, "value", "values", PluginKind.CONVERTER),
    (7, "header", "header values", PluginKind.HEADER_CONVERTER),
)
_COMMON = (
    Key(
        name="name",
        doc="The connector's name, unique in the cluster.",
        importance=Importance.HIGH,
        validator=_name,
        group=COMMON,
        order=1,
        width="MEDIUM",
        display_name="Connector name",
    ),
    Key(
        name="connector.class",
        doc="Name or alias of the connector's class: FileStreamSource, or the name that it has in Java.",
        importance=Importance.HIGH,
        validator=_plugin_of(PluginKind.SOURCE, PluginKind.SINK),
        group=COMMON,
        order=2,
        width="LONG",
        display_name="Connector class",
    ),
    version_key(CONNECTOR_VERSION, "the connector", "connector.class", COMMON, 2, PluginKind.SOURCE, PluginKind.SINK),
    Key(
        name="tasks.max",
        type=Type.INT,
        default=1,
        minimum=1,
        doc="How many tasks the connector may have at most.",
        importance=Importance.HIGH,
        group=COMMON,
        order=3,
        width="SHORT",
        display_name="Tasks max",
    ),
    Key(
        name="tasks.max.enforce",
        type=Type.BOOLEAN,
        default=True,
        doc="Whether a connector that makes more tasks than tasks.max fails.",
        importance=Importance.LOW,
        group=COMMON,
        order=4,
        width="SHORT",
        display_name="Enforce tasks max",
    ),
    *(
        Key(
            name=f"{part}.converter",
            type=Type.CLASS,
            default=None,
            doc=f"How {what} become bytes and bytes {what}. By default as the worker's properties say.",
            importance=Importance.LOW,
            validator=_plugin_of(kind),
            group=COMMON,
            order=order,
            width="SHORT",
            display_name=f"{part.capitalize()} converter class",
        )
        for order, part, what, kind in _CONVERTERS
    ),
    *(
        version_key(f"{part}.converter.plugin.version", f"the {part} converter", f"{part}.converter", COMMON, 7, kind)
        for _, part, _, kind in _CONVERTERS
    ),
    Key(
        name="transforms",
        type=Type.LIST,
        default=(),
        doc="Aliases of the transformations that records go through, in this order.",
        importance=Importance.LOW,
        validator=_unique,
        group=TRANSFORMS,
        order=8,
        width="LONG",
        display_name="Transforms",
    ),
    Key(
        name="predicates",
        type=Type.LIST,
        default=(),
        doc="Aliases of the predicates that transformations use.",
        importance=Importance.LOW,
        validator=_unique,
        group=PREDICATES,
        order=9,
        width="LONG",
        display_name="Predicates",
    ),
    Key(
        name="config.action.reload",
        default="restart",
        choices=("none", "restart"),
        doc="What happens when a secret that the configuration refers to has changed.",
        importance=Importance.LOW,
        group=COMMON,
        order=10,
        width="MEDIUM",
        display_name="Reload Action",
    ),
    Key(
        name=ISOLATION,
        default=None,
        choices=("thread", "process"),
        doc="Where a task runs: in a thread of the worker, or in a process of its own, which can be ended when it is "
        "stuck. By default as the connector's task says.",
        importance=Importance.LOW,
        group=COMMON,
        order=11,
        width="SHORT",
        display_name="Task isolation",
    ),
    Key(
        name="errors.retry.timeout",
        type=Type.LONG,
        default=0,
        minimum=-1,
        doc="For how many milliseconds a failed operation is tried again. 0 is never, -1 for ever.",
        group=ERRORS,
        order=1,
        width="MEDIUM",
        display_name="Retry Timeout for Errors",
    ),
    Key(
        name="errors.retry.delay.max.ms",
        type=Type.LONG,
        default=60000,
        minimum=0,
        doc="The longest pause between two tries, in milliseconds.",
        group=ERRORS,
        order=2,
        width="MEDIUM",
        display_name="Maximum Delay Between Retries for Errors",
    ),
    Key(
        name="errors.tolerance",
        default="none",
        choices=("none", "all"),
        doc="'none': the first record that fails ends the task. 'all': such records are passed over.",
        group=ERRORS,
        order=3,
        width="SHORT",
        display_name="Error Tolerance",
    ),
    Key(
        name="errors.log.enable",
        type=Type.BOOLEAN,
        default=False,
        doc="Whether errors that are tolerated are logged, too.",
        group=ERRORS,
        order=4,
        width="SHORT",
        display_name="Log Errors",
    ),
    Key(
        name="errors.log.include.messages",
        type=Type.BOOLEAN,
        default=False,
        doc="Whether the log shows the key, value and headers of a record that failed.",
        group=ERRORS,
        order=5,
        width="SHORT",
        display_name="Log Error Details",
    ),
)

_SINK = (
    Key(
        name="topics",
        type=Type.LIST,
        default=(),
        doc="The topics to read.",
        importance=Importance.HIGH,
        group=COMMON,
        order=4,
        width="LONG",
        display_name="Topics",
    ),
    Key(
        name="topics.regex",
        default="",
        doc="A regular expression of the topics to read. Either this or topics.",
        importance=Importance.HIGH,
        validator=_regex_or_empty,
        group=COMMON,
        order=4,
        width="LONG",
        display_name="Topics regex",
    ),
    Key(
        name=f"{DEAD_LETTER}topic.name",
        default="",
        doc="The topic for records that fail. Without a name they are only passed over.",
        group=ERRORS,
        order=6,
        width="MEDIUM",
        display_name="Dead Letter Queue Topic Name",
    ),
    Key(
        name=f"{DEAD_LETTER}topic.replication.factor",
        type=Type.INT,
        default=-1,
        doc="How many replicas that topic gets when it is made. -1: as many as the broker's default.",
        validator=_minus_one_or_positive,
        group=ERRORS,
        order=7,
        width="MEDIUM",
        display_name="Dead Letter Queue Topic Replication Factor",
    ),
    Key(
        name=f"{DEAD_LETTER}context.headers.enable",
        type=Type.BOOLEAN,
        default=False,
        doc="Whether records in that topic have headers that say where and why they failed (__connect.errors.…).",
        group=ERRORS,
        order=8,
        width="MEDIUM",
        display_name="Enable Error Context Headers",
    ),
)

_SOURCE = (
    Key(
        name="topic.creation.groups",
        type=Type.LIST,
        default=(),
        doc="Groups of topics with the properties that they are made with.",
        importance=Importance.LOW,
        validator=_unique,
        group=TOPIC_CREATION,
        order=1,
        width="LONG",
        display_name="Topic Creation Groups",
    ),
    Key(
        name="exactly.once.support",
        default="requested",
        choices=("requested", "required"),
        doc="'required' refuses a connector that is not known to support exactly once.",
        group=EXACTLY_ONCE,
        order=1,
        width="SHORT",
        display_name="Exactly once support",
    ),
    Key(
        name="transaction.boundary",
        default="poll",
        choices=("poll", "interval", "connector"),
        doc="When a transaction ends: after each poll, after an interval, or when the connector says so.",
        group=EXACTLY_ONCE,
        order=2,
        width="SHORT",
        display_name="Transaction Boundary",
    ),
    Key(
        name="transaction.boundary.interval.ms",
        type=Type.LONG,
        default=None,
        minimum=0,
        doc="The interval of transaction.boundary=interval; by default the worker's offset.flush.interval.ms.",
        importance=Importance.LOW,
        group=EXACTLY_ONCE,
        order=3,
        width="SHORT",
        display_name="Transaction boundary interval",
        depends_on=("transaction.boundary",),
    ),
    Key(
        name="offsets.storage.topic",
        default=None,
        doc="A topic of the connector's own for its offsets; without, the worker's.",
        importance=Importance.LOW,
        validator=_name,
        group=OFFSETS,
        order=1,
        width="LONG",
        display_name="Offsets topic",
    ),
)


def framework_def(kind: PluginKind, config: Mapping[str, str]) -> ConfigDef:
    """For a source or a sink; a source's topic groups have keys that `config` names."""
    if kind is PluginKind.SINK:
        return config_def(_COMMON, _SINK)
    return config_def(_COMMON, _SOURCE, *(_topic_group(group) for group in _groups(config)))


def aliases(config: Mapping[str, str], name: str) -> list[str]:
    """Of `transforms`, `predicates` or `topic.creation.groups`, each once."""
    return list(dict.fromkeys(alias for part in (config.get(name) or "").split(",") if (alias := part.strip())))


def _groups(config: Mapping[str, str]) -> list[str]:
    # A task's configuration made from typed keys has an empty list of groups: that asks for nothing.
    if not any(name.startswith("topic.creation.") and value for name, value in config.items()):
        return []
    return [*(each for each in aliases(config, "topic.creation.groups") if each != "default"), "default"]


def _topic_group(group: str) -> list[Key]:
    prefix = f"topic.creation.{group}."
    is_default = group == "default"
    patterns = [
        Key(
            name=f"{prefix}{part}",
            type=Type.LIST,
            default=REQUIRED if part == "include" else (),
            doc=f"Regular expressions of the topics that the group {what}.",
            importance=Importance.LOW,
            validator=_regexes,
            group=f"{TOPIC_CREATION}: {group}",
            order=order,
            width="LONG",
            display_name=f"{word} Topic Pattern for {group}",
        )
        for order, part, what, word in ((1, "include", "takes", "Inclusion"), (2, "exclude", "leaves", "Exclusion"))
    ]
    numbers = [
        Key(
            name=f"{prefix}{part}",
            type=Type.INT,
            default=REQUIRED if is_default else -1,
            doc=f"{what} a new topic of the group; -1: the broker's default.",
            importance=Importance.LOW,
            validator=_minus_one_or_positive,
            group=f"{TOPIC_CREATION}: {group}",
            order=order,
            width="LONG",
            display_name=f"{word} for Topics in {group}",
        )
        for order, part, what, word in (
            (3, "replication.factor", "The replicas of", "Replication Factor"),
            (4, "partitions", "The partitions of", "Partition Count"),
        )
    ]
    return numbers if is_default else patterns + numbers
