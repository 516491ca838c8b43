"""The table, and the generated part of BENCHMARKS.md."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from caudal.bench import report
from caudal.bench.case import Case, Figure, ratio_at_least
from caudal.bench.results import CAUDAL, KAFKA, Results


def results() -> Results:
    figures = {
        "good": Figure("produce 100 B", "msg/s", True, (ratio_at_least(1.0),)),
        "bad": Figure("consume 100 B", "msg/s", True, (ratio_at_least(1.0),)),
    }
    found = Results([Case("throughput", lambda _session: {}, figures, own_server=False, max_rounds=None)])
    for number in range(2):
        found.add("throughput", number, CAUDAL, {"good": 200_000.0, "bad": 50.0})
        found.add("throughput", number, KAFKA, {"good": 100_000.0, "bad": 100.0})
    return found


def test_the_table_says_what_is_met_and_what_is_not() -> None:
    console = Console(file=io.StringIO(), width=160)
    report.print_table(results(), console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert any(
        "produce 100 B" in line and "200,000 msg/s" in line and "2.00×" in line and "│ met" in line for line in lines
    )
    assert any("consume 100 B" in line and "0.50×" in line and "not met" in line for line in lines)
    assert "1 of 2 targets met." in lines


def test_markdown_lists_first_what_is_not_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "machine", lambda: ["2 cores"])
    text = report.markdown(results(), "caudal bench broker --rounds 2", 3.0)
    missed, everything = text.split("### All figures")
    assert "consume 100 B" in missed
    assert "produce 100 B" not in missed
    assert "produce 100 B" in everything
    assert "caudal bench broker --rounds 2" in missed


def test_only_what_stands_between_the_markers_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "BENCHMARKS.md"
    page.write_text(f"# Mine\n\nbefore\n{report.BEGIN}\nold\n{report.END}\n\nafter\n")
    report.write_markdown(page, "new")
    report.write_markdown(page, "newer")
    assert page.read_text() == f"# Mine\n\nbefore\n{report.BEGIN}\nnewer\n{report.END}\n\nafter\n"


def test_a_page_without_markers_keeps_its_text_and_a_missing_page_is_made(tmp_path: Path) -> None:
    page = tmp_path / "notes.md"
    page.write_text("# Notes\n")
    report.write_markdown(page, "table")
    assert page.read_text().startswith("# Notes\n")
    assert "table" in page.read_text()
    report.write_markdown(tmp_path / "new.md", "table")
    assert (tmp_path / "new.md").read_text().startswith("# Benchmarks")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (123_456.7, "123,457"), (123.4, "123"), (12.34, "12.3"), (0.456, "0.46"), (0.0, "0.00")],
)
def test_numbers_have_about_three_digits(value: float | None, text: str) -> None:
    assert report.number(value) == text


def test_the_machine_is_described_without_names_or_folders() -> None:
    text = "\n".join(report.machine())
    assert "cores" in text
    assert "librdkafka" in text
    assert str(Path.home()) not in text
