"""The documentation: the built site at /docs when it is here, else where to find it."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import RedirectResponse

from caudal.ui.components import card, empty_state, text
from caudal.ui.platform import platform
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t

PACKAGED = Path(__file__).parents[1] / "site"
MOUNT = "/docs/site"


@page("/docs", title="Documentation", icon="menu_book", order=95, shortcut="d")
def docs() -> RedirectResponse | None:
    if site_folder(platform().settings.docs) is not None:
        return RedirectResponse(f"{MOUNT}/")
    page_heading(t("Documentation"))
    with card():
        empty_state(
            "menu_book",
            t("The documentation is not built here"),
            t("In a clone of Caudal, `make docs` builds it; then start the control center again, or give --docs DIR."),
        )
        text(t("Its pages are also readable as they are: the folder docs/ of the repository."), "muted text-center")
    return None


def site_folder(given: str | None) -> Path | None:
    """The folder that was given, else the one in the package; None where neither holds a site."""
    for folder in (Path(given) if given else None, PACKAGED):
        if folder is not None and (folder / "index.html").is_file():
            return folder
    return None
