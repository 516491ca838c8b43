"""A query's plan: its sub-topologies as a graph, in words for those who do not see it, and as the server's text."""

from __future__ import annotations

from html import escape

from nicegui import ui

from caudal.ui.components import code_view
from caudal.ui.services.ksql_entities import Query
from caudal.ui.services.topology_graph import mermaid, outline, read
from caudal.ui.words import t

# Colours and fonts are the page's (ksql.css), so that the drawing follows the theme.
CONFIG = {
    "theme": "base",
    "securityLevel": "strict",
    "flowchart": {"htmlLabels": True, "useMaxWidth": False, "padding": 8, "nodeSpacing": 28, "rankSpacing": 30},
}


def graph(query: Query, labels: dict[str, str]) -> None:
    """From the topics that are read, through the sub-topologies, to what is written. `labels` names topics' streams."""
    subs = read(query.topology)
    if not subs:
        ui.label(t("The server has no plan of it yet.")).classes("muted")
        return
    title = t("Sub-topology")
    drawing = ui.mermaid(mermaid(subs, labels, title), config=CONFIG).classes("graph")
    drawing.props(f'role="img" tabindex="0" aria-label="{escape(t("The plan of {id}; it is said in words below.", id=query.id))}"')
    rows = []
    for sub in subs:
        said = outline(sub)
        keeps = f" {t('It keeps {stores}.', stores=', '.join(said.keeps))}" if said.keeps else ""
        line = t(
            "Sub-topology {id} reads {reads} and writes {writes}.",
            id=said.id,
            reads=", ".join(said.reads) or "–",
            writes=", ".join(said.writes) or "–",
        )
        rows.append(f"<li>{escape(line)}{escape(keeps)}</li>")
    ui.html("".join(rows), sanitize=False, tag="ul").classes("muted text-sm").style("padding-left: 1.1rem")


def plan_text(query: Query) -> None:
    """What the server says, as it is."""
    topology = query.topology.strip()
    parts = [query.plan.strip(), "" if topology in query.plan else topology]
    code_view("\n\n".join(part for part in parts if part) or t("The server has no plan of it yet."))
