"""The encoder made from kio's schemas: what kio reads back is what was said, whatever the version."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.index import api_key_map, schema_name_map
from kio.static.constants import EntityType

from caudal.broker.errors import ErrorCode
from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey

EVERY_RESPONSE = [
    (key, version)
    for key, name in sorted(api_key_map.items())
    for version, kinds in schema_name_map[name].items()
    if EntityType.response in kinds
]


def test_a_blank_response_of_every_api_and_version_is_readable() -> None:
    for key, version in EVERY_RESPONSE:
        raw = messages.encode_response(key, version, messages.blank_response(key, version))
        messages.decode_response(key, version, raw)


@pytest.mark.parametrize("version", range(14))
def test_one_dict_serves_every_version_of_metadata(version: int) -> None:
    topic_id = UUID(int=7)
    partition = {
        "error_code": ErrorCode.none,
        "partition_index": 0,
        "leader_id": 1,
        "leader_epoch": 5,
        "replica_nodes": [1],
        "isr_nodes": [1],
        "offline_replicas": [],
    }
    values = {
        "brokers": [{"node_id": 1, "host": "here", "port": 9092, "rack": None}],
        "error_code": ErrorCode.none,
        "cluster_id": "c",
        "controller_id": 1,
        "topics": [
            {
                "error_code": ErrorCode.none,
                "name": "t",
                "topic_id": topic_id,
                "is_internal": False,
                "partitions": [partition],
            }
        ],
    }
    answer = messages.decode_response(
        ApiKey.METADATA, version, messages.encode_response(ApiKey.METADATA, version, values)
    )
    assert answer.topics[0].name == "t"
    assert answer.brokers[0].host == "here"
    if version >= 10:
        assert answer.topics[0].topic_id == topic_id


def test_a_missing_field_is_named() -> None:
    with pytest.raises(KeyError, match="brokers"):
        messages.encode_response(ApiKey.METADATA, 12, {"topics": []})


@given(st.sampled_from(sorted(api_key_map)), st.binary(max_size=200))
def test_any_bytes_are_a_request_or_malformed(key: int, noise: bytes) -> None:
    version = max(schema_name_map[api_key_map[key]])
    try:
        messages.decode_request(key, version, noise)
    except messages.Malformed:
        pass
