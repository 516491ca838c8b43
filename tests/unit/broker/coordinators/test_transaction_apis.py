"""The handlers of the transaction APIs in every version they serve: request bytes in, response bytes out."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.unit.broker.coordinators.transaction_fakes import FakeBroker

from caudal.broker.apis import transactions as _handlers  # noqa: F401  (registers them)
from caudal.broker.coordinators.transaction_coordinator import TransactionCoordinator
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.router import APIS
from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey


@pytest.fixture
async def broker() -> Any:
    broker = FakeBroker()
    coordinator = TransactionCoordinator(cast(Any, broker))
    broker.transactions = coordinator
    await coordinator.load()
    yield broker
    await coordinator.close()


async def call(broker: FakeBroker, key: ApiKey, version: int, values: dict[str, Any]) -> Any:
    """As the router does it, through the bytes of both messages."""
    request = messages.decode_request(key, version, bytes(messages.encode_request(key, version, values)))
    answer = APIS[key].handler(request, SimpleNamespace(broker=broker, version=version))
    if inspect.isawaitable(answer):
        answer = await answer
    return messages.decode_response(key, version, bytes(messages.encode_response(key, version, answer)))


async def init(broker: FakeBroker, version: int = 6, **changes: Any) -> Any:
    values = {"transactional_id": "app", "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
    return await call(broker, ApiKey.INIT_PRODUCER_ID, version, values | changes)


def adding(version: int, producer: Any, partitions: list[int], verify_only: bool = False) -> dict[str, Any]:
    topics = [{"name": "t", "partitions": partitions}]
    if version < 4:
        return {
            "v3_and_below_transactional_id": "app",
            "v3_and_below_producer_id": producer.producer_id,
            "v3_and_below_producer_epoch": producer.producer_epoch,
            "v3_and_below_topics": topics,
        }
    transaction = {
        "transactional_id": "app",
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "verify_only": verify_only,
        "topics": topics,
    }
    return {"transactions": [transaction]}


def added(version: int, response: Any) -> list[ErrorCode]:
    topics = response.results_by_topic_v3_and_below if version < 4 else response.results_by_transaction[0].topic_results
    return [partition.partition_error_code for topic in topics for partition in topic.results_by_partition]


@pytest.mark.parametrize("version", range(7))
async def test_init_producer_id(broker: FakeBroker, version: int) -> None:
    first, second = await init(broker, version), await init(broker, version)
    assert first.error_code is ErrorCode.none
    assert (second.producer_id, second.producer_epoch) == (first.producer_id, first.producer_epoch + 1)
    plain = await init(broker, version, transactional_id=None)
    assert plain.producer_id != first.producer_id and plain.producer_epoch == 0
    assert (await init(broker, version, transaction_timeout=0)).error_code is ErrorCode.invalid_transaction_timeout


async def test_init_producer_id_of_a_fenced_producer(broker: FakeBroker) -> None:
    await init(broker)
    for version, code in ((3, ErrorCode.invalid_producer_epoch), (4, ErrorCode.producer_fenced)):
        assert (await init(broker, version, producer_id=77, producer_epoch=0)).error_code is code
    assert (await init(broker, 4, producer_id=77)).error_code is ErrorCode.invalid_request
    assert (await init(broker, 6, keep_prepared_txn=True)).error_code is ErrorCode.unsupported_version
    refused = await init(broker, 6, enable2_pc=True)
    assert refused.error_code is ErrorCode.transactional_id_authorization_failed


@pytest.mark.parametrize("version", range(6))
async def test_add_partitions(broker: FakeBroker, version: int) -> None:
    me = await init(broker)
    response = await call(broker, ApiKey.ADD_PARTITIONS_TO_TXN, version, adding(version, me, [0, 1]))
    assert added(version, response) == [ErrorCode.none] * 2
    response = await call(broker, ApiKey.ADD_PARTITIONS_TO_TXN, version, adding(version, me, [0, 9]))
    assert added(version, response) == [ErrorCode.operation_not_attempted, ErrorCode.unknown_topic_or_partition]
    await init(broker)
    response = await call(broker, ApiKey.ADD_PARTITIONS_TO_TXN, version, adding(version, me, [0]))
    expected = ErrorCode.producer_fenced if version >= 2 else ErrorCode.invalid_producer_epoch
    assert added(version, response) == [expected]


@pytest.mark.parametrize("version", [4, 5])
async def test_verify_only_adds_nothing(broker: FakeBroker, version: int) -> None:
    me = await init(broker)
    await call(broker, ApiKey.ADD_PARTITIONS_TO_TXN, version, adding(version, me, [0]))
    asked = adding(version, me, [0, 1], verify_only=True)
    for _ in range(2):
        response = await call(broker, ApiKey.ADD_PARTITIONS_TO_TXN, version, asked)
        assert added(version, response) == [ErrorCode.none, ErrorCode.transaction_abortable]


@pytest.mark.parametrize("version", range(5))
async def test_add_offsets(broker: FakeBroker, version: int) -> None:
    me = await init(broker)
    asked = {"transactional_id": "app", "producer_id": me.producer_id, "producer_epoch": me.producer_epoch}
    response = await call(broker, ApiKey.ADD_OFFSETS_TO_TXN, version, asked | {"group_id": "g"})
    assert response.error_code is ErrorCode.none
    response = await call(broker, ApiKey.ADD_OFFSETS_TO_TXN, version, asked | {"group_id": "g", "producer_epoch": 9})
    expected = ErrorCode.producer_fenced if version >= 2 else ErrorCode.invalid_producer_epoch
    assert response.error_code is expected


@pytest.mark.parametrize("version", range(6))
async def test_end_txn(broker: FakeBroker, version: int) -> None:
    me = await init(broker)
    await call(broker, ApiKey.ADD_PARTITIONS_TO_TXN, 3, adding(3, me, [0]))
    asked = {
        "transactional_id": "app",
        "producer_id": me.producer_id,
        "producer_epoch": me.producer_epoch,
        "committed": True,
    }
    for _ in range(2):  # the repetition is answered alike
        response = await call(broker, ApiKey.END_TXN, version, asked)
        assert response.error_code is ErrorCode.none
        if version >= 5:
            assert (response.producer_id, response.producer_epoch) == (me.producer_id, me.producer_epoch + 1)
    assert len([event for event in broker.events if event[0] == "marker"]) == 1
    response = await call(broker, ApiKey.END_TXN, version, asked | {"producer_epoch": 9})
    expected = ErrorCode.producer_fenced if version >= 2 else ErrorCode.invalid_producer_epoch
    assert response.error_code is expected


@pytest.mark.parametrize("version", [1, 2])
async def test_write_txn_markers(broker: FakeBroker, version: int) -> None:
    marker = {
        "producer_id": 5,
        "producer_epoch": 1,
        "transaction_result": False,
        "coordinator_epoch": 4,
        "topics": [{"name": "t", "partition_indexes": [0, 7]}],
    }
    response = await call(broker, ApiKey.WRITE_TXN_MARKERS, version, {"markers": [marker]})
    partitions = response.markers[0].topics[0].partitions
    assert [(partition.partition_index, partition.error_code) for partition in partitions] == [
        (0, ErrorCode.none),
        (7, ErrorCode.unknown_topic_or_partition),
    ]
    assert broker.events == [("marker", "t", 0, 5, 1, False, 4)]


async def test_describe_transactions(broker: FakeBroker) -> None:
    me = await init(broker)
    await call(broker, ApiKey.ADD_PARTITIONS_TO_TXN, 3, adding(3, me, [0, 1]))
    asked = {"transactional_ids": ["app", "nobody", ""]}
    response = await call(broker, ApiKey.DESCRIBE_TRANSACTIONS, 0, asked)
    shown, nobody, empty = response.transaction_states
    assert (shown.transaction_state, shown.producer_id) == ("Ongoing", me.producer_id)
    assert [(topic.topic, topic.partitions) for topic in shown.topics] == [("t", (0, 1))]
    assert nobody.error_code is ErrorCode.transactional_id_not_found
    assert empty.error_code is ErrorCode.invalid_request


async def listed(broker: FakeBroker, version: int = 2, **filters: Any) -> list[str]:
    values: dict[str, Any] = {"state_filters": [], "producer_id_filters": [], "duration_filter": -1}
    response = await call(broker, ApiKey.LIST_TRANSACTIONS, version, values | filters)
    return sorted(state.transactional_id for state in response.transaction_states)


async def test_list_transactions(broker: FakeBroker) -> None:
    me = await init(broker)
    other = await init(broker, transactional_id="other-1")
    await call(broker, ApiKey.ADD_PARTITIONS_TO_TXN, 3, adding(3, me, [0]))
    for version in range(3):
        assert await listed(broker, version) == ["app", "other-1"]
        assert await listed(broker, version, state_filters=["Ongoing"]) == ["app"]
        assert await listed(broker, version, state_filters=["Strange"]) == []
        assert await listed(broker, version, producer_id_filters=[other.producer_id]) == ["other-1"]
    assert await listed(broker, duration_filter=100_000) == []
    assert await listed(broker, duration_filter=0) in (["app"], [])
    assert await listed(broker, transactional_id_pattern="other-[0-9]+") == ["other-1"]
    assert await listed(broker, transactional_id_pattern="other") == []
    assert await listed(broker, transactional_id_pattern="") == ["app", "other-1"]


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", r"(a)\1", "(?=a)", "[", ".*" * 6])
async def test_patterns_that_could_stop_the_broker_are_refused(broker: FakeBroker, pattern: str) -> None:
    with pytest.raises(KafkaError) as caught:
        await listed(broker, transactional_id_pattern=pattern)
    assert caught.value.code is ErrorCode.invalid_regular_expression
