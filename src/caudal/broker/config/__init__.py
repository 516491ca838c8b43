"""Configuration with Kafka's property names: definitions, the values in force, and the log settings of a topic."""

from __future__ import annotations

from caudal.broker.config.broker_config import BrokerConfig, Setting, definition_of
from caudal.broker.config.definition import ConfigDef, ConfigError, ConfigType, Importance, Scope, did_you_mean
from caudal.broker.config.listeners import Listener
from caudal.broker.config.properties_file import parse_properties, read_properties

__all__ = [
    "BrokerConfig",
    "ConfigDef",
    "ConfigError",
    "ConfigType",
    "Importance",
    "Listener",
    "Scope",
    "Setting",
    "definition_of",
    "did_you_mean",
    "parse_properties",
    "read_properties",
]
