"""What a store engine is: ordered bytes, written in atomic batches together with what they stand for (meta)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol


class StateError(Exception):
    """A state store cannot be used; the message says what to do."""


class Fenced(StateError):
    """Another owner has taken this state over; what this one wants to write is void."""


class Engine(Protocol):
    """One per task. Keys are ordered as bytes. Not for several threads at once."""

    def get(self, key: bytes) -> bytes | None: ...

    def scan(self, first: bytes, end: bytes | None, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """Entries with first <= key < end, in order. May be left half way; writes under way are allowed."""
        ...

    def write(
        self,
        items: Iterable[tuple[bytes, bytes | None]],
        meta: bytes | None = None,
        drops: Iterable[tuple[bytes, bytes]] = (),
    ) -> None:
        """All or nothing: removes the ranges `drops`, writes `items` (None deletes) and `meta` (None: as it was)."""
        ...

    def meta(self) -> bytes | None: ...

    def wipe(self) -> None:
        """Removes everything, meta too."""
        ...

    def sync(self) -> None:
        """Survives a crash of the machine from here on."""
        ...

    def size_bytes(self) -> int: ...

    def approximate_count(self) -> int:
        """About how many entries there are, without reading them."""
        ...

    def close(self) -> None: ...


class OwnedEngine(Engine, Protocol):
    """An engine on disk, which another process may take over."""

    def is_owner(self) -> bool: ...
