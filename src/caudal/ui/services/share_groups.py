"""Share groups (queues) of clusters that serve them, asked in Kafka's protocol itself: librdkafka's admin has no calls.

Each broker is asked for the groups that it coordinates, over a connection that lasts for one page. Plaintext only:
a secured cluster's share groups are not shown, and the page says so. Which versions a broker speaks, it says first.
"""

from __future__ import annotations

import asyncio
import itertools
import struct
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey
from caudal.cli.offset_reset import Place
from caudal.ui.services.errors import UiError
from caudal.ui.services.groups import Member
from caudal.ui.services.kafka import Kafka
from caudal.ui.words import t

ANSWER_SECONDS = 5.0
LARGEST_ANSWER = 64 * 1024 * 1024
CLIENT = b"caudal-ui"
# The versions that this file can read.
VERSIONS = {
    ApiKey.LIST_GROUPS: (5, 5),  # 5: by type
    ApiKey.SHARE_GROUP_DESCRIBE: (1, 1),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (0, 1),  # 1: with the lag
}

T = TypeVar("T")
Address = tuple[int, str, int]  # broker id, host, port


class NotServed(UiError):
    """This cluster has no share groups, or they cannot be asked for; the sentence says which."""


@dataclass(frozen=True, slots=True)
class ShareListing:
    name: str
    state: str
    coordinator: int


@dataclass(frozen=True, slots=True)
class ShareOffset:
    """`start`: the oldest record that is not yet done with; None before the first. `lag`: None where not told."""

    topic: str
    partition: int
    start: int | None
    lag: int | None


@dataclass(frozen=True, slots=True)
class ShareGroup:
    name: str
    state: str
    assignor: str
    coordinator: int
    members: tuple[Member, ...]
    offsets: tuple[ShareOffset, ...]

    @property
    def lag(self) -> int | None:
        known = [row.lag for row in self.offsets if row.lag is not None]
        return sum(known) if known else None


async def listings(kafka: Kafka) -> list[ShareListing]:
    """Every share group by name; raises NotServed."""
    found = await _on_every_broker(kafka, _listed)
    return sorted((each for part in found for each in part), key=lambda each: each.name)


async def share_groups(kafka: Kafka, wanted: Sequence[ShareListing]) -> list[ShareGroup]:
    """Those of one page, with members and offsets; one that has just gone is left out."""
    names: dict[int, list[str]] = {}
    for each in wanted:
        names.setdefault(each.coordinator, []).append(each.name)

    async def ask(broker: Broker) -> list[ShareGroup]:
        return await _described(broker, names[broker.id]) if broker.id in names else []

    found = {each.name: each for part in await _on_every_broker(kafka, ask) for each in part}
    return [found[each.name] for each in wanted if each.name in found]


async def share_group(kafka: Kafka, name: str) -> ShareGroup:
    listed = [each for each in await listings(kafka) if each.name == name]
    found = await share_groups(kafka, listed)
    if not found:
        raise UiError(t("There is no share group {name}.", name=name))
    return found[0]


class Broker:
    """One connection to one broker, for a few requests in turn."""

    def __init__(self, address: Address) -> None:
        self.id, self._host, self._port = address
        self._numbers = itertools.count(1)
        self._versions: dict[int, tuple[int, int]] = {}

    async def __aenter__(self) -> Broker:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        answer = await self._ask(ApiKey.API_VERSIONS, 0, {})
        self._versions = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    def version(self, api: ApiKey) -> int | None:
        """The newest that both sides know; None if there is none."""
        return common_version(VERSIONS[api], self._versions.get(api))

    async def ask(self, api: ApiKey, values: Mapping[str, Any]) -> Any:
        """kio's entity of the answer."""
        version = self.version(api)
        if version is None:
            raise not_served()
        return await self._ask(api, version, values)

    async def _ask(self, api: ApiKey, version: int, values: Mapping[str, Any]) -> Any:
        flexible = messages.is_flexible(api, version)
        number = next(self._numbers)
        request = bytearray(struct.pack(">hhih", api, version, number, len(CLIENT)) + CLIENT)
        request += b"\0" if flexible else b""
        messages.request_encoder(api, version)(request, values)
        self._writer.write(struct.pack(">i", len(request)) + request)
        await self._writer.drain()
        (length,) = struct.unpack(">i", await self._reader.readexactly(4))
        if not 4 <= length <= LARGEST_ANSWER:
            raise ConnectionError("the answer is not Kafka's")
        answer = await self._reader.readexactly(length)
        # After the number of the request, flexible answers have tagged fields: none.
        return messages.decode_response(api, version, answer, 5 if flexible else 4)


def common_version(ours: tuple[int, int], theirs: tuple[int, int] | None) -> int | None:
    """
    >>> common_version((0, 1), (0, 5)), common_version((1, 1), (0, 0)), common_version((0, 1), None)
    (1, None, None)
    """
    if theirs is None:
        return None
    newest = min(ours[1], theirs[1])
    return newest if newest >= max(ours[0], theirs[0]) else None


def not_served() -> NotServed:
    return NotServed(t("This cluster serves no share groups; Apache Kafka does from version 4.2 on."))


async def _on_every_broker(kafka: Kafka, ask: Callable[[Broker], Coroutine[Any, Any, T]]) -> list[T]:
    if str(kafka.config.get("security.protocol", "plaintext")).lower() != "plaintext":
        raise NotServed(t("Share groups are shown for clusters with a plaintext listener only."))
    brokers = (await kafka.cluster()).brokers
    addresses = [(broker.id, str(broker.host), int(broker.port)) for broker in brokers.values()]
    return list(await asyncio.gather(*(_ask_one(kafka, address, ask) for address in addresses)))


async def _ask_one(kafka: Kafka, address: Address, ask: Callable[[Broker], Coroutine[Any, Any, T]]) -> T:
    try:
        async with asyncio.timeout(ANSWER_SECONDS), Broker(address) as broker:
            return await ask(broker)
    except (OSError, EOFError, TimeoutError, messages.Malformed):
        raise kafka.silent() from None


async def _listed(broker: Broker) -> list[ShareListing]:
    if broker.version(ApiKey.SHARE_GROUP_DESCRIBE) is None:
        raise not_served()
    answer = await broker.ask(ApiKey.LIST_GROUPS, {"states_filter": [], "types_filter": ["share"]})
    _check(answer.error_code)
    return [ShareListing(str(each.group_id), each.group_state.lower(), broker.id) for each in answer.groups]


async def _described(broker: Broker, names: Sequence[str]) -> list[ShareGroup]:
    asked = {"group_ids": names, "include_authorized_operations": False}
    described = await broker.ask(ApiKey.SHARE_GROUP_DESCRIBE, asked)
    offsets: dict[str, tuple[ShareOffset, ...]] = {}
    if broker.version(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS) is not None:
        groups = [{"group_id": name, "topics": None} for name in names]
        answer = await broker.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, {"groups": groups})
        offsets = {str(each.group_id): _offsets(each) for each in answer.groups}
    return [
        ShareGroup(
            str(each.group_id),
            each.group_state.lower(),
            each.assignor_name,
            broker.id,
            tuple(_member(member) for member in each.members),
            offsets.get(str(each.group_id), ()),
        )
        for each in described.groups
        if not each.error_code
    ]


def _offsets(group: Any) -> tuple[ShareOffset, ...]:
    rows = []
    for topic in group.topics:
        for row in topic.partitions:
            if row.error_code:
                continue
            lag = getattr(row, "lag", -1)
            start = row.start_offset if row.start_offset >= 0 else None
            rows.append(ShareOffset(str(topic.topic_name), row.partition_index, start, lag if lag >= 0 else None))
    return tuple(sorted(rows, key=lambda row: (row.topic, row.partition)))


def _member(found: Any) -> Member:
    assigned: list[Place] = [
        (str(topic.topic_name), int(partition))
        for topic in found.assignment.topic_partitions
        for partition in topic.partitions
    ]
    host = found.client_host.removeprefix("/")
    return Member(found.member_id, found.client_id, host, None, tuple(sorted(assigned)))


def _check(code: int) -> None:
    if code:
        raise UiError(t("The broker refused to list its share groups (error {code}).", code=int(code)))
