"""The election night: a map that fills as the votes are counted, with everything it says as tables too."""

from __future__ import annotations

import time
from html import escape
from typing import Any

from nicegui import events, ui

from caudal.demos.elections.country import BY_CODE, COMMUNITIES
from caudal.demos.elections.simulation import CLOSING, OPENING
from caudal.demos.elections.standings import Standings
from caudal.ui.components import card, empty_state, guarded, number, percent, set_query, stat, text
from caudal.ui.components.cards import grid, h2
from caudal.ui.components.status import status_dot
from caudal.ui.pages.demos import election_html as html
from caudal.ui.pages.demos.style import add_style
from caudal.ui.platform import platform
from caudal.ui.services import elections as service
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t

EVERY_SECONDS = 0.5
PATIENCE_SECONDS = 1.5  # before it is said that there is nothing


@page("/demos/elections", title="Elections", icon="how_to_vote", order=91, shortcut="e")
async def elections(community: str = "") -> None:
    add_style()
    page_heading(t("Election night"), t("Streams on Spark counts, MLlib projects. Parties and figures are simulated."))
    view = _View(community if community in BY_CODE else "")
    view.refresh()
    ui.timer(EVERY_SECONDS, guarded(view.refresh))


def _scrolled(label: str) -> ui.html:
    """A place for a table that may be wider than the window: reached by keyboard, so that it can be scrolled."""
    place = ui.html("", sanitize=False).classes("results-scroll")
    place.props.update({"tabindex": "0", "role": "region", "aria-label": label})
    return place


class _View:
    """The page: built once, then only what changed is sent."""

    def __init__(self, community: str) -> None:
        self.community = community
        self._hovered = ""
        self._seen: tuple[Any, ...] | None = None
        self._regions: dict[str, ui.element] = {}
        self._shown: dict[str, tuple[str, str, bool]] = {}
        self._patient_until = time.monotonic() + PATIENCE_SECONDS
        self._missing = empty_state(
            "how_to_vote",
            t("No election is being held in this cluster"),
            t("Start one: caudal demo elections --serve --bootstrap {bootstrap}", bootstrap=platform().bootstrap),
        )
        self._content = ui.element("div").classes("stack w-full")
        with self._content:
            self._build()

    # -- what is built once --------------------------------------------------------------------------------------------

    def _build(self) -> None:
        with ui.element("div").props('role="status" aria-live="polite"'):
            self._status = status_dot("…")
        with grid("10rem"):
            self._counted, self._turnout = stat(t("Counted")), stat(t("Turnout"))
            self._votes, self._first = stat(t("Votes")), stat(t("In front"))
        with ui.element("div").classes("night"):
            with ui.element("div").classes("stack"):
                with card(t("Who leads")):
                    self._build_map()
                with card(t("Turnout through the day")):
                    self._curve = ui.echart(self._curve_options(Standings()), renderer="svg").classes("plot")
                    self._curve.style("height: 11rem")
                    self._curve.props["role"] = "img"
                    self._curve.props["aria-label"] = t("Turnout by the hour")
            with ui.element("div").classes("stack"):
                with card(t("Spain")):
                    self._bar = ui.html("", sanitize=False)
                    self._parties = _scrolled(t("Parties in the whole country"))
                    text(t("The projection is MLlib's, with its interval of 90 %."), "muted text-sm")
                with card():
                    self._name = h2(t("Point at a community"))
                    self._detail = _scrolled(t("Parties in this community"))
                    self._note = text("", "muted text-sm")
        with card(t("Communities")):
            self._table = _scrolled(t("All communities: the map as a table"))
            self._table.on(
                "click",
                guarded(self._on_link),
                js_handler="(event) => { const link = event.target.closest('[data-community]'); "
                "if (link) { event.preventDefault(); emit(link.dataset.community); } }",
            )

    def _build_map(self) -> None:
        geometry = service.geometry()
        width, height = geometry["width"], geometry["height"]
        with ui.element("svg").classes("map") as drawing:
            drawing.props["viewBox"] = f"0 0 {width:g} {height:g}"
            drawing.props["role"] = "group"
            drawing.props["aria-label"] = t("Map of the autonomous communities")
            frame = ui.element("rect").classes("frame")
            for name, value in zip(("x", "y", "width", "height"), geometry["frame"], strict=True):
                frame.props[name] = value
            for region in geometry["regions"]:
                self._build_region(region)
        said = "".join(f"<span>{escape(one)}</span>" for one in (t("Paler: a closer race."), geometry["attribution"]))
        ui.html(html.legend() + said, sanitize=False).classes("map-foot")

    def _build_region(self, region: dict[str, Any]) -> None:
        code = region["code"]
        # The colour is the group's, so that a change of it does not send the outline again.
        with ui.element("g").classes("region") as group:
            group.props["tabindex"] = "0"
            group.props["role"] = "button"
            group.props["data-code"] = code
            ui.element("path").props["d"] = region["path"]
            if "dot" in region:
                dot = ui.element("circle")
                dot.props["cx"], dot.props["cy"] = region["centre"]
                dot.props["r"] = region["dot"]
        for event in ("mouseenter", "focus"):
            group.on(event, guarded(lambda code=code: self._point(code)), throttle=0.1)
        group.on("mouseleave", guarded(lambda: self._point("")), throttle=0.1)
        group.on("click", guarded(lambda code=code: self._choose(code)))
        group.on("keydown.enter", guarded(lambda code=code: self._choose(code)))
        group.on("keydown.space.prevent", guarded(lambda code=code: self._choose(code)))
        self._regions[code] = group

    # -- what the visitor does -----------------------------------------------------------------------------------------

    def _point(self, code: str) -> None:
        self._hovered = code
        self.refresh()

    def _choose(self, code: str) -> None:
        self.community = "" if code == self.community else code
        self._hovered = self.community
        set_query(community=self.community)
        self.refresh()

    def _on_link(self, event: events.GenericEventArguments) -> None:
        if str(event.args) in BY_CODE:
            self._choose(str(event.args))

    # -- what changes --------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        standings = service.watch().look()
        there = service.is_there(standings)
        self._missing.set_visibility(not there and time.monotonic() > self._patient_until)
        self._content.set_visibility(there)
        shown = self._hovered or self.community
        seen = (standings.version, standings.night, shown, self.community)
        if not there or seen == self._seen:
            return
        self._seen = seen
        self._show_country(standings)
        self._show_map(standings)
        self._show_community(standings, shown)
        self._table.set_content(html.communities_table(standings, self.community))
        self._curve.options.update(self._curve_options(standings, shown))
        self._curve.update()

    def _show_country(self, standings: Standings) -> None:
        said, tone = service.state_of(standings)
        self._status.set_content(f'<span class="dot" aria-hidden="true"></span>{escape(said)}')
        self._status.classes(replace=f"status {tone}")
        votes = standings.votes()
        total, curve = sum(votes.values()), standings.turnout()
        reported = sum(row["stations"] for row in standings.results.values())
        stations = sum(place["stations"] for place in standings.places.values())
        self._counted.set(
            percent(standings.counted),
            t("{n} of {all} polling stations", n=number(reported), all=number(stations)),
        )
        self._turnout.set(
            percent(curve[-1][1]) if curve else "–", t("at {hour}:00", hour=curve[-1][0]) if curve else ""
        )
        self._votes.set(number(total), t("night {n}", n=standings.night))
        best = max(votes, key=lambda party: votes[party])
        self._first.set(html.NAMES[best] if total else "–", percent(votes[best] / total) if total else "")
        self._bar.set_content(html.seat_bar(standings))
        self._parties.set_content(html.parties_table(standings))

    def _show_map(self, standings: Standings) -> None:
        for one in COMMUNITIES:
            row = standings.results.get(one.code)
            state = (html.fill(row), html.label(one.name, row), one.code == self.community)
            if self._shown.get(one.code) == state:
                continue
            self._shown[one.code] = state
            group = self._regions[one.code]
            group.style(replace=state[0])
            group.classes(replace="region chosen" if state[2] else "region")
            group.props["aria-label"] = state[1]
            group.props["aria-pressed"] = "true" if state[2] else "false"
            group.update()

    def _show_community(self, standings: Standings, code: str) -> None:
        if not code:
            self._name.set_content(escape(t("Point at a community")))
            self._detail.set_content("")
            self._note.set_content(escape(t("On the map or in the table below; Enter keeps it.")))
            return
        row, place = standings.results.get(code), standings.places.get(code)
        self._name.set_content(escape(BY_CODE[code].name))
        self._detail.set_content(html.community_table(row))
        stations = place["stations"] if place else 0
        self._note.set_content(
            escape(
                t(
                    "{counted} counted, {n} of {all} polling stations",
                    counted=percent(row["counted"] if row else 0),
                    n=number(row["stations"] if row else 0),
                    all=number(stations),
                )
            )
        )

    def _curve_options(self, standings: Standings, code: str = "") -> dict[str, Any]:
        lines = {t("Spain"): standings.turnout()}
        if code:
            lines[BY_CODE[code].name] = standings.turnout(code)
        faint = {"color": "var(--muted)", "fontSize": 11}
        return {
            "animation": False,
            "color": ["var(--series-1)", "var(--series-2)"],
            "grid": {"left": 4, "right": 12, "top": 28, "bottom": 4, "containLabel": True},
            "legend": {"top": 0, "left": 0, "icon": "roundRect", "itemHeight": 3, "itemWidth": 10, "textStyle": faint},
            "xAxis": {
                "type": "category",
                "data": [f"{hour}:00" for hour in range(OPENING, CLOSING + 1)],
                "boundaryGap": False,
                "axisLabel": faint,
                "axisLine": {"lineStyle": {"color": "var(--line)"}},
            },
            "yAxis": {
                "type": "value",
                "min": 0,
                "max": 100,
                "interval": 25,
                "axisLabel": {**faint, "formatter": "{value} %"},
                "splitLine": {"lineStyle": {"color": "var(--line)"}},
            },
            "series": [
                {
                    "name": name,
                    "type": "line",
                    "showSymbol": False,
                    "areaStyle": {"opacity": 0.08},
                    "data": [["9:00", 0], *([f"{hour}:00", round(100 * part, 2)] for hour, part in curve)],
                }
                for name, curve in lines.items()
            ],
        }
