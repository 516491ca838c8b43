"""JSON over HTTP with the standard library: for what must be quick (completion) or works without extras (doctor).

No proxy is asked: the servers that are meant are this machine's, or the operator's own.
"""

from __future__ import annotations

import email.utils
import json
import urllib.request
from typing import Any, NamedTuple

LARGEST = 4 << 20


class Said(NamedTuple):
    body: Any  # the JSON, or the text of what is none
    clock: float | None  # the server's, where it says


def quick_get(url: str, seconds: float) -> Said:
    """Raises OSError or http.client.HTTPException."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, headers={"Accept": "application/json, text/html;q=0.5"})
    with opener.open(request, timeout=seconds) as answer:
        body, date = answer.read(LARGEST), answer.headers.get("Date")
    clock = email.utils.parsedate_to_datetime(date).timestamp() if date else None
    try:
        return Said(json.loads(body), clock)
    except ValueError:
        return Said(body.decode("utf-8", "replace"), clock)
