"""Engines: where the bytes of a task's state are kept. LMDB is the default, RocksDB the choice for state beyond memory.

Measured through this interface, once: keys of 19 bytes, values of 60, CPU time on 2 busy cores (open, close
and wipe: elapsed, without identity.py, whose syncs make it about 2 ms each to open and close a task's state on LMDB).
LMDB with sync=False; "map" adds writemap; RocksDB with bloom filter, 32 MB block cache and write-ahead log.

| | 1 k keys: LMDB | RocksDB | 1 M keys: LMDB | LMDB, map | RocksDB |
| --- | --- | --- | --- | --- | --- |
| get, found | 0.5 µs | 0.8 µs | 1.8 µs | 1.7 µs | 11.6 µs |
| get, not there | 0.6 µs | 1.0 µs | 2.0 µs | 1.8 µs | 3.7 µs |
| write of 100 random keys | 0.14 ms | 0.18 ms | 0.89 ms | 0.48 ms | 0.33 ms |
| write of 10,000 random keys, each | 0.7 µs | 2.7 µs | 7.3 µs | 4.6 µs | 4.7 µs |
| load in batches of 20,000 | 478 k/s | 339 k/s | 280 k/s | 351 k/s | 332 k/s |
| scan of 5 entries | 2.4 µs | 22 µs | 4.4 µs | 4.0 µs | 33 µs |
| full scan | 2.0 M/s | 0.16 M/s | 1.9 M/s | 2.1 M/s | 1.2 M/s |
| open / close / wipe | 0.4 / 0.1 / 0 ms | 17 / 68 / 43 ms | 0.8 / 10 / 10 ms | 0.5 / 48 / 11 ms | 121 / 262 / 153 ms |
| on disk | 0.3 MB | 5.7 MB | 250 MB | 250 MB | 71 MB |

After `kill -9` in the middle of writes both come back with the last commit, whole (test_kill.py). RocksDB without its
write-ahead log is not offered: it saves a fifth of a write at best, and what was not flushed dies with the process.

Why LMDB: a task reads before it writes, and joins, sessions and windows scan; there it is 1.7 to 9 times quicker. It
opens at once, so a task can move between workers, and a new owner fences a zombie instead of waiting for its lock.
What it costs: 3.5 times the disk, and random updates of a large state copy whole pages. `writemap` would make those
quicker, but then a full disk kills the process (SIGBUS) instead of raising an error.
"""

from caudal.runtime.stores.engines.engine import Engine, Fenced, StateError
from caudal.runtime.stores.engines.folder import ENGINES, open_engine

DEFAULT_ENGINE = "lmdb"

__all__ = ["DEFAULT_ENGINE", "ENGINES", "Engine", "Fenced", "StateError", "open_engine"]
