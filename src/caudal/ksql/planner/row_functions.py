"""The functions of rows that a plan carries: small callables around compiled expressions, pickled as data.

A record's key is None where its bytes are (a row with NULL in every key column), its value None where it is a
tombstone. Compiled expressions never see either: that is settled here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from caudal.ksql.functions import resolution
from caudal.ksql.processing_log import report
from caudal.ksql.types import SqlType
from caudal.runtime.batch.partitioner import partition_of
from caudal.runtime.record import Windowed
from caudal.serde import Serde

Row = tuple[Any, ...]
OfRow = Callable[[Any, Row], Any]
_REMEMBERED_KEYS = 20_000


def null_key(width: int, is_windowed: bool) -> Any:
    """What stands for a key that is not there."""
    nulls = (None,) * width
    return Windowed(nulls, None, None) if is_windowed else nulls  # type: ignore[arg-type]


@dataclass(frozen=True)
class Select:
    """The columns of a SELECT; a tombstone stays one."""

    columns: OfRow
    no_key: Any

    def __call__(self, key: Any, value: Row | None) -> Any:
        if value is None:
            return None
        return self.columns(self.no_key if key is None else key, value)


@dataclass(frozen=True)
class Where:
    """The rows that a condition holds for; never a tombstone."""

    condition: OfRow
    no_key: Any

    def __call__(self, key: Any, value: Row | None) -> bool:
        if value is None:
            return False
        return bool(self.condition(self.no_key if key is None else key, value))


@dataclass(frozen=True)
class Rekey:
    """A new key and, with it, the columns that go on. The key is None where a part of it is (`drop_nulls`), so that the
    row is left out of groups and joins; else where all of it is."""

    key: OfRow
    columns: OfRow | None  # None: the value as it is
    no_key: Any
    drop_nulls: bool
    keeps_window: bool = False

    def __call__(self, key: Any, value: Row | None) -> tuple[Any, Any]:
        if value is None:
            return None, None
        if key is None:
            key = self.no_key
        made = self.key(key, value)
        if None in made and (self.drop_nulls or not any(part is not None for part in made)):
            made = None
        elif self.keeps_window:
            made = Windowed(made, key.start, key.end)
        return made, (value if self.columns is None else self.columns(key, value))


@dataclass(frozen=True)
class WithoutKey:
    """PARTITION BY NULL."""

    columns: OfRow | None
    no_key: Any

    def __call__(self, key: Any, value: Row | None) -> tuple[Any, Any]:
        if value is None or self.columns is None:
            return None, value
        return None, self.columns(self.no_key if key is None else key, value)


@dataclass(frozen=True)
class JoinRows:
    """One row of two: the left side's columns, the right's, and a copy of the key for each side that may be missing,
    which has NULL there when it is."""

    left: int  # how many columns
    right: int
    key: int
    copy_left: bool = False
    copy_right: bool = False
    is_windowed: bool = False
    swapped: bool = False  # a RIGHT JOIN, run as a LEFT JOIN with its sides changed

    def __post_init__(self) -> None:
        object.__setattr__(self, "nulls", ((None,) * self.left, (None,) * self.right, (None,) * self.key))

    def __call__(self, key: Any, left: Row | None, right: Row | None) -> Row:
        if self.swapped:
            left, right = right, left
        no_left, no_right, no_key = self.nulls  # type: ignore[attr-defined]
        row = (no_left if left is None else left) + (no_right if right is None else right)
        if self.copy_left or self.copy_right:
            plain = no_key if key is None else key.key if self.is_windowed else key
            if self.copy_left:
                row += no_key if left is None else plain
            if self.copy_right:
                row += no_key if right is None else plain
        return tuple(row)


@dataclass(frozen=True)
class WithKey:
    """The value with the key's columns behind it."""

    is_windowed: bool

    def __call__(self, key: Any, value: Row | None) -> Any:
        if value is None:
            return None
        return (*value, *(key.key if self.is_windowed else key))


@dataclass(frozen=True)
class KeyColumns:
    """The key of a push query's rows: the key and window columns it selects. -1 is the window's start, -2 its end."""

    indexes: tuple[int, ...]
    is_windowed: bool

    def __call__(self, key: Any, value: Any) -> Any:
        if key is None or not self.indexes:
            return None
        if not self.is_windowed:
            return tuple(key[index] for index in self.indexes)
        bounds = {-1: key.start, -2: key.end}
        return tuple(bounds[index] if index < 0 else key.key[index] for index in self.indexes)


@dataclass(frozen=True)
class Results:
    """What is shown of an aggregate's state: its results, and what the SELECT makes of them."""

    results: Callable[[Row], Row]
    columns: OfRow

    def __call__(self, key: Any, state: Row | None) -> Any:
        return None if state is None else self.columns(key, self.results(state))


@dataclass(frozen=True)
class ResultsOnly:
    results: Callable[[Row], Row]

    def __call__(self, key: Any, state: Row | None) -> Any:
        return None if state is None else self.results(state)


@dataclass(frozen=True)
class TableFunctionCall:
    """One call of a table function: resolved again, by name and types, wherever it is unpickled."""

    name: str
    types: tuple[SqlType | None, ...]
    arguments: OfRow

    def __post_init__(self) -> None:
        function, _, _ = resolution.table_function(self.name, self.types, None)
        object.__setattr__(self, "call", function.call)

    def __reduce__(self) -> tuple[Any, ...]:
        return TableFunctionCall, (self.name, self.types, self.arguments)

    def rows(self, key: Any, value: Row) -> list[Any]:
        try:
            found = self.call(*self.arguments(key, value))  # type: ignore[attr-defined]
            return [] if found is None else list(found)
        except Exception as error:
            report(f"{self.name} in SELECT", error)
            return []


@dataclass(frozen=True)
class Explode:
    """A row for each element of the table functions' results, the shorter ones filled up with NULL."""

    calls: tuple[TableFunctionCall, ...]
    columns: OfRow
    no_key: Any

    def __call__(self, key: Any, value: Row | None) -> list[Any]:
        if value is None:
            return []
        if key is None:
            key = self.no_key
        found = [call.rows(key, value) for call in self.calls]
        columns = self.columns
        if len(found) == 1:
            return [columns(key, (*value, one)) for one in found[0]]
        return [columns(key, (*value, *row)) for row in zip_longest(*found)]


@dataclass(frozen=True)
class ForeignKey:
    """The key of the row that this one refers to; None where a part of it is NULL."""

    key: OfRow

    def __call__(self, key: Any, value: Row) -> Any:
        made = self.key(key, value)
        return None if None in made else made


class ByPlainKey:
    """Where a windowed row is written: by its key without the window, as Kafka Streams does, so that all windows of a
    key lie in one partition, with what has no windows yet. The partitions of hot keys are remembered."""

    __slots__ = ("_exact", "_known", "_partitions", "key")

    def __init__(self, key: Serde) -> None:
        self.key = key  # the serde of keys without their windows
        self._exact = bool(getattr(key, "exact", False))
        self._known: dict[Any, int] = {}
        self._partitions = 0  # that the remembered ones are of

    def __call__(self, topic: str, key: Any, value: Any, partitions: int) -> int | None:
        if partitions == 1:
            return 0
        if key is None:
            return None
        if partitions != self._partitions or len(self._known) >= _REMEMBERED_KEYS:
            self._known, self._partitions = {}, partitions
        found = self._known.get(key.key) if self._exact else None
        if found is None:
            found = partition_of(self.key.serialize(key.key) or b"", partitions)
            if self._exact:
                self._known[key.key] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return ByPlainKey, (self.key,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByPlainKey) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)
