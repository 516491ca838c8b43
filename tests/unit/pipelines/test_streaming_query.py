"""What Spark's progress of a plain query becomes."""

from __future__ import annotations

from typing import Any

from caudal.pipelines.streaming_query import ReportedQuery


class Query:
    """A StreamingQuery as far as it is asked."""

    isActive = True

    def __init__(self) -> None:
        self.recentProgress: list[dict[str, Any]] = []

    def batch(self, number: int, rows: int, **more: Any) -> None:
        self.recentProgress.append(
            {"batchId": number, "numInputRows": rows, "durationMs": {"triggerExecution": 250}, **more}
        )


def reported(query: Query) -> ReportedQuery:
    return ReportedQuery("connect-files", query, origin={"kind": "connect"}, outside="parquet /data", reads=["orders"])


def test_batches_are_counted_once() -> None:
    query = Query()
    pipeline = reported(query)
    assert pipeline.figures()["records"] == 0
    query.batch(0, 10)
    query.batch(1, 5)
    told = pipeline.figures()
    assert (told["records"], told["in"], told["commits"], told["state"]) == (15, 15, 2, "RUNNING")
    assert told["batch_seconds"] == {"p50": 0.25, "max": 0.25}
    assert pipeline.figures()["records"] == 15 and pipeline.figures()["batch_seconds"] == {}


def test_state_and_watermark_come_from_the_last_batch() -> None:
    query = Query()
    pipeline = reported(query)
    assert pipeline.figures()["stream_time"] == -1
    query.batch(0, 1, stateOperators=[{"numRowsTotal": 7}], eventTime={"watermark": "2026-01-01T00:00:00.000Z"})
    told = pipeline.figures()
    assert told["state_rows"] == 7 and told["stream_time"] == 1_767_225_600_000
    query.batch(1, 1, eventTime={"watermark": "1970-01-01T00:00:00.000Z"})
    assert pipeline.figures()["stream_time"] == -1


def test_the_drawing_has_the_topic_and_what_is_outside() -> None:
    topology = reported(Query()).about()["topology"]
    assert topology["topics"] == [{"name": "orders", "kind": "external"}]
    assert [node["text"] for node in topology["nodes"]] == ["", "parquet /data"]
