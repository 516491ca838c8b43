"""`caudal bench ksql`, tiny: all its processes work together, every figure is there, and nothing is left behind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import psutil
import pytest

pytest.importorskip("pyspark")

from caudal.bench import ksql, pages


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_quick_run_measures_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "BENCHMARKS.md"
    page.write_text("# Benchmarks\n\nBefore.\n")
    before = {process.pid for process in psutil.Process(os.getpid()).children(recursive=True)}
    status = ksql.main(["--quick", "--json", "--markdown", str(page)])
    document = json.loads(capsys.readouterr().out)
    assert status == 0
    assert document["values"].keys() == ksql.FIGURES.keys()
    assert all(value > 0 for values in document["values"].values() for value in values)
    written = page.read_text()
    assert written.startswith("# Benchmarks\n\nBefore.\n\n## KSQL\n") and ksql.PAGE.end in written
    assert all(figure.title in written for figure in ksql.FIGURES.values())
    assert {process.pid for process in psutil.Process(os.getpid()).children(recursive=True)} <= before


def test_a_target_that_is_missed_stands_first() -> None:
    results = ksql.Results()
    for ratio in (0.7, 0.95, 0.8):
        results.add("sql ratio", ratio)
    results.add("stream running", 2.0)
    text = pages.markdown(results, "caudal bench ksql", ksql.notes(ksql.Options()), 1.0)
    assert text.index("### Not met yet") < text.index("windowed aggregate: SQL") < text.index("### All figures")
    assert "| 0.80 × | 0.70 | 0.95 | ≥ 0.9× | not met |" in text
    assert "| 2.00 s |  |  | ≤ 3 s | met |" in text
