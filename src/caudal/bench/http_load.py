"""HTTP load from one process: connections that stay open, each asking one question at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from caudal.bench.workloads import WorkloadError, latency_figures

WARM_UP = 0.1  # the share of the time that is not counted


class Asker(asyncio.Protocol):
    """One connection that asks one question at a time."""

    def __init__(self) -> None:
        self._transport: Any = None
        self._waiting: asyncio.Future[bytes] | None = None
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(WorkloadError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        self._data = self._data + data if self._data else data
        head, end, body = self._data.partition(b"\r\n\r\n")
        if not end or self._waiting is None:
            return
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if len(body) >= int(length) if length else body.endswith(b"0\r\n\r\n"):  # without a length: in chunks
            self._data = b""
            self._waiting.set_result(head[:12])

    def ask(self, request: bytes, loop: asyncio.AbstractEventLoop) -> asyncio.Future[bytes]:
        self._waiting = loop.create_future()
        self._transport.write(request)
        return self._waiting


def drive(
    port: int, packet: Callable[[], bytes], connections: int, seconds: float, rate: int | None = None
) -> dict[str, Any]:
    """Asks as fast as answers come, or `rate` a second in all; every answer must be a 200.

    With a rate a question that could not be asked in time is late from when it was due: a stall is not hidden.
    """
    import uvloop

    latencies: list[float] = []

    async def ask(number: int, begin: float) -> None:
        loop = asyncio.get_running_loop()
        _, asker = await loop.create_connection(Asker, "127.0.0.1", port)
        clock = time.perf_counter
        counted_from, end = begin + seconds * WARM_UP, begin + seconds
        turn = 0
        while (start := clock()) < end:
            if rate is not None:
                due = begin + (turn * connections + number) / rate
                turn += 1
                if due > start:
                    await asyncio.sleep(due - start)
                    start = clock()
                else:
                    start = due
            answer = await asker.ask(packet(), loop)
            if answer != b"HTTP/1.1 200":
                raise WorkloadError(f"the server answered {answer.decode()}")
            if start >= counted_from:
                latencies.append(clock() - start)

    async def ask_all() -> None:
        begin = time.perf_counter() + 0.05
        await asyncio.gather(*(ask(number, begin) for number in range(connections)))

    loop = uvloop.new_event_loop()
    try:
        loop.run_until_complete(ask_all())
    finally:
        loop.close()
    return {"per_second": len(latencies) / (seconds * (1 - WARM_UP)), **latency_figures(latencies)}
