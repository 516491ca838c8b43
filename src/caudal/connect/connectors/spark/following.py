"""A running query, watched: progress is told, a stop is passed on, a failure becomes one sentence."""

from __future__ import annotations

from typing import Any

from caudal.connect.connector import JobContext
from caudal.connect.connectors.spark.settings import why
from caudal.connect.errors import ConnectError

LOOK_SECONDS = 0.2


def follow(query: Any, context: JobContext, tell: bool = True) -> None:
    """Until it is to stop, or the query has ended by itself. Raises what it failed with."""
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
