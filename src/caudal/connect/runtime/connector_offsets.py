"""A connector's offsets as REST shows and changes them: of a source in its offset store, of a sink in its group.

Every method blocks. That the connector is stopped is checked before; a task that lives on somewhere is fenced (sources
that are exactly once) or refused by the broker (a group with members).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kafka import TopicPartition as KafkaPartition
from kafka import errors as kafka_errors
from kafka.admin import KafkaAdminClient
from kafka.structs import OffsetAndMetadata

from caudal.connect.connector import SinkConnector, SourceConnector
from caudal.connect.connector_config import connector_plugin
from caudal.connect.errors import ConnectError
from caudal.connect.plugins import PluginKind
from caudal.connect.records import TopicPartition
from caudal.connect.runtime.membership import client_properties
from caudal.connect.runtime.model import RestError
from caudal.connect.runtime.offset_store import OffsetStore, identity, open_offset_store
from caudal.connect.runtime.settings import WorkerSettings

TOPIC, PARTITION, OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"

Entries = list[tuple[dict[str, Any], dict[str, Any] | None]]


class ConnectorOffsets:
    def __init__(self, settings: WorkerSettings, name: str, config: Mapping[str, str], may_live: int) -> None:
        """`config` with its secrets; `may_live` is how many tasks of an exactly-once source there have been."""
        self._settings = settings
        self._name = name
        self._config = config
        self._may_live = may_live
        try:
            self._plugin = connector_plugin(config)
        except ConnectError as error:
            raise RestError(400, f"The offsets of {name} cannot be had: {error}") from None
        self._is_sink = self._plugin.kind is PluginKind.SINK
        self._group = config.get("consumer.override.group.id") or f"connect-{name}"

    def read(self) -> list[dict[str, Any]]:
        if self._is_sink:
            with self._admin() as admin:
                committed = self._committed(admin)
            return [
                {"partition": {TOPIC: place.topic, PARTITION: place.partition}, "offset": {OFFSET: offset}}
                for place, offset in sorted(committed.items())
            ]
        with self._store() as store:
            entries = store.read_all(self._name)
        return [{"partition": partition, "offset": offset} for partition, offset in entries]

    def alter(self, body: Mapping[str, Any]) -> str:
        entries = _entries(body)
        if self._is_sink:
            return self._alter_sink(dict(_sink_entry(*entry) for entry in entries))
        return self._alter_source(entries, "altered")

    def reset(self) -> str:
        if self._is_sink:
            return self._reset_sink()
        with self._store() as store:
            entries: Entries = [(partition, None) for partition, _ in store.read_all(self._name)]
        return self._alter_source(entries, "reset")

    # -- sources -----------------------------------------------------------------------------------------------------

    def _alter_source(self, entries: Entries, done: str) -> str:
        connector: SourceConnector = self._plugin.cls()
        connector.name = self._name
        outside = self._ask(connector, {identity(partition): offset for partition, offset in entries})
        with self._store() as store:
            if self._may_live and self._config.get("exactly.once.support", "").lower() == "required":
                from caudal.connect.runtime.tasks import fence

                fence(self._settings, self._name, self._may_live, self._config)
            store.write(self._name, entries)
        return _message(outside, done)

    @contextmanager
    def _store(self) -> Iterator[OffsetStore]:
        try:
            store = open_offset_store(self._settings, self._config)
            try:
                yield store
            finally:
                store.close()
        except ConnectError as error:
            raise RestError(500, str(error)) from None

    # -- sinks -------------------------------------------------------------------------------------------------------

    def _alter_sink(self, offsets: dict[TopicPartition, int | None]) -> str:
        connector: SinkConnector = self._plugin.cls()
        connector.name = self._name
        outside = self._ask(connector, offsets)
        stored = {
            KafkaPartition(*place): OffsetAndMetadata(at, "", -1) for place, at in offsets.items() if at is not None
        }
        forgotten = [KafkaPartition(*place) for place, at in offsets.items() if at is None]
        with self._admin() as admin:
            answers: dict[Any, Any] = {}
            if stored:
                answers |= admin.alter_group_offsets(self._group, stored)
            if forgotten:
                answers |= admin.delete_group_offsets(self._group, forgotten)
        for place, answer in answers.items():
            if answer is not kafka_errors.NoError:
                raise self._refused(f"{place.topic}-{place.partition}: {answer.__name__}")
        return _message(outside, "altered")

    def _reset_sink(self) -> str:
        with self._admin() as admin:
            committed = self._committed(admin)
            connector: SinkConnector = self._plugin.cls()
            connector.name = self._name
            outside = self._ask(connector, dict.fromkeys(committed, None))
            answers = admin.delete_groups([self._group])
        for answer in answers.values():
            if answer not in ("OK", kafka_errors.GroupIdNotFoundError.__name__):
                raise self._refused(answer)
        return _message(outside, "reset")

    def _committed(self, admin: Any) -> dict[TopicPartition, int]:
        try:
            found = admin.list_group_offsets({self._group: None}).get(self._group, {})
        except kafka_errors.GroupIdNotFoundError:
            return {}
        return {
            TopicPartition(place.topic, place.partition): at.offset for place, at in found.items() if at.offset >= 0
        }

    def _refused(self, reason: str) -> RestError:
        return RestError(
            500,
            f"The offsets of the group {self._group} could not be changed ({reason}). If the connector was stopped "
            "just now, its tasks may not have left the group yet: try again in a moment.",
        )

    @contextmanager
    def _admin(self) -> Iterator[Any]:
        try:
            admin = KafkaAdminClient(**client_properties(self._settings))
            try:
                yield admin
            finally:
                admin.close()
        except kafka_errors.KafkaError as error:
            raise RestError(500, f"The broker refuses the offsets of the group {self._group}: {error}") from None

    def _ask(self, connector: Any, offsets: Mapping[Any, Any]) -> bool:
        """Whether the connector has changed things outside, too; it may refuse."""
        try:
            return bool(connector.alter_offsets(offsets))
        except ConnectError as error:
            raise RestError(400, f"The connector {self._name} refuses these offsets: {error}") from None


def _entries(body: Mapping[str, Any]) -> Entries:
    given = body.get("offsets")
    if not isinstance(given, list) or not given:
        raise RestError(400, "Partitions / offsets need to be provided for an alter offsets request")
    entries: Entries = []
    for one in given:
        partition, offset = (one.get("partition"), one.get("offset")) if isinstance(one, Mapping) else (None, None)
        if not isinstance(partition, dict) or not isinstance(offset, dict | None):
            raise RestError(400, "Each entry needs a 'partition', an object, and an 'offset', an object or null.")
        entries.append((partition, offset))
    return entries


def _sink_entry(partition: dict[str, Any], offset: dict[str, Any] | None) -> tuple[TopicPartition, int | None]:
    if TOPIC not in partition or PARTITION not in partition:
        raise RestError(
            400, f"The partition for a sink connector offset must contain the keys '{TOPIC}' and '{PARTITION}'"
        )
    if not isinstance(partition[TOPIC], str):
        raise RestError(400, f"'{TOPIC}' must be the name of a topic, not {partition[TOPIC]!r}.")
    place = TopicPartition(partition[TOPIC], _number(partition[PARTITION], PARTITION))
    if offset is None:
        return place, None
    if OFFSET not in offset:
        raise RestError(400, f"The offset for a sink connector should either be null or contain the key '{OFFSET}'")
    return place, _number(offset[OFFSET], OFFSET)


def _number(value: Any, key: str) -> int:
    try:
        number = int(value) if isinstance(value, int | str) and not isinstance(value, bool) else -1
    except ValueError:
        number = -1
    if number < 0:
        raise RestError(400, f"'{key}' must be a whole number that is not negative, not {value!r}.")
    return number


def _message(outside: bool, done: str) -> str:
    if outside:
        return f"The offsets for this connector have been {done} successfully"
    return (
        f"The Connect framework-managed offsets for this connector have been {done} successfully. However, if this "
        f"connector manages offsets externally, they will need to be manually {done} in the system that the connector "
        "uses."
    )
