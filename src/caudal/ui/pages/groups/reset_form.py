"""The form that moves a group's offsets: where to, which partitions, a preview, and only then the change.

What is wrong stands beside its field. Any change of the form takes the preview away, so that what is applied is what
was shown. The form's state is in the URL: `to`, `value`, `topics` (orders:0-2;payments) and `preview`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from caudal.cli.offset_reset import Move, Place, Target
from caudal.cli.times import time_text
from caudal.ui.components import (
    Column,
    PagedTable,
    card,
    confirm,
    error_panel,
    guarded,
    notify_success,
    number,
    page_of,
    query_parameter,
    set_query,
    text,
    url,
)
from caudal.ui.components.buttons import button
from caudal.ui.pages.groups.figures import figure
from caudal.ui.platform import platform
from caudal.ui.services import groups, offset_reset
from caudal.ui.services.groups import Group
from caudal.ui.services.offset_reset import KINDS, FieldError, Plan
from caudal.ui.words import t, tn

COLUMNS = "display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: 0.6rem 1rem"


@dataclass(slots=True)
class TopicChoice:
    """A topic's line in the form."""

    topic: str
    known: list[int]
    chosen: ui.checkbox
    partitions: ui.input


class ResetForm:
    def __init__(self, group: Group, on_done: Callable[[], Awaitable[None]]) -> None:
        self._group = group
        self._on_done = on_done
        self._choices: list[TopicChoice] = []
        self._plan: Plan | None = None
        self._changes = 0

    async def build(self) -> None:
        cluster = await platform().kafka.cluster(fresh=True)  # a new topic must not look deleted
        self._known = {name: sorted(topic.partitions) for name, topic in cluster.topics.items()}
        self._refused = ui.element("div").classes("w-full")
        with card(t("Where the group goes on")):
            self._target_fields()
        with card(t("Partitions")):
            self._topic_fields()
        with ui.row().classes("items-center gap-2"):
            button(t("Preview"), self.preview, icon="visibility", look="primary")
            text(t("Nothing is changed before you apply it."), "muted")
        self._result = ui.element("div").classes("w-full stack").props('aria-live="polite"')
        self._show_refusal(len(self._group.members))
        if query_parameter("preview"):
            await self.preview()

    # ------------------------------------------------------------------ fields

    def _target_fields(self) -> None:
        options = {
            "earliest": t("Earliest: read everything again"),
            "latest": t("Latest: only what comes from now on"),
            "offset": t("An offset"),
            "time": t("A point in time"),
            "duration": t("So long ago"),
            "shift": t("Shift by a number of records"),
        }
        asked = query_parameter("to")
        kind = asked if asked in KINDS else "earliest"
        self._kind = ui.radio(options, value=kind, on_change=self._kind_changed)
        self._kind.props("dense").style(COLUMNS).props["aria-label"] = t("Where the group goes on")
        self._value = ui.input(value=query_parameter("value"), on_change=self._changed)
        self._value.props("outlined dense").classes("w-full").style("max-width: 28rem")
        self._value.on("keydown.enter", guarded(self.preview))
        self._label_value()

    def _label_value(self) -> None:
        labels = {
            "offset": (t("Offset"), "1500"),
            "time": (t("Time"), "2026-01-31 12:00"),
            "duration": (t("How long ago"), "1h 30m"),
            "shift": (t("Number of records"), "-100"),
        }
        label, example = labels.get(self._kind.value, ("", ""))
        self._value.set_visibility(bool(label))
        self._value.props["label"] = label
        self._value.props["hint"] = t("For example {example}", example=example) if example else ""
        self._value.props["aria-label"] = label

    def _topic_fields(self) -> None:
        asked = parsed_topics(query_parameter("topics"))
        text(t("Partitions as 0, 3 or 0-5; empty means all of the topic."), "muted")
        self._missing_choice = ui.html("", sanitize=False, tag="p").classes("bad").props('role="alert"')
        self._lines = ui.element("div").classes("stack")
        names = [name for name in self._group.topics if name in self._known]
        for name in dict.fromkeys([*names, *(each for each in asked if each in self._known)]):
            self._add_topic(name, not asked or name in asked, asked.get(name, ""))
        gone = [name for name in self._group.topics if name not in self._known]
        if gone:
            text(t("These topics are gone: {topics}", topics=", ".join(gone)), "muted")
        others = [name for name in sorted(self._known) if name not in names]
        picker = ui.select(others, label=t("Add a topic"), with_input=True)
        picker.props("outlined dense options-dense").style("min-width: 16rem; max-width: 28rem")

        def add() -> None:
            name = picker.value
            if name and all(choice.topic != name for choice in self._choices):
                self._add_topic(name, True, "")
                self._changed()
            picker.value = None

        picker.on_value_change(lambda event: add() if event.value else None)

    def _add_topic(self, name: str, chosen: bool, partitions: str) -> None:
        known = self._known[name]
        with self._lines, ui.row().classes("items-center gap-3"):
            box = ui.checkbox(name, value=chosen, on_change=self._changed)
            field = ui.input(t("Partitions"), value=partitions, on_change=self._changed)
            field.props("outlined dense").props["aria-label"] = t("Partitions of {topic}", topic=name)
            field.props["placeholder"] = tn("all ({n} partition)", "all ({n} partitions)", len(known))
            field.bind_enabled_from(box, "value")
        self._choices.append(TopicChoice(name, known, box, field))

    def _kind_changed(self) -> None:
        self._value.value = ""
        self._label_value()
        self._changed()

    def _changed(self) -> None:
        """What was shown is no longer what would be done."""
        self._plan = None
        self._changes += 1
        self._value.error = None
        self._result.clear()
        for choice in self._choices:
            choice.partitions.error = None
        set_query(to=self._kind.value, value=self._value.value, topics=self._topics_text(), preview=None)

    def _topics_text(self) -> str:
        """Empty where the form has its first state: all topics with all partitions."""
        if all(choice.chosen.value and not choice.partitions.value for choice in self._choices):
            first = set(self._group.topics)
            if all(choice.topic in first for choice in self._choices):
                return ""
        parts = {choice.topic: choice.partitions.value for choice in self._choices if choice.chosen.value}
        return ";".join(f"{name}:{numbers}" if numbers else name for name, numbers in parts.items()) or ";"

    # ------------------------------------------------------------------ preview and change

    def _target(self) -> Target | None:
        try:
            return offset_reset.target_of(self._kind.value, self._value.value or "")
        except FieldError as error:
            self._value.error = error.message
            return None

    def _places(self) -> list[Place] | None:
        places: list[Place] = []
        wrong = False
        for choice in self._choices:
            if not choice.chosen.value:
                continue
            try:
                numbers = offset_reset.partitions_of(choice.partitions.value or "", choice.known)
                places += [(choice.topic, number) for number in numbers]
            except FieldError as error:
                choice.partitions.error = error.message
                wrong = True
        nothing = not wrong and not places
        self._missing_choice.content = t("Choose at least one topic.") if nothing else ""
        return places if places and not wrong else None

    async def preview(self) -> None:
        """Show what would happen."""
        target, places = self._target(), self._places()
        self._result.clear()
        if target is None or places is None:
            return
        set_query(to=self._kind.value, value=self._value.value, topics=self._topics_text(), preview=1)
        asked = self._changes
        plan = await offset_reset.plan(platform().kafka, self._group.name, places, target)
        members = await groups.member_count(platform().kafka, self._group.name)
        if asked != self._changes:  # while Kafka was asked, the form became another
            return
        self._plan = plan
        self._show_refusal(members)
        with self._result, card(t("Preview")):
            if target.kind == "time":
                text(t("First record at or after {time}", time=time_text(target.value)), "muted")
            text(_outcome(plan))
            if plan.missing:
                names = ", ".join(f"{topic}-{partition}" for topic, partition in plan.missing[:10])
                text(t("Left out, for they are gone or do not answer: {partitions}", partitions=names), "warn")
            await _plan_table(plan).refresh()
            with ui.row():
                apply = button(t("Apply"), self.apply, icon="check", look="danger")
                apply.set_enabled(not members and bool(plan.moves))

    async def apply(self) -> None:
        plan = self._plan
        if plan is None:
            return
        title = t("Reset the offsets of {group}?", group=plan.group)
        if not await confirm(title, _outcome(plan), t("Reset offsets"), danger=True):
            return
        await offset_reset.apply(platform().kafka, plan)
        self._plan = None
        self._result.clear()
        with self._result:  # the button that was pressed is gone with what it stood in
            with card():
                text(tn("Done: {n} partition was set.", "Done: {n} partitions were set.", len(plan.moves)), "good")
            set_query(preview=None)
            notify_success(t("The offsets of {group} are reset.", group=plan.group))
            await self._on_done()

    def _show_refusal(self, members: int) -> None:
        self._refused.clear()
        self._refused.set_visibility(bool(members))
        if members:
            with self._refused:
                error_panel(offset_reset.active_sentence(members))


def parsed_topics(text: str) -> dict[str, str]:
    """'orders:0-2;payments' → {'orders': '0-2', 'payments': ''}.

    >>> parsed_topics("orders:0-2;payments")
    {'orders': '0-2', 'payments': ''}
    """
    pairs = (part.partition(":") for part in text.split(";") if part.strip())
    return {name.strip(): partitions.strip() for name, _, partitions in pairs}


def _outcome(plan: Plan) -> str:
    """What the plan comes to, in a sentence."""
    if not plan.changed:
        return t("No offset would change.")
    moved = tn("{n} partition moves", "{n} partitions move", plan.changed)
    return t(
        "{moved}: {again} records would be read again, {skipped} skipped.",
        moved=moved,
        again=number(plan.again),
        skipped=number(plan.skipped),
    )


def _plan_table(plan: Plan) -> PagedTable:
    rows = [_move_row(move) for move in plan.moves]
    return PagedTable(
        [
            Column("topic", t("Topic"), sortable=True),
            Column("partition", t("Partition"), kind="number", sortable=True),
            Column("committed", t("Now"), kind="number", sortable=True),
            Column("new", t("New"), kind="number", sortable=True),
            Column("change", t("Difference"), kind="number", sortable=True),
            Column("note", t("Note")),
        ],
        lambda query: page_of(rows, query),
        label=t("What the reset would do"),
        prefix="plan_",
    )


def signed(change: int | None) -> str:
    """5 → '+5', -5 → '−5'."""
    if not change:
        return number(change)
    return f"{'+' if change > 0 else '−'}{number(abs(change))}"


def _move_row(move: Move) -> dict[str, Any]:
    change = move.change
    note = t("kept within the log") if move.bounded else ""
    if move.committed is None:
        note = t("not committed before")
    return {
        "topic": {"text": move.topic, "href": url("topics", move.topic)},
        "partition": move.partition,
        "committed": figure(move.committed),
        "new": figure(move.new),
        "change": {
            "text": "–"
            if change is None
            else f"{'+' if change > 0 else '−' if change < 0 else ''}{number(abs(change))}",
            "tone": "" if not change else "info" if change > 0 else "warn",
            "sort": change or 0,
        },
        "note": {"text": note, "tone": "muted"},
    }
