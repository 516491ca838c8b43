"""The child of test_kill: commits as fast as it can and says each commit after it is done, until it is killed.

Commit n puts n under every key and in meta, so any mixture of two commits shows.
"""

from __future__ import annotations

import sys

from tests.unit.runtime.stores.store_specs import spec

from caudal.plan.topology import StoreKind
from caudal.runtime.stores import TaskState

KEYS = 50
SPECS = [
    spec(StoreKind.KEY_VALUE, "kv"),
    spec(StoreKind.WINDOW, "window", window_size=10, retention=100),
]


def main(folder: str, engine: str) -> None:
    state = TaskState(folder, SPECS, engine=engine)
    number = (state.meta() or {"n": 0})["n"]
    while True:
        number += 1
        for key in range(KEYS):
            state.stores["kv"].put(f"k{key}", [number] * 40)
            state.stores["window"].put(f"k{key}", number, number)
        state.commit({"n": number})
        print(number, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
