"""The drawing of a topology: nothing overlaps, data goes down, boxes hold what is theirs, text is escaped."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from caudal.pipelines.rates import edge_rates
from caudal.pipelines.topology_data import topology_data
from caudal.serde import Json, Long, String
from caudal.streams import StreamsBuilder, tumbling
from caudal.ui.pages.pipelines.drawing import edge_id, svg
from caudal.ui.pages.pipelines.layout import Item, Layout, lay_out


def orders() -> dict[str, Any]:
    """The example of the specification: two joins' worth of sub-topologies, a window, three sinks."""
    builder = StreamsBuilder("orders-by-user")
    stream = builder.stream("orders", key=String(), value=Json())
    customers = builder.table("customers", key=String(), value=Json())
    by_user = stream.filter("amount > 0").select_key(lambda key, order: order["user"])
    by_user.group_by_key().count(store="orders-per-user").to("orders-per-user", value=Long())
    by_user.join(customers, lambda order, customer: order).to("orders-enriched")
    by_user.group_by_key().windowed_by(tumbling("1 minute")).count().to("per-minute", value=Long())
    return topology_data(builder.build())


def foreign_key() -> dict[str, Any]:
    """Its sub-topologies send to each other: a loop."""
    builder = StreamsBuilder("fk")
    left = builder.table("left", key=String(), value=Json())
    right = builder.table("right", key=String(), value=Json())
    left.join(right, lambda a, b: a, key_extractor=lambda value: value["ref"]).to_stream().to("joined")
    return topology_data(builder.build())


def global_table() -> dict[str, Any]:
    builder = StreamsBuilder("g")
    names = builder.global_table("names", key=String(), value=String())
    stream = builder.stream("in", key=String(), value=String())
    stream.join(names, lambda a, b: a, key_selector=lambda key, value: value).to("out")
    return topology_data(builder.build())


TOPOLOGIES = pytest.mark.parametrize(
    "topology", [orders(), foreign_key(), global_table()], ids=["orders", "fk", "global"]
)


def overlap(a: Item, b: Item) -> bool:
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


def units(layout: Layout, *kinds: str) -> list[Item]:
    return [item for item in layout.items.values() if item.kind in kinds]


@TOPOLOGIES
def test_nothing_overlaps_and_everything_is_on_the_drawing(topology: dict[str, Any]) -> None:
    layout = lay_out(topology)
    for a, b in itertools.combinations(units(layout, "topic", "sub"), 2):
        assert not overlap(a, b), (a.id, b.id)
    for a, b in itertools.combinations(units(layout, "source", "processor", "sink", "store"), 2):
        assert not overlap(a, b), (a.id, b.id)
    for item in layout.items.values():
        assert item.x >= 0 and item.y >= 0
        assert item.x + item.width <= layout.width and item.y + item.height <= layout.height


@TOPOLOGIES
def test_boxes_hold_their_nodes_and_stores(topology: dict[str, Any]) -> None:
    layout = lay_out(topology)
    for sub in topology["subtopologies"]:
        box = layout.items[f"sub:{sub['id']}"]
        for id in [*(f"node:{name}" for name in sub["nodes"]), *(f"store:{name}" for name in sub["stores"])]:
            item = layout.items[id]
            assert box.x < item.x and item.x + item.width < box.x + box.width, id
            assert box.y < item.y and item.y + item.height < box.y + box.height, id


@TOPOLOGIES
def test_inside_a_box_data_goes_down(topology: dict[str, Any]) -> None:
    layout = lay_out(topology)
    for link in layout.links:
        if link.kind == "data" and link.source.startswith("node:") and link.target.startswith("node:"):
            assert layout.items[link.source].y < layout.items[link.target].y


def test_between_boxes_too_where_there_is_no_loop() -> None:
    layout = lay_out(orders())
    for link in layout.links:
        if link.kind == "data":
            assert layout.items[link.source].y + layout.items[link.source].height < layout.items[link.target].y


def test_an_empty_topology_has_an_empty_drawing() -> None:
    assert lay_out({}).items == {}
    ElementTree.fromstring(svg(lay_out({}), "app", "nothing"))


@TOPOLOGIES
def test_the_picture_is_sound_and_has_a_place_for_every_known_rate(topology: dict[str, Any]) -> None:
    picture = ElementTree.fromstring(svg(lay_out(topology), "app", "a drawing"))
    places = {element.get("data-rate") for element in picture.iter() if element.get("data-rate")}
    topics = {topic["name"]: 1.0 for topic in topology["topics"]}
    rates = edge_rates(topology, topics, topics)
    assert rates and {edge_id(edge) for edge in rates} <= places


def test_names_cannot_break_out_of_the_picture() -> None:
    evil = '"><script>alert(1)</script>'
    topology = {
        "nodes": [
            {"name": evil, "kind": "source", "topics": [evil]},
            {"name": "p", "kind": "processor", "step": evil, "text": evil, "parents": [evil], "stores": [evil]},
        ],
        "subtopologies": [{"id": 0, "global": False, "nodes": [evil, "p"], "stores": [evil]}],
        "stores": [{"name": evil, "kind": evil}],
        "topics": [{"name": evil, "kind": "external"}],
    }
    picture = svg(lay_out(topology), "app", evil)
    assert "<script" not in picture
    ElementTree.fromstring(picture)
