"""The list of topics: what matches and in which order."""

from __future__ import annotations

from caudal.ui.services.topics import TopicQuery, TopicRow, is_internal, matching, ordered

ROWS = [
    TopicRow("orders", 3, 1, 0, messages=5, size=None),
    TopicRow("Payments", 1, 3, 0, messages=50, size=10),
    TopicRow("order-items", 6, 1, 2, messages=None, size=5),
    TopicRow("_schemas", 1, 1, 0, messages=5, size=1),
]


def names(rows: list[TopicRow]) -> list[str]:
    return [row.name for row in rows]


def test_every_word_of_the_search_is_in_the_name_without_regard_to_case() -> None:
    assert names(matching(ROWS, TopicQuery("ORDER"))) == ["orders", "order-items"]
    assert names(matching(ROWS, TopicQuery("items order"))) == ["order-items"]
    assert names(matching(ROWS, TopicQuery("pay"))) == ["Payments"]


def test_internal_topics_are_hidden_until_asked_for() -> None:
    assert is_internal("__consumer_offsets")
    assert "_schemas" not in names(matching(ROWS, TopicQuery()))
    assert "_schemas" in names(matching(ROWS, TopicQuery(internal=True)))


def test_rows_are_ordered_by_a_column_then_by_name() -> None:
    assert names(ordered(ROWS, TopicQuery())) == ["Payments", "_schemas", "order-items", "orders"]
    by_partitions = names(ordered(ROWS, TopicQuery(sort="partitions", descending=True)))
    assert by_partitions == ["order-items", "orders", "Payments", "_schemas"]


def test_what_is_not_known_comes_last_in_both_directions() -> None:
    assert names(ordered(ROWS, TopicQuery(sort="messages")))[-1] == "order-items"
    assert names(ordered(ROWS, TopicQuery(sort="messages", descending=True))) == [
        "Payments",
        "_schemas",
        "orders",
        "order-items",
    ]
