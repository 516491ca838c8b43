"""examples/top_ten.py: the top ten over all partitions equals the top ten of a plain count."""

from __future__ import annotations

import random
from collections import Counter

from caudal.plan.partitions import resolve_partitions
from caudal.testing import TopologyTestDriver
from tests.examples.example_files import load


def test_phase_one_has_a_task_per_partition_and_phase_two_has_one() -> None:
    tasks = resolve_partitions(load("top_ten").build(), {"plays": 4}).tasks
    assert tasks == {0: 4, 1: 4, 2: 1}


def test_the_list_is_right_after_every_play() -> None:
    chance = random.Random(1)
    songs = [f"song {number:02}" for number in range(30)]
    counted: Counter[str] = Counter()
    with TopologyTestDriver(load("top_ten")) as driver:
        shown: list[list[object]] = []
        for _ in range(400):
            song = songs[min(int(chance.expovariate(0.1)), len(songs) - 1)]
            counted[song] += 1
            driver.pipe_input("plays", "ana", {"song": song})
            for record in driver.read_outputs("top-ten"):
                shown = record.value
            expected = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:10]
            assert shown == [list(item) for item in expected]


def test_a_play_that_changes_no_list_goes_no_further() -> None:
    with TopologyTestDriver(load("top_ten")) as driver:
        for number in range(10):
            for _ in range(2):
                driver.pipe_input("plays", "ana", {"song": f"song {number}"})
        driver.read_outputs("top-ten")
        driver.pipe_input("plays", "ana", {"song": "hardly known"})
        assert driver.read_outputs("top-ten") == []
