"""The state of a page in its URL: read at the start, written as it changes, without loading the page again."""

from __future__ import annotations

import json
from urllib.parse import quote, urlencode

from nicegui import ui


def query_parameter(name: str, default: str = "") -> str:
    """Of the URL that this page was opened with."""
    return str(ui.context.client.request.query_params.get(name, default))


def set_query(**values: object) -> None:
    """Change parameters of the URL in the browser; None or an empty text takes one away."""
    changes = {name: None if value is None or value == "" else str(value) for name, value in values.items()}
    ui.run_javascript(f"window.caudal.setQuery({json.dumps(changes)})")


def url(*parts: object, **query: object) -> str:
    """url('topics', 'a/b', tab='config') → '/topics/a%2Fb?tab=config'. Empty parameters are left out."""
    path = "/" + "/".join(quote(str(part), safe="") for part in parts)
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path
