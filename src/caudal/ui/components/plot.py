"""Lines over time. The colours are the page's CSS variables, so that a plot follows the theme."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nicegui import ui

from caudal.ui.words import t

LEAST_SPAN_MS = 60_000  # of the time axis: around a single sample it would reach over days
COLOURS = [f"var(--series-{number})" for number in range(1, 9)]
# What the browser makes of a value, by unit.
UNITS = {
    "number": "v => window.caudal.number(v)",
    "bytes": "v => window.caudal.bytes(v)",
    "ms": "v => window.caudal.number(v) + ' ms'",
    "percent": "v => window.caudal.number(v) + ' %'",
}

Points = Iterable[Sequence[float]]


class LinePlot:
    """`update` gives every line its points: (seconds since 1970, value)."""

    def __init__(self, title: str, unit: str, height: str, area: bool, legend: bool | None, log: bool) -> None:
        self._unit = UNITS[unit]
        self._area = area
        self._legend = legend
        self._log = log
        self.element = ui.echart(self._options({}), renderer="svg").classes("plot").style(f"height: {height}")
        # A screen reader gets the title; the figures are on the page as text too.
        self.element.props["role"] = "img"
        self.element.props["aria-label"] = title

    def update(self, lines: Mapping[str, Points]) -> None:
        self.element.options.update(self._options(lines))
        self.element.update()

    def _options(self, lines: Mapping[str, Points]) -> dict[str, Any]:
        data = {
            name: [[round(at * 1000), None if value != value else value] for at, value in points]
            for name, points in lines.items()
        }
        with_legend = len(lines) > 1 if self._legend is None else self._legend
        faint = {"color": "var(--muted)", "fontSize": 11, "fontFamily": "var(--font)"}
        return {
            "animation": False,
            "color": COLOURS,
            "textStyle": {"fontFamily": "var(--font)"},
            "grid": {"left": 4, "right": 28, "top": 30 if with_legend else 12, "bottom": 4, "containLabel": True},
            "title": {
                "show": not any(data.values()),
                "text": t("No samples yet"),
                "left": "center",
                "top": "middle",
                "textStyle": {**faint, "fontWeight": "normal", "fontSize": 12},
            },
            "legend": {
                "show": with_legend,
                "top": 0,
                "left": 0,
                "icon": "roundRect",
                "itemWidth": 10,
                "itemHeight": 3,
                "type": "scroll",
                "textStyle": faint,
            },
            "tooltip": {
                "trigger": "axis",
                "confine": True,
                "className": "plot-tip",
                "axisPointer": {"lineStyle": {"color": "var(--line-strong)"}},
                ":valueFormatter": self._unit,
            },
            "xAxis": {
                "type": "time",
                "min": _begin(data),
                "axisLine": {"lineStyle": {"color": "var(--line)"}},
                "axisTick": {"show": False},
                "axisLabel": {**faint, "hideOverlap": True},
                "splitLine": {"show": False},
            },
            "yAxis": {
                "type": "log" if self._log else "value",
                "min": None if self._log else 0,
                "splitNumber": 3,
                "axisLabel": {**faint, ":formatter": self._unit},
                "splitLine": {"lineStyle": {"color": "var(--line)"}},
            },
            "series": [
                {
                    "name": name,
                    "type": "line",
                    "showSymbol": len(points) == 1,
                    "lineStyle": {"width": 1.6},
                    "areaStyle": {"opacity": 0.08} if self._area else None,
                    "emphasis": {"disabled": True},
                    "data": points,
                }
                for name, points in data.items()
            ],
        }


def _begin(data: Mapping[str, Sequence[Sequence[float | None]]]) -> float | None:
    """Where the time axis begins, when the samples alone would be too close to each other to tell."""
    times = [at for points in data.values() for at, _ in points if at is not None]
    if not times or max(times) - min(times) >= LEAST_SPAN_MS:
        return None
    return max(times) - LEAST_SPAN_MS


def line_plot(
    title: str,
    *,
    unit: str = "number",
    height: str = "11rem",
    area: bool = True,
    legend: bool | None = None,
    log: bool = False,
) -> LinePlot:
    """A plot that is empty until `update`. `unit` is number, bytes, ms or percent; `log` is for values that lie far
    apart and are never zero."""
    return LinePlot(title, unit, height, area, legend, log)
