"""A running application: `builder.start(...)` gives one, `builder.run()` and `caudal run` run one to its end.

    app = builder.start(bootstrap="localhost:9092", guarantee="exactly_once", threads=2)
    app.state, app.metrics(), app.tasks()
    app.stop()

This is the public face; the work is in `caudal.runtime.spark` (host.py; native/host.py for the native lane), for
`app.store` in `caudal.views`, for batches in `caudal.runtime.batch`.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from caudal.plan.serdes import with_registry_of
from caudal.plan.topology import Topology
from caudal.runtime.errors import Dropped, Handlers, OnError, StreamsError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from caudal.pipelines.records import Order
    from caudal.runtime.batch.bounds import Bound
    from caudal.runtime.batch.result import BatchResult
    from caudal.runtime.spark.host import SparkHost
    from caudal.runtime.spark.hosted_application import Listener
    from caudal.runtime.spark.native.host import NativeHost
    from caudal.runtime.spark.reporting import ReportedApplication
    from caudal.streams.builder import StreamsBuilder
    from caudal.views import ApplicationViews

log = logging.getLogger("caudal.streams")

__all__ = ["Application", "start", "start_all", "run"]

START_SECONDS = 180.0
STOP_SECONDS = 60.0
VIEW_SECONDS = 30.0  # how long `store` waits for a view that catches up


class Application:
    """One application of this process. Methods may be called from any thread."""

    def __init__(
        self,
        builder: StreamsBuilder | Topology,
        *,
        bootstrap: str = "localhost:9092",
        registry: str | None = None,
        mode: str = "micro-batch",
        guarantee: str = "exactly_once",
        lane: str = "auto",
        master: str | None = None,
        threads: int | None = None,
        state_dir: str | None = None,
        engine: str | None = None,
        on_bad_record: str = "fail",
        on_processing_error: str = "fail",
        on_produce_error: str = "fail",
        dead_letter_topic: str | None = None,
        on_dropped: Dropped | None = None,
        max_records_per_batch: int = 500_000,
        commit_interval: int | None = None,
        deadline: str | None = None,
        late_topic: str | None = None,
        session_timeout: int = 10_000,
        transaction_timeout: int = 60_000,
        replication_factor: int = -1,
        metrics_topic: str | None = None,
        client: Mapping[str, str] | None = None,
        spark_config: Mapping[str, str] | None = None,
        py_files: Sequence[str] = (),
        host: SparkHost | None = None,
        reporting: str | None = None,
        origin: Mapping[str, str] | None = None,
        obey: Callable[[Order], None] | None = None,
    ) -> None:
        """`on_…` take "fail", "skip" or "dead letter"; `on_dropped` hears of what was skipped or dead-lettered
        (`Handlers.dropped`). `client` takes librdkafka properties such as security.protocol.
        `registry` is the address for serdes that were not given one (CAUDAL_REGISTRY, or http://localhost:8081).
        `spark_config` takes Spark's own; `py_files` are modules and archives to send to the workers.

        `commit_interval` (ms) is how often real-time mode commits (100), and what splits a long micro-batch (5000).
        `deadline` is how old a record may be when its results are there: "near 2 seconds", "soft 200 ms" (late ones
        are counted), "hard 50 ms" (a late record goes to `late_topic`, or stops the application).
        `lane` is "auto", "task" or "native" (docs/native-lane.md); `app.lane` says which one it got, and why.
        `host` puts the application on a host that runs others already; master and threads are the host's then.
        `reporting` is whether the control center sees it: "on", "read-only" (and may not pause or stop it) or "off";
        CAUDAL_PIPELINES is the default. `origin` and `obey` are for those who start applications for others: what to
        show as its origin, and who takes orders for it (caudal.runtime.spark.reporting).
        """
        from caudal.pipelines.reporter import Reporting, configured_reporting
        from caudal.registry.client import configured_registry
        from caudal.runtime.spark.deadline import Deadline
        from caudal.runtime.spark.host import SparkHost
        from caudal.runtime.spark.hosted_application import HostedApplication
        from caudal.runtime.spark.native.choice import NativeApplication, chosen_lane
        from caudal.runtime.spark.settings import Guarantee, Mode, Settings, default_state_dir
        from caudal.runtime.stores.engines import DEFAULT_ENGINE
        from caudal.views import ApplicationViews

        chosen = _choice(Mode, mode, "mode")
        self._reporting = configured_reporting() if reporting is None else _choice(Reporting, reporting, "reporting")
        self._origin, self._obey = origin, obey
        self._pipeline: ReportedApplication | None = None
        self._end_report: Callable[..., None] | None = None
        self._stopping = threading.RLock()  # an order from outside and Ctrl-C may come together
        if late_topic is not None and deadline is None:
            raise StreamsError("late_topic needs a hard deadline, and none is given.")
        if deadline is not None:
            if lane == "native":
                raise StreamsError("Deadlines are kept in the task lane: leave lane='native' or the deadline out.")
            lane = "task"
        if threads is not None and threads < 1:
            raise StreamsError("threads must be at least 1.")
        handlers = Handlers(
            deserialization=_on_error(on_bad_record),
            processing=_on_error(on_processing_error),
            production=_on_error(on_produce_error),
            dead_letter_topic=dead_letter_topic,
            dropped=on_dropped,
        )
        settings = Settings(
            bootstrap=bootstrap,
            guarantee=_choice(Guarantee, guarantee, "guarantee"),
            mode=chosen,
            state_dir=state_dir or default_state_dir(),
            engine=engine or DEFAULT_ENGINE,
            handlers=handlers,
            client=tuple(sorted((client or {}).items())),
            replication_factor=replication_factor,
            session_timeout=session_timeout,
            transaction_timeout=transaction_timeout,
            max_records_per_batch=max_records_per_batch,
            commit_interval=commit_interval or 0,
            deadline=Deadline.parse(deadline, late_topic) if deadline is not None else None,
        )
        topology = builder if isinstance(builder, Topology) else builder.build()
        if (registry or "").startswith("mock:"):
            raise StreamsError("A mock:// registry is inside one process, and Spark's workers are others.")
        # Workers may have another environment: the address goes with the plan.
        topology = with_registry_of(topology, registry or configured_registry())
        self._spark: dict[str, Any] = {
            "master": master,
            "threads": threads,
            "spark_config": dict(spark_config or {}),
            "py_files": tuple(py_files),
        }
        self._topology = topology
        self._wanted_lane = lane
        self._decision = chosen_lane(topology, lane, settings, own_host=host is None)
        hosted = NativeApplication if self._decision.is_native else HostedApplication
        self._hosted = hosted(topology, settings, metrics_topic=metrics_topic)
        self._views = ApplicationViews(topology, settings)
        self._owns_host = host is None
        self._host: SparkHost | NativeHost = host or SparkHost(mode=chosen, **self._spark)

    # -- life ----------------------------------------------------------------------------------------------------------

    def start(self, wait: bool = True, timeout: float = START_SECONDS) -> Application:
        """Starts. With `wait`, returns when it is RUNNING, or STANDBY behind another instance; raises what stops it."""
        from caudal.runtime.spark.hosted_application import State

        self.prepare()
        self._host.add(self._hosted)
        self.report()
        if wait:
            ended = frozenset({State.RUNNING, State.STANDBY, State.ERROR, State.STOPPED})
            if not self._hosted.wait(ended, timeout):
                self.stop()
                trouble = self._hosted.metrics.last_trouble
                raise StreamsError(
                    f"'{self.application_id}' did not start in {timeout:.0f} s{f': {trouble}' if trouble else ''}."
                )
            self.raise_failure()
        return self

    def prepare(self) -> None:
        """The first part of `start`: topics are checked and made. Raises StreamsError. `add_all` does the rest."""
        try:
            self._hosted.prepare()
        except StreamsError as error:
            self._hosted.fail(str(error))
            self._hosted.topics.close()
            raise
        self._settle_lane()

    def _settle_lane(self) -> None:
        """Whether results keep their time in the native lane is for the cluster to say."""
        from caudal.runtime.spark.native.choice import settled_lane
        from caudal.runtime.spark.native.host import NativeHost

        self._decision = settled_lane(self._hosted, self._wanted_lane, self._decision, own_host=self._owns_host)
        log.info("'%s' runs in the %s lane: %s", self.application_id, *self.lane)
        if self._decision.is_native:
            assert self._decision.plan is not None
            self._host = NativeHost(self._decision.plan, self._hosted.settings.mode, **self._spark)

    def report(self) -> None:
        """From now on the control center sees it, unless `reporting` is off. `start` calls this."""
        from caudal.pipelines.reporter import Reporting, report
        from caudal.runtime.spark.reporting import ReportedApplication

        if self._reporting is Reporting.OFF or self._end_report is not None:
            return
        settings = self._hosted.settings
        self._pipeline = ReportedApplication(
            self, self._hosted, lambda: self._host.spark, origin=self._origin, obey=self._obey
        )
        self._end_report = report(
            self._pipeline,
            settings.librdkafka(),
            replication_factor=settings.replication_factor,
            takes_orders=self._reporting is Reporting.ON,
        )

    def _end_reporting(self) -> None:
        """A failed one stays to be seen, with what it failed of."""
        end, self._end_report = self._end_report, None
        if end is not None and self._pipeline is not None:
            end(self._pipeline.figures() if self.failure is not None else None)

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Finishes the batch under way, commits, leaves the group. Stopping twice is no error."""
        with self._stopping:
            self._views.close()
            if self._owns_host:
                self._hosted.wanted = False
                self._host.close()
            else:
                self._host.remove(self.application_id, timeout)
            self._hosted.close()
            self._end_reporting()

    def pause(self, timeout: float = STOP_SECONDS) -> None:
        """Commits what was read and reads no more, until `resume`. It stays the owner of its group."""
        from caudal.runtime.spark.hosted_application import FINAL, State

        self._hosted.paused = True
        self._host.wake()
        if not self._hosted.wait(FINAL | {State.PAUSED, State.STANDBY}, timeout):
            raise StreamsError(f"'{self.application_id}' did not pause in {timeout:.0f} s.")

    def resume(self, timeout: float = STOP_SECONDS) -> None:
        from caudal.runtime.spark.hosted_application import FINAL, State

        self._hosted.paused = False
        self._host.wake()
        if not self._hosted.wait(FINAL | {State.RUNNING, State.STANDBY}, timeout):
            raise StreamsError(f"'{self.application_id}' did not resume in {timeout:.0f} s.")

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end (STOPPED or ERROR); says whether it came."""
        from caudal.runtime.spark.hosted_application import FINAL

        return self._hosted.wait(FINAL, timeout)

    def __enter__(self) -> Application:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # -- batch ---------------------------------------------------------------------------------------------------------

    def run_batch(self, *, starting: Bound = "earliest", ending: Bound = "latest", write: bool = False) -> BatchResult:
        """The same topology over what is in its topics from `starting` to `ending`, as Spark batch. Independent of
        `start`: no group, no offsets and no state are touched. With `write`, its output goes to Kafka.

        A bound is "earliest", "latest", a time (datetime or epoch milliseconds), or {topic: {partition: offset}}.
        """
        from caudal.runtime.batch.jobs import SparkSettings
        from caudal.runtime.batch.run import run_batch

        spark = SparkSettings(**self._spark)
        result = run_batch(self.topology, self._hosted.settings, spark, starting, ending)
        if write:
            try:
                result.write()
            except StreamsError:
                result.close()
                raise
        return result

    def table_df(self, name: str, *, key_schema: Any = None, value_schema: Any = None) -> DataFrame:
        """A table as a Spark DataFrame, as its changelog has it now; the application may be running or not."""
        from caudal.runtime.batch.changelog_frame import table_df
        from caudal.runtime.batch.jobs import SparkSettings

        settings, spark = self._hosted.settings, SparkSettings(**self._spark)
        frame: DataFrame = table_df(self.topology, settings, spark, name, key_schema, value_schema)
        return frame

    # -- what it tells -------------------------------------------------------------------------------------------------

    @property
    def application_id(self) -> str:
        return self._hosted.id

    @property
    def topology(self) -> Topology:
        return self._topology

    @property
    def lane(self) -> tuple[str, str]:
        """Which lane runs it, "task" or "native", and why; settled when it starts."""
        return self._decision.lane.value, self._decision.reason

    @property
    def state(self) -> str:
        """CREATED, STARTING, RUNNING, PAUSED, STANDBY, RESTARTING, STOPPED or ERROR."""
        return self._hosted.state.value

    @property
    def failure(self) -> str | None:
        """The sentence that says why it is in ERROR."""
        return self._hosted.failure

    def raise_failure(self) -> None:
        if self._hosted.failure is not None:
            raise StreamsError(self._hosted.failure)

    def metrics(self) -> dict[str, Any]:
        """Records, latency, lag, state size, batch times, what was dropped and why."""
        return {"state": self.state, **self._hosted.metrics.snapshot()}

    def behind(self) -> int:
        """How many records it has yet to process: what is in its topics now and not committed."""
        return self._hosted.behind()

    def prometheus(self) -> str:
        """The same as the text that Prometheus scrapes."""
        return self._hosted.metrics.prometheus(self.state)

    def tasks(self) -> list[dict[str, Any]]:
        """Threads, tasks and partitions."""
        return self._hosted.metrics.view()

    def add_state_listener(self, listener: Listener) -> None:
        """`listener(new, old)` is called at every change of state, in whichever thread makes it."""
        self._hosted.listeners.append(listener)

    @property
    def views(self) -> ApplicationViews:
        """The stores that can be asked: `app.views.names`, `"totals" in app.views`."""
        return self._views

    def store(self, name: str, wait: float = VIEW_SECONDS) -> Any:
        """A store to be asked: `.get(key)`, `.range(a, b)`, `.fetch(key, start, end)`; see caudal.views.

        It reads the store's changelog, so it also answers while the application is paused or stands by. The first time
        it catches up first; that is waited for.
        """
        return self._views.open(name).wait(wait)


def start(builder: StreamsBuilder | Topology, **settings: Any) -> Application:
    """Starts an application; `Application` says which settings there are."""
    return Application(builder, **settings).start()


def start_all(
    builders: Sequence[StreamsBuilder | Topology | Application],
    *,
    host: SparkHost,
    timeout: float = START_SECONDS,
    **settings: Any,
) -> list[Application]:
    """Starts several applications on one host: one query, started once for all of them.

    An `Application` among them was made with `host=` and settings of its own.
    """
    from concurrent.futures import ThreadPoolExecutor

    from caudal.runtime.spark.hosted_application import State

    applications = [
        builder if isinstance(builder, Application) else Application(builder, host=host, **settings)
        for builder in builders
    ]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda application: application._hosted.prepare(), applications))
    add_all(applications, host)
    ended = frozenset({State.RUNNING, State.STANDBY, State.ERROR, State.STOPPED})
    for application in applications:
        if not application._hosted.wait(ended, timeout):
            raise StreamsError(f"'{application.application_id}' did not start in {timeout:.0f} s.")
    return applications


def add_all(applications: Sequence[Application], host: SparkHost) -> None:
    """Applications that were made with `host=` and prepared: the host takes them in with one start of its query. It is
    not waited for."""
    host.add(*(application._hosted for application in applications))
    for application in applications:
        application.report()


# Set while `caudal run` reads a file: a `builder.run()` at its end must not start the application a second time.
_reading_file = threading.local()


def run(builder: StreamsBuilder, arguments: Sequence[str] | None = None) -> None:
    """Runs to the end, with the flags of `caudal run` from the command line. Leaves with exit code 1 on a failure."""
    if getattr(_reading_file, "active", False):
        return
    from caudal.cli.commands.run import run_with_flags

    run_with_flags(builder, list(sys.argv[1:] if arguments is None else arguments))


def run_until_stopped(application: Application) -> None:
    """Starts it, and stops it in good order at Ctrl-C or SIGTERM. Raises StreamsError where it fails."""
    ended = threading.Event()
    former = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            former[number] = signal.signal(number, lambda *_: ended.set())
    try:
        application.start(wait=False)
        while not ended.wait(0.2):
            if application.wait(0):
                break
        application.stop()
        application.raise_failure()
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _on_error(text: str) -> OnError:
    chosen: OnError = _choice(OnError, text.replace("_", " ").replace("-", " "), "A handler")
    return chosen


def _choice(kind: Any, text: str, what: str) -> Any:
    if isinstance(text, kind):
        return text
    try:
        return kind(text)
    except ValueError:
        known = ", ".join(f"'{choice.value}'" for choice in kind)
        raise StreamsError(f"{what} takes {known}, not '{text}'.") from None
