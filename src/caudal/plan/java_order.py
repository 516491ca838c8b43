"""The orders in which two Java collections give back what was put in. Kafka's `describe()` shows them, so `describe.py`
needs them; nothing else does.

`hash_order` is a HashSet of strings. `TreeSet` is a red-black tree that asks the comparison only while it inserts:
describe() puts nodes in whose order changes later, so where they end up depends on the shape of the tree at that
moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


def hash_order(names: list[str]) -> list[str]:
    """The order of a HashSet that was filled with these strings one by one."""
    capacity = 16
    while len(names) > capacity * 3 // 4:
        capacity *= 2
    return sorted(names, key=lambda name: _spread(name) & (capacity - 1))


def _spread(text: str) -> int:
    code = 0
    data = text.encode("utf-16-be")
    for i in range(0, len(data), 2):
        code = (31 * code + (data[i] << 8 | data[i + 1])) & 0xFFFFFFFF
    return code ^ code >> 16


class _Entry(Generic[T]):
    __slots__ = ("is_red", "item", "left", "parent", "right")

    def __init__(self, item: T, parent: _Entry[T] | None) -> None:
        self.item = item
        self.parent = parent
        self.left: _Entry[T] | None = None
        self.right: _Entry[T] | None = None
        self.is_red = True


class TreeSet(Generic[T]):
    """Items in the order of `before` at the time of their insertion."""

    def __init__(self, before: Callable[[T, T], bool]) -> None:
        self._before = before
        self._root: _Entry[T] | None = None

    def __iter__(self) -> Iterator[T]:
        yield from self._walk(self._root)

    def _walk(self, entry: _Entry[T] | None) -> Iterator[T]:
        if entry is not None:
            yield from self._walk(entry.left)
            yield entry.item
            yield from self._walk(entry.right)

    def add(self, item: T) -> None:
        """Adds an item that is not in the set."""
        parent, at = None, self._root
        while at is not None:
            parent = at
            at = at.left if self._before(item, at.item) else at.right
        entry = _Entry(item, parent)
        if parent is None:
            self._root = entry
        elif self._before(item, parent.item):
            parent.left = entry
        else:
            parent.right = entry
        self._balance(entry)

    def _balance(self, entry: _Entry[T]) -> None:
        """No red entry has a red child, and all paths have equally many black ones."""
        while entry.parent is not None and entry.parent.is_red:
            parent = entry.parent
            grandparent = parent.parent
            assert grandparent is not None  # a red entry is never the root
            on_left = parent is grandparent.left
            uncle = grandparent.right if on_left else grandparent.left
            if uncle is not None and uncle.is_red:
                parent.is_red = uncle.is_red = False
                grandparent.is_red = True
                entry = grandparent
                continue
            if entry is (parent.right if on_left else parent.left):
                self._rotate(parent, to_left=on_left)
                parent = entry
            parent.is_red = False
            grandparent.is_red = True
            self._rotate(grandparent, to_left=not on_left)
            break
        assert self._root is not None
        self._root.is_red = False

    def _rotate(self, entry: _Entry[T], to_left: bool) -> None:
        """The child of one side takes the entry's place; the entry becomes its child on the other side."""
        child = entry.right if to_left else entry.left
        assert child is not None
        between = child.left if to_left else child.right
        if to_left:
            entry.right, child.left = between, entry
        else:
            entry.left, child.right = between, entry
        if between is not None:
            between.parent = entry
        child.parent, above = entry.parent, entry.parent
        entry.parent = child
        if above is None:
            self._root = child
        elif above.left is entry:
            above.left = child
        else:
            above.right = child
