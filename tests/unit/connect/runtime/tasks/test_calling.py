"""Plain methods are called here, `async` ones on the shared loop; a poll that waits is cancelled when it is to stop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from caudal.connect.runtime.tasks.calling import Caller, is_async, shared_loop


class Plain:
    def poll(self) -> str:
        return threading.current_thread().name


class Async:
    context: Any
    cancelled = False

    async def poll(self) -> Any:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            self.cancelled = True
            raise

    async def start(self) -> bool:
        return asyncio.get_running_loop() is shared_loop()

    async def put(self) -> None:
        raise TimeoutError("the store is slow")

    def stop(self) -> str:
        return "plain"


def test_plain_methods_run_in_the_same_thread() -> None:
    task = Plain()
    assert not is_async(task)
    assert Caller(task, threading.Event())(task.poll) == threading.current_thread().name


def test_async_methods_run_on_the_shared_loop_and_errors_come_back() -> None:
    task = Async()
    call = Caller(task, threading.Event())
    assert call(task.start) is True
    assert call(task.stop) == "plain"
    with pytest.raises(TimeoutError, match="slow"):
        call(task.put)


def test_a_poll_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caudal.connect.runtime.tasks.calling.CANCEL_SECONDS", 0.05)
    task, stopping = Async(), threading.Event()
    stopping.set()
    assert Caller(task, stopping)(task.poll) is None
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0), shared_loop()).result(30)
    assert task.cancelled


def test_an_async_task_can_wait_for_the_end() -> None:
    stopping = threading.Event()
    call = Caller(Async(), stopping)

    async def wait() -> tuple[bool, bool]:
        return await call.stopping.wait(0.01), await call.stopping.wait()

    waiting = asyncio.run_coroutine_threadsafe(wait(), shared_loop())
    stopping.set()
    call.wake()
    assert waiting.result(30)[1] is True
