"""The drawing of a topology as SVG. Pure; what is live (rates) is written into it by `topology_graph.js`.

Shapes say what a thing is: topics are rounded, stores are drums, nodes are boxes. Colours are the page's variables, so
the drawing follows the theme. Topics are links. Text is escaped here: names come from whoever writes to the topic.
"""

from __future__ import annotations

from html import escape

from caudal.pipelines.rates import Edge
from caudal.ui.components import url
from caudal.ui.pages.pipelines.layout import Item, Layout, Link
from caudal.ui.words import t

LONGEST = 24  # letters on an item
BEND = 0.5
SMALLEST = 0.62  # how far it may shrink to fit; below that it scrolls


def svg(layout: Layout, application: str, label: str) -> str:
    """`label` says in a sentence what is drawn."""
    width, height = f"{layout.width:.0f}", f"{layout.height:.0f}"
    parts = [
        f'<svg class="topology" role="group" aria-label="{escape(label)}" viewBox="0 0 {width} {height}" '
        f'style="max-width: {width}px; min-width: {layout.width * SMALLEST:.0f}px">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 1 L7 4 L0 7 z"/></marker></defs>',
    ]
    order = {"sub": 0}
    items = sorted(layout.items.values(), key=lambda item: order.get(item.kind, 1))
    boxes = [item for item in items if item.kind == "sub"]
    parts += [_box(item) for item in boxes]
    parts += [_link(layout, link) for link in layout.links]
    parts += [_item(item, application) for item in items if item.kind != "sub"]
    parts += [_rate(layout, link) for link in layout.links if link.kind == "data"]
    return "".join([*parts, "</svg>"])


def edge_id(edge: Edge) -> str:
    """A rate's place on the drawing, as `_rate` writes it."""
    source, target = (end if end.startswith("topic:") else f"node:{end}" for end in edge)
    return f"{source}→{target}"


def _box(item: Item) -> str:
    title = t("Sub-topology {number}", number=item.data["id"])
    if item.data.get("global"):
        title += f" · {t('global table')}"
    return (
        f'<g class="t-sub"><rect x="{item.x:.1f}" y="{item.y:.1f}" width="{item.width:.1f}" height="{item.height:.1f}" '
        f'rx="10"/><text x="{item.x + 16:.1f}" y="{item.y + 20:.1f}">{escape(title)}'
        f'<tspan class="t-figure" dx="10" data-figure="{escape(item.id)}"></tspan></text></g>'
    )


def _item(item: Item, application: str) -> str:
    if item.kind == "topic":
        return _topic(item, application)
    if item.kind == "store":
        return _store(item)
    data = item.data
    first = data.get("step") or {"source": t("source"), "sink": t("sink")}.get(item.kind, item.kind)
    second = data.get("text") or _without_prefix(str(data["name"]))
    name = escape(str(data["name"]))
    more = escape(f": {data['text']}") if data.get("text") else ""
    return (
        f'<g class="t-node t-{item.kind}" data-node="{name}"><title>{name}{more}</title>'
        f"{_rect(item, 6)}{_texts(item, str(first), str(second))}</g>"
    )


def _topic(item: Item, application: str) -> str:
    name, kind = str(item.data["name"]), str(item.data.get("kind"))
    internal = kind != "external"
    shown = name.removeprefix(f"{application}-") if internal else name
    first = {"repartition": t("repartition topic"), "changelog": t("changelog topic")}.get(kind, t("topic"))
    return (
        f'<a class="t-node t-topic{" t-internal" if internal else ""}" href="{escape(url("topics", name))}" '
        f'aria-label="{escape(t("Topic {name}", name=name))}"><title>{escape(name)}</title>'
        f"{_rect(item, item.height / 2)}{_texts(item, first, shown, inset=20)}</a>"
    )


def _store(item: Item) -> str:
    """A drum."""
    x, y, w, h, bow = item.x, item.y, item.width, item.height, 5.0
    name = str(item.data["name"])
    body = (
        f"M{x:.1f} {y + bow:.1f} a{w / 2:.1f} {bow} 0 0 1 {w:.1f} 0 v{h - 2 * bow:.1f} "
        f"a{w / 2:.1f} {bow} 0 0 1 -{w:.1f} 0 z"
    )
    rim = f"M{x:.1f} {y + bow:.1f} a{w / 2:.1f} {bow} 0 0 0 {w:.1f} 0"
    kind = str(item.data.get("kind", ""))
    return (
        f'<g class="t-node t-store"><title>{escape(f"{name} ({kind})")}</title><path d="{body}"/>'
        f'<path class="t-rim" d="{rim}"/><text x="{x + 14:.1f}" y="{y + h / 2 + 8:.1f}">{escape(_cut(name))}</text></g>'
    )


def _rect(item: Item, radius: float) -> str:
    return (
        f'<rect x="{item.x:.1f}" y="{item.y:.1f}" width="{item.width:.1f}" height="{item.height:.1f}" '
        f'rx="{radius:.0f}"/>'
    )


def _texts(item: Item, first: str, second: str, inset: float = 12) -> str:
    return (
        f'<text class="t-kind" x="{item.x + inset:.1f}" y="{item.y + 18:.1f}">{escape(_cut(first))}</text>'
        f'<text x="{item.x + inset:.1f}" y="{item.y + 35:.1f}">{escape(_cut(second))}</text>'
    )


def _link(layout: Layout, link: Link) -> str:
    source, target = layout.items[link.source], layout.items[link.target]
    if link.kind == "state":
        return f'<path class="t-edge t-state" d="{_state_path(source, target)}"/>'
    return f'<path class="t-edge" data-edge="{escape(link.source)}→{escape(link.target)}" d="{_path(source, target)}"/>'


def _path(source: Item, target: Item) -> str:
    x1, y1, x2, y2 = source.x + source.width, source.middle, target.x, target.middle
    reach = max(30.0, abs(x2 - x1) * BEND)
    return f"M{x1:.1f} {y1:.1f} C{x1 + reach:.1f} {y1:.1f} {x2 - reach:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"


def _state_path(node: Item, store: Item) -> str:
    x1, x2 = node.x + node.width / 2, store.x + store.width / 2
    y1, y2 = (node.y + node.height, store.y) if store.y > node.y else (node.y, store.y + store.height)
    bend = (y2 - y1) * BEND
    return f"M{x1:.1f} {y1:.1f} C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"


def _rate(layout: Layout, link: Link) -> str:
    """Empty until a rate comes; above the middle of its edge."""
    source, target = layout.items[link.source], layout.items[link.target]
    x = (source.x + source.width + target.x) / 2
    y = (source.middle + target.middle) / 2 - 6
    return (
        f'<text class="t-rate" x="{x:.1f}" y="{y:.1f}" data-rate="{escape(link.source)}→{escape(link.target)}"></text>'
    )


def _without_prefix(name: str) -> str:
    """KSTREAM-FILTER-0000000001 → #1; a name that the user gave stays."""
    head, _, number = name.rpartition("-")
    return f"#{int(number)}" if len(number) == 10 and number.isdecimal() and head.isupper() else name


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
