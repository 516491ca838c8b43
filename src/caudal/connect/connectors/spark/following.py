"""A running query, watched: progress is told, a stop is passed on, a failure becomes one sentence. The control center
sees it among the pipelines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from caudal.connect.connector import JobContext
from caudal.connect.connector_config import worker_settings
from caudal.connect.connectors.spark.settings import why
from caudal.connect.errors import ConnectError
from caudal.pipelines.reporter import Reporting, configured_reporting, report
from caudal.pipelines.streaming_query import ReportedQuery

LOOK_SECONDS = 0.2


def follow(
    query: Any, context: JobContext, config: Mapping[str, Any], tell: bool = True, **topics: Sequence[str]
) -> None:
    """Until it is to stop, or the query has ended by itself. Raises what it failed with. `topics` are those that it
    `reads` or `writes`."""
    end_report = _report(query, config, **topics)
    try:
        _follow(query, context, tell)
    finally:
        end_report()


def _report(query: Any, config: Mapping[str, Any], **topics: Sequence[str]) -> Callable[[], None]:
    if configured_reporting() is Reporting.OFF:
        return lambda: None
    from pyspark.sql import SparkSession

    from caudal.runtime.spark.session import about

    session = SparkSession.getActiveSession()
    worker = worker_settings(config)
    place = re.sub(r"//[^/@]*@", "//", str(config.get("path") or ""))  # without somebody's password
    pipeline = ReportedQuery(
        f"connect-{config['name']}",
        query,
        origin={"kind": "connect", "connector": str(config["name"])},
        outside=f"{config['format']} {place}".strip(),
        spark=about(session) if session is not None else None,
        **topics,
    )
    connection = {"bootstrap.servers": worker.bootstrap, "log_level": 0, **worker.client}
    return report(pipeline, connection, takes_orders=False)


def _follow(query: Any, context: JobContext, tell: bool) -> None:
    told = -1
    while query.isActive and not context.stopping.wait(LOOK_SECONDS):
        told = _tell(query, context, told) if tell else told
    failure = query.exception()
    stopping = context.stopping.is_set()
    if tell and failure is None:
        _tell(query, context, told)
    query.stop()
    if failure is not None and not stopping:
        raise ConnectError(why(failure))


def _tell(query: Any, context: JobContext, told: int) -> int:
    for progress in query.recentProgress:
        if progress["batchId"] > told:
            told = progress["batchId"]
            if progress["numInputRows"]:
                context.report_progress(progress["numInputRows"])
    return told
