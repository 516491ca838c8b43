"""What an engine is started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from caudal.ksql.engine.processing_topic import DroppedRecords, LogTopic
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
    processing_log_topic: str | None = None  # where lines of the processing log go, besides Python's log
    replication_factor: int = -1  # of internal and sink topics; -1: the broker's default

    def librdkafka(self, **settings: Any) -> dict[str, Any]:
        """The configuration of a confluent-kafka client; what is given by name has underscores for dots."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        return {"bootstrap.servers": self.bootstrap, "log_level": 2, **named, **dict(self.client)}

    def application_id(self, query_id: str) -> str:
        return f"_caudal-ksql-{self.service_id}_query_{query_id}"

    def dropped(self, query_id: str) -> DroppedRecords:
        """Who hears of records that a query leaves out."""
        topic = self.processing_log_topic
        lines = LogTopic(tuple(sorted(self.librdkafka().items())), topic) if topic is not None else None
        return DroppedRecords(query_id, lines)
