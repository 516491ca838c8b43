"""Under which subject a schema is registered, as Kafka's serialisers name them."""

from __future__ import annotations

from caudal.serde.serde import SerdeError

TOPIC, RECORD, TOPIC_RECORD = "topic", "record", "topic-record"
STRATEGIES = (TOPIC, RECORD, TOPIC_RECORD)


def subject_name(strategy: str, topic: str | None, is_key: bool, record: str | None) -> str:
    """
    >>> subject_name("topic", "orders", False, "shop.Order")
    'orders-value'
    >>> subject_name("topic-record", "orders", False, "shop.Order")
    'orders-shop.Order'
    """
    if strategy != RECORD and topic is None:
        raise SerdeError(
            f"Subjects are named by {strategy}, and the serde was not told its topic: give subject=, or take "
            "serde.for_topic('orders', is_key=False). Sources, sinks and stores of Streams do that themselves."
        )
    if strategy == TOPIC:
        return f"{topic}-{'key' if is_key else 'value'}"
    if record is None:
        raise SerdeError(f"Subjects are named by {strategy}, and the schema has no name of its own: give subject=.")
    return record if strategy == RECORD else f"{topic}-{record}"
