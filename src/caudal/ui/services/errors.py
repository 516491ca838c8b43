"""The one error that pages show: a sentence for a person. Kafka's error codes become such sentences here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caudal.ui.words import t

if TYPE_CHECKING:
    from confluent_kafka import KafkaError


class UiError(Exception):
    """One sentence that says what is wrong and what to do. `code` is the server's own, where it gave one."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def kafka_error(error: KafkaError, bootstrap: str) -> UiError:
    """What a Kafka error code means for the visitor."""
    from confluent_kafka import KafkaError as Code

    silent = {Code._TRANSPORT, Code._TIMED_OUT, Code._ALL_BROKERS_DOWN, Code._TIMED_OUT_QUEUE, Code._RESOLVE}
    code = error.code()
    if code in silent:
        return UiError(t("The broker at {bootstrap} does not answer.", bootstrap=bootstrap), code)
    known = {
        Code.UNKNOWN_TOPIC_OR_PART: t("There is no such topic or partition."),
        Code._UNKNOWN_TOPIC: t("There is no such topic or partition."),
        Code._UNKNOWN_PARTITION: t("There is no such topic or partition."),
        Code.TOPIC_ALREADY_EXISTS: t("A topic of this name exists already."),
        Code.GROUP_ID_NOT_FOUND: t("There is no such group."),
        Code.NON_EMPTY_GROUP: t("The group has active members: stop its consumers first."),
        Code.UNKNOWN_MEMBER_ID: t("The group has active members: stop its consumers first."),
        Code.TOPIC_AUTHORIZATION_FAILED: t("The control center's user may not do this with the topic."),
        Code.GROUP_AUTHORIZATION_FAILED: t("The control center's user may not do this with the group."),
        Code.CLUSTER_AUTHORIZATION_FAILED: t("The control center's user may not do this on the cluster."),
        Code.SECURITY_DISABLED: t("The broker has no authorizer, so it keeps no ACLs."),
        Code._AUTHENTICATION: t("The broker refused the control center's credentials."),
        Code.MSG_SIZE_TOO_LARGE: t("The record is larger than the topic's max.message.bytes."),
    }
    return UiError(known.get(code) or sentence(error.str()), code)


def sentence(text: str) -> str:
    """A server's words as one line that ends with a full stop."""
    line = " ".join(text.split()).rstrip(".")
    if not line:
        return t("The request failed without a reason.")
    return f"{line[0].upper()}{line[1:]}."
