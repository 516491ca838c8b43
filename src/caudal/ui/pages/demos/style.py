"""The CSS of the demonstrations' pages; colours of parties as variables that follow the theme."""

from __future__ import annotations

import functools
from pathlib import Path

from nicegui import ui

from caudal.demos.elections.country import PARTIES


@functools.cache
def _text() -> str:
    colours = " ".join(f"--party-{one.id}: light-dark({one.light}, {one.dark});" for one in PARTIES)
    return f":root {{ {colours} }}\n" + Path(__file__).with_name("demos.css").read_text(encoding="utf-8")


def add_style() -> None:
    ui.add_head_html(f"<style>{_text()}</style>")
