"""How the results of `caudal bench streams` are shown: tables on the terminal, and its generated part of BENCHMARKS.md.

What the broker's report knows already (how a number is written, what machine this is) is taken from report.py. Targets
that are not met come first in the markdown.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from caudal.bench import report
from caudal.bench.results import Row
from caudal.bench.streams_case import PARTITIONS, THREADS, Comparison
from caudal.bench.streams_engines import ENGINES, QUIX_VERSION, STREAMS_VERSION
from caudal.bench.streams_results import StreamsResults

# Each section of the page is written between two marks that name its command.
HEADINGS = {"caudal bench streams": "## Streams", "caudal bench streams --real-time": "## Streams in real time"}
COLUMNS = ("figure", "Caudal", "beside", "", "ratio", "spread", "target", "")
UNITS = {"rate": "rec/s", "p50": "ms", "p99": "ms", "max": "ms", "idle": "% of a core"}
NOTE = (
    f"{PARTITIONS} partitions, {THREADS} threads (Quix Streams: {THREADS} processes). An application runs and has "
    "warmed up, is stopped while its input is filled, and the clock runs from when it goes on until all is through; "
    "each result is checked before its time counts."
)


def beside(comparison: Comparison) -> str:
    """Who stands on the other side: a peer, or Caudal in another case."""
    if comparison.against is None:
        return ""
    case, engine, _key = comparison.against
    return ENGINES[engine].title if engine != "caudal" else f"Caudal, {case}"


def cells(comparison: Comparison, row: Row) -> list[str]:
    return [
        row.figure.title,
        report.measured(row.caudal_median, row.figure.unit),
        beside(comparison),
        report.measured(row.kafka_median, row.figure.unit),
        report.ratio_text(row),
        report.spread_text(row),
        report.target_text(row),
        report.verdict_text(row),
    ]


def print_tables(results: StreamsResults, console: Console) -> None:
    table = Table(title="Caudal beside its peers", caption="ratio: median over the rounds; spread: least and greatest")
    for index, heading in enumerate(COLUMNS):
        table.add_column(heading, justify="left" if index in (0, 2, 7) else "right")
    colours = {"met": "green", "not met": "red", "failed": "red", "": "dim"}
    for comparison, row in results.rows():
        *plain, verdict = cells(comparison, row)
        table.add_row(*plain, f"[{colours[row.verdict]}]{verdict}[/]")
    console.print(table)
    console.print(everything(results))
    for (case, engine), reason in results.failures.items():
        console.print(f"[red]{case} failed on {engine}:[/] {reason}", highlight=False)
    judged = [row for _comparison, row in results.rows() if row.verdict]
    if judged:
        met = sum(row.verdict == "met" for row in judged)
        console.print(f"{met} of {len(judged)} targets met.")


def everything(results: StreamsResults) -> Table:
    """Every value of every engine, CPU and starts included."""
    table = Table(title="Every engine", caption="start: from begin to the end of the warm-up, the process being there")
    for heading in ("case", "engine"):
        table.add_column(heading)
    for heading in ("result", "CPU per record", "start"):
        table.add_column(heading, justify="right")
    for line in lines(results):
        table.add_row(*line)
    return table


def lines(results: StreamsResults) -> list[list[str]]:
    found = []
    for case in results.cases:
        for engine in case.engines:
            values = {key: results.median(case.name, engine, key) for key in (*UNITS, "cpu", "start")}
            shown = [
                f"{key + ' ' if unit == 'ms' else ''}{report.measured(values[key], unit)}"
                for key, unit in UNITS.items()
                if values[key] is not None
            ]
            result = ", ".join(shown) or ("failed" if (case.name, engine) in results.failures else "–")
            cpu, start = report.measured(values["cpu"], "µs"), report.measured(values["start"], "s")
            found.append([case.title, ENGINES[engine].title, result, cpu, start])
    for engine, seconds in results.starts.items():
        found.append(["start of the process", ENGINES[engine].title, report.measured(seconds, "s"), "–", "–"])
    return found


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    written = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in written)


def markdown(results: StreamsResults, command: str, minutes: float, records: int, plot: str | None) -> str:
    rows = results.rows()
    missed = [(comparison, row) for comparison, row in rows if row.verdict in ("not met", "failed")]
    parts = [f"Measured on {datetime.date.today():%Y-%m-%d} in {minutes:.0f} minutes by `{command}`.", ""]
    parts += [f"- {line}" for line in report.machine()]
    parts += [f"- Kafka Streams {STREAMS_VERSION}, Quix Streams {QUIX_VERSION}; {records:,} records. {NOTE}", ""]
    if plot is not None:
        parts += [f"![Records per second, by case and engine]({plot})", ""]
    if missed:
        parts += ["### Not met yet", "", markdown_table(COLUMNS, [cells(*one) for one in missed]), ""]
    parts += [f"- `{case}` failed on {engine}: {reason}" for (case, engine), reason in results.failures.items()]
    parts += ["" if missed else "Every target is met.", "", "### All comparisons", ""]
    parts += [markdown_table(COLUMNS, [cells(*one) for one in rows]), "", "### Every engine", ""]
    parts += [markdown_table(("case", "engine", "result", "CPU per record", "start"), lines(results))]
    return "\n".join(parts)


def write_markdown(path: Path, text: str, section: str = "caudal bench streams") -> None:
    """Replaces what stands between this section's marks; adds them at the end when they are missing."""
    begin, end = f"<!-- {section}: begin (generated, do not edit) -->", f"<!-- {section}: end -->"
    page = path.read_text() if path.exists() else report.FRAME
    if begin not in page or end not in page:
        page = f"{page.rstrip()}\n\n{HEADINGS[section]}\n\n{begin}\n{end}\n"
    before, rest = page.split(begin, 1)
    after = rest.split(end, 1)[1]
    path.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}")
