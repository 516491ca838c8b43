"""Who writes: the member of the group that is assigned the one partition of `_schemas`.

A consumer of the group that reads nothing; its client id carries the address of its instance, by which the others find
the writer. Confluent's registry uses the same group name with a protocol of its own, so that the two are never in the
group at the same time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient

from caudal.leaving import leave_and_close

log = logging.getLogger("caudal.registry.election")

CLIENT_ID = "caudal-registry "
POLL_SECONDS = 0.2
ANSWER_SECONDS = 5.0


class Election:
    def __init__(
        self, client: Mapping[str, Any], topic: str, group: str, url: str, chosen: Callable[[bool], None]
    ) -> None:
        """`chosen` is called from a thread, with True when this instance is to write and False when no more."""
        self.trouble: str | None = None
        self._topic = topic
        self._group = group
        self._url = url
        self._client = dict(client)
        self._chosen = chosen
        self._stopping = threading.Event()
        self._admin: AdminClient | None = None
        settings = {
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 1000,
            **client,
            "group.id": group,
            "client.id": CLIENT_ID + url,
            "enable.auto.commit": False,
            "auto.offset.reset": "latest",
            # Whoever has it keeps it while others come and go.
            "partition.assignment.strategy": "cooperative-sticky",
        }
        self._consumer = Consumer(settings)
        self._thread = threading.Thread(target=self._run, name="registry-election", daemon=True)

    def start(self) -> None:
        self._consumer.subscribe(
            [self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
        )
        self._thread.start()

    def stop(self) -> None:
        """Leaves the group, so that another instance writes at once."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(ANSWER_SECONDS * 2)

    def writer(self) -> str | None:
        """The address of the writer's instance; None when there is none for now. Blocks."""
        if self._admin is None:
            self._admin = AdminClient(self._client)
        try:
            future = self._admin.describe_consumer_groups([self._group], request_timeout=ANSWER_SECONDS)[self._group]
            described = future.result(ANSWER_SECONDS + 1)
        except (KafkaException, TimeoutError) as error:
            log.warning("the group %s cannot be described: %s", self._group, error)
            return None
        for member in described.members:
            assignment = member.assignment
            parts = assignment.topic_partitions if assignment is not None else ()
            if any(part.topic == self._topic for part in parts) and member.client_id.startswith(CLIENT_ID):
                return str(member.client_id.removeprefix(CLIENT_ID))
        return None

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    message = self._consumer.poll(POLL_SECONDS)
                except KafkaException as error:
                    self._complain(error.args[0].str())
                    continue
                if message is not None and message.error() is not None:
                    self._complain(message.error().str())
        finally:
            leave_and_close(self._consumer)

    def _on_assign(self, consumer: Consumer, partitions: list[Any]) -> None:
        consumer.incremental_assign(partitions)
        if partitions:
            consumer.pause(partitions)
            self._chosen(True)

    def _on_revoke(self, consumer: Consumer, partitions: list[Any]) -> None:
        if partitions:
            self._chosen(False)
        if consumer.assignment():
            consumer.incremental_unassign(partitions)

    def _complain(self, reason: str) -> None:
        if reason != self.trouble:
            log.warning("the group %s: %s", self._group, reason)
        self.trouble = reason
        self._stopping.wait(0.2)
