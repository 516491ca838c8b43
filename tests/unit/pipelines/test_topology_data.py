"""The reported topology has what a drawing needs, as JSON."""

from __future__ import annotations

import orjson

from caudal.pipelines.topology_data import topology_data
from caudal.serde import Json, Long, String
from caudal.streams import StreamsBuilder


def example() -> StreamsBuilder:
    builder = StreamsBuilder("app")
    orders = builder.stream("orders", key=String(), value=Json())
    large = orders.filter("amount > 10").select_key(lambda key, order: order["user"])
    large.group_by_key().count(store="n").to("counts", key=String(), value=Long())
    return builder


def test_nodes_stores_topics_and_their_sub_topologies() -> None:
    data = orjson.loads(orjson.dumps(topology_data(example().build())))
    kinds = {topic["name"]: topic["kind"] for topic in data["topics"]}
    assert kinds == {"orders": "external", "counts": "external", "app-n-repartition": "repartition"}
    assert data["stores"] == [
        {"name": "n", "kind": "timestamped key-value", "persistent": True, "changelog": "app-n-changelog"}
    ]
    assert [sub["id"] for sub in data["subtopologies"]] == [0, 1]
    assert data["subtopologies"][1]["stores"] == ["n"]
    named = {node["name"] for node in data["nodes"]}
    assert {name for sub in data["subtopologies"] for name in sub["nodes"]} == named
    for node in data["nodes"]:
        assert set(node.get("parents", ())) <= named


def test_functions_are_shown_by_their_text() -> None:
    nodes = topology_data(example().build())["nodes"]
    texts = [(node["step"], node["text"]) for node in nodes if "step" in node]
    assert ("filter", "amount > 10") in texts and ("select key", "λ") in texts
