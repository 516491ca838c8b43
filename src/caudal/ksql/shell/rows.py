"""The rows of a query as a table that grows line by line: column widths are set before the first row comes.

+--------------------+----------+
|ID                  |NAME      |
+--------------------+----------+
|1                   |a name tha|
|                    |t is long |
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len, chop_cells, set_cell_size

from caudal.ksql.shell.client import Number
from caudal.ksql.shell.screen import clean

# What a type needs at most; what has no entry shares the room that is left.
_NEEDED = {"BOOLEAN": 5, "INTEGER": 11, "BIGINT": 20, "DOUBLE": 22, "DATE": 10, "TIME": 12, "TIMESTAMP": 23}
_LEAST = 6


def shown(value: Any) -> str:
    """A value in a cell: text as it is, everything else as JSON; in one line.

    >>> shown(None), shown("a\\nb"), shown({"A": [1, None]}), shown(1.5)
    ('null', 'a\\\\nb', '{"A": [1, null]}', '1.5')
    """
    text = value if isinstance(value, str) else json_text(value)
    return clean(text.replace("\n", "\\n").replace("\t", "\\t"))


def json_text(value: Any) -> str:
    """JSON, with numbers as the server wrote them.

    >>> json_text({"A": [Number("1.50"), None, "x"]})
    '{"A": [1.50, null, "x"]}'
    """
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        fields = (f"{json.dumps(name, ensure_ascii=False)}: {json_text(one)}" for name, one in value.items())
        return f"{{{', '.join(fields)}}}"
    if isinstance(value, list):
        return f"[{', '.join(json_text(one) for one in value)}]"
    return json.dumps(value, ensure_ascii=False)


class RowTable:
    def __init__(self, names: Sequence[str], types: Sequence[str], width: int) -> None:
        self.names = [shown(name) for name in names]
        self.widths = _widths(self.names, types, width)

    def head(self) -> list[str]:
        return [self._rule(), *self.row(self.names), self._rule()]

    def row(self, values: Sequence[Any]) -> list[str]:
        """The lines of one row: a cell that is too long goes on below."""
        cells = [
            chop_cells(shown(value), width) or [""]
            for value, width in zip([*values, *[None] * (len(self.widths) - len(values))], self.widths, strict=False)
        ]
        height = max((len(cell) for cell in cells), default=0)
        return [
            "|"
            + "|".join(
                set_cell_size(cell[line] if line < len(cell) else "", width) for cell, width in self._pairs(cells)
            )
            + "|"
            for line in range(height)
        ]

    def _pairs(self, cells: list[list[str]]) -> list[tuple[list[str], int]]:
        return list(zip(cells, self.widths, strict=True))

    def _rule(self) -> str:
        return "+" + "+".join("-" * width for width in self.widths) + "+"


def _widths(names: Sequence[str], types: Sequence[str], total: int) -> list[int]:
    room = max(total - len(names) - 1, _LEAST * len(names))
    wanted = []
    for at, name in enumerate(names):
        of = types[at].split("(")[0].split("<")[0] if at < len(types) else ""
        needed = _NEEDED.get(of)
        wanted.append(None if needed is None else max(needed, cell_len(name)))
    fixed = sum(width for width in wanted if width is not None)
    free = sum(width is None for width in wanted)
    if (free and room - fixed >= free * max(_LEAST, 12)) or (not free and fixed <= room):
        each, more = divmod(room - fixed, free) if free else (0, 0)
        widths = []
        for width in wanted:
            if width is None:
                width, more = each + (more > 0), more - 1
                width = min(width, 60)
            widths.append(width)
        return widths
    each, more = divmod(room, max(len(names), 1))
    return [each + (at < more) for at in range(len(names))]
