"""Leaders, replicas and what lags behind, counted from the cluster's metadata."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from caudal.ui.services.brokers import rows, totals
from caudal.ui.services.health import version_in


def partition(leader: int, replicas: list[int], isrs: list[int]) -> Any:
    return SimpleNamespace(leader=leader, replicas=replicas, isrs=isrs)


CLUSTER: Any = SimpleNamespace(
    controller_id=2,
    brokers={2: SimpleNamespace(host="b", port=9093), 1: SimpleNamespace(host="a", port=9092)},
    topics={
        "orders": SimpleNamespace(partitions={0: partition(1, [1, 2], [1]), 1: partition(2, [2, 1], [2, 1])}),
        "lost": SimpleNamespace(partitions={0: partition(-1, [3], [])}),
    },
)


def test_every_broker_has_its_share() -> None:
    first, second = rows(CLUSTER, {1: "r1"}, {1: 10, 2: None})
    assert (first.id, first.host, first.rack, first.is_controller) == (1, "a", "r1", False)
    assert (first.leaders, first.replicas, first.out_of_sync, first.bytes) == (1, 2, 0, 10)
    assert (second.id, second.is_controller, second.leaders, second.out_of_sync, second.bytes) == (2, True, 1, 1, None)


def test_the_totals_say_what_is_in_trouble() -> None:
    found = totals(CLUSTER)
    assert (found.topics, found.partitions, found.under_replicated, found.leaderless) == (2, 3, 2, 1)


def test_a_version_is_found_or_empty() -> None:
    assert version_in({"KsqlServerInfo": {"version": "1.2"}}, ("KsqlServerInfo", "version")) == "1.2"
    assert version_in("no JSON object", ("version",)) == ""
