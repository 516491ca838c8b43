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

LETTER = 7.0  # the width of one, of a fixed width
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
    parts += [f'<g class="t-sub">{_rect(item, 10)}</g>' for item in boxes]
    parts += [_link(layout, link) for link in layout.links]
    parts += [_title(item) for item in boxes]
    parts += [_item(item, application) for item in items if item.kind != "sub"]
    parts += [_rate(layout, link) for link in layout.links if link.kind == "data"]
    return "".join([*parts, "</svg>"])


def edge_id(edge: Edge) -> str:
    """A rate's place on the drawing, as `_rate` writes it."""
    source, target = (end if end.startswith("topic:") else f"node:{end}" for end in edge)
    return f"{source}→{target}"


def _title(item: Item) -> str:
    title = t("Sub-topology {number}", number=item.data["id"])
    if item.data.get("global"):
        title += f" · {t('global table')}"
    return (
        f'<g class="t-sub"><text x="{item.x + 16:.1f}" y="{item.y + 20:.1f}">{escape(title)}'
        f'<tspan class="t-figure" dx="10" data-figure="{escape(item.id)}"></tspan></text></g>'
    )


def _item(item: Item, application: str) -> str:
    if item.kind == "topic":
        return _topic(item, application)
    if item.kind == "store":
        return _store(item)
    data = item.data
    name = escape(str(data["name"]))
    second = str(data.get("text") or _without_prefix(str(data["name"])))
    if item.kind == "processor":
        texts = _texts(item, str(data.get("step")), second)
    else:  # the topic beside it says the rest
        first = {"source": t("source"), "sink": t("sink")}.get(item.kind, item.kind)
        texts = _text(item, f"{first} {second}", item.y + item.height / 2 + 4)
    more = escape(f": {data['text']}") if data.get("text") else ""
    return (
        f'<g class="t-node t-{item.kind}" data-node="{name}"><title>{name}{more}</title>'
        f"{_rect(item, 6 if item.kind == 'processor' else item.height / 2)}{texts}</g>"
    )


def _topic(item: Item, application: str) -> str:
    name, kind = str(item.data["name"]), str(item.data.get("kind"))
    internal = kind != "external"
    shown = name.removeprefix(f"{application}-") if internal else name
    first = {"repartition": t("repartition topic"), "changelog": t("changelog topic")}.get(kind, t("topic"))
    return (
        f'<a class="t-node t-topic{" t-internal" if internal else ""}" href="{escape(url("topics", name))}" '
        f'aria-label="{escape(t("Topic {name}", name=name))}"><title>{escape(name)}</title>'
        f"{_rect(item, item.height / 2)}{_texts(item, first, shown)}</a>"
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
        f'<path class="t-rim" d="{rim}"/>{_text(item, name, y + h / 2 + 8)}</g>'
    )


def _rect(item: Item, radius: float) -> str:
    return (
        f'<rect x="{item.x:.1f}" y="{item.y:.1f}" width="{item.width:.1f}" height="{item.height:.1f}" '
        f'rx="{radius:.0f}"/>'
    )


def _texts(item: Item, first: str, second: str) -> str:
    return _text(item, first, item.y + 17, "t-kind") + _text(item, second, item.y + 34)


def _text(item: Item, text: str, y: float, kind: str = "") -> str:
    return f'<text class="t-mid {kind}" x="{item.middle:.1f}" y="{y:.1f}">{escape(_cut(text, item.width))}</text>'


def _link(layout: Layout, link: Link) -> str:
    source, target = layout.items[link.source], layout.items[link.target]
    if link.kind == "state":
        return f'<path class="t-edge t-state" d="{_state_path(source, target)}"/>'
    return f'<path class="t-edge" data-edge="{escape(link.source)}→{escape(link.target)}" d="{_path(source, target)}"/>'


def _path(source: Item, target: Item) -> str:
    x1, y1, x2, y2 = source.middle, source.y + source.height, target.middle, target.y
    reach = max(18.0, abs(y2 - y1) * BEND)
    return f"M{x1:.1f} {y1:.1f} C{x1:.1f} {y1 + reach:.1f} {x2:.1f} {y2 - reach:.1f} {x2:.1f} {y2:.1f}"


def _state_path(node: Item, store: Item) -> str:
    """From side to side; a store of another row or box is reached in a bow."""
    y1, y2 = node.y + node.height / 2, store.y + store.height / 2
    right = store.x >= node.x
    x1, x2 = (node.x + node.width, store.x) if right else (node.x, store.x + store.width)
    bend = (x2 - x1) * BEND
    return f"M{x1:.1f} {y1:.1f} C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"


def _rate(layout: Layout, link: Link) -> str:
    """Empty until a rate comes; where edges of several parents or children lie apart."""
    source, target = layout.items[link.source], layout.items[link.target]
    x, y = _near_end(source, target)
    edge = escape(f"{link.source}→{link.target}")
    return f'<text class="t-rate" x="{x:.1f}" y="{y:.1f}" data-rate="{edge}"></text>'


def _near_end(source: Item, target: Item) -> tuple[float, float]:
    x1, y1, x2, y2 = source.middle, source.y + source.height, target.middle, target.y
    if source.kind == "topic":  # above the title of the box
        return x1 + (x2 - x1) * 0.2 + 6, y1 + 20
    return x1 + (x2 - x1) * 0.78 + 6, y2 - 12


def _without_prefix(name: str) -> str:
    """KSTREAM-FILTER-0000000001 → #1; a name that the user gave stays."""
    head, _, number = name.rpartition("-")
    return f"#{int(number)}" if len(number) == 10 and number.isdecimal() and head.isupper() else name


def _cut(text: str, width: float) -> str:
    longest = int((width - 14) / LETTER)
    return text if len(text) <= longest else text[: longest - 1] + "…"
