"""`t("English text")` in the visitor's language.

English is the text itself; Spanish stands in `words/es/<page module>.json`. A text without a translation is shown in
English, and a unit test finds it. Not here: which language a visitor has chosen, which the shell notes on the client.
"""

from __future__ import annotations

import functools
import json
from contextvars import ContextVar
from pathlib import Path

LANGUAGES = {"en": "English", "es": "Español"}
DEFAULT = "en"
FOLDER = Path(__file__).parent

_task_language: ContextVar[str | None] = ContextVar("caudal_ui_language", default=None)


def t(text: str, /, **values: object) -> str:
    """`text` in the visitor's language, with `{name}` filled from the values."""
    said = translated(text, language())
    return said.format(**values) if values else said


def tn(one: str, many: str, n: int, /, **values: object) -> str:
    """`one` when n is 1, else `many`; both may use `{n}`."""
    return translated(one if n == 1 else many, language()).format(n=n, **values)


def translated(text: str, to: str) -> str:
    return text if to == DEFAULT else dictionary(to).get(text, text)


@functools.cache
def dictionary(to: str) -> dict[str, str]:
    """Every translation into this language; the files of all pages together."""
    words: dict[str, str] = {}
    for file in sorted((FOLDER / to).glob("*.json")):
        words.update(json.loads(file.read_text(encoding="utf-8")))
    return words


def speak(lang: str) -> None:
    """The language of this page from now on: of its first building and of all its later events."""
    from nicegui import ui

    chosen = lang if lang in LANGUAGES else DEFAULT
    _task_language.set(chosen)
    ui.context.client.storage["lang"] = chosen


def language() -> str:
    """Of the page that is being built or whose event is being handled; English where there is none."""
    # Threads and unit tests have no page, and what never loaded NiceGUI has none either.
    import sys

    if "nicegui" in sys.modules:
        from nicegui import context

        if context.slot_stack:
            return str(context.client.storage.get("lang", DEFAULT))
    return _task_language.get() or DEFAULT
