"""How endpoints ask the engine: it blocks, so in threads; streams of rows have threads of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from caudal.ksql.engine.engine import Engine

STATEMENT_THREADS = 16
QUERY_THREADS = 256

P = ParamSpec("P")
T = TypeVar("T")


class Asking:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._statements = ThreadPoolExecutor(STATEMENT_THREADS, thread_name_prefix="ksql-statement")
        self._queries = ThreadPoolExecutor(QUERY_THREADS, thread_name_prefix="ksql-rows")

    async def blocking(self, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """A call that ends by itself."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._statements, lambda: call(*args, **named))

    async def waiting(self, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """A call that waits for rows: many of them at once must not keep statements waiting."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._queries, lambda: call(*args, **named))

    def close(self) -> None:
        self._statements.shutdown(wait=False, cancel_futures=True)
        self._queries.shutdown(wait=False, cancel_futures=True)
