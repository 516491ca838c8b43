"""One subject: a version with its references, the comparison of two, a new version, and the settings with deletion."""

from __future__ import annotations

from html import escape

from nicegui import ui

from caudal.cli.schema_text import pretty
from caudal.registry.client import RegisteredSchema
from caudal.ui.components import (
    badge,
    card,
    code_view,
    confirm_by_name,
    copy_link,
    facts,
    guarded,
    json_view,
    link_tabs,
    notify_success,
    number,
    text,
    url,
)
from caudal.ui.components.buttons import button
from caudal.ui.pages.schemas.away import with_registry
from caudal.ui.pages.schemas.compare_view import compare_view
from caudal.ui.pages.schemas.register_form import RegisterForm
from caudal.ui.pages.schemas.settings_form import level_select, mode_select
from caudal.ui.platform import platform
from caudal.ui.services.errors import UiError
from caudal.ui.services.registry import TYPES, Registry, Subject, topics_of
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t


@page("/schemas/{subject:path}", title="Schema", nav=False)
async def show(subject: str, tab: str = "schema", version: int | None = None) -> None:
    with page_heading(subject, t("Subject of the Schema Registry")):
        copy_link()

    async def build(registry: Registry) -> None:
        found = await registry.subject(subject)
        tabs = {
            "schema": (t("Schema"), url("schemas", subject)),
            "compare": (t("Compare versions"), url("schemas", subject, tab="compare")),
            "new": (t("New version"), url("schemas", subject, tab="new")),
            "settings": (t("Settings"), url("schemas", subject, tab="settings")),
        }
        chosen = tab if tab in tabs else "schema"
        link_tabs(tabs, chosen, t("Parts of the subject"))
        match chosen:
            case "compare":
                await compare_view(registry, found)
            case "new":
                await RegisterForm(registry, subject, found).build()
            case "settings":
                _settings(registry, found)
            case _:
                await _schema_tab(registry, found, version)

    await with_registry(build)


async def _schema_tab(registry: Registry, subject: Subject, version: int | None) -> None:
    numbers = sorted([*subject.versions, *subject.deleted])
    if version is not None and version not in numbers:
        raise UiError(t("{subject} has no version {version}.", subject=subject.name, version=version))
    shown = version or (subject.versions or subject.deleted)[-1]
    found = await registry.version(subject.name, shown)
    with ui.element("div").classes("schema-layout"):
        _version_list(subject, numbers, shown)
        with ui.element("div").classes("stack min-w-0"):
            if shown in subject.deleted:
                text(t("This version is deleted: new records cannot use it, old ones can still be read."), "warn")
            if found.type == "PROTOBUF":
                code_view(pretty(found.type, found.text))
            else:
                json_view(found.text)
        with ui.element("aside").classes("stack").props(f'aria-label="{escape(t("About this version"))}"'):
            await _about(registry, subject, found, shown)


def _version_list(subject: Subject, numbers: list[int], shown: int) -> None:
    links = []
    for number_ in reversed(numbers):
        current = ' aria-current="page"' if number_ == shown else ""
        gone = f'<span class="badge warn">{escape(t("deleted"))}</span>' if number_ in subject.deleted else ""
        href = escape(url("schemas", subject.name, version=number_))
        links.append(f'<li><a href="{href}"{current}>{escape(t("Version {n}", n=number_))}{gone}</a></li>')
    nav = ui.html(f"<ul>{''.join(links)}</ul>", sanitize=False, tag="nav").classes("version-list")
    nav.props["aria-label"] = t("Versions")


async def _about(registry: Registry, subject: Subject, found: RegisteredSchema, shown: int) -> None:
    with card(t("About this version")):
        facts(
            [
                (t("Version"), str(shown)),
                (t("Id"), number(found.id)),
                (t("Type"), TYPES.get(found.type, found.type)),
                (t("Compatibility"), subject.level),
                (t("Mode"), subject.mode),
            ]
        )
        if shown in subject.versions:
            with ui.row():
                delete = button(t("Delete this version"), icon="delete_outline")
                delete.on_click(guarded(lambda: _delete_version(registry, subject.name, shown)))
    topics = topics_of(subject.name, await platform().kafka.topics(fresh=True))
    with card(t("Topics that use it")):
        if topics:
            _links([(name, url("topics", name)) for name in topics])
        else:
            text(t("No topic has this subject by its name."), "muted")
    if found.references:
        with card(t("Uses")):
            _links([_place_link(each.subject, each.version, each.name) for each in found.references])
    used = await registry.referenced_by(subject.name, shown) if shown in subject.versions else []
    if used:
        with card(t("Used by")):
            _links([_place_link(name, version) for name, version in used])


def _place_link(subject: str, version: int, name: str = "") -> tuple[str, str]:
    label = t("{subject}, version {version}", subject=subject, version=version)
    shown = f"{name}: {label}" if name and name != subject else label
    return (shown, url("schemas", subject, version=version))


def _links(links: list[tuple[str, str]]) -> None:
    for label, href in links:
        ui.link(label, href).classes("break")


async def _delete_version(registry: Registry, subject: str, version: int) -> None:
    what = t("Version {version} of {subject} will be deleted softly.", version=version, subject=subject)
    if await confirm_by_name(f"{subject}@{version}", what):
        await registry.delete_version(subject, version, permanent=False)
        notify_success(t("Version {version} is deleted.", version=version))
        ui.navigate.to(url("schemas", subject, version=version))


def _settings(registry: Registry, subject: Subject) -> None:
    name = subject.name
    with card(t("Settings")):
        level_select(registry, subject.level, subject=name, own=subject.own_level)
        mode_select(registry, subject.mode, subject=name, own=subject.own_mode)

    async def delete(permanent: bool) -> None:
        if permanent:
            what = t(
                "{subject} and all its versions will be deleted for ever. Records that use them become unreadable.",
                subject=name,
            )
        else:
            what = t(
                "{subject} will be deleted softly: it is no longer listed, and its ids can still be read.", subject=name
            )
        if await confirm_by_name(name, what):
            await registry.delete_subject(name, permanent)
            notify_success(t("{subject} is deleted.", subject=name))
            ui.navigate.to("/schemas" if permanent else url("schemas", deleted=1))

    with card(t("Delete the subject")):
        if not subject.versions:
            badge(t("deleted"), "warn")
        with ui.row().classes("gap-2"):
            button(t("Delete softly"), lambda: delete(False)).set_enabled(bool(subject.versions))
            button(t("Delete for ever"), lambda: delete(True), look="danger")
