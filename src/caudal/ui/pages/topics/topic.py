"""One topic: its name, figures and actions, and the tab that the address asks for."""

from __future__ import annotations

from nicegui import ui

from caudal.ui.components import copy_link, link_tabs, number, query_parameter, size, url
from caudal.ui.components.buttons import button
from caudal.ui.pages.messages.browser import MessageBrowser
from caudal.ui.pages.messages.producing import produce_dialog
from caudal.ui.pages.topics import actions
from caudal.ui.pages.topics.service import topics
from caudal.ui.pages.topics.tabs import config_tab, consumers_tab, partitions_tab, schema_tab
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t, tn

MESSAGES = "messages"
TABS = (MESSAGES, "partitions", "consumers", "schema", "config")


@page("/topics/{name}", title="Topics", nav=False, wide=True)
async def topic_page(name: str) -> None:
    asked = query_parameter("tab")
    tab = asked if asked in TABS else MESSAGES
    metadata = await topics().metadata(name)
    count = len(metadata.partitions)
    counts, sizes = await topics().message_counts([name]), await topics().sizes(fresh=True)
    ui.page_title(f"{name} · Caudal")
    figures = [tn("{n} partition", "{n} partitions", count)]
    if name in counts:
        figures.append(t("1 message") if counts[name] == 1 else t("{count} messages", count=number(counts[name])))
    if sizes is not None:
        figures.append(size(sum(bytes_ for (topic, _), bytes_ in sizes.items() if topic == name)))
    browser = MessageBrowser(name, count) if tab == MESSAGES else None
    with page_heading(name, " · ".join(figures)):
        copy_link()
        button(t("Produce message"), lambda: produce_dialog(name, count, browser), icon="send", look="primary")
        _menu(name, count)
    titles = (t("Messages"), t("Partitions"), t("Consumers"), t("Schema"), t("Configuration"))
    link_tabs(
        {
            one: (title, url("topics", name, tab="" if one == MESSAGES else one))
            for one, title in zip(TABS, titles, strict=True)
        },
        tab,
        t("Parts of the topic"),
    )
    if browser is not None:
        browser.build()
    elif tab == "partitions":
        await partitions_tab(name)
    elif tab == "consumers":
        await consumers_tab(name)
    elif tab == "schema":
        await schema_tab(name)
    else:
        await config_tab(name)


def _menu(name: str, count: int) -> None:
    label = t("More actions")
    with button("", icon="more_vert", look="").props(f'flat dense aria-label="{label}"'), ui.menu():
        ui.menu_item(t("Add partitions"), lambda: actions.add_partitions(name, count))
        ui.menu_item(t("Clone"), lambda: actions.clone(name))
        ui.menu_item(t("Empty topic"), lambda: actions.empty(name))
        ui.menu_item(t("Delete"), lambda: actions.delete(name))
