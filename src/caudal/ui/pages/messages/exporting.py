"""Export of what is filtered: a dialog, and the address that streams the file."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from nicegui import app, ui
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from caudal.ui.components import url
from caudal.ui.components.forms import foot, form_dialog, show_problems, text_field
from caudal.ui.platform import platform
from caudal.ui.services.errors import UiError
from caudal.ui.services.export import CSV, JSON_LINES, MEDIA_TYPES, lines
from caudal.ui.services.message_query import Query, QueryError
from caudal.ui.services.messages import MOST_EXPORTED, begin
from caudal.ui.services.topic_changes import number_problem
from caudal.ui.words import t

DEFAULT_COUNT = 10_000


def export_dialog(topic: str, query: Query) -> None:
    with form_dialog(t("Export messages")) as dialog:
        ui.label(t("The messages that match, from where this page begins.")).classes("form-note")
        format = ui.radio({JSON_LINES: "JSON lines", CSV: "CSV"}, value=JSON_LINES).props("inline")
        count = text_field(t("At most"), str(DEFAULT_COUNT))

        def export() -> None:
            text = str(count.value or "").strip()
            if show_problems({"count": count}, {"count": number_problem(text or "-", MOST_EXPORTED)}):
                return
            ui.navigate.to(url("topics", topic, "export", format=format.value, most=text, **query.params()))
            dialog.close()

        foot(dialog, t("Export"), export)


@app.get("/topics/{topic}/export")
async def export(request: Request, topic: str) -> Response:
    """The parameters are those of the page, with `format` (jsonl, csv) and `most`."""
    given = dict(request.query_params)
    format = given.get("format", JSON_LINES)
    most = given.get("most", str(DEFAULT_COUNT))
    if format not in MEDIA_TYPES or number_problem(most or "-", MOST_EXPORTED):
        return PlainTextResponse(f"format is jsonl or csv, most is 1 to {MOST_EXPORTED}\n", 400)
    here = platform()
    try:
        search = await begin(here.kafka, here.settings.registry, topic, Query.of(given))
    except (QueryError, UiError) as error:
        return PlainTextResponse(f"{error.message}\n", 400 if isinstance(error, QueryError) else 502)

    def body() -> Iterator[bytes]:
        yield from lines(search.every(int(most)), format)

    name = quote(f"{topic}.{format}")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}", "cache-control": "no-store"}
    return StreamingResponse(body(), media_type=MEDIA_TYPES[format], headers=headers)
