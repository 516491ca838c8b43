"""One reader of a demonstration's topics for all pages that show it; it ends when no page has asked for a minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from caudal.demos.following import Follower

IDLE_SECONDS = 60.0
LOOK_SECONDS = 10.0


class Fold(Protocol):
    """What records become."""

    def take(self, topic: str, key: str, value: Any, place: tuple[int, int, int]) -> None: ...


F = TypeVar("F", bound=Fold)


class Watch(Generic[F]):
    """`look` gives the state as it is now; the first look begins to read."""

    def __init__(
        self, config: dict[str, Any], topics: Iterable[str], make: Callable[[], F], *, raw: bool = False
    ) -> None:
        self._config = config
        self._topics = tuple(topics)
        self._make = make
        self._raw = raw
        self._lock = threading.Lock()
        self._follower: Follower | None = None
        self._state: F = make()
        self._asked = 0.0

    def look(self) -> F:
        with self._lock:
            self._asked = time.monotonic()
            if self._follower is None:
                self._state = self._make()
                self._follower = Follower(self._config, self._topics, self._state.take, raw=self._raw)
                threading.Thread(target=self._end_when_idle, name="caudal-watch", daemon=True).start()
            return self._state

    def _end_when_idle(self) -> None:
        while True:
            time.sleep(LOOK_SECONDS)
            with self._lock:
                follower = self._follower
                if follower is None or time.monotonic() - self._asked > IDLE_SECONDS:
                    self._follower = None
                    break
        if follower is not None:
            follower.close()
