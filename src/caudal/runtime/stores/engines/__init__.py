"""Engines: where the bytes of a task's state are kept."""

from caudal.runtime.stores.engines.engine import Engine, Fenced, StateError
from caudal.runtime.stores.engines.folder import ENGINES, open_engine

DEFAULT_ENGINE = "lmdb"

__all__ = ["DEFAULT_ENGINE", "ENGINES", "Engine", "Fenced", "StateError", "open_engine"]
