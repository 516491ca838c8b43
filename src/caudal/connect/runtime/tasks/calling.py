"""How a task's methods are called: plain ones in the run's thread, `async def` ones as jobs of one event loop.

All `async` tasks of a process share the loop; while a job runs, the run's thread waits for it, so calls to one task
never overlap. When the task is to stop, its `poll` is cancelled after a moment.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any, TypeVar

T = TypeVar("T")

CANCEL_SECONDS = 1.0  # for a poll to see by itself that it is to stop
_METHODS = (
    "start", "stop", "poll", "commit", "commit_record", "open", "close", "put", "flush", "pre_commit",
)  # fmt: skip

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def shared_loop() -> asyncio.AbstractEventLoop:
    """Started when the first `async` task is; a daemon's, so it keeps no process alive."""
    global _loop
    with _lock:
        if _loop is None:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="connect-async-tasks", daemon=True).start()
            _loop = loop
        return _loop


def is_async(task: Any) -> bool:
    return any(inspect.iscoroutinefunction(getattr(task, name, None)) for name in _METHODS)


class AsyncStopping:
    """`context.stopping` of an `async` task: `await context.stopping.wait(1.0)` instead of blocking the loop."""

    def __init__(self, event: threading.Event) -> None:
        self._event = event
        self._waiters: set[asyncio.Event] = set()

    def is_set(self) -> bool:
        return self._event.is_set()

    async def wait(self, timeout: float | None = None) -> bool:
        if self._event.is_set():
            return True
        waiter = asyncio.Event()
        self._waiters.add(waiter)
        try:
            if self._event.is_set():
                return True
            await asyncio.wait_for(waiter.wait(), timeout)
        except TimeoutError:
            pass
        finally:
            self._waiters.discard(waiter)
        return self._event.is_set()

    def wake(self) -> None:
        """From any thread, after the event was set."""
        shared_loop().call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for waiter in list(self._waiters):
            waiter.set()


class Caller:
    """Of one task."""

    def __init__(self, task: Any, stopping: threading.Event) -> None:
        self._stopping = stopping
        self.is_async = is_async(task)
        self.stopping: Any = AsyncStopping(stopping) if self.is_async else stopping

    def wake(self) -> None:
        if self.is_async:
            self.stopping.wake()

    def __call__(self, method: Callable[..., Any], *arguments: Any) -> Any:
        result = method(*arguments)
        if self.is_async and inspect.isawaitable(result):
            return self._wait_for(_submit(result), cancel=method.__name__ == "poll")
        return result

    def _wait_for(self, job: Future[T], cancel: bool) -> T | None:
        deadline: float | None = None
        while True:
            try:
                return job.result(0.2 if cancel else None)
            except NotYet:
                if job.done():
                    raise  # the task's own time-out
            except CancelledError:
                if cancel and self._stopping.is_set():
                    return None
                raise
            if self._stopping.is_set():
                now = time.monotonic()
                deadline = deadline or now + CANCEL_SECONDS
                if now >= deadline:
                    job.cancel()


def _submit(awaitable: Any) -> Future[Any]:
    async def job() -> Any:
        return await awaitable

    work: Coroutine[Any, Any, Any] = awaitable if asyncio.iscoroutine(awaitable) else job()
    return asyncio.run_coroutine_threadsafe(work, shared_loop())
