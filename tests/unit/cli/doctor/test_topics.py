"""Partitions without a leader or with replicas behind, as the metadata tells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from caudal.cli.doctor import topics as checks
from caudal.cli.doctor.check import Situation


def partition(leader: int, isrs: list[int]) -> Any:
    return SimpleNamespace(leader=leader, replicas=[1, 2, 3], isrs=isrs)


@pytest.mark.parametrize(
    ("partitions", "expected"),
    [
        ({0: partition(1, [1, 2, 3])}, [("ok", "1 partitions have a leader and all their replicas")]),
        ({0: partition(-1, []), 1: partition(1, [1, 2, 3])}, [("trouble", "without a leader: t-0")]),
        ({0: partition(1, [1]), 1: partition(2, [2, 3])}, [("trouble", "replicas are missing or behind: t-0, t-1")]),
        (
            {number: partition(-1, []) for number in range(5)},
            [("trouble", "without a leader: t-0, t-1, t-2 and 2 more")],
        ),
    ],
)
def test_partitions(partitions: dict[int, Any], expected: list[tuple[str, str]]) -> None:
    metadata = SimpleNamespace(brokers={1: None, 2: None}, topics={"t": SimpleNamespace(partitions=partitions)})
    situation: Any = SimpleNamespace(cluster=SimpleNamespace(metadata=metadata))
    found = list(checks.check_partitions(situation))
    assert [(answer.status, answer.text) for answer in found] == expected
    assert all("(up: 1, 2)" in answer.fix for answer in found if answer.status == "trouble")


def test_nothing_is_said_without_a_broker(situation: Situation) -> None:
    assert list(checks.check_partitions(situation)) == []
    assert list(checks.check_retention(situation)) == []
