"""Looking into subscriptions and assignments: the shared prefix of all versions, and nothing that is not one."""

from __future__ import annotations

from tests.unit.broker.coordinators.group_fakes import subscription

from caudal.broker.coordinators.consumer_protocol import assigned_partitions, subscribed_topics


def test_subscription_of_any_version() -> None:
    assert subscribed_topics(subscription("a", "bc")) == ["a", "bc"]
    assert subscribed_topics(b"\x00\x03" + subscription("a")[2:] + b"more fields of version 3") == ["a"]


def test_assignment() -> None:
    data = bytes.fromhex("000000000001000161000000020000000000000002ffffffff")
    assert assigned_partitions(data) == [("a", 0), ("a", 2)]
    assert assigned_partitions(b"") == []


def test_other_bytes_are_not_understood() -> None:
    assert subscribed_topics(b"") is None
    assert subscribed_topics(b"\x00\x00\x00\x00\x00\x05ab") is None
    assert assigned_partitions(b"\x00\x00\x7f\xff\xff\xff") is None
