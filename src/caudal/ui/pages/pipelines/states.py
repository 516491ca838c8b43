"""What pages of pipelines say in the same words: states, origins, and the buttons that fit them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caudal.pipelines.board import Pipeline
from caudal.pipelines.records import Order
from caudal.ui.components import confirm, confirm_by_name, notify_success
from caudal.ui.platform import platform
from caudal.ui.services.pipelines import now_ms, pipelines
from caudal.ui.words import t

TONES = {
    "RUNNING": "good",
    "PAUSED": "warn",
    "RESTARTING": "warn",
    "STARTING": "info",
    "CREATED": "info",
    "STANDBY": "info",
    "ERROR": "bad",
    "GONE": "bad",
}


def state_word(state: str) -> str:
    words = {
        "RUNNING": t("Running"),
        "PAUSED": t("Paused"),
        "RESTARTING": t("Restarting"),
        "STARTING": t("Starting"),
        "CREATED": t("Starting"),
        "STANDBY": t("Standby"),
        "ERROR": t("Failed"),
        "STOPPED": t("Stopped"),
        "GONE": t("Gone"),
    }
    return words.get(state, state)


def origin_word(pipeline: Pipeline) -> str:
    return {"streams": "Streams", "ksql": "KSQL", "connect": "Connect"}.get(
        str(pipeline.leader.origin.get("kind")), "–"
    )


def shown_name(pipeline: Pipeline) -> str:
    """A query of KSQL and a connector are known by their own names, not by that of the application that runs it."""
    origin = pipeline.leader.origin
    if origin.get("kind") == "connect" and origin.get("connector"):
        return str(origin["connector"])
    return str(origin["query"]) if origin.get("kind") == "ksql" and origin.get("query") else pipeline.application


def orders_for(pipeline: Pipeline) -> list[Order]:
    """What makes sense to tell it now."""
    if not pipeline.leader.takes_orders:
        return []
    state = pipeline.state(now_ms())
    if state in ("GONE", "STOPPED"):
        return []
    if state == "ERROR":  # KSQL's server is still there and can start a failed query again
        return [Order.RESUME, Order.STOP] if pipeline.leader.origin.get("kind") == "ksql" else []
    return [Order.RESUME if state == "PAUSED" else Order.PAUSE, Order.STOP]


def order_word(order: Order, pipeline: Pipeline) -> str:
    if order is Order.STOP and pipeline.leader.origin.get("kind") == "ksql":
        return t("Terminate")
    return {Order.PAUSE: t("Pause"), Order.RESUME: t("Resume"), Order.STOP: t("Stop")}[order]


ICONS = {Order.PAUSE: "pause", Order.RESUME: "play_arrow", Order.STOP: "stop"}


async def carry_out(order: Order, pipeline: Pipeline, begun: Callable[[], Any] = lambda: None) -> bool:
    """Asks where something ends, sends the order and waits until it is so. `begun` is called before the wait. False:
    the visitor said no."""
    name = shown_name(pipeline)
    if order is Order.STOP and not await _is_sure(pipeline):
        return False
    begun()
    await pipelines(platform().kafka).order(order, pipeline.application)
    done = {
        Order.PAUSE: t("{name} is paused.", name=name),
        Order.RESUME: t("{name} goes on.", name=name),
        Order.STOP: t("{name} has stopped.", name=name),
    }
    notify_success(done[order])
    return True


async def _is_sure(pipeline: Pipeline) -> bool:
    name = shown_name(pipeline)
    if pipeline.leader.origin.get("kind") == "ksql":
        what = t(
            "The query {query} is terminated: its state and internal topics are deleted. What it has written stays.",
            query=name,
        )
        return await confirm_by_name(name, what, t("Terminate"))
    return await confirm(
        t("Stop {name}?", name=name),
        t("Its process finishes what it has begun, commits and leaves. It can only be started again where it runs."),
        t("Stop"),
        danger=True,
    )
