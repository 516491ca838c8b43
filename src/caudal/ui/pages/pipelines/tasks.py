"""The tasks of a pipeline: where each runs, what it reads, how far it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from caudal.pipelines.board import Instance, Pipeline
from caudal.ui.components import Column, PagedTable, card, clock, number, page_of, text
from caudal.ui.pages.pipelines.states import TONES, state_word
from caudal.ui.services.pipelines import Pipelines, now_ms
from caudal.ui.words import t


async def tasks_tab(found: Pipeline, service: Pipelines) -> Callable[[], Awaitable[None]]:
    """What is returned brings the tables up to date."""
    name = found.application

    def leader() -> Instance | None:
        now = service.get(name)
        return None if now is None else now.leader

    text(
        t("A task is a sub-topology times a partition. Threads are Spark's: more than one for each task stay idle."),
        "muted",
    )
    tasks = PagedTable(
        [
            Column("task", t("Task"), "mono", sortable=True),
            Column("partitions", t("Reads"), "mono"),
            Column("thread", t("Thread"), "number", sortable=True),
            Column("host", t("Host"), "mono", sortable=True),
            Column("pid", t("Process"), "number"),
            Column("records", t("Records"), "number", sortable=True),
            Column("rows", t("State rows"), "number", sortable=True),
            Column("time", t("Stream time"), "mono"),
            Column("lag", t("Lag"), "number", sortable=True),
        ],
        lambda query: page_of(task_rows(leader()), query, lambda row: f"{row['task']} {row['partitions']}"),
        label=t("Tasks"),
        search=t("Filter by task or topic"),
        sort="task",
    )
    with card(t("Instances")):
        text(t("One instance of an application runs it; the others stand by and take over."), "muted")
        instances = PagedTable(
            [
                Column("instance", t("Instance"), "mono"),
                Column("state", t("State"), "status"),
                Column("host", t("Host"), "mono"),
                Column("pid", t("Process"), "number"),
                Column("started", t("Started"), "mono"),
                Column("seen", t("Last report"), "mono"),
            ],
            lambda query: page_of(instance_rows(service.get(name)), query),
            label=t("Instances"),
            prefix="i_",
        )

    async def refresh() -> None:
        await tasks.refresh()
        await instances.refresh()

    await refresh()
    return refresh


def task_rows(leader: Instance | None) -> list[Mapping[str, Any]]:
    if leader is None:
        return []
    told = leader.figures.get("tasks") or {}
    rows: list[Mapping[str, Any]] = []
    for task in leader.about.get("tasks") or ():
        records, state_rows, stream_time, lag = told.get(task["task"]) or (0, 0, -1, 0)
        sub, _, partition = str(task["task"]).partition("_")
        rows.append(
            {
                "id": task["task"],
                "task": {"text": task["task"], "sort": int(sub) * 100_000 + int(partition or 0)},
                "partitions": ", ".join(task.get("partitions") or ()),
                "thread": task.get("thread"),
                "host": task.get("host"),
                "pid": task.get("pid"),
                "records": {"text": number(records), "sort": records},
                "rows": {"text": number(state_rows), "sort": state_rows},
                "time": clock(stream_time / 1000) if stream_time > 0 else "–",
                "lag": {"text": number(lag), "sort": lag},
            }
        )
    return rows


def instance_rows(found: Pipeline | None) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    for one in found.instances if found is not None else ():
        state = one.state(now_ms())
        started = one.about.get("started")
        rows.append(
            {
                "id": one.id,
                "instance": one.id,
                "state": {"text": state_word(state), "tone": TONES.get(state, "")},
                "host": one.about.get("host"),
                "pid": one.about.get("pid"),
                "started": clock(started / 1000) if isinstance(started, int) else "–",
                "seen": clock(one.seen / 1000),
            }
        )
    return rows
