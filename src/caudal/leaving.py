"""How a consumer with rebalance callbacks leaves its group: everything is given back before it closes.

Callbacks that come while it closes have ended badly in librdkafka 2.16: with an abort of the process (subscribe) and
with a wait for ever that keeps the GIL (incremental_unassign).
"""

from __future__ import annotations

import time
from typing import Any

POLL_SECONDS = 0.05
LEAVE_SECONDS = 2.0


def leave_and_close(consumer: Any) -> None:
    """In the thread that polls the consumer. Its callbacks must not subscribe any more."""
    consumer.unsubscribe()
    deadline = time.monotonic() + LEAVE_SECONDS
    while consumer.assignment() and time.monotonic() < deadline:
        consumer.poll(POLL_SECONDS)
    while consumer.poll(0) is not None:  # a callback that was due before
        pass
    consumer.close()
