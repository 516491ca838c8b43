"""The plan as data: what it says about stores, old values, null keys and optimisation; it prints, it is JSON, and it
travels.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from caudal.plan import steps
from caudal.plan.durations import milliseconds
from caudal.plan.errors import PlanError
from caudal.plan.topology import Node, ProcessorNode, SourceNode, Topology
from caudal.serde import Json, Long, String
from caudal.streams import KStream, KTable, StreamsBuilder, in_memory, tumbling, until_window_closes

EXAMPLE = Path(__file__).parents[3] / "examples" / "orders.py"


def both(left: Any, right: Any) -> Any:
    return [left, right]


def stream(builder: StreamsBuilder, topic: str) -> KStream:
    return builder.stream(topic, key=String(), value=Json())


def table(builder: StreamsBuilder, topic: str) -> KTable:
    return builder.table(topic, key=String(), value=Json())


def node(topology: Topology, name: str) -> Any:
    found: list[Node] = [node for node in topology.nodes if node.name == name]
    assert len(found) == 1
    return found[0]


def test_the_example_of_the_specification_builds_as_it_stands() -> None:
    topology = runpy.run_path(str(EXAMPLE))["builder"].build()
    assert isinstance(topology, Topology)
    assert len(topology.subtopologies) == 4
    assert topology.application_id == "orders-by-user"


def test_a_plan_is_json_with_functions_by_text_or_name() -> None:
    builder = StreamsBuilder("app")
    stream(builder, "a").filter("amount > 0").map_values(lambda key, value: value).to("out")
    stream(builder, "b").group_by_key().windowed_by(tumbling("1 minute")).count().suppress(until_window_closes())
    data = builder.build().to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["nodes"][1]["step"] == {"step": "Filter", "predicate": {"sql": "amount > 0"}, "negate": False}
    assert data["nodes"][1]["parents"] == ["KSTREAM-SOURCE-0000000000"]
    assert data["nodes"][0]["value"] == {"type": "Json", "sort_keys": False, "schema": None}


def test_mermaid_has_every_node_topic_and_store() -> None:
    topology = runpy.run_path(str(EXAMPLE))["builder"].build()
    chart = topology.mermaid()
    assert chart.startswith("flowchart TD\n")
    for name in [*(node.name for node in topology.nodes), *topology.stores, "orders", "orders-enriched"]:
        assert f'"{name}"' in chart
    assert chart.count("subgraph") == 4


def test_a_plan_with_lambdas_travels_by_cloudpickle() -> None:
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    builder = StreamsBuilder("app")
    factor = 3
    stream(builder, "a").map_values(lambda value: value * factor).filter("value > 2").to("out")
    again = cloudpickle.loads(cloudpickle.dumps(builder.build()))
    assert again.describe() == builder.build().describe()
    assert node(again, "KSTREAM-MAPVALUES-0000000001").step.function.call("k", 2) == 6
    assert node(again, "KSTREAM-FILTER-0000000002").step.predicate.call("k", 2) is False


def test_a_table_has_no_store_until_somebody_reads_it() -> None:
    builder = StreamsBuilder("app")
    customers = table(builder, "t")
    customers.to("copy")
    assert node(builder.build(), "KTABLE-SOURCE-0000000002").step.store is None
    assert builder.build().stores == {}
    stream(builder, "a").join(customers, both).to("out")
    assert node(builder.build(), "KTABLE-SOURCE-0000000002").step.store == "t-STATE-STORE-0000000000"


def test_a_join_names_the_node_of_a_table_that_has_no_store() -> None:
    builder = StreamsBuilder("app")
    good = table(builder, "t").filter("amount > 0")
    stream(builder, "a").join(good, both).to("out")
    topology = builder.build()
    join = node(topology, "KSTREAM-JOIN-0000000005")
    assert join.step.store == "KTABLE-FILTER-0000000003"
    assert join.stores == ("t-STATE-STORE-0000000000",)


def test_a_join_names_the_node_of_a_windowed_table() -> None:
    builder = StreamsBuilder("app")
    left, right = (
        stream(builder, topic)
        .group_by_key()
        .windowed_by(tumbling("1 minute"))
        .count(name=topic, store=f"{topic}-store")
        for topic in "ab"
    )
    left.join(right, both, name="j").to("out")
    this = node(builder.build(), "j-join-this")
    assert (this.step.other_store, this.stores) == ("b", ("b-store",))


def test_old_values_are_sent_where_they_were_asked_for_in_time() -> None:
    """As in Kafka Streams, a filter that was there before the table had a store goes without old values."""
    builder = StreamsBuilder("app")
    customers = table(builder, "t")
    customers.filter("amount > 0", name="early").to("out")
    customers.group_by(lambda key, value: (value, key)).count()
    customers.filter("amount > 0", name="late").to("out2")
    customers.map_values("amount", name="never").to("out3")
    topology = builder.build()
    assert node(topology, "KTABLE-SOURCE-0000000002").sends_old
    assert not node(topology, "early").sends_old
    assert node(topology, "late").sends_old
    assert not node(topology, "never").sends_old


def test_outer_sides_of_a_table_join_send_old_values() -> None:
    for join, expected in (("join", (False, False)), ("left_join", (True, False)), ("outer_join", (True, True))):
        builder = StreamsBuilder("app")
        left = builder.table("a", key=String(), value=Json(), name="left")
        right = builder.table("b", key=String(), value=Json(), name="right")
        getattr(left, join)(right, both, name="joined").to("out")
        topology = builder.build()
        assert (node(topology, "left").sends_old, node(topology, "right").sends_old) == expected
        assert not node(topology, "joined").sends_old


def test_a_repartition_keeps_null_keys_only_in_front_of_left_and_outer_joins() -> None:
    builder = StreamsBuilder("app")
    customers = table(builder, "t")
    stream(builder, "a").select_key("user").join(customers, both, name="inner").to("out")
    stream(builder, "b").select_key("user").left_join(customers, both, name="left").to("out2")
    topology = builder.build()
    assert isinstance(node(topology, "inner-repartition-filter").step, steps.Filter)
    assert isinstance(node(topology, "left-repartition-filter").step, steps.PassThrough)
    drop = node(topology, "inner-repartition-filter").step.predicate.call
    assert drop("k", None) is True and drop(None, "v") is False


def test_null_keys_are_kept_across_several_repartitions() -> None:
    builder = StreamsBuilder("app")
    again = stream(builder, "a").repartition(name="first").map_values("value").repartition(name="second")
    again.left_join(stream(builder, "b"), both, within="1 minute").to("out")
    topology = builder.build()
    assert isinstance(node(topology, "first-repartition-filter").step, steps.PassThrough)
    assert isinstance(node(topology, "second-repartition-filter").step, steps.PassThrough)


def test_optimised_a_tables_topic_is_its_changelog() -> None:
    builder = StreamsBuilder("app")
    stream(builder, "a").join(table(builder, "t"), both).to("out")
    plain, optimised = builder.build(), builder.build(optimize=True)
    assert "app-t-STATE-STORE-0000000001-changelog" in plain.internal_topics
    assert optimised.internal_topics == {}
    assert optimised.stores["t-STATE-STORE-0000000001"].changelog == "t"
    assert optimised.describe() == plain.describe()


def test_changelog_configs_can_be_set() -> None:
    builder = StreamsBuilder("app")
    keep = in_memory("counts", topic_configs={"min.cleanable.dirty.ratio": 0.1})
    stream(builder, "a").group_by_key().count(store=keep)
    topology = builder.build()
    assert topology.internal_topics["app-counts-changelog"].configs["min.cleanable.dirty.ratio"] == "0.1"
    assert topology.stores["counts"].persistent is False


def test_serdes_stay_unless_told_otherwise() -> None:
    builder = StreamsBuilder("app")
    stream(builder, "a").select_key("user").map_values("amount", value=Long()).group_by_key(name="g").reduce(max).to(
        "out"
    )
    topology = builder.build()
    source = node(topology, "g-repartition-source")
    assert isinstance(source, SourceNode)
    assert (source.key, source.value) == (String(), Long())


def test_reused_branches_and_groups_share_their_nodes() -> None:
    builder = StreamsBuilder("app")
    by_user = stream(builder, "a").select_key("user")
    by_user.join(table(builder, "t"), both).to("out")
    by_user.left_join(table(builder, "u"), both).to("out2")
    assert [topic for topic in builder.build().internal_topics if topic.endswith("-repartition")] == [
        "app-KSTREAM-KEY-SELECT-0000000001-repartition"
    ]


def test_building_twice_gives_the_same_plan() -> None:
    builder = StreamsBuilder("app")
    stream(builder, "a").group_by("user").count().to("out")
    assert builder.build().to_dict() == builder.build().to_dict()


def test_processor_nodes_name_their_stores() -> None:
    builder = StreamsBuilder("app")
    stream(builder, "a").group_by_key().count(store="counts").to("out")
    used = [node.stores for node in builder.build().nodes if isinstance(node, ProcessorNode)]
    assert used == [("counts",), ()]


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("1 minute", 60_000),
        ("10 seconds", 10_000),
        ("90s", 90_000),
        ("1h 30m", 5_400_000),
        ("1 hour and 30 minutes", 5_400_000),
        ("1.5 seconds", 1_500),
        ("250 ms", 250),
        ("2 days", 172_800_000),
        ("0 s", 0),
        (5, 5),
    ],
)
def test_durations(text: str | int, length: int) -> None:
    assert milliseconds(text) == length


@pytest.mark.parametrize("text", ["", "soon", "5", "5 parsecs", "-1 minute", -1, 1.5, None, True, "1 minute later"])
def test_durations_that_make_no_sense(text: Any) -> None:
    with pytest.raises(PlanError):
        milliseconds(text, "grace period")
