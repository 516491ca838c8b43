"""Committed offsets of a cluster's groups, read and set by kafka-python's admin client.

Not by librdkafka's: a request of its admin client to a group's coordinator that meets a lost connection can end the
whole process (librdkafka issues 3663 and 4605, `rd_kafka_enq_once_del_source_return`), and mirrors are there for the
loss of a cluster.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from caudal.connect.errors import ConnectError, RetriableError
from caudal.connect.records import TopicPartition

REQUEST_MS = 5_000
log = logging.getLogger("caudal.connect.mirror")


class UnreachableError(RetriableError):
    """The cluster does not answer at present: tasks wait for it."""


class Groups:
    """Connects when it is first asked; after a failure it connects anew."""

    def __init__(self, properties: Mapping[str, Any], name: str) -> None:
        self._properties = properties  # librdkafka's
        self._name = name
        self._admin: Any = None

    def committed(self, groups: Sequence[str]) -> dict[str, dict[TopicPartition, tuple[int, str]]]:
        """By group. All in one request; groups that are not there, or may not be read, are left out or empty."""
        if not groups:
            return {}
        from kafka import errors

        doing = f"Reading the offsets of {f'the group {groups[0]}' if len(groups) == 1 else f'{len(groups)} groups'}"
        try:
            found = self._ask(doing, lambda admin: admin.list_group_offsets(dict.fromkeys(groups)))
        except errors.GroupIdNotFoundError:
            return {} if len(groups) == 1 else self._one_by_one(groups)
        except UnreachableError:
            raise
        except ConnectError as error:  # an old broker, or one of them is refused
            if len(groups) > 1:
                return self._one_by_one(groups)
            log.warning("%s", error)
            return {}
        return {
            group: {
                TopicPartition(place.topic, place.partition): (at.offset, at.metadata or "")
                for place, at in offsets.items()
                if at.offset >= 0
            }
            for group, offsets in found.items()
        }

    def _one_by_one(self, groups: Sequence[str]) -> dict[str, dict[TopicPartition, tuple[int, str]]]:
        found: dict[str, dict[TopicPartition, tuple[int, str]]] = {}
        for group in groups:
            found |= self.committed([group])
        return found

    def commit(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        """Sets offsets of a group that has no members."""
        from kafka import TopicPartition as Place
        from kafka import errors
        from kafka.structs import OffsetAndMetadata

        doing = f"Setting offsets of the group {group}"
        wanted = {Place(*at): OffsetAndMetadata(offset, metadata, -1) for at, (offset, metadata) in offsets.items()}
        for place, answer in self._ask(doing, lambda admin: admin.alter_group_offsets(group, wanted)).items():
            if answer is not errors.NoError:
                reason = f"{place.topic}-{place.partition}: {answer.__name__}"
                raise ConnectError(f"{doing} failed on the cluster '{self._name}': {reason}.")

    def _ask(self, doing: str, request: Any) -> Any:
        from kafka import errors

        try:
            if self._admin is None:
                self._admin = _connect(self._properties)
            return request(self._admin)
        except errors.GroupIdNotFoundError:
            raise
        except (errors.KafkaError, OSError) as error:
            self.close()
            passing = isinstance(error, OSError) or getattr(error, "retriable", False) or isinstance(error, _away())
            kind = UnreachableError if passing else ConnectError
            reason = str(error) or type(error).__name__
            raise kind(f"{doing} failed on the cluster '{self._name}': {reason.rstrip('.')}.") from None

    def close(self) -> None:
        admin, self._admin = self._admin, None
        if admin is not None:
            admin.close()


def _away() -> tuple[type[Exception], ...]:
    from kafka import errors

    return (errors.KafkaTimeoutError, errors.KafkaConnectionError, errors.NoBrokersAvailable, errors.NodeNotReadyError)


def _connect(properties: Mapping[str, Any]) -> Any:
    from kafka.admin import KafkaAdminClient

    from caudal.connect.runtime.membership import CLIENT_PROPERTIES, QUIET

    for name, level in QUIET.items():  # a cluster that is away is said by the mirror, and not by each connection
        logging.getLogger(name).setLevel(level)
    names = CLIENT_PROPERTIES
    given = {names[name]: value for name, value in properties.items() if name in names}
    if "security_protocol" in given:
        given["security_protocol"] = str(given["security_protocol"]).upper()  # librdkafka takes any case
    return KafkaAdminClient(
        bootstrap_servers=str(properties["bootstrap.servers"]).split(","),
        client_id="caudal-mirror",
        request_timeout_ms=REQUEST_MS,
        **given,
    )
