"""Queries from text to rows: what is written for what comes in."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.ksql.planner.case_files import by_source, cases, expected, harness, pipe, shown

from caudal.ksql import processing_log
from caudal.ksql.types import Base
from caudal.plan.topology import SourceNode, Topology


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
    for plan in plans:
        assert_equal_keys_meet(plan.topology)


def assert_equal_keys_meet(topology: Topology) -> None:
    """Topics that are joined write equal keys as equal bytes: partitions go by the bytes."""
    serdes = {topic: node.key for node in topology.nodes if isinstance(node, SourceNode) for topic in node.topics}
    for group in topology.copartitioned:
        written = {topic: _sample(serdes[topic]) for topic in group}
        assert len(set(written.values())) == 1, written


def _sample(serde: Any) -> bytes:
    if hasattr(serde, "key"):
        return _sample(serde.key)  # windowed rows lie where their plain keys do
    return bytes(serde.serialize(_sample_key(serde)))


def _sample_key(serde: Any) -> tuple[Any, ...]:
    types = [column.type for column in serde.columns] if hasattr(serde, "columns") else serde.types
    return tuple("a" if type.base is Base.STRING else 1 for type in types)
