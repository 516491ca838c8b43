"""The golden cases in real-time mode (golden_run.py).

In real-time mode every partition that is read has a thread of Spark, so the cases run in groups. A sample of them runs
in `make test`; all of them in `make test-all`, in a process of its own with many threads.
"""

from __future__ import annotations

from typing import Any

import pytest

from caudal.runtime.spark.host import SparkHost
from caudal.runtime.spark.settings import Mode
from caudal.testing import EmbeddedBroker

from .golden_run import CHOSEN, IDS, Run

pytestmark = pytest.mark.timeout(300)

GROUP = 60  # cases that run at the same time
SAMPLE = range(0, len(CHOSEN), 36)
GROUPS = [range(first, min(first + GROUP, len(CHOSEN))) for first in range(0, len(CHOSEN), GROUP)]


def test_a_sample_agrees(spark: Any, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> None:
    _perform(SAMPLE, broker, tmp_path_factory)


@pytest.mark.slow
@pytest.mark.wide
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group[0]} to {group[-1]}")
def test_all_agree(spark: Any, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory, group: range) -> None:
    _perform(group, broker, tmp_path_factory)


def _perform(numbers: range, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> None:
    host = SparkHost(threads=2, mode=Mode.REAL_TIME)
    run = Run(broker, tmp_path_factory.mktemp("state"), numbers, "real-time")
    try:
        run.start(host)
        run.perform()
    finally:
        host.close()
        run.close()
        print(run.seconds)
    assert not run.wrong, {IDS[number]: text for number, text in run.wrong.items()}
