"""What `caudal up` tells the broker about its registry."""

from __future__ import annotations

import pytest

from caudal.broker.config import BrokerConfig
from caudal.cli.commands.up import _schema_check


@pytest.mark.parametrize(
    ("host", "reached"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "[::1]"),
        ("::1", "[::1]"),
        ("broker.example", "broker.example"),
    ],
)
def test_the_broker_is_told_where_the_registry_will_be(host: str, reached: str) -> None:
    (setting,) = _schema_check(host, 8081)
    name, _, value = setting.partition("=")
    assert BrokerConfig({name: value})["confluent.schema.registry.url"] == [f"http://{reached}:8081"]


def test_a_port_that_is_yet_to_be_chosen_is_not_told() -> None:
    assert _schema_check("127.0.0.1", 0) == []
