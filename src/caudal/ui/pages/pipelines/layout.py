"""Where everything of a topology stands on the drawing: topics between sub-topologies, nodes and stores inside them.

Left to right in the direction of the data. Each sub-topology is laid out by itself (a node stands right of its parents,
at their height where there is room), then the boxes and the topics in the same way. Loops, which foreign-key joins
make through their topics, are cut where they close. Pure; drawing.py makes the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

NODE_WIDTH, NODE_HEIGHT = 168.0, 46.0
STORE_HEIGHT = 38.0
TOPIC_WIDTH, TOPIC_HEIGHT = 188.0, 46.0
GAP_X, GAP_Y = 66.0, 18.0  # a rate stands on an edge
BOX_PADDING, BOX_HEADER = 18.0, 30.0
OUTER_GAP_X, OUTER_GAP_Y = 78.0, 26.0
MARGIN = 12.0


@dataclass(slots=True)
class Item:
    """Something that is drawn, with its upper left corner."""

    id: str  # "node:NAME", "store:NAME", "topic:NAME", "sub:NUMBER"
    kind: str  # source, processor, sink, store, topic, sub
    width: float
    height: float
    data: Mapping[str, Any]
    x: float = 0.0
    y: float = 0.0

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Link:
    source: str  # ids of items
    target: str
    kind: str = "data"  # or "state": a node and its store


@dataclass(slots=True)
class Layout:
    items: dict[str, Item] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def lay_out(topology: Mapping[str, Any]) -> Layout:
    nodes = {str(node["name"]): node for node in topology.get("nodes", ())}
    stores = {str(store["name"]): store for store in topology.get("stores", ())}
    layout = Layout()
    boxes: dict[str, list[Item]] = {}
    for sub in topology.get("subtopologies", ()):
        box, inside = _sub_box(sub, nodes, stores)
        layout.items[box.id] = box
        layout.items.update((item.id, item) for item in inside)
        boxes[box.id] = inside
    for topic in topology.get("topics", ()):
        item = Item(f"topic:{topic['name']}", "topic", TOPIC_WIDTH, TOPIC_HEIGHT, topic)
        layout.items[item.id] = item
    layout.links = [link for link in _links(nodes) if link.source in layout.items and link.target in layout.items]
    _place_outer(layout, boxes)
    return layout


def _links(nodes: Mapping[str, Mapping[str, Any]]) -> Iterable[Link]:
    for name, node in nodes.items():
        here = f"node:{name}"
        if node["kind"] == "source":
            yield from (Link(f"topic:{topic}", here) for topic in node["topics"])
            continue
        yield from (Link(f"node:{parent}", here) for parent in node.get("parents", ()))
        yield from (Link(here, f"store:{store}", "state") for store in node.get("stores", ()))
        if node["kind"] == "sink":
            yield from (Link(here, f"topic:{topic}") for topic in node["topics"])


# -- inside a sub-topology -------------------------------------------------------------------------------------------


def _sub_box(
    sub: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], stores: Mapping[str, Mapping[str, Any]]
) -> tuple[Item, list[Item]]:
    """The box, and what is in it with places relative to the box."""
    names = [name for name in sub["nodes"] if name in nodes]
    items = {name: Item(f"node:{name}", nodes[name]["kind"], NODE_WIDTH, NODE_HEIGHT, nodes[name]) for name in names}
    parents = {name: [parent for parent in nodes[name].get("parents", ()) if parent in items] for name in names}
    columns = layers(names, parents)
    for number in range(max(columns.values(), default=-1) + 1):
        column = [items[name] for name in names if columns[name] == number]
        for item in column:
            item.x = BOX_PADDING + number * (NODE_WIDTH + GAP_X)
        wished = {
            item.id: _mean([items[parent].y for parent in parents[item.id.removeprefix("node:")]]) for item in column
        }
        stack(column, wished, GAP_Y, top=BOX_HEADER)
    inside = list(items.values())
    for name in sub["stores"]:
        if name in stores:
            inside.append(_store_item(stores[name], names, nodes, items, inside))
    width = max((item.x + item.width for item in inside), default=NODE_WIDTH) + BOX_PADDING
    height = max((item.y + item.height for item in inside), default=BOX_HEADER) + BOX_PADDING
    return Item(f"sub:{sub['id']}", "sub", width, height, sub), inside


def _store_item(
    store: Mapping[str, Any],
    names: list[str],
    nodes: Mapping[str, Mapping[str, Any]],
    items: Mapping[str, Item],
    inside: list[Item],
) -> Item:
    """Below everything in the column of the first node that uses it."""
    item = Item(f"store:{store['name']}", "store", NODE_WIDTH, STORE_HEIGHT, store)
    users = [items[name] for name in names if store["name"] in nodes[name].get("stores", ())]
    item.x = users[0].x if users else BOX_PADDING
    taken = [other.y + other.height for other in inside if other.x == item.x]
    item.y = max(taken, default=BOX_HEADER) + GAP_Y
    return item


# -- topics and boxes ------------------------------------------------------------------------------------------------


def _place_outer(layout: Layout, boxes: Mapping[str, list[Item]]) -> None:
    units = [item for item in layout.items.values() if item.kind in ("topic", "sub")]
    if not units:
        return
    box_of = {item.id: box for box, inside in boxes.items() for item in inside}
    ends: list[tuple[str, str, Link]] = []  # unit → unit, by which link
    for link in layout.links:
        source, target = box_of.get(link.source, link.source), box_of.get(link.target, link.target)
        if link.kind == "data" and source != target:
            ends.append((source, target, link))
    parents: dict[str, list[str]] = {unit.id: [] for unit in units}
    for source, target, _ in ends:
        parents[target].append(source)
    columns = layers([unit.id for unit in units], parents)
    _pull_sources_right(columns, parents)
    by_column: dict[int, list[Item]] = {}
    for unit in units:
        by_column.setdefault(columns[unit.id], []).append(unit)
    x = MARGIN
    for number in sorted(by_column):
        widest = max(unit.width for unit in by_column[number])
        for unit in by_column[number]:
            unit.x = x + (widest - unit.width) / 2 if unit.kind == "topic" else x
        x += widest + OUTER_GAP_X

    def height_of(id: str) -> float:
        """Where an edge meets it: a node inside its box, or the topic."""
        item = layout.items[id]
        return item.middle + (layout.items[box_of[id]].y if id in box_of else 0.0)

    def settle(number: int, mine: Callable[[tuple[str, str, Link]], tuple[str, str, str]]) -> None:
        wished: dict[str, float | None] = {}
        for unit in by_column[number]:
            found = []
            for end in ends:
                unit_id, own, other = mine(end)
                if unit_id == unit.id:
                    found.append(height_of(other) - (height_of(own) - unit.y))
            wished[unit.id] = _mean(found)
        stack(by_column[number], wished, OUTER_GAP_Y)

    for number in sorted(by_column):
        settle(number, lambda end: (end[1], end[2].target, end[2].source))
    for number in sorted(by_column, reverse=True)[1:]:
        settle(number, lambda end: (end[0], end[2].source, end[2].target))
    top = min(unit.y for unit in units) - MARGIN
    for unit in units:
        unit.y -= top
    for box, inside in boxes.items():
        for item in inside:
            item.x += layout.items[box].x
            item.y += layout.items[box].y
    layout.width = max(unit.x + unit.width for unit in units) + MARGIN
    layout.height = max(unit.y + unit.height for unit in units) + MARGIN


def _pull_sources_right(columns: dict[str, int], parents: Mapping[str, list[str]]) -> None:
    """A topic that is only read stands just before its first reader, not at the far left."""
    for id, above in parents.items():
        if not above and id.startswith("topic:"):
            readers = [columns[other] for other, its in parents.items() if id in its and columns[other] > columns[id]]
            if readers:
                columns[id] = min(readers) - 1


# -- for both --------------------------------------------------------------------------------------------------------


def layers(names: list[str], parents: Mapping[str, list[str]]) -> dict[str, int]:
    """The column of each: one more than that of its last parent. Where a loop closes, the edge does not count."""
    found: dict[str, int] = {}
    under_way: set[str] = set()

    def column(name: str) -> int:
        if name not in found:
            under_way.add(name)
            above = [column(parent) for parent in parents[name] if parent not in under_way]
            under_way.discard(name)
            found[name] = max(above, default=-1) + 1
        return found[name]

    for name in names:
        column(name)
    return found


def stack(column: list[Item], wished: Mapping[str, float | None], gap: float, top: float | None = None) -> None:
    """Puts the items of a column below each other, each near the height it wishes."""
    order = sorted(enumerate(column), key=lambda pair: (_or(wished[pair[1].id], pair[1].y), pair[0]))
    bottom: float | None = top
    shift = []
    for _, item in order:
        wish = wished[item.id]
        low = item.y if wish is None and bottom is None else bottom
        item.y = _or(wish, _or(low, 0.0)) if low is None else max(_or(wish, low), low)
        if wish is not None:
            shift.append(item.y - wish)
        bottom = item.y + item.height + gap
    if top is None and shift:  # those below must not be pushed down further than those above could go up
        up = sum(shift) / len(shift)
        for item in column:
            item.y -= up


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _or(value: float | None, other: float) -> float:
    return other if value is None else value
