"""Which servers of a service id live, and which of them should run a query.

Each server's engine is a member of the group `_caudal-ksql-<service id>` that reads nothing; its client id carries the
server's address. Who should run a query is the server with the highest hash of (server, query): when one comes or goes,
only its own queries move. It is advice: the keeper's group decides, so a wrong answer costs balance and nothing else.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient

from caudal.ksql.engine.settings import EngineSettings
from caudal.leaving import leave_and_close

log = logging.getLogger("caudal.ksql.membership")

CLIENT_ID = "caudal-ksql "
POLL_SECONDS = 0.2
LOOK_SECONDS = 3.0
CALL_SECONDS = 5.0


def chosen(query_id: str, servers: Iterable[str]) -> str | None:
    """The server that should run a query (rendezvous hashing).

    >>> chosen("CSAS_A_1", ["http://one"])
    'http://one'
    """
    weights = {server: hashlib.sha256(f"{server}\\0{query_id}".encode()).digest() for server in servers}
    return max(weights, key=lambda server: (weights[server], server), default=None)


class Membership:
    def __init__(self, settings: EngineSettings, topic: str) -> None:
        self._settings = settings
        self._topic = topic
        self._group = f"_caudal-ksql-{settings.service_id}"
        self._servers: tuple[str, ...] = (settings.url,)
        self._stopping = threading.Event()
        self._admin = AdminClient(settings.librdkafka(client_id="caudal-ksql-membership"))
        self._thread = threading.Thread(target=self._run, name="ksql-membership", daemon=True)
        self._looker = threading.Thread(target=self._look_on, name="ksql-members", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._looker.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def servers(self) -> tuple[str, ...]:
        """The addresses of those that live, this one included."""
        return self._servers

    def leads(self, query_id: str) -> bool:
        return chosen(query_id, self._servers) == self._settings.url

    def look(self) -> None:
        """Asks the group now. Blocks."""
        try:
            asked = self._admin.describe_consumer_groups([self._group], request_timeout=CALL_SECONDS)
            described = asked[self._group].result(CALL_SECONDS + 1)
        except (KafkaException, TimeoutError) as error:
            log.debug("the group %s cannot be described: %s", self._group, error)
            return
        found = {
            member.client_id.removeprefix(CLIENT_ID)
            for member in described.members
            if member.client_id.startswith(CLIENT_ID)
        }
        self._servers = tuple(sorted(found | {self._settings.url}))

    def _look_on(self) -> None:
        while not self._stopping.is_set():
            self.look()
            self._stopping.wait(LOOK_SECONDS)

    def _run(self) -> None:
        consumer: Any = Consumer(
            {
                **self._settings.librdkafka(),
                "group.id": self._group,
                "client.id": CLIENT_ID + self._settings.url,
                "session.timeout.ms": 10_000,
                "heartbeat.interval.ms": 2_000,
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
                "partition.assignment.strategy": "cooperative-sticky",
            }
        )
        consumer.subscribe([self._topic], on_assign=_assign, on_revoke=_revoke, on_lost=_revoke)
        while not self._stopping.is_set():
            try:
                consumer.poll(POLL_SECONDS)
            except KafkaException as error:
                log.debug("the group %s: %s", self._group, error)
                time.sleep(POLL_SECONDS)
        try:
            leave_and_close(consumer)
        except Exception:
            log.debug("the group %s was not left cleanly", self._group, exc_info=True)


def _assign(consumer: Any, partitions: list[Any]) -> None:
    consumer.incremental_assign(partitions)
    if partitions:
        consumer.pause(partitions)


def _revoke(consumer: Any, partitions: list[Any]) -> None:
    if consumer.assignment():
        consumer.incremental_unassign(partitions)
