"""What an interrupted snapshot has shown, so that it goes on instead of beginning anew, and no change comes twice.

A slot's own snapshot ends with the connection that made it. A later run reads the rest of the tables in a new one, and
then the stream from the slot's beginning: it brings changes that the later reading has seen already. So each offset of
a snapshot lists its views: up to which key of which table was read at which moment (`pg_current_snapshot`). A change
is left out when its transaction was visible where its row was read. Rows are read in the order of tables and primary
keys, and PostgreSQL itself compares keys: it alone knows its types and collations.

Left out: tables without a primary key, or whose log names rows by something else. One of these that is interrupted is
read again from its beginning; `PostgresCdc.exactly_once_support` says no to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from caudal.connect.errors import ConnectError

Key = tuple[str, ...]  # its columns as PostgreSQL writes them, in the order of the primary key
IsWithin = Callable[[str, str, Key, Key], bool]  # schema, table, a key and a bound: whether it is at most the bound


class View(NamedTuple):
    """What was read at one moment: from where the view before ended up to, with, this key of this table."""

    snapshot: str | None  # None: the slot's own, which shows exactly what the stream does not bring
    end: int  # what is committed here or later cannot be visible
    schema: str | None = None  # None: up to the end of all tables
    table: str | None = None
    key: Sequence[str] | None = None  # None: the table has no key, and has to be read again

    def shows(self, transaction: int, commit_lsn: int) -> bool:
        if self.snapshot is None or commit_lsn >= self.end:
            return False
        first, last, running = self.snapshot.split(":")
        low, high = int(first), int(last)
        # The stream's number has 32 bits, the snapshot's 64; they cannot be further apart than half of 32 bits.
        number = high + (transaction - high + (1 << 31)) % (1 << 32) - (1 << 31)
        return number < low or (number < high and str(number) not in running.split(","))


class Views:
    """Of a snapshot that is complete, oldest first; the last has no bound."""

    def __init__(self, listed: Sequence[Sequence[Any]], is_within: IsWithin) -> None:
        self._views = [View(*one) for one in listed]
        self._is_within = is_within
        self.end = max((one.end for one in self._views), default=0)

    def have_shown(self, transaction: int, commit_lsn: int, schema: str, table: str, key: Key | None) -> bool:
        """Whether what was read has this change of this row in it."""
        if not any(one.shows(transaction, commit_lsn) for one in self._views):
            return False
        for view in self._views:
            if self._holds(view, schema, table, key):
                return view.shows(transaction, commit_lsn)
        return False

    def have_shown_all(self, transaction: int, commit_lsn: int, schema: str, table: str) -> bool:
        """The same of a whole table, which was truncated."""
        first = next(at for at, one in enumerate(self._views) if _is_before((schema, table), one))
        last = next(at for at, one in enumerate(self._views) if _is_before((schema, table), one, inside=False))
        shown = {one.shows(transaction, commit_lsn) for one in self._views[first : last + 1]}
        if len(shown) > 1:
            raise ConnectError(
                f"The table {schema}.{table} was truncated while its snapshot was interrupted: reset the connector's "
                "offsets, and it takes a new one."
            )
        return shown == {True}

    def _holds(self, view: View, schema: str, table: str, key: Key | None) -> bool:
        if (schema, table) != (view.schema, view.table):
            return _is_before((schema, table), view)
        if key is None or view.key is None or len(key) != len(view.key):
            return False
        return self._is_within(schema, table, key, tuple(view.key))


def _is_before(name: tuple[str, str], view: View, inside: bool = True) -> bool:
    """Whether a table is read in this view or an earlier one: begun there, or (not `inside`) through there."""
    if view.schema is None or view.table is None:
        return True
    bound = (view.schema, view.table)
    return name < bound or (inside and name == bound)
