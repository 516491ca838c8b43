"""Compatibility level and mode, of all subjects or of one; a choice is set at once and said."""

from __future__ import annotations

from nicegui import events, ui

from caudal.ui.components import guarded, notify_success
from caudal.ui.services.registry import LEVELS, MODES, Registry
from caudal.ui.words import t

INHERITED = ""  # a subject's choice to go with all others


def level_words() -> dict[str, str]:
    return {
        "BACKWARD": t("Backward: new readers read the last version's records"),
        "BACKWARD_TRANSITIVE": t("Backward, transitive: new readers read every version's records"),
        "FORWARD": t("Forward: readers of the last version read new records"),
        "FORWARD_TRANSITIVE": t("Forward, transitive: readers of every version read new records"),
        "FULL": t("Full: backward and forward with the last version"),
        "FULL_TRANSITIVE": t("Full, transitive: backward and forward with every version"),
        "NONE": t("None: anything may follow"),
    }


def mode_words() -> dict[str, str]:
    return {
        "READWRITE": t("Read and write"),
        "READONLY": t("Read only: nothing may be registered"),
        "IMPORT": t("Import: ids and versions are given by the client"),
    }


def level_select(registry: Registry, level: str, *, subject: str | None = None, own: bool = True) -> ui.select:
    """`level` is what holds; `own` is False where a subject has it from all."""
    words = level_words()
    options = {name: words[name] for name in LEVELS}
    if subject is not None:
        held = t("As for all subjects") if own else t("As for all subjects: {value}", value=level)
        options = {INHERITED: held, **options}

    async def choose(event: events.ValueChangeEventArguments[str]) -> None:
        await registry.set_level(event.value or None, subject)
        notify_success(t("The compatibility level is set."))

    return _select(t("Compatibility"), options, level if own else INHERITED, choose)


def mode_select(registry: Registry, mode: str, *, subject: str | None = None, own: bool = True) -> ui.select:
    words = mode_words()
    options = {name: words[name] for name in MODES}
    if subject is not None:
        held = t("As for all subjects") if own else t("As for all subjects: {value}", value=mode)
        options = {INHERITED: held, **options}

    async def choose(event: events.ValueChangeEventArguments[str]) -> None:
        await registry.set_mode(event.value or None, subject)
        notify_success(t("The mode is set."))

    return _select(t("Mode"), options, mode if own else INHERITED, choose)


def _select(label: str, options: dict[str, str], value: str, choose: object) -> ui.select:
    shown = options if value in options else {**options, value: value}
    field = ui.select(shown, value=value, label=label, on_change=guarded(choose))  # type: ignore[arg-type]
    return field.props("outlined dense options-dense").classes("grow").style("min-width: min(18rem, 100%)")
