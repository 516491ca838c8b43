"""A slot's side of a batch, in the Python worker: rows in, tasks fed and committed, the driver told.

The lane outlives the batch: it is kept in this module, so tasks, producers and open stores are still there when the
next batch comes to the same worker (see slots.py). A batch is `begin`, `take` for every Arrow batch, `finish`;
micro-batch mode calls them in one go (`run_slot`). In real-time mode (real_time.py) a Spark batch is long, and `take`
and `commit_work` follow each other within it.

Errors: what a record or a user's function does wrong stops its application, not the batch: the driver is told one
sentence and the other applications go on. Kafka being away is waited for. Only a lost driver or a bug of ours fails
the Spark task.
"""

from __future__ import annotations

import base64
import faulthandler
import gc
import logging
import os
import pickle
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

from confluent_kafka import KafkaError, KafkaException

from caudal.runtime.errors import Interrupted, StreamsError, describe
from caudal.runtime.spark.caution import Caution
from caudal.runtime.spark.global_tables import GlobalTables
from caudal.runtime.spark.hosted_task import HostedTask
from caudal.runtime.spark.kafka_errors import Meaning, RecordRefused, is_of_a_record, kafka_error, meaning, reason
from caudal.runtime.spark.link import Link, LinkLost
from caudal.runtime.spark.log_reader import LogReader
from caudal.runtime.spark.outputs import Output, PlainOutput, SharedProducer, TransactionalOutput
from caudal.runtime.spark.rows import ECHO, Chunk, chunks
from caudal.runtime.spark.settings import Cargo, Guarantee, Mode, Settings, keeper_topic, transactional_id
from caudal.runtime.spark.slots import Slot, TaskId
from caudal.runtime.stores.engines import Fenced
from caudal.serde import SchemasUnavailable

log = logging.getLogger("caudal.streams")

THREADS = 8  # commits and openings that wait for Kafka at the same time
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
COLLECT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Freight:
    """Everything a slot needs for the life of a query, made by the driver."""

    run: str
    slot: Slot
    parcels: Mapping[str, bytes]  # application → its Cargo, pickled by itself: one that cannot be read stops no other
    address: tuple[str, int]
    token: str
    mode: Mode = Mode.MICRO_BATCH


_LANES: dict[int, Lane] = {}
_collected = 0.0
if os.environ.get("CAUDAL_DEBUG"):
    faulthandler.register(signal.SIGUSR1)  # `kill -USR1` of a worker that hangs prints where


def run_slot(run: str, number: int, freight: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """What `mapInArrow` calls, once per batch. Returns no rows: outputs go to Kafka from here."""
    lane = _LANES.get(number)
    if lane is None or lane.freight.run != run:
        if lane is not None:
            lane.close()
        lane = _LANES[number] = Lane(pickle.loads(freight))
    try:
        if lane.freight.mode is Mode.REAL_TIME:
            from caudal.runtime.spark import real_time

            real_time.run_batch(lane, batches)
        elif lane.begin(_batch_id()):
            for batch in batches:
                lane.take(batch)
            lane.finish()
    except BaseException:
        # Spark will come again, to this worker or another: nothing half done may stay.
        _LANES.pop(number, None)
        lane.close()
        raise
    for _ in batches:  # a worker that leaves rows unread is not used again
        pass
    _spare_the_collector()
    return iter(())


def _spare_the_collector() -> None:
    """PySpark collects all garbage of a worker after every task: 40 ms with what is loaded here, before the next batch
    may begin. So what lives is hidden from the collector, and a look at everything is had once in a while."""
    global _collected
    if time.monotonic() - _collected > COLLECT_SECONDS:
        gc.unfreeze()
        gc.collect()
        _collected = time.monotonic()
    gc.freeze()


def _batch_id() -> str | None:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.getLocalProperty("streaming.sql.batchId") if context is not None else None


@dataclass(slots=True)
class _Work:
    """A task's part of the batch."""

    task: HostedTask
    id: TaskId
    chunks: list[Chunk] = field(default_factory=list)
    error: Exception | None = None
    fed: bool = False
    caution: Caution | None = None  # after the broker refused something

    def attempt(self, call: Callable[[], None]) -> bool:
        """Keeps the error for later. False: there is one."""
        try:
            call()
        except Interrupted as interrupted:
            self.error = interrupted.cause
        except Exception as error:
            self.error = error
        return self.error is None


class Inactive(Exception):
    """The application is not ours any more (stopped, paused, taken over): leave its rows alone."""


class Lane:
    def __init__(self, freight: Freight) -> None:
        self.freight = freight
        self.id = uuid4().hex
        self._link = Link(freight.address, freight.token)
        self._cargoes: dict[str, Cargo] = {}
        self._unreadable = False
        self._ticks = {keeper_topic(application_id) for application_id in freight.parcels}
        self._tasks: dict[TaskId, HostedTask] = {}
        self._routes: dict[tuple[int, str, int], TaskId] = {}
        self._globals: dict[str, GlobalTables] = {}
        self._shared: dict[Settings, SharedProducer] = {}
        self._readers: dict[tuple[str, str], LogReader] = {}
        self._stopped: set[str] = set()  # applications that failed here
        self._left_alone: set[str] = set()  # applications whose rows were not taken: they need another start
        self._untold: set[TaskId] = set()  # tasks of which the driver has not heard since they worked
        self._before_markers: set[TaskId] = set()  # real-time mode: tasks whose position may stand before a marker
        self._groups: dict[str, bytes] = {}
        self._work: dict[TaskId, _Work] = {}
        self._ranges: dict[tuple[int, str, int], tuple[int, int]] = {}
        self._source_of: dict[str, int] = {}
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="caudal-lane")
        sources = self._source_of = {
            application_id: number
            for number, source in enumerate(freight.slot.sources)
            for application_id in source.applications
        }
        for application_id, parcel in freight.parcels.items():
            self._unpack(application_id, parcel)
        for task in freight.slot.tasks:
            if task.application_id not in self._cargoes:
                continue
            cargo = self._cargoes[task.application_id]
            for topic in cargo.topics_of(cargo.sub(task.sub), task.partition):
                self._routes[sources[task.application_id], topic, task.partition] = task

    def _unpack(self, application_id: str, parcel: bytes) -> None:
        try:
            self._cargoes[application_id] = pickle.loads(parcel)
        except Exception as error:
            log.debug("a cargo cannot be read", exc_info=True)
            self._unreadable = True
            text = (
                f"The program of '{application_id}' cannot be loaded in a Spark worker: {describe(error)}. Install "
                f"what it imports for {sys.executable} too, or put it beside the program."
            )
            self._link.ask("failed", application=application_id, text=text)

    # -- a batch -----------------------------------------------------------------------------------------------------

    def begin(self, batch: str | None = None) -> bool:
        """Asks for orders and sees to it that every task is open. False: the batch is not to be processed."""
        orders = self._ask_orders("begin", batch=batch, lane=self.id, host=socket.gethostname())
        if orders.get("former") not in (None, self.id):
            # Spark gave the batches in between to another executor: what is open here is behind.
            self._close_all_tasks()
        self._ranges = {
            (source, topic, partition): (first, end)
            for source, topic, partition, first, end in orders.get("ranges", ())
        }
        if orders["drain"]:
            self.close_tasks()
            self._link.ask("closed", run=self.freight.run, slot=self.freight.slot.number)
            return False
        if self._unreadable:
            return False  # the driver knows, and is about to start a query without it
        self._open_missing()
        for application_id, tables in list(self._globals.items()):
            if application_id in self._groups:
                self._guard(application_id, tables.catch_up)
        if self._real_time:
            for task in self._tasks.values():
                task.begin_real_time()
            self._before_markers = set(self._tasks)  # those of the last run too
        self._work = {}
        return True

    def take(self, batch: Any) -> None:
        """The rows of one Arrow batch: to their tasks, at once where a task reads one topic only."""
        for chunk in chunks(batch):
            if chunk.topic in self._ticks or chunk.source == ECHO:
                continue
            id = self._routes.get((chunk.source, chunk.topic, chunk.partition))
            if id is None:
                raise RuntimeError(f"no task of this slot reads {chunk.topic}-{chunk.partition}")
            work = self._work_of(id)
            if work is None:
                self._left_alone.add(id.application_id)
                continue
            work.chunks.append(chunk)
            if self._real_time and id.application_id in self._globals:
                self._guard(id.application_id, self._globals[id.application_id].follow)
            if work.error is None and not self._waits(work.task):
                work.fed = work.attempt(partial(self._feed_chunks, work.task, [chunk]))

    def _waits(self, task: HostedTask) -> bool:
        """Whether rows are kept until the end of the batch. In real time only where nothing is seen before it."""
        if self._real_time and task.cargo.settings.guarantee is Guarantee.AT_LEAST_ONCE:
            return False
        return task.ordered

    def finish(self) -> None:
        """Feeds what had to wait, runs punctuators, commits, and tells the driver."""
        self.commit_work()
        self._tell()

    def commit_work(self) -> None:
        now = int(time.time() * 1000)
        for id, task in self._tasks.items():
            due = task.next_punctuation
            if due is not None and due <= now:
                self._work_of(id)
        for id, task in self._tasks.items():
            # An application that is not ours now has left its rows alone: it must not count them as covered.
            if id not in self._work and id.application_id in self._groups:
                self._let_know(id, task)
                task.all_rows_came()
        commits = [
            (work, self._pool.submit(work.task.commit))
            for work in self._work.values()
            if work.error is None and work.attempt(partial(self._feed, work, now))
        ]
        for work, commit in commits:
            work.attempt(commit.result)
        for work in self._work.values():
            if work.error is not None:
                self._again(work)
        self._untold |= self._work.keys()
        self._before_markers |= self._work.keys()
        self._work = {}

    def _work_of(self, id: TaskId) -> _Work | None:
        work = self._work.get(id)
        if work is None and id in self._tasks and id.application_id in self._groups:
            self._let_know(id, self._tasks[id])
            work = self._work[id] = _Work(self._tasks[id], id)
        return work

    def _let_know(self, id: TaskId, task: HostedTask) -> None:
        source = self._source_of[id.application_id]
        task.group = self._groups.get(id.application_id, b"")
        task.ranges = {
            topic: self._ranges[source, topic, id.partition]
            for topic in task.topics
            if (source, topic, id.partition) in self._ranges
        }

    def _feed(self, work: _Work, now: int) -> None:
        if not work.fed:
            self._feed_chunks(work.task, work.chunks)
            work.fed = True
        work.task.all_rows_came()
        work.task.punctuate(now)

    @staticmethod
    def _feed_chunks(task: HostedTask, chunks: list[Chunk]) -> None:
        if task.ordered:
            task.feed_in_order(chunks)
        else:
            for chunk in chunks:
                task.feed(chunk)

    def _again(self, work: _Work) -> None:
        """Repeats a task's part until it is committed or hopeless."""
        pause = FIRST_PAUSE
        while work.error is not None:
            error, work.error = work.error, None
            if not self._guard(work.id.application_id, lambda error=error: self._recover(work, error)):  # type: ignore[misc]
                self._left_alone.add(work.id.application_id)
                return
            if not _is_refusal(error):
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            if not self._is_active(work.id.application_id):
                self._left_alone.add(work.id.application_id)
                return
            work.task = self._tasks[work.id]
            self._let_know(work.id, work.task)
            work.fed = False
            if work.attempt(partial(self._feed, work, int(time.time() * 1000))) and work.attempt(work.task.commit):
                work.task.end_caution()

    def _recover(self, work: _Work, error: Exception) -> None:
        """Brings the task back to its last commit; raises where the error is no passing one."""
        if not isinstance(error, KafkaException | Fenced | RecordRefused | SchemasUnavailable):
            raise error
        kind = meaning(error) if isinstance(error, KafkaException) else Meaning.FENCED
        if isinstance(error, SchemasUnavailable):
            kind = Meaning.AGAIN
        if _is_refusal(error):
            # A producer that was refused something has lost its sequence: a new one is needed.
            kind = Meaning.FENCED
            if isinstance(error, KafkaException):  # by one record or another: find it
                if work.caution is None:
                    work.caution = Caution()
                elif not work.caution.narrow():
                    raise error
        elif kind is Meaning.PERMANENT:
            raise error
        else:
            self._link.ask("trouble", application=work.id.application_id, task=work.task.name, text=_words(error))
        if kind is not Meaning.FENCED:
            try:
                work.task.abandon()
                return
            except KafkaException as failed:
                log.info("task %s cannot abort: %s; it is opened anew", work.id, failed)
        self._close_task(work.id)
        if not self._is_active(work.id.application_id):
            raise Inactive
        self._open(work.id, work.caution)
        self._tasks[work.id].figures = work.task.figures

    # -- real-time mode: within the batch ------------------------------------------------------------------------------

    @property
    def _real_time(self) -> bool:
        return self.freight.mode is Mode.REAL_TIME

    @property
    def commit_interval(self) -> int:
        """Milliseconds: the shortest that an application of this slot asks for."""
        return min(cargo.settings.commit_interval for cargo in self._cargoes.values())

    @property
    def has_work(self) -> bool:
        return bool(self._work)

    def next_punctuation(self) -> int | None:
        return min((due for task in self._tasks.values() if (due := task.next_punctuation) is not None), default=None)

    def pass_markers(self) -> None:
        """When nothing came for a while: commits the ends of transactional topics, so that lag is 0."""
        waiting, self._before_markers = self._before_markers, set()
        for id in waiting:
            work = self._work_of(id)
            if work is not None:
                work.attempt(work.task.pass_markers)
        if self._work:
            self.commit_work()
            self._before_markers = set()

    def go_on(self) -> bool:
        """Asks for orders. False: the batch is over, everything was committed and closed."""
        if not self._ask_orders("orders")["drain"]:
            return True
        self.commit_work()
        self.tell()
        self.close_tasks()
        self._link.ask("closed", run=self.freight.run, slot=self.freight.slot.number)
        return False

    def tell(self) -> None:
        if self._untold:
            self._tell()

    # -- orders ------------------------------------------------------------------------------------------------------

    def _ask_orders(self, request: str, **fields: Any) -> dict[str, Any]:
        answer = self._link.ask(request, run=self.freight.run, slot=self.freight.slot.number, pid=os.getpid(), **fields)
        wanted = answer["groups"].keys() - self._stopped
        if wanted & self._left_alone:
            # It was not ours for a moment and is again: Spark will not send the rows of that moment a second time.
            self._link.ask("restart", run=self.freight.run)
        self._groups = {name: base64.b64decode(answer["groups"][name]) for name in wanted - self._left_alone}
        return answer

    def _is_active(self, application_id: str) -> bool:
        """Whether the driver still wants this application to run; refreshes the group metadata."""
        orders = self._ask_orders("orders")
        return not orders["drain"] and application_id in self._groups

    def _guard(self, application_id: str, call: Callable[[], None]) -> bool:
        """Calls; what goes wrong stops the application with a sentence. False: it did, or it is not ours any more."""
        try:
            call()
            return True
        except LinkLost:
            raise
        except Inactive:
            return False
        except Exception as error:
            self._fail(application_id, error)
            return False

    def _fail(self, application_id: str, error: Exception) -> None:
        expected = isinstance(error, StreamsError | KafkaException)
        log.log(
            logging.INFO if expected else logging.ERROR, "application %s stops", application_id, exc_info=not expected
        )
        self._stopped.add(application_id)
        self._groups.pop(application_id, None)
        for id in [id for id in self._tasks if id.application_id == application_id]:
            self._close_task(id)
        self._link.ask("failed", application=application_id, text=_words(error))

    # -- tasks -------------------------------------------------------------------------------------------------------

    def _open_missing(self) -> None:
        """Opens what is not open yet: at the first batch, and after a worker was lost."""
        missing = [id for id in self.freight.slot.tasks if id not in self._tasks and id.application_id in self._groups]
        if not missing:
            return
        for application_id in dict.fromkeys(id.application_id for id in missing):
            cargo = self._cargoes[application_id]
            if cargo.topology.global_subtopologies and application_id not in self._globals:
                self._guard(application_id, lambda id=application_id: self._open_globals(id))  # type: ignore[misc]
        wanted = [id for id in missing if id.application_id in self._groups]
        results = [(id, self._pool.submit(self._open_patiently, id)) for id in wanted]
        for id, result in results:
            self._guard(id.application_id, result.result)
        self._tell(every=True)

    def _open_globals(self, application_id: str) -> None:
        tables = GlobalTables(self._cargoes[application_id], self.freight.slot.number)
        tables.open(self._progress_of(application_id, "global"))
        self._globals[application_id] = tables

    def _open_patiently(self, id: TaskId) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                self._open(id)
                return
            except (KafkaException, Fenced) as error:
                if not isinstance(error, Fenced) and meaning(error) is Meaning.PERMANENT:
                    raise
                self._link.ask("trouble", application=id.application_id, task=str(id), text=_words(error))
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            if not self._is_active(id.application_id):
                raise Inactive

    def _open(self, id: TaskId, caution: Caution | None = None) -> None:
        cargo = self._cargoes[id.application_id]
        reader = self._reader(cargo.settings)
        tables = self._globals.get(id.application_id)
        task = HostedTask(
            cargo,
            id.sub,
            id.partition,
            self._output(cargo, id),
            tables.stores if tables is not None else {},
            is_empty_between=reader.is_empty_between,
            end_of=reader.end_of,
            caution=caution,
        )
        try:
            task.open(lambda places: self._committed(id, places), self._progress_of(id.application_id, task.name))
        except BaseException:
            task.close()
            raise
        task.group = self._groups.get(id.application_id, b"")
        if self._real_time:
            task.begin_real_time()
        self._tasks[id] = task

    def _output(self, cargo: Cargo, id: TaskId) -> Output:
        settings = cargo.settings
        if settings.exactly_once:
            name = transactional_id(id.application_id, id.sub, id.partition)
            return TransactionalOutput(settings, name, keeper_topic(id.application_id))
        if settings not in self._shared:
            self._shared[settings] = SharedProducer(settings)
        return PlainOutput(id.application_id, self._shared[settings], self._link)

    def _reader(self, settings: Settings) -> LogReader:
        return self._readers.setdefault((settings.bootstrap, settings.isolation_level), LogReader(settings))

    def _committed(self, id: TaskId, places: list[tuple[str, int]]) -> Mapping[str, tuple[int, str]]:
        try:
            answer = self._link.ask("committed", application=id.application_id, places=places)
        except RuntimeError as error:  # the keeper could not reach the coordinator
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, str(error))) from error
        return {topic: (offset, metadata) for topic, offset, metadata in answer["offsets"]}

    def _progress_of(self, application_id: str, task: str) -> Callable[[str, int, int], None]:
        def progress(store: str, done: int, total: int) -> None:
            self._link.ask("restoring", application=application_id, task=task, store=store, done=done, total=total)

        return progress

    def _tell(self, every: bool = False) -> None:
        ids = self._tasks if every else [id for id in self._untold if id in self._tasks]
        self._untold = set()
        reports: dict[str, dict[str, Any]] = {}
        for id in ids:
            reports.setdefault(id.application_id, {})[self._tasks[id].name] = self._tasks[id].report()
        self._link.ask("opened" if every else "end", run=self.freight.run, slot=self.freight.slot.number, tasks=reports)

    # -- end ---------------------------------------------------------------------------------------------------------

    def _close_task(self, id: TaskId) -> None:
        task = self._tasks.pop(id, None)
        if task is not None:
            try:
                task.close()
            except Exception:
                log.warning("closing task %s failed", id, exc_info=True)

    def _close_all_tasks(self) -> None:
        list(self._pool.map(self._close_task, list(self._tasks)))

    def close_tasks(self) -> None:
        self._close_all_tasks()
        for tables in self._globals.values():
            tables.close()
        self._globals = {}
        self._work = {}

    def close(self) -> None:
        try:
            self.close_tasks()
        finally:
            for reader in self._readers.values():
                reader.close()
            self._pool.shutdown(wait=False)
            self._link.close()


def _is_refusal(error: Exception) -> bool:
    found = kafka_error(error)
    return isinstance(error, RecordRefused) or (found is not None and is_of_a_record(found))


def _words(error: BaseException) -> str:
    found = kafka_error(error)
    if found is not None:
        return f"Kafka says: {reason(found)}."
    if isinstance(error, StreamsError):
        return str(error)
    return describe(error)
