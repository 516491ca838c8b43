"""What an engine is started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from caudal.runtime.spark.settings import default_state_dir

DEFAULT_SERVICE_ID = "default_"


@dataclass(frozen=True, slots=True)
class EngineSettings:
    bootstrap: str = "localhost:9092"
    service_id: str = DEFAULT_SERVICE_ID
    registry: str | None = None  # address of the schema registry; None: CAUDAL_REGISTRY, or http://localhost:8081
    connect: str | None = None  # address of Kafka Connect (ksql.connect.url)
    url: str = "http://localhost:8088"  # under which the other servers and clients know this one
    state_dir: str = field(default_factory=default_state_dir)
    client: Mapping[str, str] = field(default_factory=dict)  # librdkafka properties of every client
    properties: Mapping[str, Any] = field(default_factory=dict)  # of the server: defaults of every session
    master: str | None = None  # Spark's
    threads: int | None = None
    replication_factor: int = -1  # of internal and sink topics; -1: the broker's default

    def librdkafka(self, **settings: Any) -> dict[str, Any]:
        """The configuration of a confluent-kafka client; what is given by name has underscores for dots."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        return {"bootstrap.servers": self.bootstrap, "log_level": 2, **named, **dict(self.client)}

    def application_id(self, query_id: str) -> str:
        return f"_caudal-ksql-{self.service_id}_query_{query_id}"

    @property
    def internal_prefix(self) -> str:
        """What begins so is the engine's own: SHOW TOPICS does not list it."""
        return "_caudal-ksql-"
