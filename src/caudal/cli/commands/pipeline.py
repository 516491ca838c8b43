"""`caudal pipeline list / describe / pause / resume / stop`: the Spark pipelines of a cluster, wherever they run.

What is shown is what they report to a topic (caudal.pipelines); an order is a record on another, and its effect is
waited for.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caudal.cli.clients import (
    DEFAULT_BOOTSTRAP,
    AsJson,
    Bootstrap,
    ClientProperties,
    check_reachable,
    client_config,
    request_failed,
)
from caudal.cli.errors import CliError
from caudal.cli.output import bytes_text, print_json, print_table

if TYPE_CHECKING:
    from caudal.pipelines.board import Board, Instance, Pipeline
    from caudal.pipelines.records import Order

pipeline = typer.Typer(help="Watch, pause, resume and stop running pipelines.", no_args_is_help=True)

WAIT_SECONDS = 60.0
READ_SECONDS = 15.0

Name = Annotated[str, typer.Argument(metavar="APPLICATION")]
InstanceFlag = Annotated[
    str | None, typer.Option("--instance", metavar="ID", help="Only this instance; `describe` shows them.")
]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Give the order and leave.")]


def register(app: typer.Typer) -> None:
    app.add_typer(pipeline, name="pipeline")


@pipeline.command("list")
def list_pipelines(
    as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, properties: ClientProperties = None
) -> None:
    """List the pipelines, their states and how fast they are."""
    board, now = _board(bootstrap, properties), _now()
    found = board.pipelines(now)
    if as_json:
        print_json([_summary(one, now) for one in found])
        return
    rows = []
    for one in found:
        summary = _summary(one, now)
        rows.append(
            [
                summary["application"],
                summary["origin"],
                summary["state"],
                _rounded(summary["in_per_second"]),
                _rounded(summary["out_per_second"]),
                _rounded(summary["latency_ms"]),
                summary["lag"],
                summary["state_rows"],
                len(one.instances),
            ]
        )
    print_table(
        ["APPLICATION", "ORIGIN", "STATE", "IN/S", "OUT/S", "LATENCY MS", "LAG", "STATE ROWS", "INSTANCES"],
        rows,
        empty="no pipelines; `caudal run app.py` starts one, and so does CREATE … AS SELECT in `caudal ksql`",
    )


@pipeline.command()
def describe(
    application: Name,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """Topology, instances and figures of a pipeline."""
    now = _now()
    found = _found(_board(bootstrap, properties), application, now)
    if as_json:
        instances = [
            {"instance": one.id, "state": one.state(now), "seen": one.seen, "about": one.about, "figures": one.figures}
            for one in found.instances
        ]
        print_json({"application": found.application, "state": found.state(now), "instances": instances})
        return
    _print_instance(found.leader, now)
    if len(found.instances) > 1:
        print()
        rows = [(one.id, one.state(now), one.about.get("host"), one.about.get("pid")) for one in found.instances]
        print_table(["INSTANCE", "STATE", "HOST", "PID"], rows)
    print()
    print(found.leader.about.get("description", ""), end="")


@pipeline.command()
def pause(
    application: Name,
    instance: InstanceFlag = None,
    no_wait: NoWait = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """Let a pipeline commit and read no more; its process and its offsets stay."""
    _order("pause", application, instance, no_wait, as_json, bootstrap, properties)


@pipeline.command()
def resume(
    application: Name,
    instance: InstanceFlag = None,
    no_wait: NoWait = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """Let a paused pipeline go on where it stopped."""
    _order("resume", application, instance, no_wait, as_json, bootstrap, properties)


@pipeline.command()
def stop(
    application: Name,
    instance: InstanceFlag = None,
    no_wait: NoWait = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """End a pipeline: `caudal run` leaves in good order, a query of KSQL is terminated."""
    _order("stop", application, instance, no_wait, as_json, bootstrap, properties)


# -- orders ----------------------------------------------------------------------------------------------------------


def _order(
    name: str,
    application: str,
    instance: str | None,
    no_wait: bool,
    as_json: bool,
    bootstrap: str,
    properties: list[str] | None,
) -> None:
    from confluent_kafka import KafkaException

    from caudal.pipelines.control import send
    from caudal.pipelines.reader import BoardReader
    from caudal.pipelines.records import Command, Order

    connection = _connection(bootstrap, properties)
    reader = BoardReader(connection)
    try:
        _catch_up(reader, bootstrap)
        order = Order(name)
        concerned = _concerned(_found(reader.board, application, _now()), instance, order)
        try:
            send(connection, Command(order, application, instance))
        except (KafkaException, TimeoutError) as error:
            raise request_failed(error, bootstrap, f"'{application}' cannot be told to {name}") from None
        state = "asked" if no_wait else _wait(reader, application, concerned, order)
    finally:
        reader.close()
    if as_json:
        print_json({"application": application, "command": name, "state": state})
    else:
        print(f"{application}: {state}")


def _concerned(found: Pipeline, instance: str | None, order: Order) -> set[str]:
    """The instances that are to obey."""
    now = _now()
    living = [one for one in found.instances if one.state(now) not in ("GONE", "ERROR", "STOPPED")]
    if instance is not None:
        living = [one for one in living if one.id == instance]
    if not living and not (order.value == "resume" and found.leader.origin.get("kind") == "ksql"):
        which = f"instance '{instance}' of it" if instance is not None else "instance of it"
        raise CliError(f"'{found.application}' is {found.state(now)}: no {which} is there to obey")
    refusing = [one for one in living if not one.takes_orders]
    if refusing and refusing[0].origin.get("kind") == "connect":
        name = refusing[0].origin.get("connector")
        raise CliError(f"'{found.application}' is a connector: use `caudal connector {order.value} {name}`")
    if refusing:
        raise CliError(
            f"'{found.application}' takes no orders: it was started with CAUDAL_PIPELINES=read-only; stop or pause it "
            f"on {refusing[0].about.get('host')}, process {refusing[0].about.get('pid')}"
        )
    return {one.id for one in living}


def _wait(reader: Any, application: str, concerned: set[str], order: Order) -> str:
    """Until the reports show it; the state then."""
    wanted = {"pause": {"PAUSED", "STANDBY"}, "resume": {"RUNNING", "STANDBY"}, "stop": set[str]()}[order.value]
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        reader.read(0.2)
        found = reader.board.pipeline(application, _now())
        instances = [one for one in found.instances if one.id in concerned] if found is not None else []
        states = {one.state(_now()) for one in instances}
        if "ERROR" in states:
            failed = next(one for one in instances if one.state(_now()) == "ERROR")
            raise CliError(f"'{application}' failed: {str(failed.figures.get('failure')).rstrip('.')}")
        if order.value == "stop" and not instances:
            return "STOPPED"
        if states and states <= wanted:
            return found.state(_now()) if found is not None else "STOPPED"
    raise CliError(f"'{application}' has not followed in {WAIT_SECONDS:.0f} s; `caudal pipeline describe` shows it")


# -- what is shown ---------------------------------------------------------------------------------------------------


def _connection(bootstrap: str, properties: list[str] | None) -> dict[str, Any]:
    config = client_config(bootstrap, properties)
    check_reachable(config["bootstrap.servers"])
    return config


def _board(bootstrap: str, properties: list[str] | None) -> Board:
    from caudal.pipelines.reader import BoardReader

    reader = BoardReader(_connection(bootstrap, properties))
    try:
        _catch_up(reader, bootstrap)
    finally:
        reader.close()
    board: Board = reader.board
    return board


def _catch_up(reader: Any, bootstrap: str) -> None:
    from confluent_kafka import KafkaException

    try:
        reader.catch_up(READ_SECONDS)
    except (KafkaException, TimeoutError) as error:
        raise request_failed(error, bootstrap, "the reports of pipelines cannot be read") from None


def _found(board: Board, application: str, now: int) -> Pipeline:
    found = board.pipeline(application, now)
    if found is None:
        raise CliError(f"there is no pipeline '{application}'; `caudal pipeline list` shows what runs")
    return found


def _summary(found: Pipeline, now: int) -> dict[str, Any]:
    leader = found.leader
    figures = leader.figures
    rate = figures.get("rate") or {}
    return {
        "application": found.application,
        "origin": leader.origin.get("kind"),
        "state": found.state(now),
        "lane": leader.about.get("lane"),
        "mode": leader.about.get("mode"),
        "guarantee": leader.about.get("guarantee"),
        "in_per_second": rate.get("in"),
        "out_per_second": rate.get("out"),
        "latency_ms": (figures.get("latency_ms") or {}).get("p50"),
        "batch_seconds": (figures.get("batch_seconds") or {}).get("p50"),
        "lag": figures.get("lag"),
        "state_rows": figures.get("state_rows"),
        "failure": figures.get("failure"),
        "instances": [one.id for one in found.instances],
    }


def _print_instance(leader: Instance, now: int) -> None:
    about, figures = leader.about, leader.figures
    rate, spark = figures.get("rate") or {}, about.get("spark") or {}
    origin = leader.origin
    lines = [
        ("application", leader.application),
        ("origin", " ".join(str(origin[key]) for key in ("kind", "program", "query") if origin.get(key))),
        ("state", leader.state(now)),
        ("failure", figures.get("failure")),
        ("lane", f"{about.get('lane')}: {about.get('why')}"),
        ("mode", f"{about.get('mode')}, {about.get('guarantee')}"),
        ("runs on", f"{about.get('host')}, process {about.get('pid')}"),
        ("spark", spark.get("master")),
        ("spark ui", spark.get("ui")),
        ("in", f"{_rounded(rate.get('in'))}/s, {figures.get('in', 0)} in all"),
        ("out", f"{_rounded(rate.get('out'))}/s, {figures.get('out', 0)} in all"),
        ("commits", figures.get("commits")),
        ("lag", figures.get("lag")),
        ("stores", f"{figures.get('state_rows', 0)} rows, {bytes_text(figures.get('state_bytes') or 0)}"),
        ("restarts", figures.get("restarts")),
        ("last trouble", figures.get("last_trouble")),
    ]
    for name, value in lines:
        if value is not None:
            print(f"{name + ':':<14}{value}")


def _rounded(value: Any) -> str | None:
    return None if value is None else f"{value:.0f}"


def _now() -> int:
    return int(time.time() * 1000)
