"""What a worker is told: Kafka Connect's properties under their names, as far as they have a meaning here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    bootstrap: str
    url: str  # where other workers reach this one's REST API: http://host:port
    mode: Literal["distributed", "standalone"] = "distributed"
    group_id: str = "connect-cluster"
    config_topic: str = "connect-configs"
    offset_topic: str = "connect-offsets"
    status_topic: str = "connect-status"
    offset_partitions: int = 25
    status_partitions: int = 5
    key_converter: str = "Json"  # for connectors that do not say
    value_converter: str = "Json"
    header_converter: str = "Simple"
    converter_properties: Mapping[str, str] = field(default_factory=dict)  # key.converter.… and value.converter.…
    registry: str | None = None  # URL: the default of the converters that need one
    exactly_once_source: bool = True  # exactly.once.source.support: what a connector may ask for
    offset_flush_seconds: float = 10.0
    task_shutdown_seconds: float = 5.0
    session_timeout_ms: int = 10_000
    heartbeat_interval_ms: int = 3_000
    rebalance_timeout_ms: int = 60_000
    scheduled_rebalance_delay_seconds: float = 300.0  # `caudal connect` sets 10: a laptop is not a cluster
    restart_backoff_seconds: float = 1.0  # a failed task is tried again after this, doubled up to the next
    restart_backoff_max_seconds: float = 60.0
    restart_attempts: int = 5  # in a row, without a record in between; 0: never by itself, as Kafka Connect
    allowed_folders: tuple[Path, ...] = ()  # of ${file:…} and of connectors that read or write local files
    plugin_path: tuple[Path, ...] = ()
    offsets_file: Path | None = None  # standalone
    master: str | None = None  # Spark, for the Spark connectors
    client: Mapping[str, Any] = field(default_factory=dict)  # further librdkafka properties, of every client

    def librdkafka(self, **more: Any) -> dict[str, Any]:
        """What every client of the worker begins with. A broker that is away is said by the worker, not by each."""
        return {"bootstrap.servers": self.bootstrap, "log_level": 2, **self.client, **more}
