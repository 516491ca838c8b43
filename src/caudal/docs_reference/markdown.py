"""Markdown tables and code spans out of values: the little that all reference pages share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def code(text: object) -> str:
    """As code, whatever is in it; nothing stays nothing."""
    words = str(text)
    if not words:
        return ""
    fence = "``" if "`" in words else "`"
    return f"{fence}{words}{fence}"


def sentence(text: str) -> str:
    """One line, with HTML's own characters as text."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, or nothing where there are no rows."""
    lines = [" | ".join(cell.replace("|", "&#124;").replace("\n", " ") for cell in row) for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}", *(f"| {line} |" for line in lines), ""])
