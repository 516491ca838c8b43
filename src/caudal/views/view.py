"""What one asks: `KeyValueView`, `WindowView` and `SessionView`, with typed keys and values.

Every query takes `max_lag` (refuse where the view is more records behind than that) and `wait` (wait so many seconds
for it; without `max_lag` until everything that was committed before the question is seen). Without both, what is there
is answered. A view that has not been at the end of its topic yet answers nothing.

Scans are in the order of the serialised keys, over all partitions. They are read in portions; what is written between
two portions may be seen or not.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from operator import itemgetter
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from confluent_kafka import KafkaException

from caudal.plan.topology import StoreKind
from caudal.runtime.record import Windowed
from caudal.views.errors import NotCaughtUp, ViewError
from caudal.views.follower import Followed, Follower
from caudal.views.index import ViewIndex
from caudal.views.progress import Lag

Time = int | datetime | None  # milliseconds since 1970, or a datetime; None is open
T = TypeVar("T")

_PORTION = 256
_END_OF_TIME = (1 << 62) - 1


class View:
    """What the three kinds share."""

    def __init__(self, followed: Followed, follower: Follower, close: Callable[[], None] | None = None) -> None:
        self._followed = followed
        self._follower = follower
        self._on_close = close
        self._progress = followed.progress
        self._serialize_key = followed.spec.key.serialize
        self._deserialize_key = followed.spec.key.deserialize

    # -- what it tells -----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._followed.spec.name

    @property
    def topic(self) -> str:
        """The changelog that it follows."""
        return self._followed.topic

    @property
    def kind(self) -> str:
        return self._followed.spec.kind.value

    @property
    def key_serde(self) -> Any:
        return self._followed.spec.key

    @property
    def is_ready(self) -> bool:
        """Whether it has caught up once, and is asked without an error."""
        return self._progress.ready

    @property
    def trouble(self) -> str | None:
        """Why it does not get on; None where nothing is wrong."""
        return self._progress.failed or self._progress.trouble

    @property
    def lag(self) -> Lag:
        """Records behind what is committed, by partition; as of at most about a second ago (see its `age`)."""
        return self._progress.lag()

    @property
    def approximate_count(self) -> int:
        """About how many entries there are; windows that have expired lately may be counted."""
        return self._index(None, None).approximate_count()

    @property
    def unreadable(self) -> int:
        """How many records of a source topic were left out since the start, because its serdes cannot read them."""
        index = self._followed.index
        return 0 if index is None else index.unreadable

    def wait(self, seconds: float) -> Self:
        """Waits until it has caught up once. Raises NotCaughtUp where that takes longer."""
        if not self._progress.wait_ready(seconds):
            raise self._refusal()
        return self

    def close(self) -> None:
        """Of a view without an application: stops following. Views of an application are closed with it."""
        if self._on_close is not None:
            self._on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- how the kinds read ------------------------------------------------------------------------------------------

    def _index(self, wait: float | None, max_lag: int | None) -> ViewIndex:
        """The index, as soon as it is as near to the log as the query wants."""
        if wait is not None:
            self._wait(wait, max_lag or 0)
        elif not self._progress.ready or (max_lag is not None and not self._progress.is_within(max_lag)):
            raise self._refusal()
        index = self._followed.index
        if index is None:
            raise self._refusal()
        return index

    def _wait(self, seconds: float, max_lag: int) -> None:
        deadline = time.monotonic() + seconds
        self.wait(seconds)
        left = max(0.1, deadline - time.monotonic())
        try:
            ends = {number: end for (_, number), end in self._follower.topics.ends(self._followed.places, left).items()}
        except KafkaException:
            raise self._refusal("the cluster does not say where the topic ends") from None
        if not self._progress.wait_for(ends, max_lag, max(0.0, deadline - time.monotonic())):
            raise self._refusal()

    def _refusal(self, trouble: str | None = None) -> ViewError:
        progress = self._progress
        if progress.failed is not None:
            return ViewError(f"The view of store '{self.name}' cannot be asked: {progress.failed}.")
        return NotCaughtUp(self.name, self.topic, progress.behind(), trouble or progress.trouble)

    def _rows(self, index: ViewIndex, scan: Callable[[Any], Iterator[T]], order: Any, reverse: bool) -> Iterator[T]:
        """`scan` of each partition's store, merged by `order`, in portions that each take the lock."""
        with index.reading() as stores:
            parts = [scan(store) for store in stores]
        rows = parts[0] if len(parts) == 1 else heapq.merge(*parts, key=order, reverse=reverse)
        while True:
            with index.reading():
                portion = list(islice(rows, _PORTION))
            yield from portion
            if len(portion) < _PORTION:
                return


class KeyRow(NamedTuple):
    raw: bytes  # the serialised key
    value: Any
    timestamp: int  # -1 in stores without one


class KeyValueView(View):
    """A key-value store, with or without timestamps."""

    def get(self, key: Any, *, wait: float | None = None, max_lag: int | None = None) -> Any:
        """The value; None where there is none."""
        found = self.get_with_timestamp(key, wait=wait, max_lag=max_lag)
        return None if found is None else found[0]

    def get_with_timestamp(
        self, key: Any, *, wait: float | None = None, max_lag: int | None = None
    ) -> tuple[Any, int] | None:
        """(value, timestamp); the timestamp is -1 in stores that keep none."""
        index = self._index(wait, max_lag)
        has_timestamp = self._followed.spec.kind is StoreKind.TIMESTAMPED
        with index.reading() as stores:
            for store in stores:
                found = store.get(key)
                if found is not None:
                    return found if has_timestamp else (found, -1)
        return None

    def range(
        self,
        first: Any = None,
        last: Any = None,
        *,
        reverse: bool = False,
        wait: float | None = None,
        max_lag: int | None = None,
    ) -> Iterator[tuple[Any, Any]]:
        """(key, value) from `first` to `last`, both included; None is open."""
        low = b"" if first is None else self._serialize_key(first)
        end = None if last is None else self._serialize_key(last) + b"\0"
        rows = self.raw_range(low, end, reverse=reverse, wait=wait, max_lag=max_lag)
        return ((self._deserialize_key(raw), value) for raw, value, _ in rows)

    def all(
        self, *, reverse: bool = False, wait: float | None = None, max_lag: int | None = None
    ) -> Iterator[tuple[Any, Any]]:
        return self.range(reverse=reverse, wait=wait, max_lag=max_lag)

    def raw_range(
        self,
        first: bytes,
        end: bytes | None,
        *,
        reverse: bool = False,
        wait: float | None = None,
        max_lag: int | None = None,
    ) -> Iterator[KeyRow]:
        """By serialised keys, `end` not included: what a page of results goes on from."""
        index = self._index(wait, max_lag)

        def scan(store: Any) -> Iterator[KeyRow]:
            return (KeyRow(raw, *entry) for raw, entry in store.entries(first, end, reverse))

        return self._rows(index, scan, itemgetter(0), reverse)


class WindowView(View):
    """A window store. Times are those of window *starts*, both bounds included."""

    @property
    def window_size(self) -> int:
        """Milliseconds."""
        return self._followed.spec.window_size

    def get(self, key: Any, start: int | datetime, *, wait: float | None = None, max_lag: int | None = None) -> Any:
        """The value of one window; None where there is none."""
        index = self._index(wait, max_lag)
        with index.reading() as stores:
            for store in stores:
                found = store.fetch(key, _milliseconds(start))
                if found is not None:
                    return found
        return None

    def fetch(
        self,
        key: Any,
        start: Time = None,
        end: Time = None,
        *,
        reverse: bool = False,
        wait: float | None = None,
        max_lag: int | None = None,
    ) -> Iterator[tuple[int, Any]]:
        """(window start, value) of one key's windows that start from `start` to `end`, oldest first."""
        bounds = _milliseconds(start), _milliseconds(end)
        index = self._index(wait, max_lag)

        def scan(store: Any) -> Iterator[tuple[int, Any]]:
            found = store.backward_fetch_range if reverse else store.fetch_range
            return found(key, *bounds)  # type: ignore[no-any-return]

        return self._rows(index, scan, itemgetter(0), reverse)

    def fetch_all(
        self,
        start: Time = None,
        end: Time = None,
        *,
        reverse: bool = False,
        wait: float | None = None,
        max_lag: int | None = None,
    ) -> Iterator[tuple[Windowed, Any]]:
        """(windowed key, value) of every key's windows that start from `start` to `end`, by start, then by key."""
        bounds = _milliseconds(start), _milliseconds(end)
        index = self._index(wait, max_lag)

        def scan(store: Any) -> Iterator[tuple[Windowed, Any]]:
            found = store.backward_fetch_all if reverse else store.fetch_all
            return found(*bounds)  # type: ignore[no-any-return]

        return self._rows(index, scan, self.order, reverse)

    def all(
        self, *, reverse: bool = False, wait: float | None = None, max_lag: int | None = None
    ) -> Iterator[tuple[Windowed, Any]]:
        return self.fetch_all(reverse=reverse, wait=wait, max_lag=max_lag)

    def order(self, row: tuple[Windowed, Any]) -> tuple[int, bytes]:
        """What `fetch_all` is sorted by."""
        return row[0].start, self._serialize_key(row[0].key)


class SessionView(View):
    """A session store."""

    def get(
        self,
        key: Any,
        start: int | datetime,
        end: int | datetime,
        *,
        wait: float | None = None,
        max_lag: int | None = None,
    ) -> Any:
        """The value of the session with exactly these bounds; None where there is none."""
        index = self._index(wait, max_lag)
        with index.reading() as stores:
            for store in stores:
                found = store.fetch_session(key, _milliseconds(start), _milliseconds(end))
                if found is not None:
                    return found
        return None

    def fetch(
        self, key: Any, *, reverse: bool = False, wait: float | None = None, max_lag: int | None = None
    ) -> Iterator[tuple[Windowed, Any]]:
        """(windowed key, value) of one key's sessions, by their end."""
        index = self._index(wait, max_lag)

        def scan(store: Any) -> Iterator[tuple[Windowed, Any]]:
            return (store.backward_fetch if reverse else store.fetch)(key)  # type: ignore[no-any-return]

        return self._rows(index, scan, self.order, reverse)

    def all(
        self, ending_from: int | datetime = 0, *, wait: float | None = None, max_lag: int | None = None
    ) -> Iterator[tuple[Windowed, Any]]:
        """(windowed key, value) of every session that ends at or after `ending_from`, by end, start and key."""
        first = _milliseconds(ending_from)
        index = self._index(wait, max_lag)
        return self._rows(index, lambda store: store.find_sessions_ending(first, _END_OF_TIME), self.order, False)

    def order(self, row: tuple[Windowed, Any]) -> tuple[int, int, bytes]:
        """What `all` is sorted by."""
        return row[0].end, row[0].start, self._serialize_key(row[0].key)


VIEWS: dict[StoreKind, type[KeyValueView] | type[WindowView] | type[SessionView]] = {
    StoreKind.KEY_VALUE: KeyValueView,
    StoreKind.TIMESTAMPED: KeyValueView,
    StoreKind.WINDOW: WindowView,
    StoreKind.SESSION: SessionView,
}


def _milliseconds(moment: Any) -> Any:
    return round(moment.timestamp() * 1000) if isinstance(moment, datetime) else moment
