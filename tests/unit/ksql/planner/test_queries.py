"""Queries from text to rows: what is written for what comes in."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.ksql.planner.case_files import by_source, cases, expected, harness, pipe, shown

from caudal.ksql import processing_log


@pytest.mark.parametrize("case", cases("queries"))
def test_query(case: dict[str, Any]) -> None:
    run = harness()
    with processing_log.collected() as lines:
        plans = run.execute(case["sql"])
        pipe(run, case.get("in", ""))
    wanted = expected(case.get("out", ""))
    names = dict(by_source(wanted))
    if not names:
        names = {">" if plans[-1].key_format.name == "ROWS" else "O": []}
    for name, rows in names.items():
        found = run.pushed() if name == ">" else run.rows(name)
        assert shown(found, name, rows) == rows
    if "schema" in case:
        assert str(plans[-1].schema) == case["schema"]
    for topic in case.get("topics", ()):
        assert topic in plans[-1].topology.internal_topics, list(plans[-1].topology.internal_topics)
    if "nodes" in case:
        assert len(plans[-1].topology.nodes) == case["nodes"]
    assert len(lines) == case.get("log", 0), lines
