"""What the herder's thread has to do, in order of time: calls from other threads, and calls for later."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from caudal.connect.runtime.model import RestError

T = TypeVar("T")
Call = Callable[[], Any]


class RequestQueue:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Call]] = []
        self._asked: set[Future[Any]] = set()  # not answered yet
        self._is_closed = False
        self._numbers = itertools.count()
        self._changed = threading.Condition()

    def post(self, call: Call, delay: float = 0.0) -> None:
        """The herder's thread will call it, not before `delay` seconds have passed. Nobody waits."""
        with self._changed:
            heapq.heappush(self._heap, (self._clock() + delay, next(self._numbers), call))
            self._changed.notify()

    def ask(self, call: Callable[[], T]) -> Future[T]:
        """Like `post`, with an answer."""
        answer: Future[T] = Future()

        def run() -> None:
            with self._changed:
                self._asked.discard(answer)
            if not answer.set_running_or_notify_cancel():
                return
            try:
                answer.set_result(call())
            except BaseException as error:  # whoever asked gets it
                answer.set_exception(error)

        with self._changed:
            if self._is_closed:
                answer.set_exception(_stopped())
                return answer
            self._asked.add(answer)
        self.post(run)
        return answer

    def close(self) -> None:
        """Nobody takes calls any more: whoever waits for an answer hears so, now and later."""
        with self._changed:
            self._is_closed = True
            waiting, self._asked = self._asked, set()
            self._heap.clear()
        for answer in waiting:
            if answer.set_running_or_notify_cancel():
                answer.set_exception(_stopped())

    def take(self, seconds: float) -> Call | None:
        """The next call that is due, after waiting for one for so long."""
        deadline = self._clock() + seconds
        with self._changed:
            while True:
                now = self._clock()
                if self._heap and self._heap[0][0] <= now:
                    return heapq.heappop(self._heap)[2]
                until = min(deadline, self._heap[0][0]) if self._heap else deadline
                if now >= deadline:
                    return None
                self._changed.wait(until - now)


def _stopped() -> RestError:
    return RestError(503, "This worker is stopping: ask another one.")
