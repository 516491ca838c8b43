"""The live view: figures, the topology with rates on its edges, and plots of the last minutes."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from nicegui import ui

from caudal.pipelines.board import Instance
from caudal.pipelines.rates import edge_rates
from caudal.ui.components import LinePlot, card, duration, grid, h2, line_plot, number, rate, size, stat, url
from caudal.ui.pages.pipelines.topology_graph import TopologyGraph
from caudal.ui.services.pipelines import now_ms
from caudal.ui.words import t, tn

POINTS = 240  # of a line: more than the plot has room for


class LiveView:
    def __init__(self, leader: Instance, application: str, minutes: int, ranges: Iterable[int]) -> None:
        self._minutes = minutes
        self._instance = leader.id
        self._topology = leader.topology
        self._stats = _Stats()
        subs = len(self._topology.get("subtopologies", ()))
        nodes = len(self._topology.get("nodes", ()))
        label = t("Topology of {name}: {subs} sub-topologies, {nodes} nodes", name=application, subs=subs, nodes=nodes)
        with card(t("Topology")):
            self._graph = TopologyGraph(self._topology, application, label)
        _ranges(application, minutes, ranges)
        with grid("22rem"):
            self._throughput = _plot(t("Records per second"), "number")
            self._latency = _plot(t("Latency, from the time of a record to its commit"), "ms")
            self._batches = _plot(t("Batch duration"), "ms")
            self._lag = _plot(t("Lag, in records"), "number")
            self._rows = _plot(t("State rows"), "number")
            self._commits = _plot(t("Commits per second"), "number")

    def show(self, leader: Instance, state: str) -> None:
        figures = leader.figures
        live = state == "RUNNING"
        self._stats.show(figures, live)
        read, written = ((figures.get(name) or {}) if live else {} for name in ("read_rate", "write_rate"))
        self._graph.show(edge_rates(self._topology, read, written), _rows_of(figures))
        since = now_ms() - self._minutes * 60_000

        def points(name: str) -> list[tuple[float, Any]]:
            return [(time / 1000, value) for time, value in leader.history.means(since, name, POINTS)]

        self._throughput.update({t("In"): points("in"), t("Out"): points("out")})
        self._latency.update({"p50": points("latency_p50"), "p99": points("latency_p99")})
        self._batches.update({t("Batch duration"): points("batch")})
        self._lag.update({t("Lag"): points("lag")})
        self._rows.update({t("State rows"): points("state_rows")})
        self._commits.update({t("Commits per second"): points("commits")})


class _Stats:
    def __init__(self) -> None:
        with grid("7.1rem"):
            self._in = stat(t("In"))
            self._out = stat(t("Out"))
            self._latency = stat(t("Latency"))
            self._batch = stat(t("Batch"))
            self._lag = stat(t("Lag"))
            self._state = stat(t("State rows"))
            self._time = stat(t("Stream time"))
            self._errors = stat(t("Dropped"))
        self._last: dict[str, Any] = {}

    def show(self, figures: dict[str, Any], live: bool) -> None:
        rates = (figures.get("rate") or {}) if live else {}
        self._in.set(rate(rates.get("in")), t("{n} in all", n=number(figures.get("in"))))
        self._out.set(rate(rates.get("out")), t("{n} in all", n=number(figures.get("out"))))
        latency, batch = (self._recent(figures, name) for name in ("latency_ms", "batch_seconds"))
        self._latency.set(duration(latency.get("p50")), f"p99 {duration(latency.get('p99'))}" if latency else "")
        self._batch.set(
            duration(_ms(batch.get("p50"))), t("max {time}", time=duration(_ms(batch.get("max")))) if batch else ""
        )
        lag = figures.get("lag")
        self._lag.set(number(lag), t("{rate} commits", rate=rate(rates.get("commits"))) if rates else "")
        self._state.set(number(figures.get("state_rows")), size(figures.get("state_bytes")))
        stream_time = figures.get("stream_time")
        if isinstance(stream_time, int) and stream_time > 0:
            behind = duration(max(now_ms() - stream_time, 0))
            self._time.set(behind, t("behind {time}", time=_clock(now_ms())))
        dropped = sum((figures.get("dropped") or {}).values())
        restarts = figures.get("restarts") or 0
        self._errors.set(number(dropped), tn("{n} restart", "{n} restarts", restarts), "warn" if dropped else "")

    def _recent(self, figures: dict[str, Any], name: str) -> dict[str, Any]:
        """What was last measured: between two batches there is nothing new."""
        if figures.get(name):
            self._last[name] = figures[name]
        return dict(self._last.get(name, {}))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _clock(milliseconds: int) -> str:
    from datetime import datetime

    return f"{datetime.fromtimestamp(milliseconds / 1000):%H:%M:%S}"


def _plot(title: str, unit: str) -> LinePlot:
    with card(title):
        return line_plot(title, unit=unit, height="10rem")


def _rows_of(figures: dict[str, Any]) -> dict[int, str]:
    """State rows of each sub-topology, from those of its tasks (0_1 is of sub-topology 0)."""
    rows: dict[int, int] = {}
    tasks: dict[int, int] = {}
    for name, told in (figures.get("tasks") or {}).items():
        sub = name.partition("_")[0]
        if sub.isdecimal() and isinstance(told, list) and len(told) == 4:
            rows[int(sub)] = rows.get(int(sub), 0) + int(told[1])
            tasks[int(sub)] = tasks.get(int(sub), 0) + 1
    return {
        sub: tn("{n} task", "{n} tasks", count)
        + (f" · {tn('{n} state row', '{n} state rows', rows[sub])}" if rows[sub] else "")
        for sub, count in tasks.items()
    }


def _ranges(application: str, chosen: int, ranges: Iterable[int]) -> None:
    """How far back the plots go; each a link."""
    with ui.element("div").classes("flex items-center justify-between"):
        h2(t("The last minutes"))
        links = "".join(_range(application, minutes, minutes == chosen) for minutes in ranges)
        box = ui.html(links, sanitize=False, tag="nav").classes("flex gap-2")
        box.props["aria-label"] = t("Range of the plots")


def _range(application: str, minutes: int, is_chosen: bool) -> str:
    href = escape(url("pipelines", application, minutes=minutes))
    chosen = ' class="badge info" aria-current="true"' if is_chosen else ' class="badge"'
    return f'<a{chosen} href="{href}">{minutes} min</a>'
