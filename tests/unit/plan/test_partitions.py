"""Partition counts: tasks per sub-topology, repartition topics that follow what they are joined with, and a clear error
where topics that are joined do not match."""

from __future__ import annotations

import pytest

from caudal.plan.errors import PlanError
from caudal.plan.partitions import resolve_partitions
from caudal.serde import String
from caudal.streams import KStream, StreamsBuilder


def both(left: str, right: str) -> str:
    return left + right


def stream(builder: StreamsBuilder, topic: str) -> KStream:
    return builder.stream(topic, key=String(), value=String())


def test_a_repartition_topic_is_as_wide_as_its_widest_writer() -> None:
    builder = StreamsBuilder("app")
    merged = stream(builder, "a").merge(stream(builder, "b"))
    merged.group_by("value", name="g").count(store="counts").to("out")
    partitions = resolve_partitions(builder.build(), {"a": 2, "b": 6})
    assert partitions.topics["app-g-repartition"] == 6
    assert partitions.topics["app-counts-changelog"] == 6
    assert partitions.tasks == {0: 6, 1: 6}


def test_partitions_given_win_and_pass_on() -> None:
    builder = StreamsBuilder("app")
    again = stream(builder, "a").repartition(name="r", partitions=5)
    again.group_by("value", name="g").count().to("out")
    partitions = resolve_partitions(builder.build(), {"a": 2})
    assert partitions.topics["app-r-repartition"] == 5
    assert partitions.topics["app-g-repartition"] == 5
    assert partitions.tasks == {0: 2, 1: 5, 2: 5}


def test_our_repartition_topic_follows_the_topic_it_is_joined_with() -> None:
    builder = StreamsBuilder("app")
    table = builder.table("t", key=String(), value=String())
    stream(builder, "a").select_key("value").join(table, both, name="j").to("out")
    assert resolve_partitions(builder.build(), {"a": 8, "t": 3}).topics["app-j-repartition"] == 3


def test_two_repartition_topics_that_are_joined_take_the_wider_count() -> None:
    builder = StreamsBuilder("app")
    left, right = stream(builder, "a").select_key("value"), stream(builder, "b").select_key("value")
    left.join(right, both, within="1 minute", name="j").to("out")
    partitions = resolve_partitions(builder.build(), {"a": 8, "b": 3})
    assert partitions.topics["app-j-left-repartition"] == partitions.topics["app-j-right-repartition"] == 8


def test_outside_topics_that_are_joined_must_match() -> None:
    builder = StreamsBuilder("app")
    table = builder.table("t", key=String(), value=String())
    stream(builder, "a").join(table, both).to("out")
    with pytest.raises(PlanError, match="equally many partitions, but 'a' has 4, 't' has 3"):
        resolve_partitions(builder.build(), {"a": 4, "t": 3})


def test_given_partitions_must_match_what_they_are_joined_with() -> None:
    builder = StreamsBuilder("app")
    table = builder.table("t", key=String(), value=String())
    stream(builder, "a").repartition(name="r", partitions=5).join(table, both).to("out")
    with pytest.raises(PlanError, match="'app-r-repartition' has 5, 't' has 3"):
        resolve_partitions(builder.build(), {"a": 4, "t": 3})


def test_a_foreign_key_join_needs_no_equal_counts() -> None:
    builder = StreamsBuilder("app")
    left, right = (builder.table(topic, key=String(), value=String()) for topic in "ab")
    left.join(right, both, key_extractor="value", name="fk").to("out")
    partitions = resolve_partitions(builder.build(), {"a": 4, "b": 2})
    assert partitions.topics["app-fk-subscription-registration-topic"] == 2
    assert partitions.topics["app-fk-subscription-response-topic"] == 4


def test_what_is_behind_a_widened_topic_is_widened_too() -> None:
    builder = StreamsBuilder("app")
    left, right = stream(builder, "a").select_key("value"), stream(builder, "b").select_key("value")
    joined = left.join(right, both, within="1 minute", name="j")
    joined.group_by("value", name="g").count().to("out")
    assert resolve_partitions(builder.build(), {"a": 3, "b": 8}).topics["app-g-repartition"] == 8


def test_a_missing_topic_is_named() -> None:
    builder = StreamsBuilder("app")
    stream(builder, "a").to("out")
    with pytest.raises(
        PlanError, match=r"Source topic 'a' does not exist; create it \(caudal topic create a\) before 'app' starts"
    ):
        resolve_partitions(builder.build(), {})


def test_an_internal_topic_of_another_width_is_named() -> None:
    builder = StreamsBuilder("app")
    stream(builder, "a").group_by_key().count(store="counts").to("out")
    with pytest.raises(PlanError, match="'app-counts-changelog' has 3 partitions, but 4 are needed"):
        resolve_partitions(builder.build(), {"a": 4, "app-counts-changelog": 3})


def test_global_tables_ask_for_nothing() -> None:
    builder = StreamsBuilder("app")
    table = builder.global_table("g", key=String(), value=String())
    stream(builder, "a").join(table, both, key_selector="value").to("out")
    assert resolve_partitions(builder.build(), {"a": 4, "g": 1}).tasks == {1: 4}
