"""FindCoordinator: this broker, once the coordinator's topic is there; an error for what it does not coordinate."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.broker.apis.topic_fakes import NONE, FakeBroker, call, versions

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.wire.api_keys import ApiKey


async def find(broker: FakeBroker, version: int, key_type: int, *keys: str) -> Any:
    request: dict[str, Any] = {"key_type": key_type}
    request |= {"coordinator_keys": keys} if version >= 4 else {"key": keys[0]}
    answer = await call(broker, ApiKey.FIND_COORDINATOR, version, **request)
    return answer.coordinators if version >= 4 else [answer]


@pytest.mark.parametrize("version", versions(ApiKey.FIND_COORDINATOR))
async def test_groups_and_transactions(broker: FakeBroker, version: int) -> None:
    (found,) = await find(broker, version, 0, "g")
    assert (found.error_code, found.node_id, found.host, found.port) == (NONE, 1, "kafka.example", 9092)
    assert set(broker.metadata.topics) == {"__consumer_offsets"}
    if version >= 1:
        (found,) = await find(broker, version, 1, "t")
        assert (found.error_code, found.node_id) == (NONE, 1)
        assert "__transaction_state" in broker.metadata.topics


async def test_many_keys(broker: FakeBroker) -> None:
    found = await find(broker, 4, 0, "a", "b")
    assert [(item.key, item.node_id) for item in found] == [("a", 1), ("b", 1)]


@pytest.mark.parametrize("key_type", [2, 7])
async def test_what_has_no_coordinator(broker: FakeBroker, key_type: int) -> None:
    for version in (3, 6):
        (found,) = await find(broker, version, key_type, "x")
        assert (found.error_code, found.node_id, found.port) == (ErrorCode.invalid_request, -1, -1)
        assert found.error_message


async def test_a_topic_that_cannot_be_created(broker: FakeBroker) -> None:
    broker.refuse_internal = KafkaError(ErrorCode.kafka_storage_error, "no room")
    (found,) = await find(broker, 6, 0, "g")
    assert (found.error_code, found.error_message) == (ErrorCode.coordinator_not_available, "no room")
