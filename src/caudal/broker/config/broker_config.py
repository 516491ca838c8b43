"""The values in force on this broker: defaults, then the properties given at the start, then dynamic changes.

`config["log.segment.bytes"]` is one dict look-up of a typed value, cheap enough for any path. Dynamic changes come in
through `apply_dynamic`, always as the complete set; nothing here stores them (the controller does). A property nobody
defines is an error with a suggestion, not a warning: a mistyped retention must not be found out by lost data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from caudal.broker.config.broker_tables import BROKER_DEFS
from caudal.broker.config.definition import ConfigDef, ConfigError, Scope, did_you_mean
from caudal.broker.config.listeners import Listener, check_advertised, parse_listeners, protocol_map
from caudal.broker.config.topic_table import TOPIC_DEFS
from caudal.broker.log.config import LogConfig

# listener.name.internal.ssl.keystore.location, or with a mechanism: listener.name.internal.plain.sasl.jaas.config
_LISTENER_PREFIX: Final = re.compile(r"listener\.name\.[^.]+\.(.+)")

# Kafka opens and closes listeners while it runs; here that would be accepted and not done.
_NEEDS_RESTART: Final = frozenset({"listeners", "listener.security.protocol.map"})

# Where DescribeConfigs says a value comes from (its numbers).
DYNAMIC_TOPIC: Final = 1
DYNAMIC_BROKER: Final = 2
DYNAMIC_DEFAULT_BROKER: Final = 3
STATIC_BROKER: Final = 4
DEFAULT: Final = 5


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of a property at one place, as text; None is "not set"."""

    name: str
    value: str | None
    source: int


class BrokerConfig:
    """Properties of one broker. Raises ConfigError, in one sentence, on a name or value that is wrong."""

    defs: Mapping[str, ConfigDef] = MappingProxyType(BROKER_DEFS)
    topic_defs: Mapping[str, ConfigDef] = MappingProxyType(TOPIC_DEFS)

    def __init__(self, properties: Mapping[str, str] = MappingProxyType({})) -> None:
        self.properties: Mapping[str, str] = dict(properties)
        self._static: dict[str, Any] = {}
        for name, text in properties.items():
            self._static[name] = definition_of(name).parse(str(text))
        self._dynamic_broker: dict[str, str] = {}
        self._dynamic_default: dict[str, str] = {}
        self._values = self._merge({}, {})
        self._topic_defaults = self._resolve_topic_defaults()
        self.protocols = protocol_map(self["listener.security.protocol.map"])
        self.listeners = self._client_listeners("listeners")
        self._check()

    # Values.

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            return definition_of(name).default

    def get(self, name: str, default: Any = None) -> Any:
        value = self._values.get(name)
        return default if value is None else value

    @property
    def node_id(self) -> int:
        if "node.id" not in self._static and self._values["broker.id"] >= 0:
            return int(self._values["broker.id"])
        return int(self._values["node.id"])

    @property
    def data_folder(self) -> Path:
        return Path((self._values["log.dirs"] or self._values["log.dir"])[0])

    @property
    def advertised_listeners(self) -> list[Listener]:
        """What clients are told; empty when `advertised.listeners` is not set (then: where the broker listens)."""
        return self._client_listeners("advertised.listeners")

    def log_config(self, topic_overrides: Mapping[str, str] = MappingProxyType({})) -> LogConfig:
        """The log settings of a topic with these overrides. Overrides were validated when they were set."""
        values = dict(self._topic_defaults)
        for name, text in topic_overrides.items():
            if name in TOPIC_DEFS:
                values[name] = TOPIC_DEFS[name].parse(text)
        return LogConfig(
            segment_bytes=values["internal.segment.bytes"] or values["segment.bytes"],
            segment_ms=values["segment.ms"],
            segment_jitter_ms=values["segment.jitter.ms"],
            segment_index_bytes=values["segment.index.bytes"],
            index_interval_bytes=values["index.interval.bytes"],
            retention_ms=values["retention.ms"],
            retention_bytes=values["retention.bytes"],
            cleanup_policy=frozenset(values["cleanup.policy"]),
            delete_retention_ms=values["delete.retention.ms"],
            min_cleanable_dirty_ratio=values["min.cleanable.dirty.ratio"],
            min_compaction_lag_ms=values["min.compaction.lag.ms"],
            max_compaction_lag_ms=values["max.compaction.lag.ms"],
            max_message_bytes=values["max.message.bytes"],
            compression_type=values["compression.type"],
            compression_gzip_level=values["compression.gzip.level"],
            compression_lz4_level=values["compression.lz4.level"],
            compression_zstd_level=values["compression.zstd.level"],
            message_timestamp_type=values["message.timestamp.type"],
            message_timestamp_before_max_ms=values["message.timestamp.before.max.ms"],
            message_timestamp_after_max_ms=values["message.timestamp.after.max.ms"],
            flush_messages=values["flush.messages"],
            flush_ms=values["flush.ms"],
            file_delete_delay_ms=values["file.delete.delay.ms"],
            min_insync_replicas=values["min.insync.replicas"],
            preallocate=values["preallocate"],
            unclean_leader_election_enable=values["unclean.leader.election.enable"],
            key_subject_strategy=_subject_strategy(values, "key"),
            value_subject_strategy=_subject_strategy(values, "value"),
        )

    # Dynamic changes.

    def apply_dynamic(self, broker: Mapping[str, str], default: Mapping[str, str]) -> set[str]:
        """Takes over the dynamic values of this broker and of all brokers; returns the names whose value changed."""
        before = self._values
        self._values = self._merge(default, broker)
        self._dynamic_broker, self._dynamic_default = dict(broker), dict(default)
        self._topic_defaults = self._resolve_topic_defaults()
        names = before.keys() | self._values.keys()
        return {name for name in names if before.get(name) != self._values.get(name)}

    def check_dynamic(self, configs: Mapping[str, str], *, per_broker: bool) -> None:
        """ConfigError unless these may be set while the broker runs, on one broker or on all of them."""
        for name, text in configs.items():
            definition = definition_of(name)
            if definition.scope is Scope.READ_ONLY:
                raise ConfigError(f"Cannot update {name} dynamically; it takes effect at a restart of the broker.")
            if definition.scope is Scope.PER_BROKER and not per_broker:
                raise ConfigError(f"Cannot update {name} at default cluster level; name the broker.")
            if name in _NEEDS_RESTART:
                raise ConfigError(f"{name} cannot change while this broker runs; restart it with the new value.")
            definition.parse(text)
        merged = self._merge(configs, {}) if not per_broker else self._merge(self._dynamic_default, configs)
        _check_compaction_lag(merged["log.cleaner.min.compaction.lag.ms"], merged["log.cleaner.max.compaction.lag.ms"])

    def check_topic(self, configs: Mapping[str, str]) -> None:
        """ConfigError unless a topic may have these overrides."""
        values = dict(self._topic_defaults)
        for name, text in configs.items():
            self.check_topic_name(name)
            values[name] = TOPIC_DEFS[name].parse(text)
        _check_compaction_lag(values["min.compaction.lag.ms"], values["max.compaction.lag.ms"])
        for field in ("key", "value"):
            if _subject_strategy(values, field) and not self._values["confluent.schema.registry.url"]:
                raise ConfigError(
                    f"confluent.{field}.schema.validation=true needs a schema registry to ask; "
                    "start the broker with confluent.schema.registry.url."
                )

    def check_topic_name(self, name: str) -> None:
        """ConfigError unless there is a topic property of this name."""
        if name not in TOPIC_DEFS:
            raise ConfigError(f"Unknown topic config name: {name}.{did_you_mean(name, TOPIC_DEFS)}")

    # Where values come from, for DescribeConfigs.

    def broker_settings(self, name: str) -> list[Setting]:
        """Every place that gives a broker property a value, the one in force first."""
        places: list[Setting] = []
        for synonym in _BROKER_SYNONYMS.get(name, (name,)):
            definition = definition_of(synonym)
            for source, texts in (
                (DYNAMIC_BROKER, self._dynamic_broker),
                (DYNAMIC_DEFAULT_BROKER, self._dynamic_default),
            ):
                if synonym in texts:
                    places.append(Setting(synonym, definition.format(definition.parse(texts[synonym])), source))
            if synonym in self._static:
                places.append(Setting(synonym, definition.format(self._static[synonym]), STATIC_BROKER))
            if definition.default is not None:
                places.append(Setting(synonym, definition.format(definition.default), DEFAULT))
        return places

    def topic_settings(self, name: str, overrides: Mapping[str, str]) -> list[Setting]:
        """Every place that gives a topic property a value, the one in force first."""
        definition = TOPIC_DEFS[name]
        places: list[Setting] = []
        if name in overrides:
            places.append(Setting(name, definition.format(definition.parse(overrides[name])), DYNAMIC_TOPIC))
        if definition.synonyms:
            places.extend(self.broker_settings(definition.synonyms[0][0]))
        elif definition.default is not None:
            places.append(Setting(name, definition.format(definition.default), DEFAULT))
        return places

    def topic_value(self, name: str, overrides: Mapping[str, str]) -> str | None:
        """The text of a topic property in force, in its own unit."""
        definition = TOPIC_DEFS[name]
        if name in overrides:
            return definition.format(definition.parse(overrides[name]))
        return definition.format(self._topic_defaults[name])

    # Inside.

    def _client_listeners(self, setting: str) -> list[Listener]:
        """The addresses of a setting without those of controllers: files of a KRaft node have them, and the controller
        of this broker is not reached over the network."""
        controllers = {name.upper() for name in self._values["controller.listener.names"] or ()}
        values = [
            value for value in self._values[setting] or () if value.partition("://")[0].upper() not in controllers
        ]
        if not values and self._values[setting]:
            raise ConfigError(f"{setting} has listeners of controllers only; add one for clients.")
        return parse_listeners(values, self.protocols, setting=setting)

    def _merge(self, default: Mapping[str, str], broker: Mapping[str, str]) -> dict[str, Any]:
        values = {name: definition.default for name, definition in BROKER_DEFS.items()}
        values.update(self._static)
        for layer in (default, broker):
            for name, text in layer.items():
                values[name] = definition_of(name).parse(text)
        return values

    def _resolve_topic_defaults(self) -> dict[str, Any]:
        resolved: dict[str, Any] = {}
        for name, definition in TOPIC_DEFS.items():
            resolved[name] = definition.default
            for synonym, factor in definition.synonyms:
                value = self._values[synonym]
                if value is not None:
                    # -1 hours is "for ever", not minus one hour.
                    resolved[name] = value if factor == 1 else (value * factor if value >= 0 else -1)
                    break
        return resolved

    def _check(self) -> None:
        """The rules that look at more than one property."""
        folders = self._values["log.dirs"] or self._values["log.dir"]
        if len(folders) > 1:
            raise ConfigError(f"log.dirs names {len(folders)} folders; this broker keeps its data in one.")
        check_advertised(self.listeners, self.advertised_listeners)
        node, broker = self._static.get("node.id"), self._static.get("broker.id")
        if node is not None and broker is not None and node != broker:
            raise ConfigError(f"node.id is {node} but broker.id is {broker}; set only node.id.")
        if self._topic_defaults["retention.ms"] == 0:
            raise ConfigError("The log retention time is 0; set at least 1, or -1 to keep records for ever.")
        _check_compaction_lag(
            self._values["log.cleaner.min.compaction.lag.ms"], self._values["log.cleaner.max.compaction.lag.ms"]
        )
        low, high = self._values["group.min.session.timeout.ms"], self._values["group.max.session.timeout.ms"]
        if low > high:
            raise ConfigError(
                f"group.min.session.timeout.ms ({low}) is above group.max.session.timeout.ms ({high}); lower it."
            )


def definition_of(name: str) -> ConfigDef:
    """The definition of a broker property, also with a listener's prefix; ConfigError when there is none."""
    definition = BROKER_DEFS.get(name)
    if definition is not None:
        return definition
    prefixed = _LISTENER_PREFIX.fullmatch(name)
    if prefixed is not None:
        base = prefixed[1]
        definition = BROKER_DEFS.get(base) or BROKER_DEFS.get(base.partition(".")[2])
        if definition is not None:
            return definition
    raise ConfigError(f"Unknown broker property {name}.{did_you_mean(name, BROKER_DEFS)}")


def _subject_strategy(values: Mapping[str, Any], field: str) -> str | None:
    if not values[f"confluent.{field}.schema.validation"]:
        return None
    return str(values[f"confluent.{field}.subject.name.strategy"])


def _check_compaction_lag(low: int, high: int) -> None:
    if low > high:
        raise ConfigError(f"min.compaction.lag.ms ({low}) is above max.compaction.lag.ms ({high}); lower it.")


def _broker_synonyms() -> dict[str, tuple[str, ...]]:
    """Broker properties that say the same thing in several units, each mapped to all of them in order of preference."""
    groups: dict[str, tuple[str, ...]] = {}
    for definition in TOPIC_DEFS.values():
        names = tuple(name for name, _ in definition.synonyms)
        if len(names) > 1:
            groups.update(dict.fromkeys(names, names))
    # log.flush.scheduler.interval.ms gives a default to the other, but is not another name for it.
    groups.pop("log.flush.scheduler.interval.ms", None)
    return groups


_BROKER_SYNONYMS: Final = _broker_synonyms()
