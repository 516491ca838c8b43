"""How a failure is shown: a panel in place of content, or a notification; and handlers that do it by themselves."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Awaitable, Callable
from html import escape
from typing import Any, ParamSpec

from nicegui import ui

from caudal.ui.services.errors import UiError
from caudal.ui.words import t

log = logging.getLogger("caudal.ui")
P = ParamSpec("P")


def error_panel(message: str) -> ui.element:
    """In place of what could not be shown."""
    panel = ui.html(
        f'<i class="material-icons" aria-hidden="true">error_outline</i><p>{escape(message)}</p>', sanitize=False
    )
    return panel.classes("error-panel").props('role="alert"')


def notify_error(error: Exception | str) -> None:
    """What was tried has failed; the page stays."""
    message = error.message if isinstance(error, UiError) else str(error)
    ui.notify(message, type="negative", position="bottom-right", timeout=8000, close_button=t("Close"))


def notify_success(message: str) -> None:
    ui.notify(message, type="positive", position="bottom-right", timeout=3000)


def guarded(handler: Callable[P, Any]) -> Callable[P, Awaitable[None]]:
    """The handler of an event or a timer: a UiError becomes a notification, anything else one and a line in the log."""

    @functools.wraps(handler)
    async def handle(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            result = handler(*args, **kwargs)
            if inspect.isawaitable(result):
                await result
        except UiError as error:
            notify_error(error)
        except Exception:
            log.exception("a handler of a page failed")
            notify_error(t("That failed; the log of the control center says why."))

    return handle
