"""Where everything of a topology stands on the drawing: topics between sub-topologies, nodes and stores inside them.

Data goes down. Each sub-topology is laid out by itself (a node stands below its parents, a store beside the first node
that uses it), then the boxes and the topics in the same way: rows first, then places within the rows, near what they
are linked to. Loops, which foreign-key joins make through their topics, are cut where they close. Pure; drawing.py
makes the picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

NODE_WIDTH = 160.0
HEIGHTS = {"source": 28.0, "processor": 44.0, "sink": 28.0, "store": 36.0, "topic": 44.0}
STORE_WIDTH, TOPIC_WIDTH = 150.0, 190.0
GAP_X, GAP_Y = 22.0, 34.0  # a rate stands beside an edge
BOX_PADDING, BOX_HEADER = 16.0, 36.0
OUTER_GAP_X, OUTER_GAP_Y = 28.0, 46.0
MARGIN = 10.0
PASSES = 3  # down and up: a row follows the one above it, then the one below


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
        return self.x + self.width / 2


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
        item = Item(f"topic:{topic['name']}", "topic", TOPIC_WIDTH, HEIGHTS["topic"], topic)
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
    items = {
        name: Item(f"node:{name}", nodes[name]["kind"], NODE_WIDTH, HEIGHTS[nodes[name]["kind"]], nodes[name])
        for name in names
    }
    beside: dict[str, list[Item]] = {name: [] for name in names}  # stores at their first user
    for store in sub["stores"]:
        users = [name for name in names if store in nodes[name].get("stores", ())]
        if store in stores and names:
            item = Item(f"store:{store}", "store", STORE_WIDTH, HEIGHTS["store"], stores[store])
            beside[users[0] if users else names[0]].append(item)
    parents = {name: [parent for parent in nodes[name].get("parents", ()) if parent in items] for name in names}
    row_of = rows_of(names, parents)
    units = {name: _Unit(NODE_WIDTH + len(beside[name]) * (GAP_X + STORE_WIDTH)) for name in names}
    half = NODE_WIDTH / 2
    ties = [_Tie(parent, half, name, half) for name in names for parent in parents[name]]
    rows = _grouped(names, row_of)
    arrange(rows, units, ties, GAP_X)
    y = BOX_HEADER
    for row in rows:
        tallest = max(items[name].height for name in row)
        for name in row:
            item = items[name]
            item.x, item.y = BOX_PADDING + units[name].x, y + (tallest - item.height) / 2
            for number, store in enumerate(beside[name]):
                store.x = item.x + NODE_WIDTH + GAP_X + number * (STORE_WIDTH + GAP_X)
                store.y = item.y + (item.height - store.height) / 2
        y += tallest + GAP_Y
    inside = [*items.values(), *(store for its in beside.values() for store in its)]
    width = max((item.x + item.width for item in inside), default=NODE_WIDTH) + BOX_PADDING
    height = max((item.y + item.height for item in inside), default=BOX_HEADER) + BOX_PADDING
    return Item(f"sub:{sub['id']}", "sub", width, height, sub), inside


# -- topics and boxes ------------------------------------------------------------------------------------------------


def _place_outer(layout: Layout, boxes: Mapping[str, list[Item]]) -> None:
    outer = {item.id: item for item in layout.items.values() if item.kind in ("topic", "sub")}
    if not outer:
        return
    box_of = {item.id: box for box, inside in boxes.items() for item in inside}
    ties = []
    for link in layout.links:
        upper, lower = box_of.get(link.source, link.source), box_of.get(link.target, link.target)
        if link.kind == "data" and upper != lower:
            # Inside of boxes places are still relative: where the edge meets the box.
            offsets = (layout.items[end].middle for end in (link.source, link.target))
            ties.append(_Tie(upper, next(offsets), lower, next(offsets)))
    parents: dict[str, list[str]] = {id: [] for id in outer}
    for tie in ties:
        parents[tie.lower].append(tie.upper)
    row_of = rows_of(list(outer), parents)
    _lower_sources(row_of, parents)
    rows = _grouped(list(outer), row_of)
    units = {id: _Unit(item.width) for id, item in outer.items()}
    arrange(rows, units, ties, OUTER_GAP_X)
    y = MARGIN
    for row in rows:
        tallest = max(outer[id].height for id in row)
        for id in row:
            # Topics stand close to what is above them, and so do boxes.
            outer[id].x, outer[id].y = MARGIN + units[id].x, y
        y += tallest + OUTER_GAP_Y
    for box, inside in boxes.items():
        for item in inside:
            item.x += outer[box].x
            item.y += outer[box].y
    layout.width = max(item.x + item.width for item in outer.values()) + MARGIN
    layout.height = max(item.y + item.height for item in outer.values()) + MARGIN


def _lower_sources(row_of: dict[str, int], parents: Mapping[str, list[str]]) -> None:
    """A topic that is only read stands just above its first reader, not at the very top."""
    for id, above in parents.items():
        if not above and id.startswith("topic:"):
            readers = [row_of[other] for other, its in parents.items() if id in its and row_of[other] > row_of[id]]
            if readers:
                row_of[id] = min(readers) - 1


# -- for both --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Unit:
    width: float
    x: float = 0.0


class _Tie(NamedTuple):
    """A link between two units: where it meets each, from its left side."""

    upper: str
    upper_offset: float
    lower: str
    lower_offset: float


def rows_of(names: Sequence[str], parents: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The row of each: one below that of its last parent. Where a loop closes, the link does not count."""
    found: dict[str, int] = {}
    under_way: set[str] = set()

    def row(name: str) -> int:
        if name not in found:
            under_way.add(name)
            above = [row(parent) for parent in parents[name] if parent not in under_way]
            under_way.discard(name)
            found[name] = max(above, default=-1) + 1
        return found[name]

    for name in names:
        row(name)
    return found


def _grouped(names: Iterable[str], row_of: Mapping[str, int]) -> list[list[str]]:
    rows: list[list[str]] = [[] for _ in range(max(row_of.values(), default=-1) + 1)]
    for name in names:
        rows[row_of[name]].append(name)
    return [row for row in rows if row]


def arrange(rows: Sequence[list[str]], units: Mapping[str, _Unit], ties: Sequence[_Tie], gap: float) -> None:
    """Gives every unit its x, from 0 on: side by side within a row, near those it is tied to."""
    for row in rows:
        x = 0.0
        for name in row:
            units[name].x = x
            x += units[name].width + gap
    for _ in range(PASSES):
        for row in rows[1:]:
            _settle(row, units, [(tie.lower, tie.lower_offset, tie.upper, tie.upper_offset) for tie in ties], gap)
        for row in reversed(rows[:-1]):
            _settle(row, units, ties, gap)
    left = min((unit.x for unit in units.values()), default=0.0)
    for unit in units.values():
        unit.x -= left


def _settle(
    row: list[str], units: Mapping[str, _Unit], ties: Sequence[tuple[str, float, str, float]], gap: float
) -> None:
    """Moves the units of a row below or above those they are tied to, as near as the others of the row allow."""
    wished: dict[str, float] = {}
    for name in row:
        others = [units[other].x + there - here for mine, here, other, there in ties if mine == name]
        wished[name] = sum(others) / len(others) if others else units[name].x
    row.sort(key=lambda name: wished[name] + units[name].width / 2)
    right: float | None = None
    for name in row:
        units[name].x = wished[name] if right is None else max(wished[name], right)
        right = units[name].x + units[name].width + gap
    # Those at the right were pushed: let all give way alike.
    shift = sum(units[name].x - wished[name] for name in row) / len(row)
    for name in row:
        units[name].x -= shift
