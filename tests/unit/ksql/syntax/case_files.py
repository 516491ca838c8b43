"""The cases of this folder are data: two kinds of files, read here."""

from __future__ import annotations

from pathlib import Path

CASES = Path(__file__).parent / "cases"


def in_columns(name: str, between: str) -> list[tuple[str, str]]:
    """Lines of `left <between> right`."""
    found = []
    for line in (CASES / name).read_text().splitlines():
        if line and not line.startswith("#"):
            left, right = line.rsplit(f" {between} ", 1)
            found.append((left.strip(), right.strip()))
    return found


def in_pairs(name: str) -> list[tuple[str, str]]:
    """A line with `> ` and below it one with `= `."""
    lines = [line for line in (CASES / name).read_text().splitlines() if line and not line.startswith("#")]
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    assert all(left.startswith("> ") and right.startswith("= ") for left, right in pairs)
    return [(left[2:], right[2:]) for left, right in pairs]
