"""What the server tells of itself and of the servers beside it: who it is, whether it works, what it runs."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

from confluent_kafka import KafkaException

from caudal import __version__
from caudal.ksql.engine.engine import Engine
from caudal.runtime.spark.metrics import escaped

# The version of ksqlDB whose language and API this is, which its clients look at; and ours.
VERSION = f"0.29.0-caudal-{__version__}"
CALL_SECONDS = 5.0
HEARD_SECONDS = 10.0


class Overview:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._cluster_id: str | None = None
        self._heard: dict[str, int] = {}  # host:port → when, epoch milliseconds

    def info(self) -> dict[str, Any]:
        if self._cluster_id is None:
            try:
                cluster = self._engine.topics.admin.describe_cluster(request_timeout=CALL_SECONDS)
                self._cluster_id = str(cluster.result(CALL_SECONDS + 1).cluster_id)
            except (KafkaException, TimeoutError):
                pass  # asked again the next time
        return {
            "version": VERSION,
            "kafkaClusterId": self._cluster_id or "",
            "ksqlServiceId": self._engine.settings.service_id,
            "serverStatus": "RUNNING",
        }

    def health(self) -> dict[str, Any]:
        """Each part with whether it works."""
        try:
            self._engine.topics.admin.list_topics(self._engine.log.topic, timeout=CALL_SECONDS)
            kafka = True
        except KafkaException:
            kafka = False
        failed = sum(query.state == "ERROR" for query in self._engine.queries.all())
        return {
            "metastore": {"isHealthy": True},
            "kafka": {"isHealthy": kafka},
            # A query that failed is somebody's to look at; the server works.
            "commandRunner": {"isHealthy": True, "failedQueries": failed},
        }

    # -- the servers of one service id ---------------------------------------------------------------------------------

    def heard_of(self, address: str, when: int) -> None:
        self._heard[address] = when

    def cluster_status(self) -> dict[str, Any]:
        now = int(time.time() * 1000)
        own = self._engine.settings.url
        found: dict[str, Any] = {}
        for url in self._engine.membership.servers():
            queries = self._queries() if url == own else {}
            found[_address(url)] = _status(True, now, queries)
        for address, when in self._heard.items():
            if address not in found:
                found[address] = _status(now - when < HEARD_SECONDS * 1000, when, {})
        return found

    def _queries(self) -> dict[str, Any]:
        """Which stores and partitions of each query this server has, or stands by for."""
        found: dict[str, Any] = {}
        for query in self._engine.queries.all():
            if query.planned is None:
                continue
            active = query.host_state == "RUNNING"
            stores = sorted(query.planned.topology.stores)
            tasks = query.application.tasks() if query.application is not None else []
            places = [_partition(name) for task in tasks for name in task.get("partitions", ())]
            found[query.id] = {
                "activeStores": stores if active else [],
                "activePartitions": places if active else [],
                "standByStores": [] if active else stores,
                "standByPartitions": [] if active else places,
            }
        return found

    # -- metrics -------------------------------------------------------------------------------------------------------

    def prometheus(self) -> str:
        queries = self._engine.queries.all()
        states = Counter(query.state for query in queries)
        catalog = self._engine.catalog
        lines = [
            "# HELP caudal_ksql_sources Streams and tables in the catalog.",
            "# TYPE caudal_ksql_sources gauge",
            *(
                f'caudal_ksql_sources{{kind="{kind}"}} {sum(s.kind.value == kind for s in catalog.sources.values())}'
                for kind in ("STREAM", "TABLE")
            ),
            "# HELP caudal_ksql_queries Persistent queries on this server, by state.",
            "# TYPE caudal_ksql_queries gauge",
            *(f'caudal_ksql_queries{{state="{state}"}} {states[state]}' for state in ("RUNNING", "PAUSED", "ERROR")),
            "# HELP caudal_ksql_push_queries Push queries that run.",
            "# TYPE caudal_ksql_push_queries gauge",
            f"caudal_ksql_push_queries {len(self._engine.push_queries.running())}",
            "# HELP caudal_ksql_query_records_total Records that a query has processed.",
            "# TYPE caudal_ksql_query_records_total counter",
            *(
                f'caudal_ksql_query_records_total{{query="{escaped(query.id)}"}} {query.metrics().get("records", 0)}'
                for query in queries
            ),
        ]
        return "\n".join(lines) + "\n"


def _status(alive: bool, when: int, queries: dict[str, Any]) -> dict[str, Any]:
    return {
        "hostAlive": alive,
        "lastStatusUpdateMs": when,
        "activeStandbyPerQuery": queries,
        "hostStoreLags": {"stateStoreLags": {}, "updateTimeMs": 0},
    }


def _address(url: str) -> str:
    return urlsplit(url).netloc or url


def _partition(name: str) -> dict[str, Any]:
    topic, _, number = name.rpartition("-")
    return {"topic": topic, "partition": int(number)}
