"""What a hosted application says of itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from caudal.runtime.spark import offsets
from caudal.runtime.spark.hosted_application import HostedApplication

ORDERS, REPARTITION = ("orders", 0), ("by-city-repartition", 0)


def test_records_that_move_on_between_its_two_questions_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    committed, ends = {ORDERS: 0, REPARTITION: 0}, {ORDERS: 5, REPARTITION: 0}

    def answered(answer: dict[Any, Any]) -> dict[Any, Any]:
        """After each answer the first step commits: its records are in the repartition topic then."""
        committed[ORDERS], ends[REPARTITION] = 5, 5
        return answer

    monkeypatch.setattr(offsets, "source_places", lambda cargo: [ORDERS, REPARTITION])
    monkeypatch.setattr(offsets, "ends", lambda *_: answered(dict(ends)))
    keeper = SimpleNamespace(committed=lambda _: answered({place: (at, "") for place, at in committed.items()}))
    application: Any = SimpleNamespace(cargo=None, topics=SimpleNamespace(admin=None), keeper=keeper)
    assert HostedApplication.behind(application) > 0
    committed[REPARTITION] = 5
    assert HostedApplication.behind(application) == 0
