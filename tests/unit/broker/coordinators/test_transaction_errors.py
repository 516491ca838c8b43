"""Each version of a request hears the codes that its clients know."""

from __future__ import annotations

import pytest

from caudal.broker.coordinators import transaction_errors
from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey


@pytest.mark.parametrize(
    ("api_key", "first"),
    [
        (ApiKey.INIT_PRODUCER_ID, 4),
        (ApiKey.ADD_PARTITIONS_TO_TXN, 2),
        (ApiKey.ADD_OFFSETS_TO_TXN, 2),
        (ApiKey.END_TXN, 2),
    ],
)
def test_producer_fenced_is_told_from_its_version_on(api_key: ApiKey, first: int) -> None:
    fenced = ErrorCode.producer_fenced
    assert transaction_errors.for_client(api_key, first - 1, fenced) is ErrorCode.invalid_producer_epoch
    assert transaction_errors.for_client(api_key, first, fenced) is fenced
    assert transaction_errors.for_client(api_key, 0, ErrorCode.invalid_txn_state) is ErrorCode.invalid_txn_state


@pytest.mark.parametrize(
    ("version", "code", "told"),
    [
        (13, ErrorCode.producer_fenced, ErrorCode.invalid_producer_epoch),
        (10, ErrorCode.transaction_abortable, ErrorCode.invalid_txn_state),
        (11, ErrorCode.transaction_abortable, ErrorCode.transaction_abortable),
        (11, ErrorCode.concurrent_transactions, ErrorCode.not_enough_replicas),
        (12, ErrorCode.concurrent_transactions, ErrorCode.concurrent_transactions),
        (12, ErrorCode.coordinator_load_in_progress, ErrorCode.not_enough_replicas),
        (12, ErrorCode.invalid_producer_id_mapping, ErrorCode.invalid_producer_id_mapping),
    ],
)
def test_what_a_producer_is_told(version: int, code: ErrorCode, told: ErrorCode) -> None:
    assert transaction_errors.for_write(ApiKey.PRODUCE, version, code) is told


@pytest.mark.parametrize(
    ("version", "code", "told"),
    [
        (3, ErrorCode.transaction_abortable, ErrorCode.invalid_txn_state),
        (4, ErrorCode.transaction_abortable, ErrorCode.transaction_abortable),
        (4, ErrorCode.concurrent_transactions, ErrorCode.coordinator_not_available),
        (5, ErrorCode.concurrent_transactions, ErrorCode.concurrent_transactions),
        (5, ErrorCode.illegal_generation, ErrorCode.illegal_generation),
    ],
)
def test_what_a_committer_of_offsets_is_told(version: int, code: ErrorCode, told: ErrorCode) -> None:
    assert transaction_errors.for_write(ApiKey.TXN_OFFSET_COMMIT, version, code) is told
