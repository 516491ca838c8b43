"""The editor for a schema: checked as a text, checked against the subject's versions, and registered.

A mistake stands below the editor with its line marked; what the registry says against a schema stands there too,
sentence by sentence. `caudal.ui.services.registry` finds both out.
"""

from __future__ import annotations

import json
from html import escape

from nicegui import ui

from caudal.cli.schema_text import pretty
from caudal.registry.schemas.schema import Reference
from caudal.ui.components import card, notify_success, text, url
from caudal.ui.components.buttons import button
from caudal.ui.pages.schemas.reference_fields import ReferenceFields
from caudal.ui.services.errors import UiError
from caudal.ui.services.registry import INCOMPATIBLE, INVALID, TYPES, Draft, Problem, Registry, Subject, Verdict
from caudal.ui.shell import visitor_of
from caudal.ui.words import t

LANGUAGES = {"AVRO": "JSON", "JSON": "JSON", "PROTOBUF": "ProtoBuf"}
LONGEST_NAME = 249
STARTS = {
    "AVRO": '{\n  "type": "record",\n  "name": "Order",\n  "fields": [\n    {"name": "id", "type": "long"}\n  ]\n}',
    "JSON": '{\n  "$schema": "http://json-schema.org/draft-07/schema#",\n  "title": "Order",\n  "type": "object",\n'
    '  "properties": {\n    "id": {"type": "integer"}\n  }\n}',
    "PROTOBUF": 'syntax = "proto3";\n\nmessage Order {\n  int64 id = 1;\n}',
}
# The editor's name for screen readers, and its colours with the page's theme.
PREPARE = """
(async () => {
  while (!getElement(%(id)d)) await new Promise((resolve) => setTimeout(resolve, 20));
  const element = getElement(%(id)d);
  await element.editorPromise;
  element.$el.querySelector(".cm-content").setAttribute("aria-label", %(label)s);
  const paint = () => element.setTheme(document.body.classList.contains("body--dark") ? "githubDark" : "githubLight");
  new MutationObserver(paint).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  paint();
})()
"""


class RegisterForm:
    """Of a new subject, whose name may be given, or of a subject's next version."""

    def __init__(self, registry: Registry, name: str, subject: Subject | None = None) -> None:
        self._registry = registry
        self._name = name
        self._subject = subject

    async def build(self) -> None:
        kind, content = "AVRO", STARTS["AVRO"]
        uses: tuple[Reference, ...] = ()
        if self._subject is not None and self._subject.versions:
            latest = await self._registry.version(self._name, self._subject.versions[-1])
            kind, content, uses = latest.type, pretty(latest.type, latest.text), latest.references
        with card(t("New version") if self._subject else t("Register a schema")):
            with ui.row().classes("w-full items-start gap-3"):
                self._subject_field = ui.input(t("Subject"), value=self._name, on_change=self._changed)
                self._subject_field.props("outlined dense").classes("grow").style("min-width: min(16rem, 100%)")
                self._subject_field.props["hint"] = t("For the values of a topic: its name and -value")
                self._subject_field.set_visibility(self._subject is None)
                self._type = ui.select(TYPES, value=kind, label=t("Type"), on_change=self._type_changed)
                self._type.props("outlined dense options-dense").style("min-width: 10rem")
            self._editor(kind, content)
            self._references = ReferenceFields(uses, self._changed)
            with ui.row().classes("items-center gap-2"):
                button(t("Check"), self.check, icon="rule")
                button(t("Register"), self.register, icon="check", look="primary")

    def _editor(self, kind: str, content: str) -> None:
        self._text = ui.codemirror(content, language=LANGUAGES[kind], indent="  ", on_change=self._changed)  # type: ignore[arg-type]
        dark = visitor_of(ui.context.client.request).theme == "dark"
        self._text.classes("schema-editor").theme = "githubDark" if dark else "githubLight"
        text(t("Esc, then Tab leaves the editor."), "muted text-xs")
        label = t("Text of the schema")
        ui.run_javascript(PREPARE % {"id": self._text.id, "label": json.dumps(label)})
        self._said = ui.element("div").classes("stack").props('aria-live="polite" data-part="verdict"')

    def _changed(self) -> None:
        """What was said is about another text."""
        self._said.clear()
        self._text.decorations = []
        self._subject_field.error = None

    def _type_changed(self) -> None:
        if self._text.value.strip() in {start.strip() for start in STARTS.values()}:
            self._text.value = STARTS[self._type.value]
        self._text.language = LANGUAGES[self._type.value]  # type: ignore[assignment]
        self._changed()

    # ------------------------------------------------------------------ what the form says

    async def check(self) -> None:
        """Whether it is a schema and may follow; nothing is registered."""
        draft = await self._draft()
        if draft is not None:
            verdict = await self._registry.check(self._subject_field.value.strip(), draft)
            if verdict.compatible:
                self._say(t("Valid, and it may be the next version (level {level}).", level=verdict.level), "good")
            else:
                self._say_incompatible(verdict)

    async def register(self) -> None:
        draft = await self._draft()
        if draft is None:
            return
        name = self._subject_field.value.strip()
        verdict = await self._registry.check(name, draft)
        if not verdict.compatible:
            self._say_incompatible(verdict)
            return
        try:
            found = await self._registry.register(name, draft)
        except UiError as error:
            if error.code not in (INVALID, INCOMPATIBLE):
                raise
            self._say(error.message, "bad")
            return
        done = t("{subject} has it as version {version}, id {id}.", subject=name, version=found.version, id=found.id)
        notify_success(done)
        ui.navigate.to(url("schemas", name, version=found.version))

    async def _draft(self) -> Draft | None:
        """What stands in the form; None where something is wrong, which is then shown."""
        self._changed()
        wrong = False
        name = (self._subject_field.value or "").strip()
        if not name or len(name) > LONGEST_NAME:
            self._subject_field.error = t("Give the subject a name, such as orders-value.")
            wrong = True
        references: list[Reference] | None = self._references.value()
        if not self._text.value.strip():
            self._say(t("The editor is empty: write a schema."), "bad")
            return None
        if wrong or references is None:
            return None
        draft = Draft(self._type.value, self._text.value, tuple(references))
        problem = await self._registry.problem(draft)
        if problem is not None:
            self._say_problem(problem)
            return None
        return draft

    def _say(self, sentence: str, tone: str) -> None:
        with self._said:
            text(sentence, tone)

    def _say_problem(self, problem: Problem) -> None:
        with self._said:
            text(problem.message, "bad")
            lines = self._text.value.splitlines()
            if problem.line is not None and 0 < problem.line <= len(lines):
                self._text.decorations = [{"kind": "line", "line": problem.line, "class": "wrong-line"}]
                pointer = " " * ((problem.column or 1) - 1) + "▲"
                excerpt = f"{lines[problem.line - 1]}\n{pointer}"
                ui.html(f"<code>{escape(excerpt)}</code>", sanitize=False, tag="pre").classes("excerpt")

    def _say_incompatible(self, verdict: Verdict) -> None:
        with self._said:
            text(t("It may not be the next version (level {level}):", level=verdict.level), "bad")
            items = "".join(f"<li>{escape(reason)}</li>" for reason in verdict.reasons)
            ui.html(items, sanitize=False, tag="ul").classes("reasons")
