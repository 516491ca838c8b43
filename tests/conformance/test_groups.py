"""Consumer groups: sharing, rebalancing, committed offsets, static members, and what an administrator sees of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from .clients import Client, Consumer, Message, Outgoing, Refused, TopicPartition, eventually


@pytest.fixture
def four(other: Client, unique: Callable[[str], str]) -> str:
    """A topic of four partitions."""
    name = unique("four")
    with other.admin() as admin:
        admin.create_topic(name, partitions=4)
    return name


def polled(consumers: Sequence[Consumer], messages: list[Message] | None = None) -> bool:
    """Polls each once; False, so that it can stand before an `or` in a condition."""
    for consumer in consumers:
        came = consumer.poll(0.1)
        if messages is not None:
            messages += came
    return False


def shares(consumers: Sequence[Consumer]) -> list[set[TopicPartition]]:
    return [consumer.assignment() for consumer in consumers]


def settled(consumers: Sequence[Consumer], topic: str, partitions: int, messages: list[Message] | None = None) -> bool:
    """Polls until the members share all partitions, each with some and none twice."""

    def is_settled() -> bool:
        polled(consumers, messages)
        held = shares(consumers)
        every = [partition for share in held for partition in share]
        return all(held) and len(every) == partitions and set(every) == {(topic, index) for index in range(partitions)}

    if eventually(is_settled, 10, 0):
        return True
    for consumer in consumers:
        consumer.nudge()
    return eventually(is_settled, 60, 0)


def test_a_group_goes_on_where_it_committed(client: Client, topic: str, unique: Callable[[str], str]) -> None:
    group = unique("group")
    with client.producer() as producer:
        producer.send(Outgoing(topic, str(number).encode()) for number in range(20))
    with client.consumer(group) as consumer:
        consumer.subscribe([topic])
        consumer.take(20)
        consumer.commit({(topic, 0): 12})
        assert consumer.committed((topic, 0)) == 12
    with client.consumer(group) as consumer:
        consumer.subscribe([topic])
        assert [message.offset for message in consumer.take(8)] == list(range(12, 20))


def test_a_group_without_a_commit_has_none(client: Client, topic: str, unique: Callable[[str], str]) -> None:
    with client.consumer(unique("group")) as consumer:
        consumer.assign([(topic, 0)])
        assert consumer.committed((topic, 0)) is None


@pytest.mark.parametrize("cooperative", [False, True], ids=["eager", "cooperative"])
def test_members_share_the_partitions_and_take_over_from_each_other(
    client: Client, four: str, unique: Callable[[str], str], cooperative: bool
) -> None:
    if cooperative and client.name == "aiokafka":
        pytest.skip("aiokafka has no cooperative assignor")
    group = unique("group")
    received: list[Message] = []
    first = client.consumer(group, cooperative=cooperative)
    second = client.consumer(group, cooperative=cooperative)
    try:
        first.subscribe([four])
        assert settled([first], four, 4)
        second.subscribe([four])
        assert settled([first, second], four, 4, received)
        assert sorted(len(share) for share in shares([first, second])) == [2, 2]
        with client.producer() as producer:
            producer.send(Outgoing(four, str(number).encode(), partition=number % 4) for number in range(40))
        if not (cooperative and client.name == "kafka-python"):
            # kafka-python 3.0 stops fetching what it keeps through a cooperative rebalance; on Apache Kafka 4.3 just so
            assert eventually(lambda: polled([first, second], received) or len(received) >= 40, every=0)
            assert sorted(int(message.value or b"") for message in received) == list(range(40))  # each once
        second.close()
        assert settled([first], four, 4)
    finally:
        first.close()


def test_new_partitions_reach_a_running_group(client: Client, topic: str, unique: Callable[[str], str]) -> None:
    with client.consumer(unique("group")) as consumer, client.admin() as admin:
        consumer.subscribe([topic])
        assert settled([consumer], topic, 1)
        admin.add_partitions(topic, 3)
        assert settled([consumer], topic, 3)


def test_an_administrator_sees_a_group_live_and_then_empty(
    client: Client, topic: str, unique: Callable[[str], str]
) -> None:
    group = unique("group")
    with client.admin() as admin:
        with client.consumer(group) as consumer:
            consumer.subscribe([topic])
            assert settled([consumer], topic, 1)
            consumer.commit({(topic, 0): 0})
            assert eventually(lambda: polled([consumer]) or admin.group(group) == ("stable", 1))
            assert group in admin.groups()
        assert eventually(lambda: admin.group(group) == ("empty", 0))


def test_a_static_member_returns_to_its_partitions_without_a_rebalance(
    client: Client, other: Client, four: str, unique: Callable[[str], str]
) -> None:
    group = unique("group")
    stays = client.consumer(group, instance_id="stays")
    returns = client.consumer(group, instance_id="returns")
    try:
        for consumer in (stays, returns):
            consumer.subscribe([four])
        assert settled([stays, returns], four, 4)
        kept, left = shares([stays, returns])
        returns.close()  # a static member does not leave the group
        polled([stays])
        assert stays.assignment() == kept
        with other.admin() as admin:
            assert admin.group(group)[1] == 2
        returns = client.consumer(group, instance_id="returns")
        returns.subscribe([four])
        assert settled([stays, returns], four, 4)
        assert shares([stays, returns]) == [kept, left]
    finally:
        stays.close()
        returns.close()


def test_a_commit_of_a_stranger_to_a_live_group_is_refused(
    client: Client, topic: str, unique: Callable[[str], str]
) -> None:
    group = unique("group")
    with client.consumer(group) as member, client.consumer(group) as stranger:
        member.subscribe([topic])
        assert settled([member], topic, 1)
        stranger.assign([(topic, 0)])
        with pytest.raises(Refused) as refusal:
            stranger.commit({(topic, 0): 5})
        # UNKNOWN_MEMBER_ID; the Java and Python clients turn it into their own CommitFailed, which has no code
        assert refusal.value.code in (25, -1)
        assert member.committed((topic, 0)) is None
