"""What the schema pages show when there is no registry: a kind note instead of an error, and the rest works on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from caudal.ui.components import empty_state, missing_server
from caudal.ui.components.buttons import button
from caudal.ui.frame import static_url
from caudal.ui.platform import platform
from caudal.ui.services.registry import Registry, Unreachable, registry_at
from caudal.ui.words import t


async def with_registry(build: Callable[[Registry], Awaitable[None]]) -> None:
    """Build the page, or say what is missing."""
    url = platform().settings.registry
    ui.add_head_html(f'<link rel="stylesheet" href="{static_url("schemas.css")}">')
    if url is None:
        missing_server("Schema Registry", "--registry")
        return
    try:
        await build(registry_at(url))
    except Unreachable as error:
        message = f"{error.message} {t('Topics, groups and everything else work without it.')}"
        with empty_state("cloud_off", t("The Schema Registry does not answer"), message):
            button(t("Try again"), ui.navigate.reload, icon="refresh", look="primary")
