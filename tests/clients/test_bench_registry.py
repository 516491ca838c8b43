"""`caudal bench registry`, tiny: all its processes work together, every figure is there, and nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caudal.bench import pages, registry


def test_a_quick_run_measures_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "BENCHMARKS.md"
    page.write_text("# Benchmarks\n\nBefore.\n")
    status = registry.main(["--quick", "--json", "--markdown", str(page)])
    document = json.loads(capsys.readouterr().out)
    assert status == 0
    assert document["values"].keys() == registry.FIGURES.keys()
    assert all(value > 0 for values in document["values"].values() for value in values)
    written = page.read_text()
    assert written.startswith("# Benchmarks\n\nBefore.\n\n## Schema Registry\n") and registry.PAGE.end in written
    assert all(figure.title in written for figure in registry.FIGURES.values())


def test_a_target_that_is_missed_stands_first() -> None:
    results = registry.Results()
    for ratio in (0.3, 0.6, 0.4):
        results.add("by id ratio", ratio)
    results.add("load", 1.0)
    text = pages.markdown(results, "caudal bench registry", registry.NOTES, 1.0)
    assert text.index("### Not met yet") < text.index("… / the empty endpoint") < text.index("### All figures")
    assert "| 0.40 × | 0.30 | 0.60 | ≥ 0.5× | not met |" in text
    assert "| 1.00 s |  |  | ≤ 3 s | met |" in text
