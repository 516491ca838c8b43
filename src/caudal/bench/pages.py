"""What the benches of servers (views, registry, ksql) share: values by figure, the table, the section of BENCHMARKS.md.

A bench has a `Page` and a subclass of `Results`; `present` runs it and shows what it found.
"""

from __future__ import annotations

import datetime
import json
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from rich.console import Console
from rich.table import Table

from caudal.bench import report
from caudal.bench.case import Figure
from caudal.bench.results import Row
from caudal.bench.streams_report import markdown_table

COLUMNS = ("figure", "median", "least", "greatest", "target", "")


@dataclass(frozen=True, slots=True)
class Page:
    """`name` is the bench's, `heading` that of its section, `title` that of the table on the terminal."""

    name: str
    heading: str
    title: str

    @property
    def begin(self) -> str:
        return f"<!-- caudal bench {self.name}: begin (generated, do not edit) -->"

    @property
    def end(self) -> str:
        return f"<!-- caudal bench {self.name}: end -->"


@dataclass(slots=True)
class Results:
    """Values by figure, one for each time it was measured."""

    page: ClassVar[Page]
    figures: ClassVar[Mapping[str, Figure]]

    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        self.values.setdefault(name, []).append(value)

    def rows(self) -> list[Row]:
        rows = []
        for name, figure in self.figures.items():
            values = list(self.values.get(name, ()))
            # A ratio is judged as one, and shown like any value.
            rows.append(Row(self.page.name, name, figure, values, ratios=values if figure.unit == "×" else []))
        return rows


class Options(Protocol):
    """What the options of every bench have."""

    quick: bool
    json: bool
    markdown: Path | None


R = TypeVar("R", bound=Results)


def present(
    measure: Callable[[Path, Console], R],
    options: Options,
    command: str,
    notes: Sequence[str],
    console: Console | None = None,
    data: Path | None = None,
) -> R:
    """Measures in a temporary folder, prints the table (or JSON), and writes the page where it is named."""
    console = console or (Console() if sys.stdout.isatty() else Console(width=140))
    begin = time.monotonic()
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="caudal-bench-", dir=data, ignore_cleanup_errors=True) as folder:
        results = measure(Path(folder), Console(stderr=True))
    minutes = (time.monotonic() - begin) / 60
    if options.json:
        document = {"command": command, "machine": report.machine(), "values": results.values}
        console.file.write(json.dumps(document, indent=2) + "\n")
    else:
        print_table(results, console)
        if options.quick:
            console.print("A quick run shows that everything works; its figures mean nothing.")
    if options.markdown is not None:
        write_markdown(options.markdown, markdown(results, command, notes, minutes), results.page)
    return results


def cells(row: Row) -> list[str]:
    number = report.number
    least, greatest = (number(min(row.caudal)), number(max(row.caudal))) if len(row.caudal) > 1 else ("", "")
    measured = report.measured(row.caudal_median, row.figure.unit)
    return [row.figure.title, measured, least, greatest, report.target_text(row), row.verdict]


def print_table(results: Results, console: Console) -> None:
    table = Table(title=results.page.title)
    for index, heading in enumerate(COLUMNS):
        table.add_column(heading, justify="left" if index in (0, 5) else "right")
    for row in results.rows():
        table.add_row(*cells(row))
    console.print(table)


def markdown(results: Results, command: str, notes: Sequence[str], minutes: float) -> str:
    """The section: how it was measured, then the figures, those that miss their target first."""
    parts = [f"Measured on {datetime.date.today():%Y-%m-%d} in {minutes:.0f} minutes by `{command}`.", ""]
    parts += [f"- {line}" for line in (*report.machine(), *notes)]
    rows = results.rows()
    missed = [row for row in rows if row.verdict in ("not met", "failed")]
    if missed:
        parts += ["", "### Not met yet", "", markdown_table(COLUMNS, [cells(row) for row in missed])]
    parts += ["", "### All figures" if missed else "Every target is met.", ""]
    return "\n".join([*parts, markdown_table(COLUMNS, [cells(row) for row in rows])])


def write_markdown(path: Path, text: str, section: Page) -> None:
    """Replaces what stands between this bench's markers; adds them at the end when they are missing."""
    begin, end = section.begin, section.end
    page = path.read_text() if path.exists() else report.FRAME
    if begin not in page or end not in page:
        page = f"{page.rstrip()}\n\n## {section.heading}\n\n{begin}\n{end}\n"
    before, rest = page.split(begin, 1)
    path.write_text(f"{before}{begin}\n{text.strip()}\n{end}{rest.split(end, 1)[1]}")


def command_line(page: Page, options: Options, **flags: Any) -> str:
    """The command that repeats this run, without folders. `flags` are those that a quick run has no use for."""
    words = ["caudal", "bench", page.name]
    if options.quick:
        words += ["--quick"]
    else:
        for name, value in flags.items():
            words += [f"--{name}", f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join([*words, *(["--markdown", options.markdown.name] if options.markdown else [])])
