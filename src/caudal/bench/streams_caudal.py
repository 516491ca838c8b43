"""Caudal itself in `caudal bench streams`: the topologies in its DSL, in one process whose Spark session stays open.

`begin` also answers how long the application took to run, and `restored` what its tasks read back from changelogs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from caudal.bench import streams_topologies
from caudal.bench.streams_job import PATIENT, job_of, serve
from caudal.runtime.spark.host import SparkHost
from caudal.runtime.spark.session import open_session
from caudal.runtime.spark.settings import Mode
from caudal.streams.application import Application

SPARK_THREADS = 32  # enough for real-time mode, where each partition that is read has its own
SESSION_TIMEOUT_MS = 120_000  # the bench stops the process while it fills the input: nobody may take over meanwhile


class Engine:
    def __init__(self) -> None:
        begin = time.perf_counter()
        self.session, _ = open_session(None, SPARK_THREADS, PATIENT)
        self.seconds = time.perf_counter() - begin
        self.application: Application | None = None
        self.host: SparkHost | None = None

    def begin(self, command: Mapping[str, Any]) -> dict[str, Any]:
        job = job_of(command)
        begin = time.perf_counter()
        native = job.topology == "sql-map"  # which has a query of its own
        if not native:
            self.host = SparkHost(threads=job.threads, mode=Mode(job.mode), batch_duration=job.batch_duration)
        self.application = Application(
            streams_topologies.builder_of(job),
            host=self.host,
            threads=job.threads,
            bootstrap=job.bootstrap,
            guarantee=job.guarantee,
            mode=job.mode,
            lane="native" if native else "task",
            state_dir=job.state,
            session_timeout=SESSION_TIMEOUT_MS,
            replication_factor=1,
        ).start()
        return {"start_seconds": time.perf_counter() - begin}

    def processed(self, _command: Mapping[str, Any]) -> dict[str, Any]:
        """Raises what stopped the application, so that the bench does not wait for a dead one."""
        assert self.application is not None
        self.application.raise_failure()
        metrics = self.application.metrics()
        return {"processed": metrics["records"], "restored": metrics["restored"], "metrics": metrics}

    def end(self, _command: Mapping[str, Any]) -> None:
        assert self.application is not None
        self.application.stop()
        if self.host is not None:
            self.host.close()
            self.host = None
        self.application.raise_failure()


def main() -> None:
    engine = Engine()
    handlers = {"begin": engine.begin, "processed": engine.processed, "end": engine.end}
    serve(handlers, {"session_seconds": engine.seconds})
    engine.session.stop()


if __name__ == "__main__":
    main()
