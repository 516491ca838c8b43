"""The rows of a query as a table that grows line by line: column widths are set before the first row comes.

+--------------------+----------+
|ID                  |NAME      |
+--------------------+----------+
|1                   |a name tha|
|                    |t is long |
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len, chop_cells, set_cell_size

from caudal.ksql.shell.client import Number
from caudal.ksql.shell.screen import clean

# What a type needs at most; what has no entry shares the room that is left.
_NEEDED = {"BOOLEAN": 5, "INTEGER": 11, "BIGINT": 20, "DOUBLE": 22, "DATE": 10, "TIME": 12, "TIMESTAMP": 23}
_LEAST, _COMFORTABLE, _MOST = 6, 12, 40


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
        cells = [chop_cells(shown(value), width) for value, width in zip(values, self.widths, strict=False)]
        lines = []
        for below in range(max((len(cell) for cell in cells), default=0) or 1):
            parts = [cell[below] if below < len(cell) else "" for cell in cells]
            lines.append("".join(f"|{set_cell_size(part, self.widths[at])}" for at, part in enumerate(parts)) + "|")
        return lines

    def _rule(self) -> str:
        return "+" + "".join("-" * width + "+" for width in self.widths)


def _widths(names: Sequence[str], types: Sequence[str], total: int) -> list[int]:
    """Columns get what their type needs, the others an equal share of what is left; where that is too little for all,
    all get the same."""
    room = max(total - len(names) - 1, _LEAST * len(names))
    needed: list[int | None] = []
    for at, name in enumerate(names):
        own = _needed(types[at]) if at < len(types) else None
        needed.append(None if own is None else max(own, cell_len(name)))
    open_ended = needed.count(None)
    left = room - sum(width for width in needed if width is not None)
    if left < open_ended * _COMFORTABLE:
        each, more = divmod(room, max(len(names), 1))
        return [each + (at < more) for at in range(len(names))]
    share = min(left // open_ended, _MOST) if open_ended else 0
    return [share if width is None else width for width in needed]


def _needed(of: str) -> int | None:
    """
    >>> _needed("BIGINT"), _needed("DECIMAL(10, 2)"), _needed("STRING")
    (20, 12, None)
    """
    decimal = re.fullmatch(r"DECIMAL\(([0-9]+), *[0-9]+\)", of)
    return int(decimal.group(1)) + 2 if decimal else _NEEDED.get(of)
