"""The editor, what it runs, and beside it what the server has. The statement is in the URL; opening it runs nothing."""

from __future__ import annotations

import json
from html import escape

from nicegui import background_tasks, ui

from caudal.ui.components import copy_link, error_panel, guarded, set_query
from caudal.ui.components.buttons import button
from caudal.ui.pages.ksql.editor import KsqlEditor
from caudal.ui.pages.ksql.panel import history_html, panel_html
from caudal.ui.pages.ksql.pieces import ksql, tabs
from caudal.ui.pages.ksql.results import Results
from caudal.ui.services.errors import UiError
from caudal.ui.services.ksql import Ksql
from caudal.ui.services.ksql_catalog import Catalog, read_catalog, read_functions
from caudal.ui.services.ksql_completion import Names
from caudal.ui.services.ksql_script import Settings
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t

EXAMPLE = "SHOW STREAMS;\n"
REFRESH_SECONDS = 15.0
HISTORY = "caudal_ksql_history"
MOST_HISTORY = 50
RESET = "auto.offset.reset"
# The panel's filter, in the browser: what does not have the text is hidden, and folds open while it is filtered.
FILTER = """(event) => {
  const wanted = event.target.value.trim().toLowerCase();
  const body = event.target.closest(".ksql-panel").querySelector(".panel-body");
  for (const one of body.querySelectorAll("[data-find]")) one.hidden = wanted && !one.dataset.find.includes(wanted);
  for (const fold of body.querySelectorAll("details[data-all]")) if (wanted) fold.open = true;
}"""


@page("/ksql", title="KSQL", icon="terminal", order=50, shortcut="k", wide=True)
async def workbench(sql: str = "", source: str = "", offset: str = "latest") -> None:
    client = ksql()
    with page_heading("KSQL", t("SQL over streams: queries that never end, and answers about now.")):
        copy_link()
    if client is None:
        return
    tabs("editor")
    await _Workbench(client, offset).build(sql, source)


class _Workbench:
    def __init__(self, client: Ksql, offset: str) -> None:
        self._client = client
        self._catalog = Catalog()
        self._settings = Settings({RESET: "earliest"} if offset == "earliest" else {})

    async def build(self, sql: str, source: str) -> None:
        self._catalog = await read_catalog(self._client)
        self._opened = source
        with ui.element("div").classes("ksql-bench"):
            with ui.element("div").classes("ksql-main"):
                self._editor = KsqlEditor(sql or EXAMPLE, self._names, self._run)
                self._bar()
                self._away = ui.element("div").classes("away")
                self._results = Results(
                    self._client, self._settings, self._editor, self._soon, lambda: self._catalog.labels
                )
                self._results.running = self._show_running
            self._panel()
        ui.timer(0.1, guarded(self._first), once=True)
        ui.timer(REFRESH_SECONDS, self._refresh)

    def _names(self) -> Names:
        return self._catalog.names

    # -- the bar -------------------------------------------------------------------------------------------------------

    def _bar(self) -> None:
        with ui.element("div").classes("ksql-bar"):
            self._run_button = button(t("Run"), icon="play_arrow", look="primary")
            self._run_button.on("click", js_handler="() => window.caudalKsql.run(true)")
            self._stop_button = button(t("Stop"), lambda: self._results.stop(), icon="stop")
            self._stop_button.set_visibility(False)
            self._offset_choice()
            self._set = ui.label("").classes("muted text-sm")

    def _offset_choice(self) -> None:
        """Where queries begin: what comes from now on, or all that is there."""
        choices = {"latest": t("new rows"), "earliest": t("all rows")}
        now = self._settings.properties.get(RESET, "latest")
        options = "".join(
            f'<option value="{value}"{" selected" if value == now else ""}>{escape(label)}</option>'
            for value, label in choices.items()
        )
        with ui.element("label"):
            ui.html(escape(t("Queries begin with")), sanitize=False, tag="span")
            chosen = ui.html(options, sanitize=False, tag="select").props('id="ksql-offset"')
            chosen.on("change", self._offset_changed, js_handler="(event) => emit(event.target.value)")

    def _offset_changed(self, event: object) -> None:
        value = str(getattr(event, "args", "latest"))
        if value == "earliest":
            self._settings.properties[RESET] = value
        else:
            self._settings.properties.pop(RESET, None)
        set_query(offset=value if value == "earliest" else None)

    def _show_running(self, is_running: bool) -> None:
        self._stop_button.set_visibility(is_running)

    # -- running -------------------------------------------------------------------------------------------------------

    async def _run(self, script: str, begin: int) -> None:
        self._results.run(script, begin)
        if script.strip():
            await self._remember(script.strip())

    async def _remember(self, script: str) -> None:
        """In this browser: what somebody ran is nobody else's."""
        code = (
            f"const kept = JSON.parse(localStorage.getItem('{HISTORY}') || '[]');"
            f"const all = [{json.dumps(script)}, ...kept.filter((one) => one !== {json.dumps(script)})];"
            f"localStorage.setItem('{HISTORY}', JSON.stringify(all.slice(0, {MOST_HISTORY})));"
            f"return all.slice(0, {MOST_HISTORY});"
        )
        self._show_history(await ui.run_javascript(code, timeout=5))

    def _show_history(self, kept: object) -> None:
        statements = [str(one) for one in kept] if isinstance(kept, list) else []
        self._history.content = history_html(statements)

    # -- the panel -----------------------------------------------------------------------------------------------------

    def _panel(self) -> None:
        with ui.element("aside").classes("ksql-panel").props(f'aria-label="{escape(t("What the server has"))}"'):
            label = escape(t("Find a name"))
            search = ui.html(
                f'<input type="search" placeholder="{label}" aria-label="{label}">', sanitize=False
            ).classes("panel-search")
            search.on("input", js_handler=FILTER)
            with ui.element("div").classes("panel-body").props('tabindex="0"'):
                self._tree = ui.html(panel_html(self._catalog, self._opened), sanitize=False)
                self._history = ui.html("", sanitize=False)

    async def _first(self) -> None:
        """What the first sight of the page need not wait for: the functions, and what was run before."""
        self._show_history(
            await ui.run_javascript(f"return JSON.parse(localStorage.getItem('{HISTORY}') || '[]')", timeout=5)
        )
        await self._refresh()

    def _soon(self) -> None:
        shown = {**self._settings.properties, **self._settings.variables}
        self._set.text = ", ".join(f"{name} = {value}" for name, value in shown.items() if name != RESET)
        background_tasks.create(self._refresh(), name="ksql catalog")

    async def _refresh(self) -> None:
        try:
            with self._tree:  # whose language errors are said in
                found = await read_catalog(self._client)
                functions = await read_functions(self._client)
        except UiError as error:
            if not self._away.default_slot.children:
                with self._away:
                    error_panel(error.message)
            return
        self._away.clear()
        catalog = Catalog(found.sources, found.queries, found.types, found.topics, functions)
        if catalog != self._catalog:
            self._catalog = catalog
            self._tree.content = panel_html(catalog, self._opened)
