"""How results are shown: a table on the terminal, JSON, and the generated part of BENCHMARKS.md.

The markdown is written between two markers; what people wrote around them stays. Targets that are not met come first.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import confluent_kafka
import psutil
from rich.console import Console
from rich.table import Table

from caudal import jars
from caudal.bench.results import Results, Row
from caudal.bench.servers import KAFKA_VERSION

BEGIN = "<!-- caudal bench broker: begin (generated, do not edit) -->"
END = "<!-- caudal bench broker: end -->"
FRAME = f"""# Benchmarks

How fast Caudal is beside its peers, as ratios: times differ from machine to machine, ratios travel.

## Broker

{BEGIN}
Not measured yet: run `caudal bench broker --markdown BENCHMARKS.md`.
{END}

### How it is measured

`caudal bench broker` starts Caudal and Apache Kafka (one KRaft node, with the heap and collector flags of its own
start script) as processes on the same disk, and gives both the same properties. The client is a third process,
confluent-kafka with the same settings for both. Both are warmed up; then every case runs on one and on the other, in
a shuffled order, round after round, and the one that is not measured is paused. Memory and CPU are those of the whole
process tree.

- *produce* ends when the last message is acknowledged, *consume* reads from the beginning what was just written.
- *end to end* is from `produce()` to the message in the consumer's hands; the latency of *a producer* ends at the
  acknowledgement. Both at 1,000 messages of 100 bytes a second, without linger.
- *cold*: the log's pages were written out and dropped from the page cache before the read, and that they were gone was
  checked.
- *start* ends with the first answer to Metadata that names a leader for every partition.
- A target on a ratio is judged by the median of the rounds. The spread says how far they agree.

`--only CASE` runs some of the cases (`--list` names them), `--rounds N` trades time for certainty, `--alone` leaves
Apache Kafka out, `--quick` only tries whether everything works. A case is one function in `src/caudal/bench/cases`,
with its targets beside it.
"""


def number(value: float | None) -> str:
    """Three significant digits, thousands separated."""
    if value is None:
        return "–"
    magnitude = abs(value)
    if magnitude >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if magnitude >= 100 else f"{value:.1f}" if magnitude >= 10 else f"{value:.2f}"


def measured(value: float | None, unit: str) -> str:
    return f"{number(value)} {unit}".rstrip() if value is not None else "–"


def ratio_text(row: Row) -> str:
    return "–" if row.ratio is None else f"{row.ratio:.2f}×"


def spread_text(row: Row) -> str:
    return "" if row.spread is None else f"{row.spread[0]:.2f}–{row.spread[1]:.2f}"


def target_text(row: Row) -> str:
    return ", ".join(str(target) for target in row.figure.targets)


def verdict_text(row: Row) -> str:
    return "not met (within the spread)" if row.is_within_spread else row.verdict


def print_table(results: Results, console: Console) -> None:
    table = Table(
        title=f"Caudal / Apache Kafka {KAFKA_VERSION}",
        caption="ratio: median over the rounds; spread: least and greatest",
    )
    table.add_column("figure")
    for heading in ("Caudal", "Apache Kafka", "ratio", "spread", "target"):
        table.add_column(heading, justify="right")
    table.add_column("")
    colours = {"met": "green", "not met": "red", "failed": "red", "": "dim"}
    for row in results.rows():
        table.add_row(
            row.figure.title,
            measured(row.caudal_median, row.figure.unit),
            measured(row.kafka_median, row.figure.unit),
            ratio_text(row),
            spread_text(row),
            target_text(row),
            f"[{colours[row.verdict]}]{verdict_text(row)}[/]",
        )
    console.print(table)
    for (case, server), reason in results.failures.items():
        console.print(f"[red]{case} failed on {server}:[/] {reason}")
    unmet = [row for row in results.rows() if row.verdict in ("not met", "failed")]
    judged = [row for row in results.rows() if row.verdict]
    if judged:
        console.print(f"{len(judged) - len(unmet)} of {len(judged)} targets met.")


def markdown_table(rows: Sequence[Row]) -> str:
    lines = [
        f"| figure | Caudal | Apache Kafka {KAFKA_VERSION} | ratio | spread | target | |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        cells = [
            row.figure.title,
            measured(row.caudal_median, row.figure.unit),
            measured(row.kafka_median, row.figure.unit),
            ratio_text(row),
            spread_text(row),
            target_text(row),
            verdict_text(row),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def machine() -> list[str]:
    """What the figures were measured with; no names of hosts, people or folders."""
    processor = platform.machine()
    try:
        found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        processor = found.group(1) if found else processor
    except OSError:
        pass
    # Java reports its version on stderr.
    said = subprocess.run([jars.java(), "-version"], capture_output=True, text=True, check=False).stderr
    java_version = re.search(r'version "([^"]+)"', said)
    return [
        f"{len(os.sched_getaffinity(0))} cores of {processor}, {psutil.virtual_memory().total / 1e9:.0f} GB, "
        f"{platform.system()} {platform.release()}",
        f"Caudal {importlib.metadata.version('caudal')} on Python {platform.python_version()}; "
        f"Apache Kafka {KAFKA_VERSION} on Java {java_version.group(1) if java_version else 'unknown'}; "
        f"client: confluent-kafka {confluent_kafka.__version__}, librdkafka {confluent_kafka.libversion()[0]}",
    ]


def markdown(results: Results, command: str, minutes: float) -> str:
    rows = results.rows()
    missed = [row for row in rows if row.verdict in ("not met", "failed")]
    parts = [f"Measured on {datetime.date.today():%Y-%m-%d} in {minutes:.0f} minutes by `{command}`.", ""]
    parts += [f"- {line}" for line in machine()]
    parts += [
        "- ratio: Caudal / Apache Kafka within a round, median over the rounds; spread: least and greatest round.",
        "- same client, same settings, default flush policy on both; the rounds are interleaved, their order shuffled, "
        "a warm-up round is thrown away.",
        "",
    ]
    if missed:
        parts += ["### Not met yet", "", markdown_table(missed), ""]
        parts += [f"- `{case}` failed on {server}: {reason}" for (case, server), reason in results.failures.items()]
        parts += ["", "### All figures", ""]
    else:
        parts += ["Every target is met.", ""]
    return "\n".join([*parts, markdown_table(rows)])


def write_markdown(path: Path, text: str) -> None:
    """Replaces what stands between the markers; makes the file, or adds the markers at its end, when they are
    missing.
    """
    page = path.read_text() if path.exists() else FRAME
    if BEGIN not in page or END not in page:
        page = f"{page.rstrip()}\n\n## Broker\n\n{BEGIN}\n{END}\n"
    before, rest = page.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    path.write_text(f"{before}{BEGIN}\n{text.strip()}\n{END}{after}")
