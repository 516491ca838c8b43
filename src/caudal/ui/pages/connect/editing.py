"""A new connector, or another configuration of one: first the plugin, then its form or its configuration as JSON."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from nicegui import ui

from caudal.ui.components import card, empty_state, guarded, h2, link_tabs, notify_error, text, url
from caudal.ui.components.buttons import button
from caudal.ui.pages.connect.form import FormView
from caudal.ui.pages.connect.overview import plugin_cards
from caudal.ui.pages.connect.pieces import connect, connector_url
from caudal.ui.services.connect import Connect, Connector
from caudal.ui.services.connect_form import (
    CLASS,
    NAME,
    VERSION,
    Control,
    config_of,
    form_of,
    parsed_config,
    shown_config,
    written,
)
from caudal.ui.services.connect_secrets import masked, unmasked
from caudal.ui.services.errors import UiError
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t, tn


@page("/connect/new", title="New connector", nav=False)
async def new(plugin: str = "", version: str = "", mode: str = "form") -> None:
    client = connect()
    if client is None:
        return
    if not plugin:
        await _choose(client)
        return
    page_heading(t("New connector"), plugin)
    editor = _Editor(client, plugin, version, None)
    await editor.build(mode, lambda chosen: url("connect", "new", plugin=plugin, version=version, mode=chosen))


@page("/connect/edit/{name:path}", title="Edit connector", nav=False)
async def edit(name: str, mode: str = "form") -> None:
    client = connect()
    if client is None:
        return
    found = await client.connector(name)
    page_heading(t("Edit {name}", name=name), found.plugin)
    editor = _Editor(client, found.plugin, str(found.config.get(VERSION, "")), found)
    await editor.build(mode, lambda chosen: url("connect", "edit", name, mode=chosen))


async def _choose(client: Connect) -> None:
    page_heading(t("New connector"), t("Choose what it should read or write."))
    found = [one for one in await client.plugins() if one.is_connector]
    if not found:
        empty_state("extension", t("No plugins are installed"))
    for kind, title in (("source", t("Sources: into Kafka")), ("sink", t("Sinks: out of Kafka"))):
        some = [one for one in found if one.kind == kind]
        if some:
            h2(title)
            plugin_cards(some, linked=True)


class _Editor:
    """`stored` is the connector that is changed, None for a new one. Its secrets stay on this side."""

    def __init__(self, client: Connect, plugin: str, version: str, stored: Connector | None) -> None:
        self._client = client
        self._plugin = plugin
        self._version = version
        self._stored = dict(stored.config) if stored is not None else {}
        self._old_name = stored.name if stored is not None else None
        self._pinned = VERSION in self._stored  # whether the configuration names the version
        self._view: FormView | None = None
        self._area: ui.textarea | None = None

    async def build(self, mode: str, link: Callable[[str], str]) -> None:
        form = form_of(self._plugin, await self._client.plugin_keys(self._plugin, self._version or None))
        shown = masked(self._stored, form.passwords)
        tabs = {"form": (t("Form"), link("form")), "json": (t("JSON"), link("json"))}
        link_tabs(tabs, "json" if mode == "json" else "form", t("How to write the configuration"))
        self._form = form
        if self._old_name is None:
            await self._versions()
        if mode == "json":
            self._json(shown)
        else:
            if self._old_name is None:
                self._name_card()
            self._before = written(shown)
            self._view = FormView(form, self._before, self._validate)
        self._foot()
        # After the page is shown: a connector may ask a database that takes its time.
        ui.timer(0.1, guarded(self._validate), once=True)

    async def _versions(self) -> None:
        """Where several are installed the chosen one is written down, and the others are a click away."""
        found = [one.version for one in await self._client.plugins() if one.name == self._plugin]
        if len(found) < 2:
            return
        self._version = self._version or found[0]
        self._pinned = True
        links = {one: (one, url("connect", "new", plugin=self._plugin, version=one)) for one in found}
        link_tabs(links, self._version, t("Version of the plugin"))

    def _name_card(self) -> None:
        with card(classes="connect-form"), ui.element("div").classes("connect-fields"):
            with ui.element("div").classes("connect-field"):
                self._name = ui.input(f"{t('Name')} *", on_change=self._name_changed)
                self._name.props('outlined dense autofocus data-field="name"').classes("w-full")
                text(t("A name of its own among the connectors; it cannot be changed later."), "about")
            with ui.element("div").classes("connect-field"):
                options = {"RUNNING": t("Running"), "PAUSED": t("Paused"), "STOPPED": t("Stopped")}
                self._initial = ui.select(options, value="RUNNING", label=t("Begins as"))
                self._initial.props("outlined dense").classes("w-full")
                text(t("A stopped one has no tasks, and its offsets can be set before it runs."), "about")

    def _name_changed(self) -> None:
        if self._view is not None:
            self._view.soon()

    def _json(self, shown: dict[str, str]) -> None:
        if self._old_name is None:
            shown = {NAME: "", CLASS: self._plugin}
            shown |= {one.name: "" for one in self._form.fields.values() if one.required and one.name not in shown}
        with card(t("Configuration as JSON")):
            text(t("Values that read [hidden] stay as they are stored."), "muted")
            self._area = ui.textarea(
                t("Configuration"), value=shown_config(shown), on_change=lambda: self._json_changed()
            )
            self._area.props("outlined autogrow").classes("w-full json-area")
        self._json_timer: ui.timer | None = None

    def _json_changed(self) -> None:
        if self._json_timer is not None:
            self._json_timer.cancel()
        self._json_timer = ui.timer(0.6, guarded(self._validate), once=True)

    def _foot(self) -> None:
        self._errors = ui.html("", sanitize=False).classes("form-errors").props('aria-live="polite"')
        with ui.element("div").classes("form-foot"):
            label = t("Create") if self._old_name is None else t("Save")
            button(label, self._send, look="primary")
            back = "/connect" if self._old_name is None else connector_url(self._old_name)
            button(t("Cancel"), lambda: ui.navigate.to(back))
            self._summary = ui.label("").classes("muted").props('role="status"')

    # -- configurations ------------------------------------------------------------------------------------------------

    def _config(self) -> dict[str, str]:
        """As it would be sent, with the secrets that were left alone. Raises UiError for JSON that is none."""
        if self._area is not None:
            config = parsed_config(str(self._area.value))
            config.setdefault(CLASS, self._plugin)
        else:
            assert self._view is not None
            config = config_of(self._view.values, self._form, self._before)
            if self._pinned:
                config[VERSION] = self._version
            config[NAME] = self._old_name or str(self._name.value or "").strip()
            config[CLASS] = self._stored.get(CLASS, self._plugin)
        return unmasked(config, self._stored)

    async def _validate(self) -> int:
        """How many things are wrong. A name that is taken is found when the connector is made."""
        try:
            config = self._config()
        except UiError as error:
            self._show_json_error(error.message)
            return 1
        self._form.answered(await self._client.validate(self._plugin, config))
        self._show_json_error(None)
        if self._view is not None:
            self._view.show_answer()
            self._show_name_errors(only_touched=True)
        self._show_errors()
        return self._form.wrong

    def _show_json_error(self, message: str | None) -> None:
        if self._area is not None:
            self._area.error = message

    def _show_name_errors(self, *, only_touched: bool) -> None:
        if self._old_name is not None or self._view is None:
            return
        field = self._form.fields.get(NAME)
        wrong = " ".join(field.errors) if field is not None else ""
        if not str(self._name.value or "").strip():
            wrong = "" if only_touched else t("Give it a name.")
        self._name.error = wrong or None

    def _show_errors(self) -> None:
        general = list(self._form.general)
        for one in self._form.fields.values():
            # JSON has no fields, and a switch no room for words.
            if self._area is not None or one.control is Control.SWITCH:
                general += [f"{one.name}: {error}" for error in one.errors]
        listed = "".join(f"<li>{escape(error)}</li>" for error in general)
        self._errors.content = f"<ul>{listed}</ul>" if listed else ""
        wrong = self._form.wrong
        self._summary.text = (
            tn("{n} field needs attention", "{n} fields need attention", wrong) if wrong else t("Everything is right.")
        )

    async def _send(self) -> None:
        wrong = await self._validate()
        if self._view is not None:
            self._view.show_all()
            self._show_name_errors(only_touched=False)
        if wrong or (self._view is not None and self._old_name is None and self._name.error):
            notify_error(t("Not yet: something is wrong or missing, as the form says."))
            if self._view is not None:
                self._view.focus_first_error()
            return
        config = self._config()
        name = self._old_name or config.get(NAME, "")
        if not name:
            self._show_json_error(t("Give it a name."))
            return
        try:
            if self._old_name is None:
                initial = str(self._initial.value) if self._view is not None else None
                await self._client.create(name, config, initial if initial != "RUNNING" else None)
            else:
                await self._client.put_config(name, config)
        except UiError as error:
            if self._view is not None and self._old_name is None and error.code == 409:
                self._name.error = error.message
            raise
        ui.navigate.to(connector_url(name))
