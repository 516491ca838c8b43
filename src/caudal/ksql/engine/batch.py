"""A SELECT without EMIT over a lot of records: the query's plan as a Spark batch job, its rows read back."""

from __future__ import annotations

from typing import Any

from caudal.ksql.engine.settings import EngineSettings
from caudal.ksql.planner.planned import PlannedQuery
from caudal.ksql.sources import SourceKind
from caudal.plan.topology import SinkNode
from caudal.streams.application import Application

Row = tuple[Any, ...]


def batch_rows(settings: EngineSettings, planned: PlannedQuery, columns: tuple[tuple[bool, int], ...]) -> list[Row]:
    """Rows in the order of `columns`; of a table the last of each key. Raises StreamsError."""
    application = Application(
        planned.topology,
        bootstrap=settings.bootstrap,
        registry=settings.registry,
        client=settings.client,
        state_dir=settings.state_dir,
        on_bad_record="skip",
        master=settings.master,
        threads=settings.threads,
        lane="task",
    )
    sink = next(
        node for node in application.topology.nodes if isinstance(node, SinkNode) and node.topic == planned.topic
    )
    rows: list[Row] = []
    last: dict[bytes | None, Row] = {}
    with application.run_batch() as result:
        frame = result.topic(planned.topic, raw=True).select("key", "value", "task", "number")
        for key, value, _, _ in sorted(frame.collect(), key=lambda row: (row["task"], row["number"])):
            raw = None if key is None else bytes(key)
            if planned.kind is SourceKind.TABLE:
                last.pop(raw, None)
            if value is None:
                continue
            keys = () if raw is None else sink.key.deserialize(raw)
            values = sink.value.deserialize(bytes(value))
            row = tuple((keys[at] if at < len(keys) else None) if of_key else values[at] for of_key, at in columns)
            if planned.kind is SourceKind.TABLE:
                last[raw] = row
            else:
                rows.append(row)
    return list(last.values()) if planned.kind is SourceKind.TABLE else rows
