"""The host: one Structured Streaming query that runs the tasks of one or several applications, and its supervisor.

One control thread compares what should run (applications whose keeper owns them, not paused, not failed) with what
runs, and starts the query anew where they differ: an application that comes, goes, pauses, fails or loses its
ownership. A query that died (a dead Python worker beyond Spark's retries, a broker that was away for long) is started
again with a growing pause; a JVM that died likewise, where this process has no supervisor that would do it
(`revives`). Every start reads the group's committed offsets; Spark's checkpoint is thrown away with its query.

A stop is graceful: workers are told to drain, a tick wakes those that have nothing to do, each finishes its batch,
commits, closes its tasks and says so; then the query is stopped.
"""

from __future__ import annotations

import base64
import logging
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from confluent_kafka import Producer, TopicPartition

from caudal.runtime.errors import StreamsError, describe
from caudal.runtime.spark import query, session
from caudal.runtime.spark.batch_ranges import BatchRanges
from caudal.runtime.spark.hosted_application import HostedApplication, State
from caudal.runtime.spark.link import LinkServer
from caudal.runtime.spark.settings import Cargo, Mode, keeper_topic
from caudal.runtime.spark.slots import Slot, assign, partitions_read, slot_count

log = logging.getLogger("caudal.streams")

KEEP_ALIVE_SECONDS = 25.0  # Spark ends Python workers that had nothing to do for a minute
DRAIN_SECONDS = 30.0
BATCH_END_SECONDS = 1.0  # how long a stop waits for the batch that drains
WATCH_SECONDS = 2.0
ASK_SECONDS = 0.5
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
HEALTHY_SECONDS = 60.0  # a query that ran so long begins with the first pause again
FAR_BEHIND = 20_000  # records; an application with fewer has caught up in a moment
GATHER_SECONDS = 10.0  # how long a start waits for applications that are still joining their groups
THREADS = 16  # applications that are taken over, or closed, at the same time
BATCH_DURATION = "10 minutes"  # of real-time mode: its end is a pause of up to 0.6 s, and nothing else depends on it


class _Run:
    """One start of the query."""

    def __init__(self, applications: list[HostedApplication], slots: list[Slot]) -> None:
        self.id = uuid.uuid4().hex
        self.applications = {application.id: application for application in applications}
        self.slots = slots
        self.query: Any = None
        self.checkpoint: Path | None = None
        self.ranges: BatchRanges | None = None
        self.draining = False
        self.unsound = False  # a worker has left rows alone that it should have taken: start anew
        self.started = time.monotonic()
        self._asked = self.started
        self.opened: set[int] = set()
        self.closed: set[int] = set()
        self.busy: dict[int, float] = {}
        self.pids: dict[int, int] = {}
        self.hosts: dict[int, str] = {}
        self.lanes: dict[int, str] = {}  # which worker process had the slot's last batch
        self.last_batch = time.monotonic()

    def has_died(self) -> bool:
        """Asked ten times a second; the JVM, which answers in half a millisecond, twice."""
        now = time.monotonic()
        if self.query is None or now - self._asked < ASK_SECONDS:
            return False
        self._asked = now
        return not self.query.isActive


class SparkHost:
    """`start`, then `add` applications; `close` ends them all."""

    def __init__(
        self,
        *,
        master: str | None = None,
        threads: int | None = None,
        spark_config: dict[str, str] | None = None,
        py_files: Sequence[str] = (),
        mode: Mode = Mode.MICRO_BATCH,
        batch_duration: str = BATCH_DURATION,
        revives: bool = False,
    ) -> None:
        self.mode = mode
        self._revives = revives
        self._batch_duration = batch_duration
        self._master = master
        self._threads = threads
        self._spark_config = spark_config or {}
        self._py_files = tuple(py_files)
        self._applications: dict[str, HostedApplication] = {}
        self._condition = threading.Condition()
        self._closing = False
        self._warm = False  # Spark is wanted also without applications
        self._closed = threading.Event()
        self._session: Any = None
        self._owns_session = False
        self.spark: dict[str, Any] = {}  # where Spark is, for people
        self._run: _Run | None = None
        self._starting: set[str] = set()  # applications that the next run will have
        self._link: LinkServer | None = None
        self._pause = FIRST_PAUSE
        self._not_before = 0.0
        self._tickers: dict[tuple[tuple[str, Any], ...], Any] = {}  # by connection
        self._last_tick = 0.0
        self._thread = threading.Thread(target=self._control, name="caudal-host", daemon=True)
        self._watcher = threading.Thread(target=self._watch, name="caudal-watch", daemon=True)

    # -- from outside ------------------------------------------------------------------------------------------------

    def add(self, *applications: HostedApplication) -> None:
        """Applications that were prepared (their topics exist). The query takes them in when they own their group."""
        with self._condition:
            for application in applications:
                if application.id in self._applications:
                    raise StreamsError(f"'{application.id}' runs on this host already.")
                if application.settings.mode is not self.mode:
                    raise StreamsError(
                        f"'{application.id}' is to run in {application.settings.mode.value} mode, and its host runs in "
                        f"{self.mode.value} mode: give both the same."
                    )
            for application in applications:
                self._applications[application.id] = application
                application.host_changed = self.wake
                application.join()
            self._begin()

    def warm(self) -> None:
        """Opens Spark in the background, before the first application comes."""
        with self._condition:
            self._warm = True
            self._begin()

    def _begin(self) -> None:
        if not self._thread.is_alive() and not self._closing:
            self._thread.start()
            self._watcher.start()
        self._condition.notify_all()

    def remove(self, application_id: str, timeout: float = 60.0) -> None:
        """Drains and forgets an application; its keeper leaves the group when its last commit is made."""
        application = self._applications.get(application_id)
        if application is None:
            return
        application.wanted = False
        self.wake()
        deadline = time.monotonic() + timeout
        with self._condition:
            while self._is_in_use(application_id) and time.monotonic() < deadline:
                self._condition.wait(0.1)
            self._applications.pop(application_id, None)
        application.close()

    def _is_in_use(self, application_id: str) -> bool:
        return application_id in self._starting or (self._run is not None and application_id in self._run.applications)

    def wake(self) -> None:
        with self._condition:
            self._condition.notify_all()

    def close(self) -> None:
        for application in list(self._applications.values()):
            application.wanted = False
        with self._condition:
            self._closing = True
            self._closed.set()
            self._condition.notify_all()
        if self._thread.is_alive():
            self._thread.join(DRAIN_SECONDS + 30)
        with ThreadPoolExecutor(THREADS, thread_name_prefix="caudal-close") as pool:
            list(pool.map(lambda application: application.close(), self._applications.values()))
        self._applications.clear()
        if self._link is not None:
            self._link.close()
        if self._owns_session and self._session is not None:
            session.stop(self._session)
            self._session = None

    @property
    def run(self) -> _Run | None:
        return self._run

    # -- the control thread ------------------------------------------------------------------------------------------

    def _control(self) -> None:
        while True:
            with self._condition:
                if self._closing and self._run is None:
                    return
                self._condition.wait(0.1)
            try:
                self._reconcile()
            except Exception as error:
                death = session.death(self._session, error) if self._session is not None else None
                if death is not None:
                    self._lose_session(death)
                else:
                    log.exception("the host cannot go on")
                    self._fail_all(f"Unexpected {describe(error)}.")

    def _lose_session(self, death: str) -> None:
        """Another one is started here, or applications end and whoever supervises them starts them again: without a
        JVM nothing is sound."""
        log.debug("Spark's JVM died", exc_info=True)
        self._session = None
        session.forget_dead_session()
        run = self._run
        if self._revives and not self._closing:
            self._start_again_later(run, f"Spark's JVM died ({death})")
        else:
            self._fail_all(session.obituary(death))
        if run is not None:
            self._end(run)

    def _reconcile(self) -> None:
        if self._session is None and not self._closing and time.monotonic() >= self._not_before:
            hosted = [application for application in self._applications.values() if application.is_wanted]
            if hosted or self._warm:
                self._open_session(hosted)
        run = self._run
        if run is not None and run.has_died():
            self._died(run)
            run = None
        wanted = [application for application in self._applications.values() if application.should_run]
        running = set(run.applications) if run is not None else set()
        names = {application.id for application in wanted}
        settled = names == running or (running <= names and self._more_to_come())
        if settled and not (run is not None and run.unsound):
            if run is not None:
                self._tick_if_due(run)
            return
        if run is not None:
            self._stop(run)
        if not self._closing and wanted and self._session is not None and time.monotonic() >= self._not_before:
            self._starting = {application.id for application in wanted}
            try:
                self._start([application for application in wanted if application.should_run])
            finally:
                self._starting = set()

    def _more_to_come(self) -> bool:
        """Whether others join their groups right now: one start for all of them, since each start costs seconds."""
        return any(application.arriving(GATHER_SECONDS) for application in list(self._applications.values()))

    def _died(self, run: _Run) -> None:
        """The query ended by itself: say why, start again later."""
        error = run.query.exception()
        run.query.stop()  # of several queries the others
        text = query.reason(error)
        permanent = query.permanent_cause(error)
        if permanent is not None:
            for application in run.applications.values():
                application.fail(f"Spark cannot run '{application.id}': {permanent}")
            self._end(run)
            return
        self._start_again_later(run, f"the Spark query ended ({text})")
        self._end(run)

    def _start_again_later(self, run: _Run | None, trouble: str) -> None:
        if run is None or time.monotonic() - run.started > HEALTHY_SECONDS:
            self._pause = FIRST_PAUSE
        log.warning("%s; starting again in %.1f s", trouble, self._pause)
        for application in run.applications.values() if run is not None else ():
            application.metrics.restarts += 1
            application.metrics.last_trouble = trouble
            if application.should_run:
                application.become(State.RESTARTING, trouble)
        self._delay()

    def _start(self, applications: list[HostedApplication]) -> None:
        with ThreadPoolExecutor(THREADS, thread_name_prefix="caudal-take-over") as pool:
            taken = zip(applications, pool.map(self._take_over, applications), strict=True)
            begins = {application.id: places for application, places in taken if places is not None}
        ready = [application for application in applications if application.id in begins]
        if any(application.should_run for application in applications if application.id not in begins):
            self._delay()
        if not ready:
            return
        ready = self._fitting(ready)
        if not ready:
            return
        cargoes = [application.cargo for application in ready]
        spark = self._session
        behind = self._far_behind(ready, begins)
        slots = assign(cargoes, self._slot_count(cargoes), ticks=self.mode is Mode.MICRO_BATCH, behind=behind)
        run = _Run(ready, slots)
        for slot in slots:
            slot.number = query.take_slot_number()
        for application in ready:
            application.placed(slots)
        self._run = run
        try:
            assert self._link is not None
            run.checkpoint = session.checkpoint_folder()
            if self.mode is Mode.MICRO_BATCH:
                run.ranges = BatchRanges(run.checkpoint, slots, begins)
            parcels = {application.id: application.parcel for application in ready}
            run.query = query.start(
                spark,
                run.id,
                slots,
                cargoes,
                parcels,
                begins,
                run.checkpoint,
                self._link.address,
                self._link.token,
                self.mode,
                self._batch_duration,
            )
        except Exception as error:
            log.warning("the Spark query does not start: %s", query.reason(error))
            log.debug("the Spark query does not start", exc_info=True)
            run.query = query.NeverStarted(error)

    def _far_behind(
        self, applications: Sequence[HostedApplication], begins: dict[str, dict[tuple[str, int], int]]
    ) -> set[str]:
        """Those that have much to catch up on while others have not: they take small portions, so that the others'
        records do not wait long for a batch to end."""
        if self.mode is not Mode.MICRO_BATCH or len(applications) < 2:
            return set()
        with ThreadPoolExecutor(THREADS, thread_name_prefix="caudal-behind") as pool:
            ahead = pool.map(lambda application: application.records_ahead(begins[application.id]), applications)
            far = {
                application.id for application, records in zip(applications, ahead, strict=True) if records > FAR_BEHIND
            }
        return far if len(far) < len(applications) else set()

    def _slot_count(self, cargoes: Sequence[Cargo]) -> int:
        threads = self._threads
        if threads is None:
            context = self._session.sparkContext if self._session is not None else None
            threads = context.defaultParallelism if context is not None else os.cpu_count() or 1
            if self.mode is Mode.REAL_TIME and context is not None:
                # Many of Spark's tasks only read; here they are threads, on a cluster they take cores from it.
                local = session.is_local(context.master)
                threads = session.parallelism(context) if local else max(1, threads - partitions_read(cargoes))
        return slot_count(cargoes, threads)

    def _tasks_at_once(self, cargoes: Sequence[Cargo]) -> int:
        """How many tasks of Spark run at the same time."""
        slots = self._slot_count(cargoes)
        return slots if self.mode is Mode.MICRO_BATCH else slots + partitions_read(cargoes)

    def _fitting(self, applications: list[HostedApplication]) -> list[HostedApplication]:
        """In real-time mode everything runs at once: those that Spark has no room for fail with a sentence."""
        if self.mode is Mode.MICRO_BATCH:
            return applications
        context = self._session.sparkContext
        fitting: list[HostedApplication] = []
        for application in applications:
            needed = self._tasks_at_once([known.cargo for known in (*fitting, application)])
            if needed <= context.defaultParallelism:
                fitting.append(application)
                continue
            text = (
                f"Real-time mode needs {needed} task slots of Spark at once, one for each partition that is read and "
                f"each thread, and {context.master} has {context.defaultParallelism}: give it more (--master local[N], "
                "cores of executors), or use micro-batch mode."
            )
            if application.state is State.RESTARTING:  # it ran here: executors were lost, and may come back
                log.warning("'%s' waits: %s", application.id, text)
                application.metrics.last_trouble = text
                self._delay()
            else:
                application.fail(text)
        return fitting

    def _take_over(self, application: HostedApplication) -> dict[tuple[str, int], int] | None:
        """Where its partitions begin; None where it cannot start, now or ever."""
        try:
            return application.take_over()
        except StreamsError as error:
            application.fail(str(error))
        except Exception as error:  # Kafka away, or a rebalance in between: the loop comes back to it
            log.warning("'%s' cannot start yet: %s", application.id, error)
            application.metrics.last_trouble = str(error)
        return None

    def _delay(self) -> None:
        """The next start waits, longer each time."""
        self._not_before = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def _open_session(self, applications: Sequence[HostedApplication]) -> None:
        """While the keepers join; also for a standby, which then takes over in seconds."""
        slots = self._tasks_at_once([application.cargo for application in applications])
        if self._warm:  # who knows what will come
            slots = max(slots, self._threads or os.cpu_count() or 1)
        if self.mode is Mode.REAL_TIME:
            log.info(
                "real-time mode: Python in a Spark task is not on Spark's list of what it supports there; the check is "
                "switched off for this query (spark.sql.streaming.realTimeMode.allowlistCheck)"
            )
        try:
            self._session, self._owns_session = session.open_session(self._master, slots, self._spark_config)
            session.send_modules(self._session, self._py_files)
            session.wait_for_executors(self._session)
            self.spark = session.about(self._session)
        except StreamsError as error:
            if not applications:
                log.error("%s", error)
            self._warm = False
            for application in applications:
                application.fail(str(error))
            return
        if self._link is None:
            self._link = LinkServer(self._answer, *session.link_address(self._session))

    # -- stopping ----------------------------------------------------------------------------------------------------

    def _stop(self, run: _Run) -> None:
        """Lets the workers finish, commit and close, then stops the query."""
        run.draining = True
        deadline = time.monotonic() + DRAIN_SECONDS
        everybody = {slot.number for slot in run.slots}
        last_tick = 0.0
        while run.query.isActive and run.closed != everybody and time.monotonic() < deadline:
            if self.mode is Mode.MICRO_BATCH and time.monotonic() - last_tick > 2:
                last_tick = time.monotonic()
                self._tick_slots(run)
            time.sleep(0.02)
        if run.query.isActive and run.closed != everybody:
            log.warning("some tasks did not finish in %.0f s; their transactions are aborted", DRAIN_SECONDS)
        elif self.mode is Mode.MICRO_BATCH:
            self._let_batch_end(run)
        run.query.stop()  # of several queries also those that are left when one has ended by itself
        self._end(run)

    def _let_batch_end(self, run: _Run) -> None:
        """The workers have said that they are closed; their Spark tasks end a moment later. Stopped before that, Spark
        throws the workers away, and the next start waits for new ones that import everything again."""
        deadline = time.monotonic() + BATCH_END_SECONDS
        while time.monotonic() < deadline and run.query.isActive and run.query.status["isDataAvailable"]:
            time.sleep(0.01)

    def _end(self, run: _Run) -> None:
        for slot in run.slots:
            query.give_back_slot_number(slot.number)
        if run.checkpoint is not None:
            shutil.rmtree(run.checkpoint, ignore_errors=True)
        with self._condition:
            self._run = None
            self._condition.notify_all()
        for application in run.applications.values():
            application.not_running()

    def _fail_all(self, text: str) -> None:
        for application in list(self._applications.values()):
            application.fail(text)

    # -- ticks -------------------------------------------------------------------------------------------------------

    def _tick_if_due(self, run: _Run) -> None:
        """Wakes the workers for a punctuator, or so that Spark does not end them as idle."""
        now = time.monotonic()
        idle = now - max(run.last_batch, self._last_tick)
        if run.busy or now - self._last_tick < 0.05 or self.mode is Mode.REAL_TIME:
            return
        wall = int(time.time() * 1000)
        if idle > KEEP_ALIVE_SECONDS:
            self._tick_slots(run)
        elif run.last_batch >= self._last_tick:
            for application in run.applications.values():
                due = application.metrics.next_punctuation()
                if due is not None and due <= wall:
                    self._tick(application)

    def _tick_slots(self, run: _Run) -> None:
        """One tick is enough to make Spark call a slot, however many applications have tasks there."""
        for application_id in {slot.tasks[0].application_id for slot in run.slots}:
            self._tick(run.applications[application_id])

    def _tick(self, application: HostedApplication) -> None:
        connection = application.settings.librdkafka(**{"linger.ms": 0, "client.id": "caudal-tick"})
        key = tuple(sorted(connection.items()))
        if key not in self._tickers:
            self._tickers[key] = Producer(connection)
        try:
            self._tickers[key].produce(keeper_topic(application.id), b"tick", partition=0)
            self._tickers[key].poll(0)
        except BufferError:
            pass  # the broker is away
        self._last_tick = time.monotonic()

    # -- what workers ask --------------------------------------------------------------------------------------------

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        handler: Callable[[dict[str, Any]], dict[str, Any]] = getattr(self, f"_on_{request['request']}")
        return handler(request)

    def _current(self, request: dict[str, Any]) -> _Run | None:
        run = self._run
        return run if run is not None and run.id == request["run"] else None

    def _on_begin(self, request: dict[str, Any]) -> dict[str, Any]:
        run = self._current(request)
        if run is not None:
            run.busy[request["slot"]] = run.last_batch = time.monotonic()
            run.pids[request["slot"]] = request["pid"]
            run.hosts[request["slot"]] = request["host"]
            former = run.lanes.get(request["slot"])
            run.lanes[request["slot"]] = request["lane"]
            if former not in (None, request["lane"]):
                for application in run.applications.values():
                    application.metrics.moves += 1
            answer = {**self._on_orders(request), "former": former}
            if run.ranges is not None and request["batch"] is not None:
                answer["ranges"] = run.ranges.of(int(request["batch"]), request["slot"])
            return answer
        return self._on_orders(request)

    def _on_orders(self, request: dict[str, Any]) -> dict[str, Any]:
        run = self._current(request)
        if run is None or run.draining:
            return {"drain": True, "groups": {}}
        groups = {}
        for application in run.applications.values():
            group = application.keeper.group() if application.should_run else None
            if group is not None:
                groups[application.id] = base64.b64encode(group).decode()
        return {"drain": False, "groups": groups}

    def _on_committed(self, request: dict[str, Any]) -> dict[str, Any]:
        application = self._applications[request["application"]]
        found = application.keeper.committed([(topic, partition) for topic, partition in request["places"]])
        return {"offsets": [(topic, offset, metadata) for (topic, _), (offset, metadata) in found.items()]}

    def _on_commit(self, request: dict[str, Any]) -> dict[str, Any]:
        application = self._applications[request["application"]]
        application.keeper.commit(
            [
                TopicPartition(topic, partition, offset, metadata)
                for topic, partition, offset, metadata in request["offsets"]
            ]
        )
        return {}

    def _on_restoring(self, request: dict[str, Any]) -> dict[str, Any]:
        application = self._applications[request["application"]]
        application.restoring(request["task"], request["store"], request["done"], request["total"])
        return {}

    def _on_opened(self, request: dict[str, Any]) -> dict[str, Any]:
        run = self._current(request)
        if run is not None:
            run.opened.add(request["slot"])
            self._take_reports(run, request)
            if run.opened >= {slot.number for slot in run.slots}:
                self._pause = FIRST_PAUSE
                for application in run.applications.values():
                    application.running()
        return {}

    def _on_end(self, request: dict[str, Any]) -> dict[str, Any]:
        run = self._current(request)
        if run is not None:
            began = run.busy.pop(request["slot"], None)
            run.last_batch = time.monotonic()
            if began is not None and self.mode is Mode.MICRO_BATCH:
                for application in run.applications.values():
                    application.metrics.batch(time.monotonic() - began)
            self._take_reports(run, request)
        return {}

    def _on_closed(self, request: dict[str, Any]) -> dict[str, Any]:
        run = self._current(request)
        if run is not None:
            run.busy.pop(request["slot"], None)
            run.closed.add(request["slot"])
        return {}

    def _on_restart(self, request: dict[str, Any]) -> dict[str, Any]:
        run = self._current(request)
        if run is not None:
            run.unsound = True
            self.wake()
        return {}

    def _on_failed(self, request: dict[str, Any]) -> dict[str, Any]:
        self._applications[request["application"]].fail(request["text"])
        return {}

    def _on_trouble(self, request: dict[str, Any]) -> dict[str, Any]:
        application = self._applications[request["application"]]
        application.metrics.last_trouble = request["text"]
        log.warning("'%s', task %s: %s Trying again.", application.id, request["task"], request["text"])
        return {}

    def _take_reports(self, run: _Run, request: dict[str, Any]) -> None:
        for application_id, tasks in request["tasks"].items():
            application = run.applications.get(application_id)
            if application is not None:
                application.metrics.report(run.pids, tasks, run.hosts)

    # -- the watch: topics, lag, purges, metrics ---------------------------------------------------------------------

    def _watch(self) -> None:
        while not self._closed.wait(WATCH_SECONDS):
            for application in list(self._applications.values()):
                try:
                    application.watch()
                except Exception:
                    log.debug("watching '%s'", application.id, exc_info=True)
