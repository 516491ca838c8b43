"""Injected errors are answered in the shape of each API's own response."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kio.index import load_request_schema

from caudal.broker import apis  # noqa: F401  (registers the handlers)
from caudal.broker.errors import ErrorCode
from caudal.broker.faults import error_answer
from caudal.broker.router import APIS
from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey

CODE = ErrorCode.not_coordinator


def answered(key: ApiKey, version: int, request: dict[str, Any]) -> Any:
    context: Any = SimpleNamespace(api_key=key, version=version)
    raw = messages.encode_request(key, version, {**messages.blank(load_request_schema(key, version)), **request})
    return messages.decode_response(key, version, error_answer(context, raw, 0, CODE))


@pytest.mark.parametrize("key", sorted(APIS))
def test_every_served_version_of_every_api_has_an_answer(key: int) -> None:
    api = APIS[key]
    for version in range(api.first, api.last + 1):
        answered(api.key, version, {})


def test_each_partition_of_a_produce_gets_the_code() -> None:
    partitions = [{"index": 3, "records": b"x"}, {"index": 4, "records": b"y"}]
    answer = answered(ApiKey.PRODUCE, 9, {"acks": 1, "topic_data": [{"name": "t", "partition_data": partitions}]})
    results = answer.responses[0].partition_responses
    assert [(item.index, item.error_code) for item in results] == [(3, CODE), (4, CODE)]


def test_a_group_api_gets_it_at_the_top() -> None:
    assert answered(ApiKey.HEARTBEAT, 4, {"group_id": "g"}).error_code is CODE


def test_bare_partition_numbers_are_answered_one_by_one() -> None:
    topics = [{"name": "t", "partitions": [1, 2]}]
    answer = answered(ApiKey.ADD_PARTITIONS_TO_TXN, 3, {"v3_and_below_topics": topics})
    results = answer.results_by_topic_v3_and_below[0].results_by_partition
    assert [(item.partition_index, item.partition_error_code) for item in results] == [(1, CODE), (2, CODE)]
