"""Properties: which a session may set, what they may be, and what holds for a statement."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.ksql.engine import properties
from caudal.ksql.engine.properties import Properties
from caudal.ksql.errors import KsqlError


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("auto.offset.reset", "EARLIEST", ("auto.offset.reset", "earliest")),
        ("ksql.streams.auto.offset.reset", "latest", ("auto.offset.reset", "latest")),
        ("ksql.query.pull.max.allowed.offset.lag", "5", ("ksql.query.pull.max.allowed.offset.lag", 5)),
        ("ksql.pull.queries.enable", "False", ("ksql.pull.queries.enable", False)),
        ("ksql.streams.producer.linger.ms", "5", ("producer.linger.ms", "5")),
        ("num.stream.threads", 4, ("num.stream.threads", 4)),
    ],
)
def test_what_may_be_set(name: str, value: Any, wanted: tuple[str, Any]) -> None:
    assert properties.is_valid(name)
    assert properties.checked(name, value) == wanted


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("auto.offset.rest", "earliest", "Not recognizable as ksql, streams, consumer, or producer property"),
        ("auto.offset.reset", "newest", "it takes earliest, latest"),
        ("ksql.service.id", "other", "it is the server's"),
        ("application.id", "other", "it is the server's"),
        ("ksql.pull.queries.enable", "maybe", "true or false is needed"),
        ("ksql.query.pull.max.allowed.offset.lag", "few", "a number is needed"),
    ],
)
def test_what_is_refused(name: str, value: str, words: str) -> None:
    with pytest.raises(KsqlError, match=words):
        properties.checked(name, value)


def test_the_nearest_level_wins() -> None:
    server = {"ksql.streams.auto.offset.reset": "latest", "ksql.max.push.queries": "7"}
    assert Properties({}, {}, server)[properties.MAX_PUSH] == 7
    assert Properties({}, {}, {})[properties.OFFSET_RESET] == "latest"
    assert Properties({}, {"auto.offset.reset": "earliest"}, server)[properties.OFFSET_RESET] == "earliest"
    held = Properties({"auto.offset.reset": "latest"}, {"auto.offset.reset": "earliest"}, server)
    assert held[properties.OFFSET_RESET] == "latest"
    assert held.merged()["auto.offset.reset"] == "latest"
    assert held.merged()["ksql.max.push.queries"] == 7
