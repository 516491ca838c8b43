"""Share groups over Kafka's protocol: a broker made of bytes answers, and one that knows no share groups."""

from __future__ import annotations

import asyncio
import struct
import uuid
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey
from caudal.ui.services import share_groups
from caudal.ui.services.kafka import Kafka
from caudal.ui.services.share_groups import NotServed, ShareOffset, common_version

SERVED = {ApiKey.LIST_GROUPS: 5, ApiKey.SHARE_GROUP_DESCRIBE: 1, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: 1}
ANSWERS: Mapping[ApiKey, Mapping[str, Any]] = {
    ApiKey.LIST_GROUPS: {
        "error_code": 0,
        "groups": [{"group_id": "jobs", "protocol_type": "share", "group_state": "Stable", "group_type": "share"}],
    },
    ApiKey.SHARE_GROUP_DESCRIBE: {
        "groups": [
            {
                "error_code": 0,
                "group_id": "jobs",
                "group_state": "Stable",
                "group_epoch": 3,
                "assignment_epoch": 3,
                "assignor_name": "simple",
                "members": [
                    {
                        "member_id": "m-1",
                        "member_epoch": 3,
                        "client_id": "worker",
                        "client_host": "/127.0.0.1",
                        "subscribed_topic_names": ["work"],
                        "assignment": {
                            "topic_partitions": [
                                {"topic_id": uuid.UUID(int=1), "topic_name": "work", "partitions": [1, 0]}
                            ]
                        },
                    }
                ],
            }
        ]
    },
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: {
        "groups": [
            {
                "group_id": "jobs",
                "error_code": 0,
                "topics": [
                    {
                        "topic_name": "work",
                        "topic_id": uuid.UUID(int=1),
                        "partitions": [
                            {"partition_index": 1, "start_offset": -1, "leader_epoch": 0, "lag": -1, "error_code": 0},
                            {"partition_index": 0, "start_offset": 40, "leader_epoch": 0, "lag": 60, "error_code": 0},
                        ],
                    }
                ],
            }
        ]
    },
}


async def answer(served: Mapping[ApiKey, int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection until it is closed."""
    try:
        while True:
            (length,) = struct.unpack(">i", await reader.readexactly(4))
            request = await reader.readexactly(length)
            api, version, number = struct.unpack_from(">hhi", request)
            if api == ApiKey.API_VERSIONS:
                keys = [{"api_key": key, "min_version": 0, "max_version": newest} for key, newest in served.items()]
                body = messages.encode_response(api, version, {"error_code": 0, "api_keys": keys})
                head = struct.pack(">i", number)
            else:
                body = messages.encode_response(api, version, ANSWERS[ApiKey(api)])
                head = struct.pack(">i", number) + b"\0"
            writer.write(struct.pack(">i", len(head) + len(body)) + head + body)
    except asyncio.IncompleteReadError:
        writer.close()


class OneBroker(Kafka):
    def __init__(self, port: int, **config: str) -> None:
        super().__init__({key.replace("_", "."): value for key, value in config.items()}, f"127.0.0.1:{port}")
        self._port = port

    async def cluster(self, fresh: bool = False) -> Any:
        return SimpleNamespace(brokers={7: SimpleNamespace(id=7, host="127.0.0.1", port=self._port)})


async def with_broker(served: Mapping[ApiKey, int], **config: str) -> tuple[Any, OneBroker]:
    server = await asyncio.start_server(lambda reader, writer: answer(served, reader, writer), "127.0.0.1", 0)
    return server, OneBroker(server.sockets[0].getsockname()[1], **config)


def test_a_share_group_has_members_and_the_start_of_its_queues() -> None:
    async def run() -> None:
        server, kafka = await with_broker(SERVED)
        async with server:
            (listed,) = await share_groups.listings(kafka)
            assert (listed.name, listed.state, listed.coordinator) == ("jobs", "stable", 7)
            group = await share_groups.share_group(kafka, "jobs")
        assert (group.lag, group.assignor) == (60, "simple")
        assert group.offsets == (ShareOffset("work", 0, 40, 60), ShareOffset("work", 1, None, None))
        assert [(member.client_id, member.host, member.assigned) for member in group.members] == [
            ("worker", "127.0.0.1", (("work", 0), ("work", 1)))
        ]

    asyncio.run(run())


def test_a_cluster_without_share_groups_is_told_apart_from_one_that_fails() -> None:
    async def run() -> None:
        server, kafka = await with_broker({ApiKey.LIST_GROUPS: 5})
        async with server:
            with pytest.raises(NotServed, match="serves no share groups"):
                await share_groups.listings(kafka)

    asyncio.run(run())


def test_a_secured_cluster_is_not_asked_in_plaintext() -> None:
    async def run() -> None:
        server, kafka = await with_broker(SERVED, security_protocol="SASL_SSL")
        async with server:
            with pytest.raises(NotServed, match="plaintext"):
                await share_groups.listings(kafka)

    asyncio.run(run())


def test_versions_must_overlap() -> None:
    assert common_version((1, 1), (0, 0)) is None
    assert common_version((0, 1), (0, 9)) == 1
