"""The case files themselves: complete, readable by every host, and as wide as promised."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from . import case_files, functions, processors

CASES = list(case_files.load())
JAVA = Path(__file__).with_name("java")
AREAS = {
    "stateless",
    "table",
    "aggregate",
    "windows tumbling",
    "windows hopping",
    "windows sliding",
    "windows session",
    "emit on close",
    "suppress",
    "stream-stream inner",
    "stream-stream left",
    "stream-stream outer",
    "stream-table",
    "global table",
    "table-table",
    "foreign key",
    "cogroup",
    "merge, branch, repartition",
    "processor API",
    "timestamps",
}


def test_there_are_enough_cases_in_every_area() -> None:
    counts = Counter(case.area for case in CASES)
    assert set(counts) == AREAS
    assert min(counts.values()) >= 6
    assert counts.total() >= 160
    assert sum(case.differs is None and case.by_hand is None for case in CASES) >= 0.95 * len(CASES)


def test_names_are_unique() -> None:
    assert [name for name, count in Counter(case.slug for case in CASES).items() if count > 1] == []


def test_every_step_says_what_to_expect() -> None:
    for path in case_files.files():
        for case in json.loads(path.read_text())["cases"]:
            assert all("expect" in step for step in case["steps"]), case["name"]
            if "differs" in case:
                assert any(step["expect"] != step["kafka_streams"] for step in case["steps"]), case["name"]


@pytest.mark.parametrize("path", case_files.files(), ids=lambda path: path.stem)
def test_files_are_written_as_the_program_writes_them(path: Path, tmp_path: Path) -> None:
    """Else `reference --write` would change lines that nobody meant to change."""
    data = json.loads(path.read_text())
    case_files.write(tmp_path / "again.json", data["area"], data["cases"])
    assert (tmp_path / "again.json").read_text() == path.read_text()


def test_both_languages_have_the_same_functions_and_processors() -> None:
    in_java = set(re.findall(r'(?:plain|ALL\.put)\("(\w+)"', (JAVA / "Functions.java").read_text()))
    assert in_java == set(functions.PLAIN) | set(functions.WITH_PARAMETERS)
    in_java = set(re.findall(r'(?:ALL|VALUES)\.put\("(\w+)"', (JAVA / "Processors.java").read_text()))
    assert in_java == set(processors.PROCESSORS)


def test_the_inputs_hold_what_goes_wrong_in_practice() -> None:
    """Tombstones, null keys, records out of order, equal timestamps: each in many cases, not in a token one."""
    found: Counter[str] = Counter()
    for case in CASES:
        records = [record for step in case.steps for record in step.records]
        times = [record[2] for record in records]
        found["null key"] += any(record[0] is None for record in records)
        found["null value"] += any(record[1] is None for record in records)
        found["out of order"] += times != sorted(times)
        found["same time"] += len(set(times)) < len(times)
    assert min(found.values()) >= 25, found
