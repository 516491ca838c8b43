"""What runs after what in a batch."""

from __future__ import annotations

from typing import Any

from caudal.plan.partitions import resolve_partitions
from caudal.runtime.batch.stages import Stages, stages
from caudal.serde import Json, String
from caudal.streams import StreamsBuilder


def built(builder: StreamsBuilder, partitions: int = 3) -> Stages:
    topology = builder.build()
    outside = {topic for sub in topology.subtopologies for topic in sub.source_topics} - topology.internal_topics.keys()
    return stages(topology, resolve_partitions(topology, dict.fromkeys(outside, partitions)))


def source(builder: StreamsBuilder, topic: str) -> Any:
    return builder.stream(topic, key=String(), value=Json())


def shape(made: Stages) -> list[list[tuple[tuple[int, ...], bool, int]]]:
    return [[(group.subs, group.together, len(group.units)) for group in stage.groups] for stage in made.stages]


def test_a_chain_without_a_new_key_is_one_stage() -> None:
    builder = StreamsBuilder("app")
    source(builder, "a").group_by_key().count().to("out")
    assert shape(built(builder)) == [[((0,), False, 3)]]


def test_a_new_key_makes_another_stage() -> None:
    builder = StreamsBuilder("app")
    source(builder, "a").group_by("user").count().to_stream().group_by(lambda key, value: value).count().to("out")
    made = built(builder)
    assert shape(made) == [[((0,), False, 3)], [((1,), False, 3)], [((2,), False, 3)]]
    assert [stage.units for stage in made.stages] == [range(3), range(3, 6), range(6, 9)]


def test_what_does_not_wait_for_another_runs_beside_it() -> None:
    builder = StreamsBuilder("app")
    for topic in ("a", "b"):
        source(builder, topic).group_by("user").count(store=topic)
    assert shape(built(builder)) == [[((0,), False, 3), ((2,), False, 3)], [((1,), False, 3), ((3,), False, 3)]]


def test_sub_topologies_that_answer_each_other_are_one_unit() -> None:
    builder = StreamsBuilder("app")
    orders = builder.table("orders", key=String(), value=Json())
    users = builder.table("users", key=String(), value=Json())
    joined = orders.join(users, lambda order, user: {**order, **user}, key_extractor="user")
    joined.to_stream().group_by("city").count().to("out")
    made = built(builder)
    together, after = made.stages
    assert [(len(group.subs), group.together, len(group.units)) for group in together.groups] == [(2, True, 1)]
    assert [(group.together, len(group.units)) for group in after.groups] == [(False, 3)]
    assert made.unit_of("orders", 0) == made.unit_of("users", 2) == 0


def test_an_application_that_reads_what_it_writes_is_one_unit() -> None:
    builder = StreamsBuilder("app")
    source(builder, "steps").filter("left > 0").map_values(lambda value: {"left": value["left"] - 1}).to("steps")
    made = built(builder)
    assert shape(made) == [[((0,), True, 1)]]
    assert made.written == {"steps"}


def test_a_topic_in_between_is_not_read_from_kafka() -> None:
    builder = StreamsBuilder("app")
    source(builder, "a").to("b")
    source(builder, "b").to("c")
    made = built(builder)
    assert shape(made) == [[((0,), False, 3)], [((1,), False, 3)]]
    assert made.written == {"b"}
