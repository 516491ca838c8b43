"""What a Kafka error means for a task: try again, begin anew, give way to another owner, or stop with a sentence."""

from __future__ import annotations

from enum import Enum

from confluent_kafka import KafkaError, KafkaException

from caudal.runtime.errors import StreamsError


class Meaning(Enum):
    AGAIN = "again"  # broker away, rebalance, time-out: abort, and process the same rows once more
    FENCED = "fenced"  # somebody else has opened this task: a new producer is needed, if the task is still ours
    PERMANENT = "permanent"  # will fail every time


_FENCED = {
    KafkaError._FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_TXN_STATE,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
    KafkaError.UNKNOWN_PRODUCER_ID,
    KafkaError._STATE,  # librdkafka's own state machine is off: only a new producer helps
}
_PERMANENT = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError._AUTHENTICATION,
    KafkaError.INVALID_TRANSACTION_TIMEOUT,
    KafkaError.OFFSET_METADATA_TOO_LARGE,
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_TIMESTAMP,
    KafkaError.POLICY_VIOLATION,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNSUPPORTED_VERSION,
    KafkaError._INVALID_ARG,
    KafkaError._UNSUPPORTED_FEATURE,
}
# Failures of one record: a production handler may skip it.
_OF_A_RECORD = {
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_TIMESTAMP,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
}


class ProduceError(StreamsError):
    """A record could not be written, and never will be."""

    def __init__(self, topic: str, error: KafkaError) -> None:
        super().__init__(f"Topic '{topic}' does not take the record: {reason(error)}{_hint(error)}.")


class RecordRefused(Exception):
    """The broker refused a record, and the transaction with it; the task knows which one when it comes again."""

    def __init__(self, topic: str, error: KafkaError) -> None:
        super().__init__(f"Topic '{topic}' refused a record: {reason(error)}.")
        self.topic = topic
        self.error = error


def kafka_error(error: BaseException) -> KafkaError | None:
    found = error.args[0] if isinstance(error, KafkaException) and error.args else None
    return found if isinstance(found, KafkaError) else None


def meaning(error: BaseException) -> Meaning:
    found = kafka_error(error)
    if found is None:
        return Meaning.PERMANENT
    if found.code() in _PERMANENT:
        return Meaning.PERMANENT
    if found.code() in _FENCED or found.fatal():
        return Meaning.FENCED
    return Meaning.AGAIN


def _hint(error: KafkaError) -> str:
    if error.code() == KafkaError.INVALID_TIMESTAMP:
        return " (see its message.timestamp.after.max.ms and message.timestamp.before.max.ms)"
    if error.code() in (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE):
        return " (see its max.message.bytes, and message.max.bytes of the client)"
    return ""


def is_of_a_record(error: KafkaError) -> bool:
    return error.code() in _OF_A_RECORD


def reason(error: KafkaError) -> str:
    """The broker's or the client's words, without a full stop."""
    return " ".join(error.str().split()).rstrip(".") or error.name()
