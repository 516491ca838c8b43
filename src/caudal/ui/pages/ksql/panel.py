"""The panel beside the editor: streams, tables and their columns, queries, types, functions, and what was run before.

Plain HTML: a name is inserted by the browser alone (editor.js looks for `data-insert` and `data-replace`).
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from caudal.ksql.syntax.names import written_name
from caudal.ui.pages.ksql.pieces import query_url, source_url
from caudal.ui.services.ksql_catalog import Catalog
from caudal.ui.services.ksql_completion import Function
from caudal.ui.services.ksql_entities import Query, Source
from caudal.ui.words import t


def panel_html(catalog: Catalog, opened: str = "") -> str:
    """All of it; `opened` is the source whose columns are shown at once."""
    streams = [one for one in catalog.sources if not one.is_table]
    tables = [one for one in catalog.sources if one.is_table]
    parts = [
        _part(t("Streams"), (_source(one, one.name == opened) for one in streams), t("No streams yet.")),
        _part(t("Tables"), (_source(one, one.name == opened) for one in tables), t("No tables yet.")),
    ]
    if catalog.queries:
        parts.append(_part(t("Queries"), (_query(one) for one in catalog.queries), ""))
    if catalog.types:
        types = (_name(written_name(name), name, stands_for) for name, stands_for in catalog.types)
        parts.append(_part(t("Types"), types, ""))
    functions = "".join(_function(one) for one in catalog.functions)
    title = t("Functions ({n})", n=len(catalog.functions))
    parts.append(f"<details data-all><summary>{escape(title)}</summary><div>{functions}</div></details>")
    return "".join(parts)


def history_html(statements: Iterable[str]) -> str:
    """What was run, the newest first."""
    rows = "".join(
        f'<button type="button" class="name" data-replace="{escape(one)}">{escape(_short(one))}</button>'
        for one in statements
    )
    title = escape(t("Run before"))
    return f"<details><summary>{title}</summary><div>{rows}</div></details>" if rows else ""


def _part(title: str, rows: Iterable[str], nothing: str) -> str:
    shown = "".join(rows) or f'<p class="muted text-xs" style="padding: 0 0.35rem">{escape(nothing)}</p>'
    return f"<h3>{escape(title)}</h3>{shown}"


def _source(one: Source, is_open: bool) -> str:
    key = t("key")
    columns = "".join(
        _name(written_name(column.name), column.name, f"{column.type} {key}" if column.is_key else column.type)
        for column in one.columns
    )
    written = written_name(one.name)
    statement = f"SELECT * FROM {written} EMIT CHANGES;"
    # A link and two ways into the editor; the name itself opens the columns.
    links = (
        f'<div class="links"><button type="button" data-insert="{escape(written)}" '
        f'aria-label="{escape(t("Insert {name}", name=one.name))}">{escape(t("Insert"))}</button>'
        f'<button type="button" data-replace="{escape(statement)}" '
        f'aria-label="{escape(t("Query {name}", name=one.name))}">{escape(t("Query"))}</button>'
        f'<a href="{escape(source_url(one.name))}" aria-label="{escape(t("Describe {name}", name=one.name))}">'
        f"{escape(t('Describe'))}</a></div>"
    )
    attribute = " open" if is_open else ""
    return (
        f'<details data-find="{escape(one.name.lower())}"{attribute}><summary class="mono">{escape(one.name)}</summary>'
        f"<div>{links}{columns}</div></details>"
    )


def _query(one: Query) -> str:
    """Its id goes into the editor (to PAUSE or EXPLAIN it); a push query has no page of its own."""
    opening = ""
    if one.kind == "PERSISTENT":
        label = escape(t("Open query {id}", id=one.id))
        opening = f'<a href="{escape(query_url(one.id))}" aria-label="{label}">{escape(t("Open"))}</a>'
    insert = (
        f'<button type="button" data-insert="{escape(one.id)}" '
        f'aria-label="{escape(t("Insert {name}", name=one.id))}">{escape(t("Insert"))}</button>'
    )
    return (
        f'<details data-find="{escape(one.id.lower())}"><summary class="mono">{escape(one.id)}</summary>'
        f'<div><div class="links">{insert}{opening}</div><p class="muted text-xs">{escape(_short(one.sql, 200))}</p>'
        "</div></details>"
    )


def _function(one: Function) -> str:
    signature = one.signatures[0] if one.signatures else ""
    title = "\n".join([one.about, *(f"{one.name}{each}" for each in one.signatures)]).strip()
    return (
        f'<button type="button" class="name" data-insert="{escape(one.name)}(" data-find="{escape(one.name.lower())}" '
        f'title="{escape(title)}">{escape(one.name)}<span>{escape(_result(signature))}</span></button>'
    )


def _name(insert: str, shown: str, detail: str) -> str:
    return (
        f'<button type="button" class="name" data-insert="{escape(insert)}">{escape(shown)}'
        f"<span>{escape(detail)}</span></button>"
    )


def _result(signature: str) -> str:
    """
    >>> _result("(input VARCHAR) → INTEGER")
    'INTEGER'
    """
    return signature.rpartition("→ ")[2]


def _short(statement: str, most: int = 90) -> str:
    line = " ".join(statement.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
