"""What the palette finds: pages, topics and groups whose name has the text, as JSON for `static/caudal.js`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from caudal.ui.platform import Platform
from caudal.ui.services.errors import UiError
from caudal.ui.words import translated

if TYPE_CHECKING:
    from fastapi import FastAPI

PER_KIND = 8


def add_route(app: FastAPI, platform: Platform) -> None:
    @app.get("/_caudal/find")
    async def find(request: Request, q: str = "") -> Response:
        from caudal.ui.shell import entries, visitor_of

        lang = visitor_of(request).lang
        pages = [
            {"title": translated(entry.title, lang), "url": entry.path, "icon": entry.icon, "kind": ""}
            for entry in entries()
        ]
        topics, groups = await asyncio.gather(_topics(platform), _groups(platform)) if q else ([], [])
        found = [page for page in pages if q.lower() in str(page["title"]).lower()]
        labels = {"topics": translated("Topic", lang), "groups": translated("Group", lang)}
        for names, kind, icon in ((topics, "topics", "topic"), (groups, "groups", "groups")):
            found += [
                {"title": name, "url": f"/{kind}/{quote(name, safe='')}", "icon": icon, "kind": labels[kind]}
                for name in best(names, q)
            ]
        return JSONResponse(found)


def best(names: Iterable[str], text: str, limit: int = PER_KIND) -> list[str]:
    """Those that have the text: that begin with it first, internal ones last."""
    wanted = text.lower()
    having = [name for name in names if wanted in name.lower()]
    having.sort(key=lambda name: (name.startswith("_"), not name.lower().startswith(wanted), name))
    return having[:limit]


async def _topics(platform: Platform) -> list[str]:
    try:
        return await platform.kafka.topics()
    except UiError:
        return []


async def _groups(platform: Platform) -> list[str]:
    try:
        return [str(group.group_id) for group in await platform.kafka.groups()]
    except UiError:
        return []
