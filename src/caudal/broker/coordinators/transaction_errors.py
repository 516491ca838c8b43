"""Error codes as the versions of a request understand them.

The coordinator speaks in the newest codes; a client of an older version would take some of them for something else
(a fatal error where it may retry), so Kafka translates at the edge. One table per direction, no state.
"""

from __future__ import annotations

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey

# The first version of each API whose clients know PRODUCER_FENCED.
_FENCED_SINCE = {
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.ADD_PARTITIONS_TO_TXN: 2,
    ApiKey.ADD_OFFSETS_TO_TXN: 2,
    ApiKey.END_TXN: 2,
}
_ABORTABLE_SINCE = {ApiKey.PRODUCE: 11, ApiKey.TXN_OFFSET_COMMIT: 4}
_ADDS_PARTITIONS_SINCE = {ApiKey.PRODUCE: 12, ApiKey.TXN_OFFSET_COMMIT: 5}
_COORDINATOR_AWAY = frozenset(
    {
        ErrorCode.network_exception,
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.coordinator_not_available,
        ErrorCode.not_coordinator,
    }
)
# That the coordinator is busy or away is none of an older client's business: it only has to try again.
_TRY_AGAIN = {
    ApiKey.PRODUCE: ErrorCode.not_enough_replicas,
    ApiKey.TXN_OFFSET_COMMIT: ErrorCode.coordinator_not_available,
}
# What a failed append to `__transaction_state` tells the client of the coordinator.
_APPEND_ERRORS = {
    ErrorCode.unknown_topic_or_partition: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas_after_append: ErrorCode.coordinator_not_available,
    ErrorCode.request_timed_out: ErrorCode.coordinator_not_available,
    ErrorCode.not_leader_or_follower: ErrorCode.not_coordinator,
    ErrorCode.kafka_storage_error: ErrorCode.not_coordinator,
    ErrorCode.message_too_large: ErrorCode.unknown_server_error,
    ErrorCode.record_list_too_large: ErrorCode.unknown_server_error,
}


def for_client(api_key: ApiKey, version: int, code: ErrorCode) -> ErrorCode:
    """A coordinator's error in the answer to one of the transaction APIs."""
    if code is ErrorCode.producer_fenced and version < _FENCED_SINCE[api_key]:
        return ErrorCode.invalid_producer_epoch
    return code


def adds_partitions(api_key: ApiKey, version: int) -> bool:
    """Whether this Produce or TxnOffsetCommit itself adds its partitions to the transaction (KIP-890, second part)."""
    return version >= _ADDS_PARTITIONS_SINCE[api_key]


def for_write(api_key: ApiKey, version: int, code: ErrorCode) -> ErrorCode:
    """An error of `verify_or_add` in the answer to a Produce or TxnOffsetCommit."""
    if code is ErrorCode.producer_fenced:
        return ErrorCode.invalid_producer_epoch  # what producers have always handled here
    if code is ErrorCode.transaction_abortable and version < _ABORTABLE_SINCE[api_key]:
        return ErrorCode.invalid_txn_state
    waits = code is ErrorCode.concurrent_transactions and not adds_partitions(api_key, version)
    if waits or code in _COORDINATOR_AWAY:
        return _TRY_AGAIN[api_key]
    return code


def for_failed_append(code: ErrorCode) -> ErrorCode:
    return _APPEND_ERRORS.get(code, code)
