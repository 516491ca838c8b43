"""The editor: NiceGUI's, with KSQL's colours, completion by the server's names, and a mark where something is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import events, ui

from caudal.ui.components import guarded
from caudal.ui.services.ksql_completion import Names, complete
from caudal.ui.services.ksql_script import step_at
from caudal.ui.services.ksql_vocabulary import COLOURED, PLAIN_TYPES
from caudal.ui.words import t

SCRIPT = Path(__file__).with_name("editor.js")
LONGEST_IN_URL = 6000  # characters; browsers and proxies refuse longer addresses


class KsqlEditor:
    """`run` gets the text to run and where it begins in the whole text. `names` says what completion knows now."""

    def __init__(self, text: str, names: Callable[[], Names], run: Callable[[str, int], Any]) -> None:
        self._names = names
        self._run = run
        self.element = ui.codemirror(text, line_wrapping=True).classes("ksql-editor")
        self.element.on("complete", self._complete)
        self.element.on("run", guarded(self._asked))
        self.hint = ui.html(_hint(), sanitize=False, tag="p").classes("ksql-hint muted").props('id="ksql-hint"')
        given = {
            "label": t("KSQL statements"),
            "hint": "ksql-hint",
            "keywords": sorted(COLOURED),
            "types": sorted(PLAIN_TYPES),
            "longest": LONGEST_IN_URL,
        }
        script = SCRIPT.read_text(encoding="utf-8")
        furnish = f"({script[script.index('async (id') :].rstrip()})({self.element.id}, {json.dumps(given)})"
        self.element.client.on_connect(lambda: self.element.client.run_javascript(furnish))

    @property
    def text(self) -> str:
        return str(self.element.value or "")

    def _complete(self, event: events.GenericEventArguments) -> None:
        asked = event.args
        text, cursor = str(asked["text"]), int(asked["cursor"])
        found = complete(text, cursor, self._names(), asked=bool(asked["asked"]))
        answer = {
            "back": cursor - found.start,
            "candidates": [
                {"label": one.label, "kind": one.kind, "apply": one.insert, "detail": one.detail, "info": one.about}
                for one in found.candidates
            ],
        }
        self.element.client.run_javascript(f"window.caudalKsql.candidates({int(asked['turn'])}, {json.dumps(answer)})")

    async def _asked(self, event: events.GenericEventArguments) -> None:
        """All of the text, what is selected of it, or the statement at the cursor."""
        text, first, last = str(event.args["text"]), int(event.args["from"]), int(event.args["to"])
        if not event.args["whole"]:
            step = step_at(text, first)
            if step is not None:
                await self._run(step.text, step.begin)
        elif first != last:
            await self._run(text[first:last], first)
        else:
            await self._run(text, 0)

    def mark(self, place: tuple[int, int] | None) -> None:
        """Underline what is wrong; None takes the mark away."""
        if place is None:
            self.element.decorations = []
            return
        begin, end = place
        self.element.decorations = [{"kind": "mark", "from": begin, "to": end, "class": "kq-wrong"}]
        self.element.reveal_line(self.position(begin)[0])

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, as people count them."""
        before = self.text[:offset]
        return before.count("\n") + 1, offset - before.rfind("\n")

    def correct(self, place: tuple[int, int], text: str) -> None:
        """Write something else there, as the person would have."""
        begin, end = place
        self.mark(None)
        self.element.client.run_javascript(f"window.caudalKsql.correct({begin}, {end}, {json.dumps(text)})")


def _hint() -> str:
    keys = {
        "<kbd>Ctrl</kbd> <kbd>Enter</kbd>": t("runs all, or what is selected"),
        "<kbd>Ctrl</kbd> <kbd>Shift</kbd> <kbd>Enter</kbd>": t("runs the statement at the cursor"),
        "<kbd>Ctrl</kbd> <kbd>Space</kbd>": t("completes"),
        "<kbd>Esc</kbd> <kbd>Tab</kbd>": t("leaves the editor"),
    }
    return " · ".join(f"{key} {what}" for key, what in keys.items())
