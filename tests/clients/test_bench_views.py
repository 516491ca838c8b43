"""`caudal bench views`, tiny: all its processes work together, every figure is there, and nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caudal.bench import pages, views


def test_a_quick_run_measures_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, data = tmp_path / "BENCHMARKS.md", tmp_path / "data"
    page.write_text("# Benchmarks\n\nBefore.\n")
    status = views.main(["--quick", "--json", "--data", str(data), "--markdown", str(page)])
    document = json.loads(capsys.readouterr().out)
    assert status == 0
    assert document["values"].keys() == views.FIGURES.keys()
    assert all(len(values) == 1 and values[0] >= 0 for values in document["values"].values())
    assert document["values"]["http rate"][0] > 0
    assert list(data.iterdir()) == []
    written = page.read_text()
    assert written.startswith("# Benchmarks\n\nBefore.\n\n## Views\n") and views.PAGE.end in written
    assert all(figure.title in written for figure in views.FIGURES.values())


def test_a_target_that_is_missed_stands_first() -> None:
    results = views.Results()
    results.add_all(python_rate=10.0, python_p99=1.0)
    results.add_all(python_rate=20.0, python_p99=2.0)
    text = pages.markdown(results, "caudal bench views", views.notes(views.Options()), 1.0)
    assert text.index("### Not met yet") < text.index("point queries from Python") < text.index("### All figures")
    assert "| 15.0 /s | 10.0 | 20.0 | ≥ 3000 /s | not met |" in text
