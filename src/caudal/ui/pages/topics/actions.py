"""What can be done with a topic: more partitions, clone, empty, delete. What destroys asks for the name."""

from __future__ import annotations

from nicegui import ui

from caudal.ui.components import confirm_by_name, guarded, notify_success, number, url
from caudal.ui.components.forms import foot, form_dialog, show_problems, text_field
from caudal.ui.pages.topics.service import topics
from caudal.ui.platform import platform
from caudal.ui.services import topic_changes
from caudal.ui.services.message_query import QueryError
from caudal.ui.services.topic_changes import MOST_PARTITIONS, Copying, name_problem, number_problem
from caudal.ui.words import t, tn


def add_partitions(name: str, count: int) -> None:
    with form_dialog(t("Add partitions")) as dialog:
        ui.label(t("Keys may go to other partitions than before, and partitions cannot be taken away again.")).classes(
            "form-note"
        )
        total = text_field(t("Partitions in all"), str(count + 1)).props("autofocus")

        async def add() -> None:
            text = str(total.value).strip()
            wrong = number_problem(text or "-", MOST_PARTITIONS)
            if not wrong and int(text) <= count:
                wrong = t("The topic has {count} partitions already.", count=count)
            if show_problems({"total": total}, {"total": wrong}):
                return
            await topic_changes.add_partitions(platform().kafka, name, int(text))
            topics().forget()
            ui.navigate.to(url("topics", name, tab="partitions"))

        total.on("keydown.enter", guarded(add))
        foot(dialog, t("Add partitions"), add)


@guarded
async def empty(name: str) -> None:
    if not await confirm_by_name(name, t("All messages of {topic} will be deleted.", topic=name), t("Empty topic")):
        return
    count = await topic_changes.empty(platform().kafka, name)
    topics().forget()
    notify_success(tn("{n} message was deleted.", "{n} messages were deleted.", count))
    ui.navigate.to(url("topics", name))


@guarded
async def delete(name: str) -> None:
    if not await confirm_by_name(name, t("The topic {topic} and all its messages will be deleted.", topic=name)):
        return
    await topic_changes.delete(platform().kafka, name)
    topics().forget()
    ui.navigate.to(url("topics"))


def clone(name: str) -> None:
    with form_dialog(t("Clone {topic}", topic=name)) as dialog:
        ui.label(t("The new topic has the same partitions, replicas and settings.")).classes("form-note")
        new = text_field(t("Name of the new topic"), f"{name}-copy").props("autofocus")
        with_data = ui.checkbox(t("Copy the messages too"))
        progress = ui.linear_progress(0, show_value=False).props(f'aria-label="{t("Copied")}"').classes("hidden")
        status = ui.label("").classes("form-note").props('aria-live="polite"')
        fields = {"name": new}

        async def run() -> None:
            target = str(new.value).strip()
            if show_problems(fields, {"name": name_problem(target)}):
                return
            kafka = platform().kafka
            form = await topic_changes.clone_form(kafka, name, target)
            button.disable()
            try:
                copying = await topic_changes.clone(kafka, name, form, bool(with_data.value))
                if copying is not None:
                    await _copy(copying)
            except QueryError as error:
                show_problems(fields, {error.field: error.message})
                return
            finally:
                button.enable()
            topics().forget()
            if copying is None or not copying.is_cancelled:
                ui.navigate.to(url("topics", target))

        async def _copy(copying: Copying) -> None:
            def show() -> None:
                progress.value = copying.copied / max(1, copying.total)
                status.text = t(
                    "{copied} of {total} messages", copied=number(copying.copied), total=number(copying.total)
                )

            progress.classes(remove="hidden")
            dialog.on("hide", copying.cancel)
            timer = ui.timer(0.3, show)
            try:
                await copying.run()
            finally:
                timer.cancel()

        button = foot(dialog, t("Clone"), run)
