"""A table that rows are added to as they come; the browser keeps the newest, or the first, and no more."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui.element import Element

MOST_ROWS = 500


class RowsTable(Element, component="rows_table.js"):
    """With `newest`, rows of a stream: the latest is above. Otherwise those of an answer, in their order."""

    def __init__(self, columns: Sequence[str], types: Sequence[str], *, label: str, empty: str, newest: bool) -> None:
        super().__init__()
        self._props["columns"] = list(columns)
        self._props["types"] = list(types)
        self._props["label"] = label
        self._props["empty"] = empty
        self._props["most"] = MOST_ROWS
        self._props["newest"] = newest

    def append(self, rows: Sequence[Sequence[str | None]]) -> None:
        self.run_method("append", [list(row) for row in rows])
