"""Kafka Connect's worker properties, from a file and the command line, as the settings of a worker.

A property of the file that has no meaning here is told in the log, as Kafka Connect does; one that was typed with -c
is refused. What a Kafka client understands (security, sasl, ssl) goes to every client.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from caudal.cli.errors import UsageError

log = logging.getLogger("caudal.connect")

DEFAULT_DELAY_SECONDS = 10.0  # scheduled.rebalance.max.delay.ms: a laptop is not a cluster


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("must be a whole number")
    return int(text)


def _positive(text: str) -> int:
    if _whole(text) < 1:
        raise ValueError("must be at least 1")
    return int(text)


def _seconds(text: str) -> float:
    return _whole(text) / 1000


def _enabled(text: str) -> bool:
    if text.lower() not in ("enabled", "preparing", "disabled"):
        raise ValueError("is enabled, preparing or disabled")
    return text.lower() == "enabled"


def _folders(text: str) -> tuple[Path, ...]:
    return tuple(Path(part.strip()).expanduser() for part in text.split(",") if part.strip())


# By Kafka Connect's names; the last group is ours.
PROPERTIES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "bootstrap.servers": ("bootstrap", str),
    "group.id": ("group_id", str),
    "config.storage.topic": ("config_topic", str),
    "offset.storage.topic": ("offset_topic", str),
    "status.storage.topic": ("status_topic", str),
    "offset.storage.partitions": ("offset_partitions", _positive),
    "status.storage.partitions": ("status_partitions", _positive),
    "offset.storage.file.filename": ("offsets_file", Path),
    "key.converter": ("key_converter", str),
    "value.converter": ("value_converter", str),
    "header.converter": ("header_converter", str),
    "exactly.once.source.support": ("exactly_once_source", _enabled),
    "offset.flush.interval.ms": ("offset_flush_seconds", _seconds),
    "task.shutdown.graceful.timeout.ms": ("task_shutdown_seconds", _seconds),
    "session.timeout.ms": ("session_timeout_ms", _positive),
    "heartbeat.interval.ms": ("heartbeat_interval_ms", _positive),
    "rebalance.timeout.ms": ("rebalance_timeout_ms", _positive),
    "scheduled.rebalance.max.delay.ms": ("scheduled_rebalance_delay_seconds", _seconds),
    "plugin.path": ("plugin_path", _folders),
    "schema.registry.url": ("registry", str),
    "allowed.folders": ("allowed_folders", _folders),
    "spark.master": ("master", str),
    "task.restart.backoff.ms": ("restart_backoff_seconds", _seconds),
    "task.restart.backoff.max.ms": ("restart_backoff_max_seconds", _seconds),
    "task.restart.attempts": ("restart_attempts", _whole),
}
CONVERTERS = ("key.converter.", "value.converter.", "header.converter.")
CLIENT = ("security.", "sasl.", "ssl.", "client.", "socket.", "reconnect.", "metadata.", "enable.ssl.")
ADDRESSES = ("listeners", "rest.advertised.host.name", "rest.advertised.port", "rest.host.name", "rest.port")


def properties_of_file(file: Path) -> dict[str, str]:
    """Unknown ones are left out, with a line in the log."""
    from caudal.broker.config import ConfigError, read_properties

    try:
        properties = read_properties(file)
    except ConfigError as error:
        raise UsageError(str(error).rstrip(".")) from None
    for name in properties:
        if not _is_known(name):
            log.warning("the property %s of %s has no meaning here and is ignored", name, file)
    return {name: value for name, value in properties.items() if _is_known(name)}


def typed_properties(items: list[str]) -> dict[str, str]:
    """Those of -c."""
    properties = {}
    for item in items:
        name, equals, value = item.partition("=")
        name = name.strip()
        if not equals or not name:
            raise UsageError(f"-c takes KEY=VALUE, not '{item}'")
        if not _is_known(name):
            close = difflib.get_close_matches(name, [*PROPERTIES, *ADDRESSES], n=1)
            raise UsageError(f"there is no worker property '{name}'{f'; did you mean {close[0]}?' if close else ''}")
        properties[name] = value.strip()
    return properties


def _is_known(name: str) -> bool:
    return name in PROPERTIES or name in ADDRESSES or name.startswith((*CONVERTERS, *CLIENT))


def listening(properties: Mapping[str, str]) -> tuple[str | None, int | None]:
    """Host and port of `listeners` (the first one), or of the older pair of properties."""
    listeners = properties.get("listeners", "").split(",")[0].strip()
    if listeners:
        parts = urlsplit(listeners if "://" in listeners else f"http://{listeners}")
        try:
            port = parts.port
        except ValueError:
            port = None
        if parts.scheme.lower() != "http" or port is None:
            raise UsageError(f"listeners is http://HOST:PORT, not '{listeners}'")
        return parts.hostname or "0.0.0.0", port
    port_text = properties.get("rest.port")
    if port_text is not None and not (port_text.isascii() and port_text.isdigit() and int(port_text) < 65536):
        raise UsageError(f"rest.port is a port, not '{port_text}'")
    return properties.get("rest.host.name"), None if port_text is None else int(port_text)


def advertised(properties: Mapping[str, str]) -> str | None:
    host, port = properties.get("rest.advertised.host.name"), properties.get("rest.advertised.port")
    return f"{host}:{port}" if host and port else host


def worker_fields(properties: Mapping[str, str]) -> dict[str, Any]:
    """The fields of WorkerSettings that these properties set."""
    fields: dict[str, Any] = {"scheduled_rebalance_delay_seconds": DEFAULT_DELAY_SECONDS}
    converters, client = {}, {}
    for name, text in properties.items():
        if name in PROPERTIES:
            field, parse = PROPERTIES[name]
            try:
                fields[field] = parse(text)
            except ValueError as error:
                raise UsageError(f"{name} {error}, not '{text}'") from None
        elif name.startswith(CONVERTERS):
            converters[name] = text
        elif name.startswith(CLIENT):
            client[name] = text
    return {**fields, "converter_properties": converters, "client": client}
