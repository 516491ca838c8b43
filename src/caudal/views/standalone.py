"""A view without an application: of any topic that is a store's changelog, or a compacted topic of keys and values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from caudal.plan.durations import Duration, milliseconds
from caudal.plan.topology import StoreKind, StoreSpec
from caudal.runtime.spark.settings import Settings, default_state_dir
from caudal.runtime.stores.engines import DEFAULT_ENGINE
from caudal.serde import Serde
from caudal.serde.serde import bound
from caudal.views.errors import ViewError
from caudal.views.follower import Followed, Follower
from caudal.views.view import VIEWS

SHORT_NAMES = {"timestamped": StoreKind.TIMESTAMPED}


def open_view(
    topic: str,
    *,
    key: Serde,
    value: Serde,
    kind: StoreKind | str = StoreKind.TIMESTAMPED,
    bootstrap: str = "localhost:9092",
    window_size: Duration = 0,
    retention: Duration = 0,
    name: str | None = None,
    state_dir: str | Path | None = None,
    engine: str = DEFAULT_ENGINE,
    client: Mapping[str, str] | None = None,
    follower: Follower | None = None,
) -> Any:
    """A KeyValueView, WindowView or SessionView that follows `topic` until it is closed; it may have to catch up yet.

    `kind` is "key-value", "timestamped", "window" or "session"; the two last need the store's retention, windows their
    size too. `client` takes librdkafka properties. `follower` is one that several views share: one thread and one
    connection for all of them.
    """
    chosen = _kind(kind)
    size, kept = milliseconds(window_size), milliseconds(retention)
    if chosen in (StoreKind.WINDOW, StoreKind.SESSION) and not kept:
        raise ViewError(f"The view of topic '{topic}' needs the {chosen.value} store's retention=.")
    if chosen is StoreKind.WINDOW and not size:
        raise ViewError(f"The view of topic '{topic}' needs the window store's window_size=.")
    settings = Settings(
        bootstrap=bootstrap,
        state_dir=str(state_dir or default_state_dir()),
        engine=engine,
        client=tuple(sorted((client or {}).items())),
    )
    spec = StoreSpec(
        name=name or topic,
        kind=chosen,
        key=bound(key, topic, True),
        value=bound(value, topic, False),
        retention=kept,
        window_size=size,
        changelog=topic,
    )
    followed = Followed(spec, topic, Path(settings.state_dir) / "views" / topic, engine)
    if follower is None:
        own = Follower(settings, f"view-{topic}")
        own.add(followed)
        return VIEWS[chosen](followed, own, close=own.close)
    follower.add(followed)
    return VIEWS[chosen](followed, follower, close=partial(follower.remove, followed))


def _kind(kind: StoreKind | str) -> StoreKind:
    if isinstance(kind, StoreKind) and kind in VIEWS:
        return kind
    known = {chosen.value: chosen for chosen in VIEWS} | SHORT_NAMES
    if kind not in known:
        raise ViewError(f"A view is of kind {', '.join(repr(name) for name in known)}, not {kind!r}.")
    return known[str(kind)]
