"""What every store shares: identity of keys, serdes, the life cycle that `TaskState` drives.

Invariants:
- What is in the engine is exactly what the changelog says, in another layout: a commit and a restore go through the
  same `engine_items`. A store is a cache of its changelog by construction.
- Puts go to `_dirty`. `freeze` moves them to `_frozen` and serialises them, once each; `committed` lets them become
  clean. What is put between `freeze` and `committed` belongs to the next commit.
- A key of the store's plain class (str, int, bytes) is its own identity in the cache, so that a hot key is not even
  serialised. Any other key is known by its bytes: 1, 1.0 and True are equal in Python and differ in most serdes. Where
  the serde says that equal keys always are equal bytes (`exact`: rows of SQL), the bytes of hot keys are remembered.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import Any

from caudal.plan.topology import StoreSpec
from caudal.runtime.stores.api import StreamContext
from caudal.runtime.stores.cache import Entry
from caudal.runtime.stores.engines.engine import Engine
from caudal.runtime.stores.isolation import ATOMS, isolated

_PLAIN_CLASSES = frozenset({str, int, bytes})
_REMEMBERED_KEYS = 20_000


# A changelog record in Kafka Streams' format for the kind of store: key, value, timestamp. A plain tuple: there is one
# per entry and commit, and a named one costs as much as all the rest of making it.
LogRecord = tuple[bytes, bytes | None, int]
EngineItem = tuple[bytes, bytes | None]


def _itself(value: Any) -> Any:
    return value


class Store(ABC):
    """The base of the implementations. `prefix` keeps the stores of one engine apart."""

    def __init__(
        self, spec: StoreSpec, engine: Engine, prefix: bytes, context: StreamContext, cache_entries: int
    ) -> None:
        self.spec = spec
        self.name = spec.name
        self.context = context
        self._engine = engine
        self._prefix = prefix
        self._end = following(prefix)
        self._serialize_key = spec.key.serialize
        self._deserialize_key = spec.key.deserialize
        self._serialize = spec.value.serialize
        self._deserialize = spec.value.deserialize
        self._plain: type | None = None
        self._known: dict[Any, Hashable] | None = {} if getattr(spec.key, "exact", False) else None
        if getattr(spec.value, "immutable", False):
            self._own = _itself  # type: ignore[method-assign]

    # -- keys and values ---------------------------------------------------------------------------------------------

    def _ident(self, key: Any) -> Hashable:
        """How the cache knows this key. The hot path asks `key.__class__ is self._plain` before it calls this."""
        known = self._known
        if known is not None:
            ident = known.get(key)
            if ident is None:
                if len(known) >= _REMEMBERED_KEYS:
                    known.clear()
                ident = known[key] = (self._serialize_key(key),)
            return ident
        raw = self._serialize_key(key)
        canonical = self._deserialize_key(raw)
        if self._plain is None and canonical.__class__ in _PLAIN_CLASSES:
            self._plain = canonical.__class__
        if canonical.__class__ is self._plain:
            return canonical
        return (raw,)

    def _raw(self, ident: Any) -> bytes:
        return ident[0] if ident.__class__ is tuple else self._serialize_key(ident)

    def _key_of(self, ident: Any) -> Any:
        return self._deserialize_key(ident[0]) if ident.__class__ is tuple else ident

    def _own(self, value: Any) -> Any:
        """The caller's own copy of a value that may be changeable."""
        return isolated(value, self._through_serde)

    def _own_entry(self, entry: Entry) -> Entry:
        value = entry[0]
        return entry if value.__class__ in ATOMS else (self._own(value), entry[1])

    def _through_serde(self, value: Any) -> Any:
        try:
            return self._deserialize(self._serialize(value))
        except Exception:
            # Part of a value (a dataclass in a list), which the store's serde only knows as a whole.
            return copy.deepcopy(value)

    # -- life cycle, called by TaskState -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def pending(self) -> int:
        """How many entries wait for a commit."""

    @abstractmethod
    def freeze(self) -> list[LogRecord]:
        """What was put since the last freeze, serialised: the changelog of this commit. The same until `committed`."""

    @abstractmethod
    def engine_items(self, records: Iterable[LogRecord]) -> list[EngineItem]:
        """Changelog records in the engine's layout. Also what a restore goes through."""

    def expired_ranges(self) -> list[tuple[bytes, bytes]]:
        """Engine ranges that retention lets go with this commit."""
        return []

    @abstractmethod
    def committed(self) -> None:
        """What was frozen is in the engine now."""

    @abstractmethod
    def rollback(self) -> None:
        """Forgets everything since the last commit."""

    @property
    def layout(self) -> str:
        """Names how this store lies in the engine: data of another layout is not understood, so it is void."""
        return f"{self.spec.kind.value}/{int(self.spec.retain_duplicates)}"

    def state(self) -> dict[str, int]:
        """What must survive besides the entries (stream time, sequence); written with each commit."""
        return {}

    @abstractmethod
    def load(self, state: dict[str, int]) -> None:
        """After opening, wiping and restoring: `state` as it was last written, {} where nothing was."""


def following(prefix: bytes) -> bytes | None:
    """The smallest bytes after everything that begins with `prefix`; None where there is none."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes((trimmed[-1] + 1,)) if trimmed else None
