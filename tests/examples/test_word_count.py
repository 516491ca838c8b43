"""examples/word_count.py: counts per word, over lines, whatever the case."""

from __future__ import annotations

from caudal.testing import TopologyTestDriver
from tests.examples.example_files import load


def test_each_word_is_counted_over_all_lines() -> None:
    with TopologyTestDriver(load("word_count")) as driver:
        driver.pipe_input("lines", None, "The river is long")
        driver.pipe_input("lines", "any key", "the RIVER, runs!")
        counts = [(record.key, record.value) for record in driver.read_outputs("word-counts")]
        assert counts == [("the", 1), ("river", 1), ("is", 1), ("long", 1), ("the", 2), ("river", 2), ("runs", 1)]
        assert driver.store("counts").get("river")[0] == 2


def test_an_empty_line_counts_nothing() -> None:
    with TopologyTestDriver(load("word_count")) as driver:
        driver.pipe_input("lines", None, " .,; ")
        assert driver.read_output("word-counts") is None
