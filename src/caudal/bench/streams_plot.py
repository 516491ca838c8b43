"""The plot of `caudal bench streams`: bars per case and engine, as an SVG written by hand (no plotting library).

Throughput only; each case has its own scale, since a ratio is what is to be seen. Light and dark pages can show it.
"""

from __future__ import annotations

from html import escape

from caudal.bench.report import number
from caudal.bench.streams_engines import ENGINES
from caudal.bench.streams_results import StreamsResults

WIDTH, LABEL, BAR, GAP, HEAD = 860, 250, 18, 6, 30
COLOURS = {
    "caudal": "#1f77b4",
    "caudal-real-time": "#17becf",
    "pyspark": "#e6862a",
    "pyspark-native": "#f2b880",
    "kafka-streams": "#5a5a5a",
    "kafka-streams-defaults": "#a0a0a0",
    "kafka-streams-tuned": "#c8c8c8",
    "quix": "#8a5fb0",
}


def svg(results: StreamsResults, key: str = "rate", unit: str = "rec/s") -> str:
    parts: list[str] = []
    y = 10
    for case in results.cases:
        bars = [(engine, value) for engine in case.engines if (value := results.median(case.name, engine, key))]
        if not bars:
            continue
        most = max(value for _engine, value in bars)
        y += HEAD
        parts.append(f'<text x="10" y="{y - 8}" font-weight="bold">{escape(case.title)}</text>')
        for engine, value in bars:
            length = max(1, round((WIDTH - LABEL - 130) * value / most))
            middle = y + BAR - 5
            parts.append(f'<text x="{LABEL - 8}" y="{middle}" text-anchor="end">{escape(ENGINES[engine].title)}</text>')
            parts.append(f'<rect x="{LABEL}" y="{y}" width="{length}" height="{BAR}" fill="{COLOURS[engine]}"/>')
            parts.append(f'<text x="{LABEL + length + 6}" y="{middle}">{number(value)} {unit}</text>')
            y += BAR + GAP
    style = "text{font:13px sans-serif;fill:#222}@media(prefers-color-scheme:dark){text{fill:#ddd}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 10}" viewBox="0 0 {WIDTH} {y + 10}">'
        f"<style>{style}</style>{''.join(parts)}</svg>\n"
    )
