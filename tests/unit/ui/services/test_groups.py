"""Lag from committed offsets and ends: by partition, by topic, in all."""

from __future__ import annotations

from caudal.ui.services.groups import Group, Member, PartitionLag, partition_rows, total_lag, word


def member(name: str, *assigned: tuple[str, int]) -> Member:
    return Member(f"{name}-id", name, "127.0.0.1", None, assigned)


def test_committed_and_assigned_partitions_are_one_list() -> None:
    worker = member("worker", ("a", 0), ("b", 1))
    rows = partition_rows({("a", 0): 3, ("a", 1): 5}, {("a", 0): 10, ("a", 1): 5, ("b", 1): 7}, [worker])
    assert [(row.topic, row.partition, row.lag, row.member) for row in rows] == [
        ("a", 0, 7, worker),
        ("a", 1, 0, None),
        ("b", 1, None, worker),
    ]


def test_a_partition_without_an_end_is_gone_and_has_no_lag() -> None:
    (row,) = partition_rows({("deleted", 0): 3}, {}, [])
    assert row.lag is None


def test_an_end_below_the_commit_is_no_negative_lag() -> None:
    assert PartitionLag("t", 0, 10, 4, None).lag == 0


def test_a_group_without_commits_has_no_lag_rather_than_none_behind() -> None:
    assert total_lag(partition_rows({}, {("a", 0): 5}, [member("w", ("a", 0))])) is None


def test_a_group_knows_its_topics_and_what_it_committed() -> None:
    rows = partition_rows({("b", 0): 1, ("a", 2): 4}, {("b", 0): 2, ("a", 2): 4}, [])
    group = Group("g", "empty", "classic", "", None, (), rows)
    assert (group.topics, group.lag, group.committed) == (["a", "b"], 1, {("b", 0): 1, ("a", 2): 4})


def test_states_are_words() -> None:
    from confluent_kafka import ConsumerGroupState

    assert word(ConsumerGroupState.PREPARING_REBALANCING) == "preparing rebalancing"
