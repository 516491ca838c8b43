"""The topology on the page: drawn once, with rates that change. The browser's side is `topology_graph.js`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui
from nicegui.element import Element

from caudal.pipelines.rates import Edge
from caudal.ui.components import rate
from caudal.ui.pages.pipelines import drawing
from caudal.ui.pages.pipelines.layout import lay_out

CSS = """
.topology-scroll { overflow: auto; padding: 0.25rem; }
.topology { display: block; width: 100%; height: auto; font-family: var(--font); margin: 0 auto; }
.topology text { font-size: 12px; fill: var(--ink); }
.t-sub rect { fill: var(--sunken); stroke: var(--line); }
.t-sub text { font-size: 12px; font-weight: 600; fill: var(--muted);
  paint-order: stroke; stroke: var(--sunken); stroke-width: 5px; }
.t-sub .t-figure { font-weight: 400; }
.t-node rect, .t-store path { fill: var(--surface); stroke: var(--line-strong); }
.t-node text { font-family: var(--mono); font-size: 11.5px; }
.t-node .t-kind { font-family: var(--font); font-size: 11px; fill: var(--muted); }
.t-source rect, .t-sink rect { fill: var(--info-soft); stroke: var(--info); }
.t-topic rect { fill: var(--accent-soft); stroke: var(--accent); }
.t-topic.t-internal rect { fill: var(--surface); stroke-dasharray: 4 3; }
.t-topic:hover rect, .t-topic:focus-visible rect { stroke-width: 2.5; }
.t-topic:focus { outline: none; }
.t-store path { fill: var(--warn-soft); stroke: var(--warn); }
.t-store .t-rim { fill: none; }
.t-edge { fill: none; stroke: var(--line-strong); stroke-width: 1.4; marker-end: url(#arrow); }
.t-edge.t-state { stroke-dasharray: 2 4; marker-end: none; }
.t-edge.t-flowing { stroke: var(--accent); stroke-dasharray: 6 4; animation: t-flow 0.9s linear infinite; }
.topology marker path { fill: var(--line-strong); }
.topology .t-mid { text-anchor: middle; }
.topology .t-rate { font-size: 11px; font-weight: 500; fill: var(--accent);
  paint-order: stroke; stroke: var(--surface); stroke-width: 4px; }
@keyframes t-flow { to { stroke-dashoffset: -10; } }
"""


class TopologyGraph(Element, component="topology_graph.js"):
    def __init__(self, topology: Mapping[str, Any], application: str, label: str) -> None:
        super().__init__()
        ui.add_css(CSS)
        self._props["svg"] = drawing.svg(lay_out(topology), application, label)
        self._props["label"] = label
        self._props["rates"] = {}
        self._props["figures"] = {}

    def show(self, rates: Mapping[Edge, float], figures: Mapping[int, str]) -> None:
        """`figures` stand beside the titles of sub-topologies."""
        self._props["rates"] = {drawing.edge_id(edge): [rate(value), value] for edge, value in rates.items()}
        self._props["figures"] = {f"sub:{number}": text for number, text in figures.items()}
        self.update()
