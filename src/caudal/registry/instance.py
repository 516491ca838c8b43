"""One instance of the registry: its index kept in step with the log, and its part in who writes.

A write is planned from an index that has everything before it, goes to the log as one transaction, and is answered
when it has come back from there. Writes of the writer happen one after the other. After a failure whose outcome is not
known the pen is taken anew and the log read to its end before the next write: so no id is given twice.

Everything here runs on the event loop; what blocks (Kafka, parsing) is sent to threads.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from caudal.registry import errors
from caudal.registry.catalog import Catalog
from caudal.registry.election import Election
from caudal.registry.index import Entry, Index
from caudal.registry.plans import Plan, Plans
from caudal.registry.reader import Reader
from caudal.registry.topic import ensure_topic
from caudal.registry.writer import Pen, PenLost, WriteFailed

log = logging.getLogger("caudal.registry.instance")

DEFAULT_TOPIC = "_schemas"
DEFAULT_GROUP = "schema-registry"
LOAD_SECONDS = 300.0
READ_BACK_SECONDS = 10.0
SETTLE_SECONDS = 3.0
RETRY_SECONDS = 0.2
FENCED_SECONDS = 2.0


class NotWriter(Exception):
    """Another instance is to do this; nothing was written here."""


@dataclass(frozen=True, slots=True)
class Settings:
    client: Mapping[str, Any]  # librdkafka's properties, bootstrap.servers among them
    url: str  # where the other instances reach this one
    topic: str = DEFAULT_TOPIC
    group: str = DEFAULT_GROUP
    election: Mapping[str, Any] = field(default_factory=dict)  # properties of the group's member only


class Instance:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.index = Index()
        self.catalog = Catalog(self.index)
        self.plans = Plans(self.catalog)
        self.position = 0  # the offset up to which the log is in the index
        self.is_chosen = False
        self._pen: Pen | None = None
        self._pen_changed = asyncio.Event()
        self._taking: asyncio.Task[None] | None = None
        self._write_lock = asyncio.Lock()
        self._written = -1  # offset of the last record that this instance wrote
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._looking: asyncio.Task[str | None] | None = None
        self._reader: Reader | None = None
        self._election: Election | None = None
        self._stopping = False

    @property
    def is_writer(self) -> bool:
        return self._pen is not None

    # ------------------------------------------------------------------ life

    async def start(self) -> None:
        """Returns when everything that the log holds is in the index. Raises TopicRefused."""
        loop = asyncio.get_running_loop()
        settings = self.settings
        await asyncio.to_thread(ensure_topic, settings.client, settings.topic)

        def deliver(entries: list[Entry], position: int) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._apply, entries, position)

        def chosen(flag: bool) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._on_chosen, flag)

        self._election = Election(
            {**settings.client, **settings.election}, settings.topic, settings.group, settings.url, chosen
        )
        self._reader = Reader(settings.client, settings.topic, deliver)
        # Joining takes a moment, reading too: both at once. The pen is not taken before the log is read.
        self._reader.start()
        self._election.start()
        end = await asyncio.to_thread(self._reader.end)
        await self.wait_for(end, LOAD_SECONDS)

    async def settle(self, seconds: float = SETTLE_SECONDS) -> None:
        """Waits a little for a writer, this one or another: the first write would have to."""
        deadline = time.monotonic() + seconds
        while not self.is_writer and time.monotonic() < deadline:
            if not self.is_chosen and await self.writer_url() not in (None, self.settings.url):
                return
            await asyncio.sleep(0.02)

    async def stop(self) -> None:
        self._stopping = True
        self.is_chosen = False
        if self._taking is not None:
            self._taking.cancel()
        async with self._write_lock:
            await self._drop_pen()
        ends = [part.stop for part in (self._election, self._reader) if part is not None]
        await asyncio.gather(*(asyncio.to_thread(end) for end in ends))

    # ------------------------------------------------------------------ the log

    def _apply(self, entries: list[Entry], position: int) -> None:
        self.index.apply(entries)
        self.position = position
        while self._waiting and self._waiting[0][0] <= position:
            future = heapq.heappop(self._waiting)[2]
            if not future.done():
                future.set_result(None)

    async def wait_for(self, position: int, seconds: float) -> None:
        """Until the log is in the index up to this offset. Raises 50002."""
        if self.position >= position:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (position, next(self._order), future))
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            raise errors.timed_out(
                f"the topic {self.settings.topic} was not read up to offset {position} within {seconds:.0f} s"
            ) from None

    # ------------------------------------------------------------------ writing

    async def write(self, make_plan: Callable[[], Plan]) -> tuple[Any, int]:
        """The answer, and the position of the log that has what was written. Raises NotWriter, or the plan's error."""
        async with self._write_lock:
            pen = self._pen
            if pen is None:
                raise NotWriter
            # An earlier write may be in the log and not here yet: nothing may be decided without it.
            await self.wait_for(self._written + 1, READ_BACK_SECONDS)
            plan = await asyncio.to_thread(make_plan)
            if not plan.records:
                return plan.answer, self.position
            try:
                self._written = await asyncio.to_thread(pen.append, plan.records)
            except PenLost as error:
                log.warning("another instance writes now: %s", error)
                await self._drop_pen()
                # Whoever took it was chosen, and the group will say so here soon; if not, it is taken back.
                self._take_again(FENCED_SECONDS)
                raise NotWriter from None
            except errors.RegistryError:  # refused: nothing was written, but the transaction is in pieces
                await self._drop_pen()
                self._take_again()
                raise
            except WriteFailed as error:
                log.warning("a write failed: %s", error)
                await self._drop_pen()
                self._take_again()
                raise errors.store_failed(
                    f"the write to {self.settings.topic} failed, and it is not known whether it was kept: {error}"
                ) from None
            await self.wait_for(self._written + 1, READ_BACK_SECONDS)
            return plan.answer, self._written + 1

    async def pen_is_taken(self, seconds: float) -> bool:
        """Waits while this instance is chosen but has not read all of its predecessor's writes yet."""
        deadline = time.monotonic() + seconds
        while self.is_chosen and self._pen is None and not self._stopping:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._pen_changed.clear()
            try:
                async with asyncio.timeout(min(left, 0.5)):
                    await self._pen_changed.wait()
            except TimeoutError:
                pass
        return self._pen is not None

    def _on_chosen(self, flag: bool) -> None:
        if self._stopping or flag == self.is_chosen:
            return
        self.is_chosen = flag
        log.info("this instance %s", "is chosen to write" if flag else "does not write any more")
        self._take_again()

    def _take_again(self, pause: float = 0.0) -> None:
        if not self._stopping and (self._taking is None or self._taking.done()):
            self._taking = asyncio.get_running_loop().create_task(self._follow_choice(pause))

    async def _follow_choice(self, pause: float) -> None:
        """Until this instance has the pen if, and only if, it is chosen."""
        await asyncio.sleep(pause)
        while self.is_chosen != (self._pen is not None):
            if not self.is_chosen:
                async with self._write_lock:
                    await self._drop_pen()
                continue
            try:
                pen = await asyncio.to_thread(self._take_pen)
                assert self._reader is not None
                # The fence is up: what is in the log now is all that the predecessor wrote.
                end = await asyncio.to_thread(self._reader.end)
                await self.wait_for(end, LOAD_SECONDS)
            except Exception as error:
                log.warning("the pen cannot be taken: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            self._pen = pen
            self._pen_changed.set()
            log.info("this instance writes, from offset %d", self.position)

    def _take_pen(self) -> Pen:
        settings = self.settings
        # One pen for a topic, not for a group: even two groups on one topic by mistake would not give an id twice.
        return Pen(settings.client, settings.topic, f"caudal-registry-{settings.topic}")

    async def _drop_pen(self) -> None:
        pen, self._pen = self._pen, None
        self._pen_changed.set()
        if pen is not None:
            await asyncio.to_thread(pen.close)

    async def writer_url(self) -> str | None:
        """Where the writer is, as the group says now; questions at the same time are one."""
        assert self._election is not None
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(asyncio.to_thread(self._election.writer))
        return await asyncio.shield(self._looking)
