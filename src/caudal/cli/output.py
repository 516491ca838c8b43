"""How lists and descriptions look: tables on a terminal, plain aligned text in a pipe, JSON for programs.

What a script reads must not depend on a terminal's width or colours, so the two forms are told apart here and nowhere
else. rich is imported for a terminal only. NO_COLOR is respected (rich does).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Words that say how something is, in whichever list they stand.
_GOOD = frozenset({"running", "stable", "ok", "yes"})
_BAD = frozenset({"failed", "error", "dead", "offline", "destroyed", "unassigned"})
_WAITING = frozenset({"paused", "stopped", "empty", "preparing rebalance", "completing rebalance", "standby"})
_SNEAKY = dict.fromkeys([*range(32), 127, *range(0x80, 0xA0)], "�")


def is_terminal() -> bool:
    """Whether a person looks at stdout."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def console() -> Console:
    """For stdout; its width is the terminal's."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def new_table() -> Table:
    """A table in the style that all commands share."""
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False)


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, default=str)
    sys.stdout.write("\n")


def print_heading(text: str) -> None:
    """What a description begins with."""
    if is_terminal():
        from rich.text import Text

        console().print(Text(_visible(text), "bold"), soft_wrap=True)
    else:
        print(text)


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str = "") -> None:
    """An aligned table; numbers stand right. With no rows, `empty` goes to stderr so that a pipe stays empty."""
    cells = [[_text(value) for value in row] for row in rows]
    if not cells:
        if empty:
            print(empty, file=sys.stderr)
        return
    numeric = [all(_is_number(row[column]) for row in cells) for column in range(len(headers))]
    if is_terminal():
        _print_rich(headers, cells, numeric)
        return
    widths = [max(len(row[column]) for row in [list(headers), *cells]) for column in range(len(headers))]
    for row in [list(headers), *cells]:
        line = "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        )
        print(line.rstrip())


def _print_rich(headers: Sequence[str], cells: list[list[str]], numeric: list[bool]) -> None:
    from rich.text import Text

    table = new_table()
    for header, right in zip(headers, numeric, strict=True):
        table.add_column(header, justify="right" if right else "left", overflow="fold", no_wrap=right)
    for row in cells:
        table.add_row(*(Text(_visible(text), style_of(text)) for text in row))
    console().print(table)


def style_of(text: str) -> str:
    """The colour of a state; anything else has none.

    >>> style_of("RUNNING"), style_of("orders")
    ('green', '')
    """
    word = text.lower()
    return "green" if word in _GOOD else "red" if word in _BAD else "yellow" if word in _WAITING else ""


def bytes_text(size: float) -> str:
    """1536 → '1.5 KiB'."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _visible(text: str) -> str:
    """Names come from other people's topics: on a terminal they must not be able to steer it."""
    return text.translate(_SNEAKY)


def _text(value: object) -> str:
    return "-" if value is None else str(value)


def _is_number(text: str) -> bool:
    return text == "-" or text.lstrip("-").isdigit()
