"""What a run of the editor's text gives: a card for each statement, with its table, its rows as they come, or why not.

Statements run one after the other; a push query holds up those behind it until it ends or is stopped. The first that
fails ends the run, and its place is marked in the editor.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from html import escape
from typing import Any

from nicegui import background_tasks, ui

from caudal.ui.components import badge, duration, number, rate, text
from caudal.ui.components.buttons import button
from caudal.ui.pages.ksql.editor import KsqlEditor
from caudal.ui.pages.ksql.explanation import graph, plan_text
from caudal.ui.pages.ksql.pieces import query_url
from caudal.ui.pages.ksql.streaming import Stream
from caudal.ui.services.errors import UiError
from caudal.ui.services.ksql import Entity, Ksql, Refused
from caudal.ui.services.ksql_entities import Query, Table, Warned, created_query, explained, parts
from caudal.ui.services.ksql_problem import Problem, marked
from caudal.ui.services.ksql_script import Kind, Settings, Step, steps
from caudal.ui.words import t

POLL_SECONDS = 1.0
TABLE_ROWS = 300  # of a statement's answer; more are counted


class Results:
    """`changed` is called when names may be others; what is wrong is marked in the `editor`."""

    def __init__(
        self,
        client: Ksql,
        settings: Settings,
        editor: KsqlEditor,
        changed: Callable[[], Any],
        labels: Callable[[], dict[str, str]],
    ) -> None:
        self._client = client
        self._settings = settings
        self._editor = editor
        self._changed = changed
        self._labels = labels
        self._task: asyncio.Task[None] | None = None
        self._following: set[asyncio.Task[None]] = set()
        self.running: Callable[[bool], None] = lambda is_running: None
        self._root = ui.element("div").classes("stack w-full").props('aria-live="polite"')
        ui.context.client.on_delete(self.stop)

    def run(self, script: str, begin: int) -> None:
        """All statements of a text that stands at `begin` in the editor. What ran before is stopped."""
        self.stop()
        self._root.clear()
        self._editor.mark(None)
        found = steps(script)
        if not found:
            with self._root:
                text(t("There is no statement to run."), "muted")
            return
        self._task = background_tasks.create(self._run_all(script, begin, found), name="ksql run")

    def stop(self) -> None:
        for task in (self._task, *self._following):
            if task is not None and not task.done():
                task.cancel()
        self._task = None
        self._following.clear()

    async def _run_all(self, script: str, begin: int, found: list[Step]) -> None:
        with self._root:
            self.running(True)
        try:
            for step in found:
                if not await self._run_one(script, begin, step):
                    return
        finally:
            with self._root:
                self.running(False)

    async def _run_one(self, script: str, begin: int, step: Step) -> bool:
        """Whether the next one may run."""
        with self._root:
            card = _Card(step)
        try:
            with card.root:
                await self._answer(card, step)
        except asyncio.CancelledError:
            with card.root:
                card.ended(t("Stopped"), "info")
            raise
        except Refused as error:
            with card.root:
                for entity in error.entities:
                    self._entity(card, entity)
                self._refused(card, error.problem, begin, marked(script, step.begin, error.problem))
            return False
        except UiError as error:
            with card.root:
                card.refused(error.message)
            return False
        return True

    def _refused(self, card: _Card, problem: Problem, begin: int, place: tuple[int, int] | None) -> None:
        """With the place in the editor, and what was probably meant as a click."""
        if place is None:
            card.refused(problem.sentence)
            return
        wrong = (begin + place[0], begin + place[1])
        line, column = self._editor.position(wrong[0])
        card.refused(t("Line {line}, column {column}: ", line=line, column=column) + problem.sentence)
        self._editor.mark(wrong)
        meant = problem.suggestion
        if meant is not None:
            with card.body:
                button(t("Write {name}", name=meant), lambda: self._editor.correct(wrong, meant), icon="auto_fix_high")

    async def _answer(self, card: _Card, step: Step) -> None:
        match step.kind:
            case Kind.PUSH | Kind.PULL:
                await self._rows(card, step)
            case Kind.PRINT:
                await self._lines(card, step)
            case Kind.SESSION:
                self._settings.apply(step)
                card.ended(t("Holds for this visit"), "good")
                self._changed()
            case Kind.OTHER:
                await self._statement(card, step)

    # -- statements ----------------------------------------------------------------------------------------------------

    async def _statement(self, card: _Card, step: Step) -> None:
        filled = self._settings.filled(step)
        entities = await self._client.execute(filled, self._settings.properties, self._settings.variables)
        for entity in entities:
            self._entity(card, entity)
        if not entities:
            with card.body:
                text(t("Done."))
        card.ended(duration(card.milliseconds), "good")
        if step.changes_names:
            self._changed()

    def _entity(self, card: _Card, entity: Entity) -> None:
        with card.body:
            plan = explained(entity)
            if plan is not None:
                self._plan(plan)
                return
            for part in parts(entity):
                if isinstance(part, Table):
                    _table(part)
                elif isinstance(part, Warned):
                    ui.html(escape(part.text), sanitize=False, tag="p").classes("warn said")
                else:
                    ui.html(escape(part.text), sanitize=False, tag="p").classes("said")
            query_id = created_query(entity)
            if query_id is not None:
                self._follow(query_id)

    def _plan(self, plan: Query) -> None:
        with ui.element("div").classes("row gap-2"):
            as_graph = button(t("Graph"), lambda: show(True), look="primary")
            as_text = button(t("Text"), lambda: show(False))
        graphic, words = ui.element("div").classes("stack w-full"), ui.element("div").classes("w-full")
        with graphic:
            graph(plan, self._labels())
        with words:
            plan_text(plan)

        def show(drawn: bool) -> None:
            graphic.set_visibility(drawn)
            words.set_visibility(not drawn)
            as_graph.classes(add="primary" if drawn else "secondary", remove="secondary" if drawn else "primary")
            as_text.classes(add="secondary" if drawn else "primary", remove="primary" if drawn else "secondary")

        show(True)

    def _follow(self, query_id: str) -> None:
        """What becomes of a query that was begun: accepted is not running yet."""
        with ui.element("div").classes("row items-center gap-3 flex-wrap"):
            place = ui.element("div").classes("row items-center gap-2").props('role="status"')
            ui.link(t("Query {id}", id=query_id), query_url(query_id))
        task = background_tasks.create(self._watch(query_id, place), name="ksql query")
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    async def _watch(self, query_id: str, place: ui.element) -> None:
        began = time.monotonic()
        while True:
            try:
                found = explained((await self._client.execute(f"EXPLAIN {query_id};"))[0])
            except UiError as error:
                with place:
                    place.clear()
                    ui.label(error.message).classes("bad")
                return
            passed = duration((time.monotonic() - began) * 1000)
            with place:
                place.clear()
                if found is not None and found.is_on_its_way:
                    ui.spinner(size="1em")
                    ui.label(t("{state} for {time}. The first query starts Spark, which takes about 20 seconds.",
                               state=found.state, time=passed)).classes("muted")  # fmt: skip
                elif found is not None:
                    bad = found.state == "ERROR"
                    badge(found.state, "bad" if bad else "good")
                    ui.label(found.error if bad else t("after {time}", time=passed)).classes("bad" if bad else "muted")
                    return
            await asyncio.sleep(POLL_SECONDS)

    # -- rows and lines ------------------------------------------------------------------------------------------------

    async def _rows(self, card: _Card, step: Step) -> None:
        card.body.classes("flush")
        is_push = step.kind is Kind.PUSH
        stream = Stream(card.body, is_push)
        card.ended(t("Running"), "info")

        def show() -> None:
            card.figures.text = f"{_count(stream.count)} · {rate(stream.rate)}" if is_push else _count(stream.count)

        try:
            async with self._client.query(self._settings.filled(step), self._settings.properties) as found:
                await stream.follow(found, show)
            card.ended(t("Complete"), "good")
        finally:
            with card.root:
                stream.flush()
                show()

    async def _lines(self, card: _Card, step: Step) -> None:
        with card.body:
            log = ui.log(max_lines=1000).classes("w-full mono").style("height: 20rem")
        card.ended(t("Running"), "info")
        async with self._client.lines(self._settings.filled(step), self._settings.properties) as found:
            async for line in found:
                log.push(line)
        card.ended(t("Complete"), "good")


class _Card:
    """One statement: what it was, how it goes, and what came of it."""

    def __init__(self, step: Step) -> None:
        self._began = time.monotonic()
        self._step = step
        self.root = (
            ui.element("section")
            .classes("ksql-result")
            .props(f'aria-label="{escape(" ".join(step.text.split())[:80])}"')
        )
        with self.root:
            with ui.element("div").classes("head") as self.head:
                ui.html(escape(" ".join(step.text.split())), sanitize=False, tag="code").tooltip(step.text[:500])
                self.figures = ui.label("").classes("muted text-sm")
                self._state = ui.element("span")
                with self._state:
                    ui.spinner(size="1.1em")
            self.body = ui.element("div").classes("body")

    @property
    def milliseconds(self) -> float:
        return (time.monotonic() - self._began) * 1000

    def ended(self, word: str, tone: str) -> None:
        self._state.clear()
        with self._state:
            badge(word, tone)

    def refused(self, sentence: str) -> None:
        self.root.classes("wrong")
        self.ended(t("Refused"), "bad")
        self.figures.text = ""
        self.body.classes(remove="flush")
        with self.body:
            ui.html(escape(sentence), sanitize=False, tag="p").classes("problem").props('role="alert"')


def _count(rows: int) -> str:
    return t("{n} rows", n=number(rows))


def _table(table: Table) -> None:
    """Of a statement's answer, all in one piece."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows[:TABLE_ROWS]
    )
    more = len(table.rows) - TABLE_ROWS
    label = escape(table.title or t("Result"))
    ui.html(
        f'<table class="plain"><caption class="sr-only">{label}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>",
        sanitize=False,
    ).classes("table-scroll").props(f'tabindex="0" role="region" aria-label="{label}"')
    if more > 0:
        text(t("{n} more rows are not shown.", n=number(more)), "muted")
