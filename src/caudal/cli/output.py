"""How lists and descriptions look: plain aligned tables for people, JSON for programs.

No colour and no box library: output is piped more often than read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, default=str)
    sys.stdout.write("\n")


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str = "") -> None:
    """An aligned table; numbers stand right. With no rows, `empty` goes to stderr so that a pipe stays empty."""
    cells = [[_text(value) for value in row] for row in rows]
    if not cells:
        if empty:
            print(empty, file=sys.stderr)
        return
    numeric = [all(_is_number(row[column]) for row in cells) for column in range(len(headers))]
    widths = [max(len(row[column]) for row in [list(headers), *cells]) for column in range(len(headers))]
    for row in [list(headers), *cells]:
        line = "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        )
        print(line.rstrip())


def bytes_text(size: float) -> str:
    """1536 → '1.5 KiB'."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _text(value: object) -> str:
    return "-" if value is None else str(value)


def _is_number(text: str) -> bool:
    return text == "-" or text.lstrip("-").isdigit()
