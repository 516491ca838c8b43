"""Several producers and late consumers on one timeline: each sees what people expect, and none disturbs the others."""

from __future__ import annotations

import time
from collections.abc import Callable

from .clients import Client, Consumer, Message, Outgoing


def now() -> int:
    return int(time.time() * 1000)


def read_between(consumer: Consumer, topics: list[str], start: int, end: int) -> list[Message]:
    """Reads the topics from one point in time up to another, as a late reader of history does."""
    places = [(topic, 0) for topic in topics]
    consumer.assign(places)
    ends = {place: consumer.offset_for_time(place, end) for place in places}
    found: list[Message] = []
    for place in places:
        first = consumer.offset_for_time(place, start)
        if first is None:
            continue
        consumer.assign([place])
        consumer.seek(place, first)
        last = ends[place]
        count = (last if last is not None else consumer.bounds(place)[1]) - first
        taken: list[Message] = []
        while len(taken) < count:
            taken += consumer.poll(0.2)
        found += taken[:count]
    return sorted(found, key=lambda message: message.timestamp)


def test_producers_and_consumers_join_a_timeline_at_different_times(
    client: Client, unique: Callable[[str], str]
) -> None:
    orders, payments = unique("orders"), unique("payments")
    with client.admin() as admin:
        admin.create_topic(orders)
        admin.create_topic(payments)
    with (
        client.producer() as first,
        client.producer() as second,
        client.consumer(unique("live")) as live,
    ):
        live.subscribe([orders, payments])
        first.send([Outgoing(orders, b"order 1")])
        second.send([Outgoing(payments, b"payment 1")])
        seen = live.take(2)
        time.sleep(0.05)
        start = now()
        first.send([Outgoing(orders, b"order 2")])
        with client.producer() as third:  # joins later, writes to both
            third.send([Outgoing(orders, b"order 3"), Outgoing(payments, b"payment 2")])
            second.send([Outgoing(payments, b"payment 3")])
            time.sleep(0.05)
            end = now()
            time.sleep(0.05)
            third.send([Outgoing(payments, b"payment 4")])
        first.send([Outgoing(orders, b"order 4")])

        with client.consumer() as historian:
            between = read_between(historian, [orders, payments], start, end)
        assert {message.value for message in between} == {b"order 2", b"order 3", b"payment 2", b"payment 3"}
        assert all(start <= message.timestamp < end for message in between)

        with client.consumer() as reader:
            reader.assign([(orders, 0)])
            every = [message.value for message in reader.take(4)]
        assert every == [b"order 1", b"order 2", b"order 3", b"order 4"]

        # the one that was there from the start has missed nothing and got nothing twice
        seen += live.take(6)
        assert live.is_quiet()
        for topic, noun in ((orders, "order"), (payments, "payment")):
            values = [message.value for message in seen if message.topic == topic]
            assert values == [f"{noun} {number}".encode() for number in range(1, 5)]
