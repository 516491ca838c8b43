"""Two versions of a subject beside each other: who reads whose records, which fields changed, and the lines."""

from __future__ import annotations

from html import escape

from nicegui import ui

from caudal.ui.components import badge, card, error_panel, guarded, query_parameter, set_query, text
from caudal.ui.services.errors import UiError
from caudal.ui.services.registry import Comparison, Registry, Subject
from caudal.ui.services.schema_diff import FieldChange, Row, Side
from caudal.ui.words import t, tn


async def compare_view(registry: Registry, subject: Subject) -> None:
    numbers = sorted([*subject.versions, *subject.deleted])
    if len(numbers) < 2:
        text(t("There is one version only; a second one can be compared with it."), "muted")
        return
    old = _asked("old", numbers, numbers[-2])
    new = _asked("new", numbers, numbers[-1])
    options = {number: t("Version {n}", n=number) for number in numbers}

    async def draw() -> None:
        set_query(old=left.value, new=right.value, whole=1 if whole.value else None)
        result.clear()
        with result:
            try:
                _show(await registry.compare(subject.name, left.value, right.value, whole.value))
            except UiError as error:
                error_panel(error.message)

    with ui.row().classes("items-center gap-3"):
        left = ui.select(options, value=old, label=t("Old version"), on_change=guarded(draw))
        right = ui.select(options, value=new, label=t("New version"), on_change=guarded(draw))
        for field in (left, right):
            field.props("outlined dense options-dense").style("min-width: 10rem")
        whole = ui.checkbox(t("Show every line"), value=query_parameter("whole") == "1", on_change=guarded(draw))
    result = ui.element("div").classes("stack w-full").props('aria-live="polite"')
    await draw()


def _asked(name: str, numbers: list[int], default: int) -> int:
    text = query_parameter(name)
    return int(text) if text.isascii() and text.isdigit() and int(text) in numbers else default


def _show(found: Comparison) -> None:
    old, new = found.old.version, found.new.version
    with ui.element("div").classes("grid").style("--min: 20rem"):
        _verdict(t("Backward: version {new} reads records of version {old}", old=old, new=new), found.backward)
        _verdict(t("Forward: version {old} reads records of version {new}", old=old, new=new), found.forward)
    with card(t("Fields")):
        if found.fields:
            _region(fields_html(found.fields), t("Fields that changed")).classes("scroll")
        else:
            text(t("The two have the same fields."), "muted")
    with card(t("Text")):
        if all(row.kind in ("same", "skipped") for row in found.rows):
            text(t("The two read the same."), "muted")
        _region(diff_html(found.rows, old, new), t("Lines side by side")).classes("diff-box")


def _region(content: str, label: str) -> ui.html:
    """What may be wider than the window: it scrolls by keyboard too."""
    region = ui.html(content, sanitize=False).props('tabindex="0" role="region"')
    region.props["aria-label"] = label
    return region


def _verdict(title: str, against: tuple[str, ...]) -> None:
    with card():
        with ui.row().classes("items-center gap-2 no-wrap"):
            badge(t("no"), "bad") if against else badge(t("yes"), "good")
            text(title, "font-medium")
        if against:
            items = "".join(f"<li>{escape(reason)}</li>" for reason in against)
            ui.html(items, sanitize=False, tag="ul").classes("reasons")


def fields_html(changes: tuple[FieldChange, ...]) -> str:
    kinds = {
        "added": (t("added"), "good"),
        "removed": (t("removed"), "bad"),
        "changed": (t("changed"), "warn"),
    }
    notes = {"doc": t("description"), "tags": t("tags"), "type": t("type")}
    rows = []
    for change in changes:
        word, tone = kinds[change.kind]
        what = ", ".join(notes[note] for note in change.notes)
        path, before, after = (
            f'<td class="k-mono">{escape(each or "–")}</td>' for each in (change.path, change.before, change.after)
        )
        kind = f'<td><span class="badge {tone}">{escape(word)}</span></td>'
        rows.append(f"<tr>{path}{kind}{before}{after}<td>{escape(what)}</td></tr>")
    heads = (t("Field"), t("Change"), t("Old type"), t("New type"), t("What changed"))
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    return f'<table class="plain"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def diff_html(rows: tuple[Row, ...], old: int | None, new: int | None) -> str:
    """A table of four columns: number and line, twice. A sign says what the colour says."""
    body = []
    for row in rows:
        if row.kind == "skipped":
            said = tn("{n} equal line", "{n} equal lines", row.skipped)
            body.append(f'<tr class="d-skipped"><td colspan="4">⋯ {escape(said)}</td></tr>')
            continue
        left = "d-none" if row.old is None else "" if row.kind == "same" else "d-old"
        right = "d-none" if row.new is None else "" if row.kind == "same" else "d-new"
        sides = f"{_side_html(row.old, left, '−')}{_side_html(row.new, right, '+')}"
        body.append(f'<tr class="d-{row.kind}">{sides}</tr>')
    heads = "".join(
        f'<th scope="col" colspan="2">{escape(t("Version {n}", n=number or 0))}</th>' for number in (old, new)
    )
    columns = '<colgroup><col class="d-width"><col><col class="d-width"><col></colgroup>'
    return f'<table class="diff">{columns}<thead><tr>{heads}</tr></thead><tbody>{"".join(body)}</tbody></table>'


def _side_html(side: Side | None, kind: str, sign: str) -> str:
    if side is None:
        return f'<td class="d-number"></td><td class="{kind}"></td>'
    mark = sign if kind else " "
    pieces = "".join(f"<mark>{escape(part)}</mark>" if differs else escape(part) for part, differs in side.pieces)
    return f'<td class="d-number">{side.number}</td><td class="{kind}"><span class="d-sign">{mark}</span>{pieces}</td>'
