"""Running pipelines for the pages: what they report, and orders to them. One follower for the whole process, begun with
the first visit; the topic has the last hour, so nothing is missed before."""

from __future__ import annotations

import asyncio
import time

from caudal.pipelines.board import Pipeline
from caudal.pipelines.control import send
from caudal.pipelines.reader import BoardFollower
from caudal.pipelines.records import Command, Order
from caudal.ui.services.errors import UiError
from caudal.ui.services.kafka import Kafka
from caudal.ui.words import t

CATCH_UP_SECONDS = 4.0
FOLLOWED_SECONDS = 75.0  # how long an order may take to be seen
LOOK_SECONDS = 0.2
_AFTER = {Order.PAUSE: {"PAUSED", "STANDBY"}, Order.RESUME: {"RUNNING", "STANDBY"}}


class Pipelines:
    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._follower: BoardFollower | None = None

    async def begin(self) -> None:
        """Before a page asks anything: the reports are read to their end. Raises UiError where nobody answers."""
        if self._follower is None:
            self._follower = BoardFollower(self._kafka.config).start()
        follower = self._follower
        if not await self._kafka.call(follower.wait, CATCH_UP_SECONDS) and follower.trouble is not None:
            raise self._kafka.silent()

    @property
    def trouble(self) -> str | None:
        """Why nothing new comes."""
        return self._follower.trouble if self._follower is not None else None

    def all(self) -> list[Pipeline]:
        return self._follower.board.pipelines(now_ms()) if self._follower is not None else []

    def get(self, application: str) -> Pipeline | None:
        return self._follower.board.pipeline(application, now_ms()) if self._follower is not None else None

    async def order(self, order: Order, application: str) -> None:
        """Returns when the pipeline is as it was told to be. Raises UiError."""
        try:
            await self._kafka.call(send, self._kafka.config, Command(order, application))
        except TimeoutError:
            raise self._kafka.silent() from None
        deadline = time.monotonic() + FOLLOWED_SECONDS
        while time.monotonic() < deadline:
            if self._is_done(order, application):
                return
            await asyncio.sleep(LOOK_SECONDS)
        raise UiError(t("{application} has not followed the order; its process may be gone.", application=application))

    def _is_done(self, order: Order, application: str) -> bool:
        found = self.get(application)
        if found is None or order is Order.STOP:
            return found is None
        if found.state(now_ms()) == "ERROR":
            raise UiError(str(found.leader.figures.get("failure") or t("It has failed.")))
        return found.state(now_ms()) in _AFTER[order]

    def close(self) -> None:
        if self._follower is not None:
            self._follower.close()
            self._follower = None


def now_ms() -> int:
    return int(time.time() * 1000)


_services: dict[int, Pipelines] = {}


def pipelines(kafka: Kafka) -> Pipelines:
    """The one of this control center."""
    if id(kafka) not in _services:
        from nicegui import app

        close_all()  # of a control center that this process had before
        _services[id(kafka)] = Pipelines(kafka)
        app.on_shutdown(close_all)
    return _services[id(kafka)]


def close_all() -> None:
    for service in list(_services.values()):
        service.close()
    _services.clear()
