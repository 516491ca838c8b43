"""Rates over some seconds, and what follows from topics' rates for the edges between."""

from __future__ import annotations

from typing import Any

from caudal.pipelines.rates import RateMeter, edge_rates
from caudal.pipelines.topology_data import topology_data
from caudal.serde import Json, Long, String
from caudal.streams import StreamsBuilder


def test_a_rate_is_a_mean_over_the_last_seconds() -> None:
    meter = RateMeter(span=4)
    assert meter.update(0, {"in": 100}) == {"in": 0}
    assert meter.update(2, {"in": 300}) == {"in": 100}
    assert meter.update(4, {"in": 300}) == {"in": 50}
    assert meter.update(6, {"in": 300}) == {"in": 0}  # what was before the span is forgotten


def test_a_counter_that_comes_later_began_at_nothing_and_one_that_falls_has_no_rate() -> None:
    meter = RateMeter()
    assert meter.update(0, {"a": 10}) == {"a": 0}
    assert meter.update(2, {"a": 4, "b": 50}) == {"a": 0, "b": 25}


def rates(builder: StreamsBuilder, read: dict[str, float], written: dict[str, float]) -> dict[str, float]:
    """By the kinds of the two ends."""
    data = topology_data(builder.build())
    nodes = {node["name"]: node for node in data["nodes"]}

    def shown(name: str) -> Any:
        return name if name.startswith("topic:") else nodes[name].get("step", nodes[name]["kind"])

    return {f"{shown(a)} → {shown(b)}": rate for (a, b), rate in edge_rates(data, read, written).items()}


def test_rates_go_forward_through_steps_that_keep_every_record_and_backward_from_sinks() -> None:
    builder = StreamsBuilder("app")
    stream = builder.stream("in", key=String(), value=Json())
    stream.map_values(lambda value: value).filter("amount > 0").peek(lambda key, value: None).to("out")
    assert rates(builder, {"in": 10.0}, {"out": 4.0}) == {
        "topic:in → source": 10,
        "source → map values": 10,
        "map values → filter": 10,
        "filter → peek": 4,
        "peek → sink": 4,
        "sink → topic:out": 4,
    }


def test_what_does_not_follow_is_not_said() -> None:
    builder = StreamsBuilder("app")
    stream = builder.stream("in", key=String(), value=Json())
    stream.flat_map_values(lambda value: [value]).group_by_key().count(store="n").to("out", value=Long())
    assert rates(builder, {"in": 10.0}, {}) == {"topic:in → source": 10, "source → flat map values": 10}


def test_two_sinks_of_one_topic_are_not_told_apart_and_branches_neither() -> None:
    builder = StreamsBuilder("app")
    stream = builder.stream("in", key=String(), value=Json())
    stream.filter("amount > 0").to("out")
    stream.filter("amount < 0").to("out")
    found = rates(builder, {"in": 10.0}, {"out": 9.0})
    assert "sink → topic:out" not in found and found["source → filter"] == 10


def test_a_merge_has_the_sum_of_its_parents() -> None:
    builder = StreamsBuilder("app")
    left = builder.stream("left", key=String(), value=Json())
    left.merge(builder.stream("right", key=String(), value=Json())).filter("amount > 0").to("out")
    found = rates(builder, {"left": 10.0, "right": 5.0}, {})
    assert found["pass through → filter"] == 15
