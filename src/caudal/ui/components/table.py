"""A table that is paged, sorted and filtered by the server; its state is in the URL (`page`, `sort`, `q`).

The rows of one page travel to the browser, never more: `load` is asked for them. The browser's side is
`paged_table.js`. A cell is a text or a number, or a mapping: {"text": …, "href": …, "tone": …, "title": …}.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from nicegui import events
from nicegui.element import Element

from caudal.ui.components.errors import guarded
from caudal.ui.components.location import query_parameter, set_query
from caudal.ui.words import t, tn

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Column:
    """`kind` is text, number, mono, badge, status or actions (a list of {"name", "label", "icon"})."""

    name: str
    label: str
    kind: str = "text"
    sortable: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What the visitor asks of the table. `page` counts from 1."""

    page: int = 1
    size: int = PAGE_SIZE
    sort: str = ""
    descending: bool = False
    q: str = ""

    @property
    def start(self) -> int:
        return (self.page - 1) * self.size


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of one page and how many there are in all. A row needs an `id` when it has actions."""

    rows: Sequence[Mapping[str, Any]] = field(default_factory=list)
    total: int = 0


Load = Callable[[Query], Page | Awaitable[Page]]


class PagedTable(Element, component="paged_table.js"):
    """`on_action(name, row)` is called for the buttons of an actions column. `prefix` keeps two tables of one page
    apart in the URL."""

    def __init__(
        self,
        columns: Iterable[Column],
        load: Load,
        *,
        label: str,
        search: str = "",
        empty: str = "",
        sort: str = "",
        size: int = PAGE_SIZE,
        prefix: str = "",
        foot: bool = True,
        on_action: Callable[[str, Mapping[str, Any]], Any] | None = None,
    ) -> None:
        super().__init__()
        self._load = load
        self._prefix = prefix
        self._default_sort = sort
        self.query = parse_query(
            query_parameter(f"{prefix}page"),
            query_parameter(f"{prefix}sort") or sort,
            query_parameter(f"{prefix}q"),
            size,
        )
        self._rows: Sequence[Mapping[str, Any]] = []
        self._props["columns"] = [asdict(column) for column in columns]
        self._props["rows"] = []
        self._props["label"] = label
        self._props["search"] = search
        self._props["foot"] = foot
        self._props["empty"] = empty or t("Nothing here yet.")
        self._props["words"] = {
            "previous": t("Previous page"),
            "next": t("Next page"),
            "search": search,
            "sort": t("Sort by {column}", column="{column}"),
            "actions": t("Actions"),
        }
        self.on("ask", guarded(self._on_ask))
        if on_action is not None:
            self.on("act", guarded(lambda event: self._on_act(event, on_action)))
        self._show(Page(), loading=True)

    async def refresh(self) -> None:
        """Ask for the rows again, as after a change. A page builder awaits this once."""
        answer = self._load(self.query)
        page = await answer if inspect.isawaitable(answer) else answer
        last = max(1, -(-page.total // self.query.size))
        if self.query.page > last:
            self.query = Query(last, self.query.size, self.query.sort, self.query.descending, self.query.q)
            await self.refresh()
            return
        self._show(page)

    def _show(self, page: Page, loading: bool = False) -> None:
        query = self.query
        self._rows = page.rows
        last = max(1, -(-page.total // query.size))
        first = query.start + 1
        until = min(query.start + len(page.rows), page.total)
        self._props.update(
            rows=list(page.rows),
            loading=loading,
            page=query.page,
            pages=last,
            sort=query.sort,
            descending=query.descending,
            q=query.q,
            count=t("{first}–{last} of {total}", first=first, last=until, total=page.total)
            if last > 1
            else tn("{n} row", "{n} rows", page.total),
        )
        self.update()

    async def _on_ask(self, event: events.GenericEventArguments) -> None:
        asked = event.args
        sort = ("-" if asked.get("descending") else "") + str(asked.get("sort") or "")
        self.query = parse_query(str(asked.get("page") or 1), sort, str(asked.get("q") or ""), self.query.size)
        shown = {
            f"{self._prefix}page": self.query.page if self.query.page > 1 else None,
            f"{self._prefix}sort": sort if sort != self._default_sort else None,
            f"{self._prefix}q": self.query.q,
        }
        set_query(**shown)
        await self.refresh()

    async def _on_act(
        self, event: events.GenericEventArguments, on_action: Callable[[str, Mapping[str, Any]], Any]
    ) -> None:
        row = next((row for row in self._rows if row.get("id") == event.args["id"]), None)
        if row is None:
            return
        result = on_action(str(event.args["name"]), row)
        if inspect.isawaitable(result):
            await result


def parse_query(page: str, sort: str, q: str, size: int = PAGE_SIZE) -> Query:
    """From the parameters of a URL, which a person may have typed."""
    number = int(page) if page.isascii() and page.isdigit() and int(page) > 0 else 1
    return Query(number, size, sort.removeprefix("-"), sort.startswith("-"), q)


def page_of(
    rows: Sequence[Mapping[str, Any]], query: Query, search: Callable[[Mapping[str, Any]], str] | None = None
) -> Page:
    """The page of rows that are all at hand: filtered, sorted, cut."""
    found = list(rows)
    if query.q and search is not None:
        found = [row for row in found if query.q.lower() in search(row).lower()]
    if query.sort:
        found.sort(key=lambda row: sort_key(row.get(query.sort)), reverse=query.descending)
    return Page(found[query.start : query.start + query.size], len(found))


def sort_key(cell: Any) -> tuple[int, float, str]:
    """Numbers before texts, what is missing first. A mapping sorts by its `sort`, else by its text."""
    if isinstance(cell, Mapping):
        cell = cell.get("sort", cell.get("text"))
    if cell is None:
        return (0, 0.0, "")
    if isinstance(cell, bool | int | float):
        return (1, float(cell), "")
    return (2, 0.0, str(cell).lower())
