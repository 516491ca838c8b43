"""State stores: typed stores for operators, in one engine per task that is written together with its offsets.

Read in this order: api.py (what operators use), state.py (what hosts drive), base.py (what stores share), the kinds
(key_value, segments with window and session, suppress_buffer, join_buffer), cache.py, then engines/.
"""

from caudal.runtime.stores.api import (
    Buffered,
    BufferStore,
    JoinBufferStore,
    KeyValueStore,
    SessionStore,
    StateStore,
    StreamContext,
    TimestampedStore,
    Unjoined,
    WindowStore,
)
from caudal.runtime.stores.engines import DEFAULT_ENGINE, Fenced, StateError
from caudal.runtime.stores.state import CACHE_ENTRIES, TaskState, task_folder

__all__ = [
    "BufferStore",
    "Buffered",
    "CACHE_ENTRIES",
    "DEFAULT_ENGINE",
    "Fenced",
    "JoinBufferStore",
    "KeyValueStore",
    "SessionStore",
    "StateError",
    "StateStore",
    "StreamContext",
    "TaskState",
    "TimestampedStore",
    "Unjoined",
    "WindowStore",
    "task_folder",
]
