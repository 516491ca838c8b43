"""A query's plan: its sub-topologies as a graph, in words for those who do not see it, and as the server's text."""

from __future__ import annotations

from html import escape

from nicegui import ui

from caudal.ui.components import code_view
from caudal.ui.services.ksql_entities import Query
from caudal.ui.services.topology_graph import mermaid, outline, read
from caudal.ui.words import t

# Colours and fonts are the page's (ksql.css), so that the drawing follows the theme.
# Letters are measured before the sheet of styles is seen, so their size is said here.
CONFIG = {
    "theme": "base",
    "securityLevel": "strict",
    "fontFamily": "Roboto, system-ui, sans-serif",
    "themeVariables": {"fontSize": "12.5px", "fontFamily": "Roboto, system-ui, sans-serif"},
    "flowchart": {
        "htmlLabels": True,
        "useMaxWidth": False,
        "padding": 8,
        "nodeSpacing": 28,
        "rankSpacing": 30,
        "wrappingWidth": 280,
        "subGraphTitleMargin": {"top": 4, "bottom": 14},
    },
}


def graph(query: Query, labels: dict[str, str]) -> None:
    """From the topics that are read, through the sub-topologies, to what is written. `labels` names topics' streams."""
    subs = read(query.topology)
    if not subs:
        ui.label(t("The server has no plan of it yet.")).classes("muted")
        return
    title = t("Sub-topology")
    drawing = ui.mermaid(mermaid(subs, labels, title), config=CONFIG).classes("graph")
    label = escape(t("The plan of {id}; it is said in words below.", id=query.id))
    drawing.props(f'role="img" tabindex="0" aria-label="{label}"')
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
