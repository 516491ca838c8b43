"""The views of one application: every store that has a changelog, opened when it is first asked for.

They follow topics, not tasks: it makes no difference whether the application runs here, is paused, or stands by.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from caudal.plan.naming import changelog_topic
from caudal.plan.topology import StoreKind, StoreSpec, Topology
from caudal.runtime.spark.settings import Settings
from caudal.views.errors import NoChangelog, UnknownStore, ViewError
from caudal.views.follower import Followed, Follower
from caudal.views.view import VIEWS, KeyValueView, SessionView, WindowView

AnyView = KeyValueView | WindowView | SessionView


class ApplicationViews:
    """`names` are the stores that can be asked; `in` and iteration go by them."""

    def __init__(self, topology: Topology, settings: Settings) -> None:
        self.application_id = topology.application_id
        self._stores = topology.stores
        self._settings = settings
        self._lock = threading.Lock()
        self._follower: Follower | None = None
        self._open: dict[str, AnyView] = {}
        self._closed = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(name for name, spec in self._stores.items() if why_not(spec) is None))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __len__(self) -> int:
        return len(self.names)

    def spec(self, name: str) -> StoreSpec:
        """The store of that name, if it can be asked."""
        spec = self._stores.get(name)
        if spec is None:
            raise UnknownStore(self.application_id, name, self.names)
        why = why_not(spec)
        if why is not None:
            raise NoChangelog(name, why)
        return spec

    def opened(self, name: str) -> AnyView | None:
        """The view, where somebody has asked for it already."""
        return self._open.get(name)

    def open(self, name: str) -> Any:
        """The KeyValueView, WindowView or SessionView; it may have to catch up yet."""
        spec = self.spec(name)
        with self._lock:
            if self._closed:
                raise ViewError(f"'{self.application_id}' was stopped: its stores cannot be asked any more.")
            view = self._open.get(name)
            if view is None:
                if self._follower is None:
                    self._follower = Follower(self._settings, self.application_id)
                folder = Path(self._settings.state_dir) / self.application_id / "views" / name
                topic = spec.changelog or changelog_topic(self.application_id, name)
                followed = Followed(spec, topic, folder, self._settings.engine)
                self._follower.add(followed)
                view = self._open[name] = VIEWS[spec.kind](followed, self._follower)
            return view

    def close(self) -> None:
        with self._lock:
            self._closed = True
            follower, self._follower = self._follower, None
        if follower is not None:
            follower.close()


def why_not(spec: StoreSpec) -> str | None:
    """Why a store cannot be asked; None where it can."""
    if spec.kind is StoreKind.BUFFER or spec.retain_duplicates:
        return "it is a buffer inside an operator, not a table"
    if not spec.logged and spec.changelog is None:
        return "it has no changelog to read; make it without logged=False"
    return None
