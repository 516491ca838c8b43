"""The form that creates a topic."""

from __future__ import annotations

from nicegui import ui

from caudal.ui.components import set_query, url
from caudal.ui.components.forms import foot, form_dialog, show_problems, text_field
from caudal.ui.pages.topics.service import topics
from caudal.ui.platform import platform
from caudal.ui.services import topic_changes
from caudal.ui.services.message_query import QueryError
from caudal.ui.services.topic_changes import NewTopicForm
from caudal.ui.words import t

RETENTIONS = {"": "", "3600000": "1 h", "86400000": "1 d", "604800000": "7 d", "2592000000": "30 d", "-1": "∞"}


def create_dialog() -> None:
    """Opens the form; the new topic is shown when it is there."""
    set_query(new="1")
    with form_dialog(t("Create topic")) as dialog:
        dialog.on("hide", lambda: set_query(new=None))
        name = text_field(t("Name")).props("autofocus")
        with ui.element("div").classes("pair"):
            partitions = text_field(t("Partitions"), hint=t("Empty: the broker's default"))
            replicas = text_field(t("Replicas"), hint=t("Empty: the broker's default"))
        with ui.element("div").classes("pair"):
            cleanup = ui.select(
                {
                    "": t("Default"),
                    "delete": t("Delete old messages"),
                    "compact": t("Keep the last of each key"),
                    "compact,delete": t("Both"),
                },
                value="",
                label=t("Cleanup"),
            ).props("outlined dense")
            retention = ui.select(
                {value: shown or t("Default") for value, shown in RETENTIONS.items()},
                value="",
                label=t("Retention"),
            ).props("outlined dense")
        more = (
            ui.textarea(t("More settings, one name=value per line"), placeholder="max.message.bytes=2097152")
            .props("outlined dense autogrow hide-bottom-space")
            .classes("w-full")
        )
        fields = {"name": name, "partitions": partitions, "replicas": replicas, "configs": more}

        async def create() -> None:
            configs, wrong = parse_settings(str(more.value or ""))
            configs |= {"cleanup.policy": cleanup.value} if cleanup.value else {}
            configs |= {"retention.ms": retention.value} if retention.value else {}
            form = NewTopicForm(name.value.strip(), partitions.value, replicas.value, configs)
            problems = form.problems()
            problems["configs"] = wrong or next((problems[one] for one in configs if one in problems), "")
            if show_problems(fields, problems):
                return
            try:
                await topic_changes.create(platform().kafka, form)
            except QueryError as error:
                show_problems(fields, {error.field: error.message})
                return
            topics().forget()
            ui.navigate.to(url("topics", form.name))

        name.on("keydown.enter", create)
        foot(dialog, t("Create topic"), create)


def parse_settings(text: str) -> tuple[dict[str, str], str]:
    """Lines of name=value, and what is wrong with the first wrong one."""
    configs: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not name:
            return configs, t("Line {number} is not NAME=VALUE.", number=number)
        configs[name] = value
    unknown = next((topic_changes.unknown_config(name) for name in configs if topic_changes.unknown_config(name)), "")
    return configs, unknown
