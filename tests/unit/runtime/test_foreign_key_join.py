"""Foreign-key joins: subscriptions come and go with the left rows, answers to outdated rows are dropped."""

from __future__ import annotations

from typing import Any

from tests.unit.runtime.topologies import J, S, after_each, outputs, started, table_of

from caudal.runtime.operators.operator import NULL_FOREIGN_KEY, OUTDATED_RESPONSE
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.serde.foreign_key import SubscriptionResponse, value_hash
from caudal.streams import StreamsBuilder


def joined(kind: str, **given: Any) -> TopologyTestDriver:
    def build(builder: StreamsBuilder) -> None:
        left, right = table_of(builder, "l"), table_of(builder, "r")
        getattr(left, kind)(right, lambda a, b: [a["n"], b], key_extractor=lambda value: value["fk"], **given).to("out")

    return started(build)


def row(fk: str | None, n: int = 0) -> dict[str, Any]:
    return {"fk": fk, "n": n}


def test_an_inner_join_follows_both_sides() -> None:
    driver = joined("join")
    assert after_each(
        driver,
        ("l", "1", row("a"), 0),
        ("r", "a", "A", 1),
        ("l", "2", row("a"), 2),
        ("r", "a", "B", 3),
        ("l", "1", row("a", 7), 1),  # out of order: the result has the larger time
        ("l", "1", row("b"), 5),  # points elsewhere, where there is nothing
        ("l", "1", row("c"), 6),
        ("l", "2", None, 7),
        ("l", "2", None, 8),
        ("r", "a", "C", 9),  # nobody refers to it any more
    ) == [
        [],
        [("1", [0, "A"], 1)],
        [("2", [0, "A"], 2)],
        [("1", [0, "B"], 3), ("2", [0, "B"], 3)],
        [("1", [7, "B"], 3)],
        [("1", None, 5)],
        [("1", None, 6)],
        [("2", None, 7)],
        [],
        [],
    ]


def test_an_inner_join_without_a_foreign_key_counts_it_and_ends_the_subscription() -> None:
    driver = joined("join")
    assert after_each(
        driver, ("r", "a", "A", 0), ("l", "1", row(None), 1), ("l", "1", row("a"), 2), ("l", "1", row(None), 3)
    ) == [[], [], [("1", [0, "A"], 2)], [("1", None, 3)]]
    assert driver.dropped == {NULL_FOREIGN_KEY: 2}


def test_a_left_join_has_a_result_for_every_row() -> None:
    driver = joined("left_join")
    assert after_each(
        driver,
        ("l", "1", row("a"), 0),
        ("r", "a", "A", 1),
        ("l", "1", row(None), 2),
        ("r", "a", "B", 3),
        ("l", "1", row("a"), 4),
        ("r", "a", None, 5),
        ("l", "1", None, 6),
        ("l", "1", None, 7),
    ) == [
        [("1", [0, None], 0)],
        [("1", [0, "A"], 1)],
        [("1", [0, None], 2)],
        [],
        [("1", [0, "B"], 4)],
        [("1", [0, None], 5)],
        [("1", None, 6)],
        [],
    ]
    assert driver.dropped == {}


def test_deleting_the_right_row_deletes_inner_results() -> None:
    driver = joined("join", store="result")
    assert after_each(driver, ("r", "a", "A", 0), ("l", "1", row("a"), 1), ("r", "a", None, 2)) == [
        [],
        [("1", [0, "A"], 1)],
        [("1", None, 2)],
    ]
    assert driver.store("result").get("1") is None


def test_an_answer_to_a_value_that_has_changed_is_dropped() -> None:
    driver = joined("join")
    topic = next(t for t in driver.topology.internal_topics if "SUBSCRIPTION-RESPONSE" in t)
    driver.pipe_input("l", "1", row("a", 2), timestamp=0)
    driver.pipe_input(topic, "1", SubscriptionResponse(value_hash(J.serialize(row("a", 1))), "old"), timestamp=1)
    assert outputs(driver) == []
    assert driver.dropped == {OUTDATED_RESPONSE: 1}
    driver.pipe_input(topic, "1", SubscriptionResponse(value_hash(J.serialize(row("a", 2))), "now"), timestamp=1)
    assert outputs(driver) == [("1", [2, "now"], 1)]


def test_a_prefix_of_a_foreign_key_is_another_key() -> None:
    driver = joined("join")
    assert after_each(driver, ("l", "1", row("ab"), 0), ("l", "2", row("a"), 0), ("r", "a", "A", 1)) == [
        [],
        [],
        [("2", [0, "A"], 1)],
    ]


def test_keys_are_told_apart_by_their_bytes() -> None:
    assert S.serialize("a") == b"a"
