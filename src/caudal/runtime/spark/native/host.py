"""The life of a native query: started when the keeper owns the group, followed batch by batch, stopped, started again.

The group's committed offsets are the only truth, as in the task lane: every start begins there, every finished batch is
committed there by the keeper, and Spark's checkpoint is thrown away with its query. A batch that was written but not
committed is written again after the next start: at least once. Only a count keeps its checkpoint, which has its state
and its offsets; the group's are then for people to see.

One application per host: Spark's queries are cheap to have several of, and their plans have nothing to share.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, TopicPartition

from caudal.plan.native import NativePlan
from caudal.runtime.errors import OnError, StreamsError, describe
from caudal.runtime.spark import query, session
from caudal.runtime.spark.hosted_application import HostedApplication, State
from caudal.runtime.spark.native import diagnosis, frames
from caudal.runtime.spark.native.choice import NativeApplication
from caudal.runtime.spark.native.progress import BatchProgress, Places
from caudal.runtime.spark.settings import Mode, task_name
from caudal.runtime.task import DESERIALIZATION_ERROR

log = logging.getLogger("caudal.streams")

LOOK_SECONDS = 0.05
WATCH_SECONDS = 2.0
DRAIN_SECONDS = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
HEALTHY_SECONDS = 60.0


class _Run:
    """One start of the query."""

    def __init__(self, query: Any, checkpoint: Path, begins: Places) -> None:
        self.query = query
        self.checkpoint = checkpoint
        self.begins = begins
        self.positions = dict(begins)  # committed
        self.progress = BatchProgress(checkpoint)
        self.started = time.monotonic()
        self.last_told = -1  # the last batch of Spark's own progress that was counted


class NativeHost:
    """`add` the application, `close` in the end. The same face as SparkHost has for an application."""

    def __init__(
        self,
        plan: NativePlan,
        mode: Mode = Mode.MICRO_BATCH,
        *,
        master: str | None = None,
        threads: int | None = None,
        spark_config: Mapping[str, str] | None = None,
        py_files: Sequence[str] = (),
    ) -> None:
        if plan.count is not None and mode is Mode.REAL_TIME:
            raise StreamsError(f"{plan.count.node} is a native count, which runs with mode='micro-batch' only.")
        self.plan = plan
        self.mode = mode
        self._master = master
        self._threads = threads
        self._spark_config = dict(spark_config or {})
        self._py_files = tuple(py_files)
        self._application: HostedApplication | None = None
        self._condition = threading.Condition()
        self._closing = False
        self._closed = threading.Event()
        self._spark: Any = None
        self._owns_spark = False
        self._session: Any = None
        self._run: _Run | None = None
        self._pause = FIRST_PAUSE
        self._not_before = 0.0
        self._figures: dict[str, dict[str, Any]] = {}  # by task
        self._sinks = sorted({output.topic for source in plan.sources for output in source.outputs})
        self.spark: dict[str, Any] = {}  # where Spark is, for people
        self._thread = threading.Thread(target=self._control, name="caudal-native", daemon=True)
        self._watcher = threading.Thread(target=self._watch, name="caudal-native-watch", daemon=True)

    # -- from outside ----------------------------------------------------------------------------------------------

    def add(self, application: HostedApplication) -> None:
        if self._application is not None:
            raise StreamsError("A native host runs one application.")
        self._application = application
        application.host_changed = self.wake
        application.join()
        self._thread.start()
        self._watcher.start()

    def wake(self) -> None:
        with self._condition:
            self._condition.notify_all()

    def remove(self, application_id: str, timeout: float = 60.0) -> None:
        self.close()

    def close(self) -> None:
        if self._application is not None:
            self._application.wanted = False
        with self._condition:
            self._closing = True
            self._closed.set()
            self._condition.notify_all()
        if self._thread.is_alive():
            self._thread.join(DRAIN_SECONDS + 30)
        if self._application is not None:
            self._application.close()
        if self._owns_spark and self._spark is not None:
            session.stop(self._spark)
        self._spark = self._session = None

    # -- the control thread ----------------------------------------------------------------------------------------

    def _control(self) -> None:
        application = self._application
        assert application is not None
        while True:
            with self._condition:
                if self._closing and self._run is None:
                    return
                self._condition.wait(LOOK_SECONDS)
            try:
                self._reconcile(application)
            except Exception as error:
                death = session.death(self._spark, error) if self._spark is not None else None
                if death is not None:
                    self._spark = self._session = None
                    session.forget_dead_session()
                    application.fail(session.obituary(death))
                else:
                    log.exception("the native host cannot go on")
                    application.fail(f"Unexpected {describe(error)}.")
                if self._run is not None:
                    self._end(application, self._run)

    def _reconcile(self, application: HostedApplication) -> None:
        if self._spark is None and not self._closing and application.is_wanted:
            self._open(application)
        run = self._run
        if run is not None and not run.query.isActive:
            self._died(application, run)
            return
        if run is not None:
            self._follow(application, run)
        if run is not None and (self._closing or not application.should_run):
            self._stop(application, run)
        elif run is None and self._may_start and application.should_run:
            self._start(application)

    @property
    def _may_start(self) -> bool:
        return not self._closing and self._session is not None and time.monotonic() >= self._not_before

    def _open(self, application: HostedApplication) -> None:
        partitions = len(application.cargo.tasks()) if self.mode is Mode.REAL_TIME else 0
        slots = max(self._threads or os.cpu_count() or 1, partitions)
        try:
            self._spark, self._owns_spark = session.open_session(self._master, slots, self._spark_config)
            session.send_modules(self._spark, self._py_files)
            session.wait_for_executors(self._spark)
            self.spark = session.about(self._spark)
            free = self._spark.sparkContext.defaultParallelism
            if free < partitions:
                raise StreamsError(
                    f"Real-time mode runs all {partitions} partitions that '{application.id}' reads at once, and Spark "
                    f"has {free} task slots: give it more, such as --master 'local[{partitions}]'."
                )
        except StreamsError as error:
            application.fail(str(error))
            return
        self._session = frames.native_session(self._spark)

    def _start(self, application: HostedApplication) -> None:
        try:
            begins = application.take_over()
        except StreamsError as error:
            application.fail(str(error))
            return
        except Exception as error:  # Kafka away, or a rebalance in between: the loop comes back to it
            log.warning("'%s' cannot start yet: %s", application.id, error)
            application.metrics.last_trouble = str(error)
            self._delay()
            return
        self._place(application)
        checkpoint = session.checkpoint_folder() if self.plan.count is None else self._kept(application)
        try:
            started = frames.start(self._session, self.plan, application.settings, begins, checkpoint, self.mode)
        except Exception as error:
            self._discard(checkpoint)
            if session.death(self._spark, error) is not None:
                raise
            log.debug("Spark refuses the plan", exc_info=True)
            application.fail(f"Spark refuses the plan of '{application.id}': {query.reason(error)}")
            return
        self._run = _Run(started, checkpoint, begins)
        application.running()

    def _kept(self, application: HostedApplication) -> Path:
        """A count's state is in its checkpoint, so this one stays; Spark goes on where it ends."""
        return Path(application.settings.state_dir).resolve() / application.id / "native"

    def _place(self, application: HostedApplication) -> None:
        cargo, threads = application.cargo, self._threads or self._spark.sparkContext.defaultParallelism
        places = {}
        for number, (sub, partition) in enumerate(cargo.tasks()):
            topics = cargo.topics_of(cargo.sub(sub), partition)
            places[task_name(sub, partition)] = (number % threads, tuple(f"{topic}-{partition}" for topic in topics))
            self._figures.setdefault(
                task_name(sub, partition), {"records": 0, "emitted": 0, "commits": 0, "restored": 0, "positions": {}}
            )
        application.metrics.place(places)

    # -- while it runs ---------------------------------------------------------------------------------------------

    def _follow(self, application: HostedApplication, run: _Run) -> None:
        """Commits what is done, and counts it."""
        try:
            ends = run.progress.advance()
        except (OSError, ValueError) as error:
            log.debug("the checkpoint of '%s' cannot be read: %s", application.id, error)
            return
        if ends is not None:
            self._commit(application, run, ends)
        if run.last_told < run.progress.finished:
            self._count(application, run)

    def _commit(self, application: HostedApplication, run: _Run, ends: Places) -> None:
        moved = {place: end for place, end in ends.items() if end > run.positions.get(place, -1)}
        if not moved:
            return
        try:
            application.keeper.commit([TopicPartition(topic, number, end) for (topic, number), end in moved.items()])
        except (KafkaException, StreamsError) as error:
            # The next batch commits more; until then the group is behind, and a restart repeats records.
            application.metrics.last_trouble = f"A commit failed: {error}"
            log.warning("'%s': a commit failed: %s", application.id, error)
            run.progress.finished -= 1
            return
        subs = {topic: sub.id for sub in application.topology.subtopologies for topic in sub.source_topics}
        for (topic, number), end in moved.items():
            figures = self._figures[task_name(subs[topic], number)]
            figures["records"] += end - run.positions.get((topic, number), end)
            figures["commits"] += 1
            read = figures.get("read", {})
            figures["read"] = {**read, topic: read.get(topic, 0) + end - run.positions.get((topic, number), end)}
            figures["positions"] = {**figures["positions"], topic: end}
        run.positions.update(moved)
        self._report(application)

    def _count(self, application: HostedApplication, run: _Run) -> None:
        """What only Spark knows of its batches: how long they took, what came out, what was dropped."""
        # All of them cost milliseconds per batch: only where each one's count of dropped records is needed.
        counting = application.settings.handlers.deserialization is not OnError.FAIL
        known = run.query.recentProgress if counting else [run.query.lastProgress]
        told = [one for one in known if one is not None and one["batchId"] > run.last_told]
        figures = next(iter(self._figures.values()))
        for progress in told:
            run.last_told = max(run.last_told, progress["batchId"])
            if progress["numInputRows"] == 0:
                continue
            application.metrics.batch(progress["durationMs"].get("triggerExecution", 0) / 1000)
            emitted = max(progress["sink"]["numOutputRows"], 0)
            figures["emitted"] += emitted
            if len(self._sinks) == 1:  # of several Spark says the sum
                figures["written"] = {self._sinks[0]: figures["emitted"]}
            for name, observed in (progress["observedMetrics"] or {}).items():
                if name.startswith(frames.COUNTED) and observed[frames.UNREADABLE]:
                    dropped = figures.setdefault("dropped", {})
                    dropped[DESERIALIZATION_ERROR] = dropped.get(DESERIALIZATION_ERROR, 0) + observed[frames.UNREADABLE]
        if told:
            self._report(application)

    def _report(self, application: HostedApplication) -> None:
        application.metrics.report({}, {task: dict(figures) for task, figures in self._figures.items()})

    def _watch(self) -> None:
        assert self._application is not None
        while not self._closed.wait(WATCH_SECONDS):
            try:
                self._application.watch()
            except Exception:
                log.debug("watching '%s'", self._application.id, exc_info=True)

    # -- the end ---------------------------------------------------------------------------------------------------

    def _stop(self, application: HostedApplication, run: _Run) -> None:
        """Lets the batch under way end, as far as Spark allows: it has no stop between two batches."""
        deadline = time.monotonic() + DRAIN_SECONDS
        began = run.progress.finished
        while self.mode is not Mode.REAL_TIME and run.query.isActive and time.monotonic() < deadline:
            self._follow(application, run)
            if not run.progress.is_under_way() or run.progress.finished > began:
                break
            time.sleep(0.002)
        run.query.stop()
        self._follow(application, run)
        self._end(application, run)

    def _died(self, application: HostedApplication, run: _Run) -> None:
        """The query ended by itself: because of a record, which stops the application, or of something that passes."""
        error = run.query.exception()
        text, reason = _everything(error), query.reason(error)
        self._follow(application, run)
        if query.permanent_cause(error) is not None:
            application.fail(f"Spark cannot run '{application.id}': {query.permanent_cause(error)}")
        elif diagnosis.is_of_a_record(text):
            application.fail(self._diagnosed(application, run, text, reason))
        else:
            if time.monotonic() - run.started > HEALTHY_SECONDS:
                self._pause = FIRST_PAUSE
            log.warning("the Spark query ended (%s); starting it again in %.1f s", reason, self._pause)
            application.metrics.restarts += 1
            application.metrics.last_trouble = reason
            if application.should_run:
                application.become(State.RESTARTING, reason)
            self._delay()
        self._end(application, run)

    def _diagnosed(self, application: HostedApplication, run: _Run, text: str, reason: str) -> str:
        try:
            planned = run.progress.planned()
            written = application.written if isinstance(application, NativeApplication) else application.topology
            cargo = replace(application.cargo, topology=written)
            return diagnosis.sentence(cargo, text, run.positions, planned, reason)
        except (KafkaException, OSError, ValueError) as error:
            return f"Spark cannot process a record of '{application.id}': {reason} (and looking for it failed: {error})"

    def _discard(self, checkpoint: Path) -> None:
        if self.plan.count is None:
            shutil.rmtree(checkpoint, ignore_errors=True)

    def _delay(self) -> None:
        self._not_before = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def _end(self, application: HostedApplication, run: _Run) -> None:
        self._discard(run.checkpoint)
        self._run = None
        application.not_running()


def _everything(error: Any) -> str:
    """All that Spark said, causes included."""
    return str(error or "") + str(getattr(error, "_stackTrace", "") or "")
