"""`caudal bench connect`, tiny: all its processes work together, and every figure is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caudal.bench import connect, pages
from caudal.bench.connect_cases import CASES


@pytest.mark.parametrize(
    "cases",
    [["sqlite-avro", "json-parquet"], pytest.param([case.name for case in CASES], marks=pytest.mark.slow)],
    ids=["two", "all"],
)
def test_a_quick_run_measures_its_cases(cases: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "BENCHMARKS.md"
    page.write_text("# Benchmarks\n\nBefore.\n")
    chosen = [word for case in cases for word in ("--only", case)]
    status = connect.main(["--quick", "--json", "--markdown", str(page), *chosen])
    document = json.loads(capsys.readouterr().out)
    assert status == 0
    wanted = {name for case in CASES if case.name in cases for name in connect.figures_of(case)}
    assert document["values"].keys() == wanted
    assert all(values[0] > 0 for name, values in document["values"].items() if not name.endswith("cpu"))
    written = page.read_text()
    assert written.startswith("# Benchmarks\n\nBefore.\n\n## Connect\n") and connect.PAGE.end in written


def test_a_case_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert connect.main(["--only", "oracle"]) == 2
    assert "there is no case 'oracle'; there are sqlite-avro, " in capsys.readouterr().err


def test_a_target_that_is_missed_stands_first() -> None:
    results = connect.Results()
    results.add("sqlite-avro", 40_000)
    results.add("sqlite-avro ratio", 4.0)
    text = pages.markdown(results, "caudal bench connect", [], 1.0)
    assert text.index("### Not met yet") < text.index("SQLite → topic (Avro)") < text.index("### All figures")
    assert "| 40,000 rows/s |  |  | ≥ 50000 rows/s | not met |" in text and "Parquet" not in text
