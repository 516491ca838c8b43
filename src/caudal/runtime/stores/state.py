"""The state of one task: its stores, their engine, and the commit that binds them to offsets.

Order of a commit, with the host: `changes()` → Kafka transaction (outputs, changelog, source offsets) → `commit(meta)`,
where meta says which source and changelog offsets the state stands for. The engine takes data and meta in one atomic
write, so a state is always explained by its meta: an older one needs the tail of the changelog, nothing else.

Stores that are not persistent are in a memory engine of their own; they begin empty (`volatile` names them) and are
restored from the beginning of their changelog.
Deliberately without Kafka: who restores, from where, and whether meta fits the group's offsets, is the host's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from caudal.plan.topology import StoreKind, StoreSpec
from caudal.runtime.stores.api import StreamContext
from caudal.runtime.stores.base import EngineItem, LogRecord, Store
from caudal.runtime.stores.engines import DEFAULT_ENGINE, open_engine
from caudal.runtime.stores.engines.engine import Engine, StateError
from caudal.runtime.stores.engines.memory import MemoryEngine
from caudal.runtime.stores.join_buffer import JoinBuffer
from caudal.runtime.stores.key_value import PlainKeyValueStore, TimestampedKeyValueStore
from caudal.runtime.stores.session import SegmentedSessionStore
from caudal.runtime.stores.suppress_buffer import SuppressBuffer
from caudal.runtime.stores.window import SegmentedWindowStore

_KINDS: dict[StoreKind, type[Store]] = {
    StoreKind.KEY_VALUE: PlainKeyValueStore,
    StoreKind.TIMESTAMPED: TimestampedKeyValueStore,
    StoreKind.WINDOW: SegmentedWindowStore,
    StoreKind.SESSION: SegmentedSessionStore,
    StoreKind.BUFFER: SuppressBuffer,
}
_RESTORE_CHUNK = 20_000  # entries of a restore per engine write
CACHE_ENTRIES = 32_768


def task_folder(state_dir: Path | str, application_id: str, subtopology: int, partition: int) -> Path:
    return Path(state_dir) / application_id / f"{subtopology}_{partition}"


class TaskState:
    """All stores of a task. `stores` is what the interpreter gets.

    `void` says why what was found in the folder could not be used (None: nothing was wrong); the state is empty then,
    and `meta()` is None.
    """

    def __init__(
        self,
        folder: Path | str | None,
        specs: Iterable[StoreSpec],
        partition: int = 0,
        *,
        engine: str = DEFAULT_ENGINE,
        cache_entries: int = CACHE_ENTRIES,
    ) -> None:
        self.partition = partition
        self.context = StreamContext()
        self.folder = None if folder is None else Path(folder)
        self.void: str | None = None
        specs = list(specs)
        lasting = [spec for spec in specs if spec.persistent] if self.folder is not None else []
        fleeting = [spec for spec in specs if spec not in lasting]
        self.volatile = frozenset(spec.name for spec in fleeting)
        self._sides: list[_Side] = []
        if lasting and self.folder is not None:
            opened, self.void = open_engine(engine, self.folder)
            self._sides.append(_Side(opened, lasting, self.context, cache_entries))
        if fleeting or not lasting:
            self._sides.append(_Side(MemoryEngine(), fleeting, self.context, cache_entries))
        for side in self._sides:
            self.void = side.load() or self.void
        by_name = {store.name: store for side in self._sides for store in side.stores.values()}
        self.stores: dict[str, Any] = {spec.name: by_name[spec.name] for spec in specs}
        self._restoring: set[str] = set()

    def set_stream_context(self, timestamp: int) -> None:
        """The time of the record being processed. The interpreter may as well set `context.timestamp` itself."""
        self.context.timestamp = timestamp

    # -- commit ------------------------------------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        """How many entries wait for a commit: what the write cache holds in memory and cannot let go."""
        return sum(store.pending for store in self.stores.values())

    def changes(self) -> Iterator[tuple[str, bytes, bytes | None, int]]:
        """The changelog of this commit: (store, key, value, timestamp). What is put later belongs to the next commit.

        A store that is not logged, and one whose changelog is a source topic (its records are there already), has none.
        """
        frozen = [(store.name, _frozen(store), store.spec) for store in self.stores.values()]
        return (
            (name, key, value, timestamp)
            for name, records, spec in frozen
            if spec.logged and spec.changelog is None and not spec.is_global
            for key, value, timestamp in records
        )

    def commit(self, meta: Mapping[str, Any]) -> None:
        """Writes what `changes` gave (all there is, if it was not asked) and `meta` in one atomic step."""
        self._flush_restored()
        for side in self._sides:
            side.commit(meta)
        self._reload_restored()

    def rollback(self) -> None:
        """Forgets what was put since the last commit, frozen or not."""
        for store in self.stores.values():
            store.rollback()
        for side in self._sides:
            side.pending_restore = None
        self._reload_restored()  # a restore that was given up: its first part may be in the engine

    def _reload_restored(self) -> None:
        for name in self._restoring:
            store = self.stores[name]
            store.load(store.state())
        self._restoring.clear()

    def meta(self) -> dict[str, Any] | None:
        """What the state stands for: `meta` of the last commit; None for a state that stands for nothing.

        Where it has a mapping "changelogs" (store → offset), stores that were lost with the process are left out.
        """
        meta = self._sides[0].meta
        if meta is None or self._sides[0].fresh_memory:
            return meta
        lost = [side for side in self._sides if side.fresh_memory and side.meta is None]
        if lost and isinstance(meta.get("changelogs"), dict):
            gone = {name for side in lost for name in side.stores}
            meta = {**meta, "changelogs": {name: at for name, at in meta["changelogs"].items() if name not in gone}}
        return meta

    # -- restore -----------------------------------------------------------------------------------------------------

    def restore(self, store: str, key: bytes, value: bytes | None, timestamp: int) -> None:
        """Takes one changelog record over. Nothing is to be read until `commit(meta)` ends the restore."""
        self.restore_batch(store, ((key, value, timestamp),))

    def restore_batch(self, store: str, records: Iterable[tuple[bytes, bytes | None, int]]) -> int:
        """Takes changelog records over, in their order; returns how many. A restore that breaks off can be repeated."""
        target = self.stores.get(store)
        if target is None:
            raise StateError(f"There is no store {store!r} in this task; it has {', '.join(self.stores) or 'none'}.")
        if store not in self._restoring:
            if target.pending:
                raise StateError(f"Store {store!r} has uncommitted changes; commit or roll back before a restore.")
            self._restoring.add(store)
        side = self._side_of(store)
        batch: list[EngineItem] = target.engine_items(records)
        if side.pending_restore is None:
            side.pending_restore = []
        side.pending_restore += batch
        if len(side.pending_restore) >= _RESTORE_CHUNK:
            side.flush_restored()
        return len(batch)

    def _flush_restored(self) -> None:
        for side in self._sides:
            side.flush_restored()

    def _side_of(self, store: str) -> _Side:
        return next(side for side in self._sides if store in side.stores)

    # -- end ---------------------------------------------------------------------------------------------------------

    def wipe(self) -> None:
        """Empties every store; the state stands for nothing afterwards."""
        self._restoring.clear()
        for side in self._sides:
            side.wipe()

    def size_bytes(self) -> int:
        return sum(side.engine.size_bytes() for side in self._sides)

    def approximate_count(self) -> int:
        """About how many entries all stores have together."""
        return sum(side.engine.approximate_count() for side in self._sides)

    def close(self) -> None:
        """Drops what was not committed and lets go of the folder."""
        for side in self._sides:
            side.engine.close()


def _frozen(store: Store) -> list[LogRecord]:
    """A value is serialised here and not where it was put, so the error has to say whose it is."""
    try:
        return store.freeze()
    except Exception as error:
        raise StateError(f"Store {store.name!r} cannot serialise what was put into it: {error}") from error


class _Side:
    """The stores that share an engine, and the envelope that goes with each write: meta, and each store's own state.

    A store's number in the engine is kept in the envelope: a changed topology finds its stores again by name.
    """

    def __init__(self, engine: Engine, specs: list[StoreSpec], context: StreamContext, cache_entries: int) -> None:
        self.engine = engine
        self.fresh_memory = isinstance(engine, MemoryEngine)
        self.meta: dict[str, Any] | None = None
        self.pending_restore: list[EngineItem] | None = None
        self._specs = specs
        self._context = context
        self._cache_entries = cache_entries
        self._numbers: dict[str, int] = {}
        self._gone: list[tuple[bytes, bytes]] = []  # data of stores that the topology has no more
        self.stores: dict[str, Store] = {}

    def load(self) -> str | None:
        """Reads the envelope and makes the stores. Says why, where what is there cannot be used and was wiped."""
        data = self.engine.meta()
        envelope = None if data is None else orjson.loads(data)
        known: dict[str, Any] = {} if envelope is None else envelope["stores"]
        self._number(known)
        why = None
        for store in self.stores.values():
            before = known.get(store.name)
            if before is not None and before["layout"] != store.layout:
                why = (
                    f"store {store.name!r} was kept as {before['layout']} and is {store.layout} now: "
                    "it is restored from its changelog"
                )
        if why is not None:
            self.engine.wipe()
            envelope, known = None, {}
        self.meta = None if envelope is None else envelope["meta"]
        for store in self.stores.values():
            store.load(known.get(store.name, {}).get("state", {}))
        return why

    def _number(self, known: dict[str, Any]) -> None:
        # A store that is not in the topology any more goes with the next commit: should it come back one day, its
        # changelog has gone on without it. Until then its number is taken.
        names = {spec.name for spec in self._specs}
        gone = [entry["number"] for name, entry in known.items() if name not in names]
        self._gone = [(number.to_bytes(2, "big"), (number + 1).to_bytes(2, "big")) for number in gone]
        taken = {entry["number"] for entry in known.values()}
        free = (number for number in range(1, 1 << 16) if number not in taken)
        for spec in self._specs:
            number = known[spec.name]["number"] if spec.name in known else next(free)
            self._numbers[spec.name] = number
            kind = JoinBuffer if spec.kind is StoreKind.BUFFER and spec.retain_duplicates else _KINDS[spec.kind]
            prefix = number.to_bytes(2, "big")
            self.stores[spec.name] = kind(spec, self.engine, prefix, self._context, self._cache_entries)

    def commit(self, meta: Mapping[str, Any]) -> None:
        items: list[EngineItem] = []
        drops = list(self._gone)
        for store in self.stores.values():
            items.extend(store.engine_items(_frozen(store)))
            drops += store.expired_ranges()
        self.engine.write(items, self._envelope(meta), drops)
        for store in self.stores.values():
            store.committed()
        self._gone = []
        self.meta = dict(meta)

    def _envelope(self, meta: Mapping[str, Any]) -> bytes:
        stores = {
            store.name: {"number": self._numbers[store.name], "layout": store.layout, "state": store.state()}
            for store in self.stores.values()
        }
        return orjson.dumps({"meta": dict(meta), "stores": stores})

    def flush_restored(self) -> None:
        """Meta stays as it was: what it says plus a part of the tail is repaired by replaying the tail again."""
        if self.pending_restore:
            self.engine.write(self.pending_restore)
        self.pending_restore = None

    def wipe(self) -> None:
        self.pending_restore = None
        self.engine.wipe()
        self.meta = None
        for store in self.stores.values():
            store.load({})


__all__ = ["CACHE_ENTRIES", "LogRecord", "TaskState", "task_folder"]
