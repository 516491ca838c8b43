"""`caudal connector create / list / status / describe / config / pause / … / new`, over the REST API.

It works with any worker that speaks that API, Apache Kafka's included; `plugins` shows more of ours.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from caudal.cli import live_values
from caudal.cli.asking import Yes, confirm
from caudal.cli.clients import AsJson, key_values
from caudal.cli.connect_access import DEFAULT_CONNECT, Connect, Refused, connect_client
from caudal.cli.connector_files import read_connector, read_offsets
from caudal.cli.connector_text import (
    has_failed,
    print_keys,
    print_offsets,
    print_status,
    short_class,
    summary,
    validation_errors,
    without_framework_keys,
)
from caudal.cli.connector_wait import wait_until_it_runs
from caudal.cli.errors import CliError, UsageError
from caudal.cli.output import print_heading, print_json, print_table

connector = typer.Typer(help="Create, watch, change and delete the connectors of Connect.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", autocompletion=live_values.connectors)]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", autocompletion=live_values.connectors)]
File = Annotated[
    str | None,
    typer.Argument(metavar="[FILE]", help="A .properties or .json file, or - for stdin.", show_default=False),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="A property; wins over the file. Repeatable."),
]


def register(app: typer.Typer) -> None:
    app.add_typer(connector, name="connector")


@connector.command()
def create(
    file: File = None,
    settings: Settings = None,
    name: Annotated[str | None, typer.Option("--name", "-n", help="Its name, whatever the file says.")] = None,
    state: Annotated[
        str | None, typer.Option("--state", metavar="STATE", help="running, paused or stopped to begin with.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Change the one that has this name already.")] = False,
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", min=0, help="Until all of its tasks run, or one has failed.")
    ] = 0,
    as_json: AsJson = False,
    connect: Connect = DEFAULT_CONNECT,
) -> None:
    """Create a connector from a file or from --set KEY=VALUE."""
    if file is None and not settings:
        raise UsageError("give a file, - for stdin, or --set KEY=VALUE")
    given = read_connector(file, settings, name)
    initial = state or given.initial_state
    if replace and state is not None:
        raise UsageError("--state is for new connectors; use `caudal connector pause` or `stop`")
    with connect_client(connect) as client:
        try:
            if replace:
                made = client.of(given.name, "/config", "PUT", given.config)
            else:
                body = {"name": given.name, "config": given.config}
                made = client.ask("POST", "/connectors", {**body, "initial_state": initial} if initial else body)
        except Refused as error:
            raise _explained(error, given.name) from None
        if wait and has_failed(wait_until_it_runs(client, given.name, wait)):
            raise CliError(f"{given.name} has failed; `caudal connector status {given.name}` says why")
    if as_json:
        print_json(made)
    else:
        print(f"{'changed' if replace else 'created'} connector {made['name']}")


@connector.command("list")
def list_connectors(as_json: AsJson = False, connect: Connect = DEFAULT_CONNECT) -> None:
    """List the connectors with their state and tasks."""
    with connect_client(connect) as client:
        known = client.ask("GET", "/connectors", expand=["status", "info"])
    rows = [summary(name, each) for name, each in sorted(known.items())]
    if as_json:
        print_json(rows)
        return
    print_table(
        ["NAME", "TYPE", "CLASS", "STATE", "RUNNING", "FAILED", "WORKER"],
        [
            [
                row["name"], row["type"], row["class"], row["state"], f"{row['running']}/{row['tasks']}",
                row["failed"], row["worker"],
            ]
            for row in rows
        ],
        empty="no connectors; create one with `caudal connector create FILE`",
    )  # fmt: skip


@connector.command()
def status(
    name: Name,
    trace: Annotated[bool, typer.Option("--trace", help="Whole stack traces of what failed.")] = False,
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", min=0, help="Until all of its tasks run, or one has failed.")
    ] = 0,
    as_json: AsJson = False,
    connect: Connect = DEFAULT_CONNECT,
) -> None:
    """Show the state of a connector and its tasks. Exit code 1 when something of it has failed."""
    with connect_client(connect) as client:
        found = wait_until_it_runs(client, name, wait) if wait else client.of(name, "/status")
    if as_json:
        print_json(found)
    else:
        print_status(found, trace)
    if has_failed(found):
        raise typer.Exit(1)


@connector.command()
def describe(name: Name, as_json: AsJson = False, connect: Connect = DEFAULT_CONNECT) -> None:
    """Show all there is to know about a connector: state, configuration, topics and offsets."""
    with connect_client(connect) as client:
        info, state = client.of(name), client.of(name, "/status")
        topics = client.of(name, "/topics")[name]["topics"]
        offsets = client.of(name, "/offsets")["offsets"]
    if as_json:
        print_json({**info, "status": state, "topics": topics, "offsets": offsets})
        return
    print_status(state, whole_traces=False)
    print()
    print_heading("Configuration")
    for key, value in sorted(info["config"].items()):
        print(f"  {key}={value}")
    print(f"\nTopics: {', '.join(topics) or '-'}\n")
    print_offsets(offsets)


@connector.command()
def config(
    name: Name,
    settings: Settings = None,
    unset: Annotated[list[str] | None, typer.Option("--unset", metavar="KEY", help="Back to its default.")] = None,
    as_json: AsJson = False,
    connect: Connect = DEFAULT_CONNECT,
) -> None:
    """Show the configuration of a connector as a .properties file, or change some of it."""
    patch: dict[str, Any] = {**key_values(settings, "--set"), **dict.fromkeys(unset or ())}
    with connect_client(connect) as client:
        if patch:
            try:
                found = client.of(name, "/config", "PATCH", patch)["config"]
            except Refused as error:
                raise _explained(error, name) from None
        else:
            found = client.of(name, "/config")
    if as_json:
        print_json(found)
        return
    from caudal.broker.config.properties_file import format_properties

    sys.stdout.write(format_properties(dict(sorted(found.items()))))


@connector.command()
def pause(names: Names, connect: Connect = DEFAULT_CONNECT) -> None:
    """Pause connectors: their tasks stay, and do nothing."""
    _each(connect, names, "/pause", "PUT", "pauses")


@connector.command()
def resume(names: Names, connect: Connect = DEFAULT_CONNECT) -> None:
    """Let connectors go on that were paused or stopped."""
    _each(connect, names, "/resume", "PUT", "goes on")


@connector.command()
def stop(names: Names, connect: Connect = DEFAULT_CONNECT) -> None:
    """Stop connectors: their tasks are given up, and their offsets can be changed."""
    _each(connect, names, "/stop", "PUT", "stops")


@connector.command()
def restart(
    name: Name,
    tasks: Annotated[bool, typer.Option("--tasks", help="Its tasks too.")] = False,
    only_failed: Annotated[bool, typer.Option("--only-failed", help="Only what has failed.")] = False,
    task: Annotated[int | None, typer.Option("--task", min=0, help="One task, and not the connector.")] = None,
    as_json: AsJson = False,
    connect: Connect = DEFAULT_CONNECT,
) -> None:
    """Restart a connector, its tasks, or what has failed of them."""
    if task is not None and (tasks or only_failed):
        raise UsageError("--task N restarts one task; leave --tasks and --only-failed out")
    with connect_client(connect) as client:
        if task is not None:
            plan = client.of(name, f"/tasks/{task}/restart", "POST")
        else:
            query = {"includeTasks": str(tasks).lower(), "onlyFailed": str(only_failed).lower()}
            plan = client.of(name, "/restart", "POST", **query)
    if as_json:
        print_json(plan)
    elif plan is None:
        print(f"{name}{'' if task is None else f', task {task},'} restarts")
    else:
        parts = [plan["connector"]["state"], *(each["state"] for each in plan.get("tasks", ()))]
        print(f"{name}: {parts.count('RESTARTING')} of {len(parts)} parts restart")


@connector.command()
def delete(
    names: Names,
    yes: Yes = False,
    connect: Connect = DEFAULT_CONNECT,
) -> None:
    """Delete connectors. Their topics and offsets stay. Asks first when a person is at the keyboard."""
    confirm(f"Delete {', '.join(names)}?", yes)
    _each(connect, names, "", "DELETE", "is deleted")


@connector.command()
def plugins(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="What this one can be told.",
            show_default=False,
            autocompletion=live_values.plugins,
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", "-a", help="Converters, transforms and predicates too; with a name, all its keys."),
    ] = False,
    as_json: AsJson = False,
    connect: Connect = DEFAULT_CONNECT,
) -> None:
    """List the connectors that are installed, or what one of them can be told."""
    with connect_client(connect) as client:
        if name is not None:
            keys = client.ask("GET", f"/connector-plugins/{quote(name, safe='')}/config")
            if not everything:
                keys = without_framework_keys(keys)
            print_json(keys) if as_json else print_keys(keys)
            return
        query = {"connectorsOnly": str(not everything).lower(), "detail": "true"}
        found = client.ask("GET", "/connector-plugins", **query)
    if as_json:
        print_json(found)
        return
    print_table(
        ["NAME", "TYPE", "VERSION", "WHAT IT DOES", "DELIVERY"],
        [
            [
                each.get("name") or short_class(each["class"]), each["type"], each.get("version"),
                each.get("documentation", ""), each.get("delivery") or "",
            ]
            for each in found
            if each["type"] != "broken"
        ],
    )  # fmt: skip
    for each in found:
        if each["type"] == "broken":
            print(f"{each['class']} cannot be used: {each['error']}", file=sys.stderr)


@connector.command()
def validate(
    file: File = None, settings: Settings = None, as_json: AsJson = False, connect: Connect = DEFAULT_CONNECT
) -> None:
    """Check a configuration, key by key, without creating anything. Exit code 1 when something is wrong."""
    if file is None and not settings:
        raise UsageError("give a file, - for stdin, or --set KEY=VALUE")
    given = read_connector(file, settings)
    plugin = quote(str(given.config["connector.class"]), safe="")
    with connect_client(connect) as client:
        answer = client.ask("PUT", f"/connector-plugins/{plugin}/config/validate", given.config)
    errors = validation_errors(answer)
    if as_json:
        print_json(answer)
        if errors:
            raise typer.Exit(1)
        return
    for key, error in errors:
        print(f"{key}: {error}", file=sys.stderr)
    if errors:
        raise CliError(f"{given.name}: {len(errors)} thing{'s are' if len(errors) > 1 else ' is'} wrong")
    print(f"{given.name} is right")


@connector.command()
def offsets(
    name: Name,
    reset: Annotated[bool, typer.Option("--reset", help="Begin anew; the connector must be stopped.")] = False,
    change: Annotated[
        str | None,
        typer.Option("--set", metavar="JSON|FILE", help='[{"partition": {…}, "offset": {…}}]; it must be stopped.'),
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
    connect: Connect = DEFAULT_CONNECT,
) -> None:
    """Show how far a connector is, or change it. To change it, stop the connector first.

    Asks before a change when a person is at the keyboard.
    """
    if reset and change is not None:
        raise UsageError("give --reset or --set, not both")
    body = read_offsets(change) if change is not None else None
    if reset or body is not None:
        confirm(f"{'Reset' if reset else 'Change'} the offsets of {name}?", yes, "nothing was changed")
    with connect_client(connect) as client:
        if reset or body is not None:
            answer = client.of(name, "/offsets", "DELETE" if reset else "PATCH", body)
            print_json(answer) if as_json else print(answer["message"])
            return
        found = client.of(name, "/offsets")
    if as_json:
        print_json(found)
    else:
        print_offsets(found["offsets"])


@connector.command()
def topics(
    name: Name,
    reset: Annotated[bool, typer.Option("--reset", help="Forget them; they are noted anew.")] = False,
    as_json: AsJson = False,
    connect: Connect = DEFAULT_CONNECT,
) -> None:
    """Show the topics that a connector has used."""
    with connect_client(connect) as client:
        if reset:
            client.of(name, "/topics/reset", "PUT")
        found = client.of(name, "/topics")[name]["topics"]
    if as_json:
        print_json(found)
    else:
        for topic in found:
            print(topic)


@connector.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the package, such as acme-orders.")],
    source: Annotated[bool, typer.Option("--source", help="It brings data into topics.")] = False,
    sink: Annotated[bool, typer.Option("--sink", help="It takes data out of topics.")] = False,
    folder: Annotated[Path, typer.Option("--dir", help="Where the package's folder is made.")] = Path(),
) -> None:
    """Begin a connector of your own: a small package with a test that passes."""
    from caudal.cli.connector_scaffold import scaffold

    if source == sink:
        raise UsageError("give --source or --sink")
    place, files = scaffold(name, "source" if source else "sink", folder)
    for file in files:
        print(file)
    print(f"\nNow: cd {place} && python -m pytest; then pip install -e . and restart the worker")


def _each(url: str, names: list[str], rest: str, method: str, what: str) -> None:
    with connect_client(url) as client:
        for name in names:
            client.of(name, rest, method)
            print(f"{name} {what}")


def _explained(error: Refused, name: str) -> CliError:
    """Every reason on a line of its own, then one that sums up."""
    if error.status != 400 or len(error.lines) < 2:
        return error
    reasons = [line for line in error.lines[1:] if not line.startswith("You can also find")]
    for line in reasons:
        print(line, file=sys.stderr)
    count = f"{len(reasons)} thing{'s are' if len(reasons) > 1 else ' is'}"
    return CliError(f"{name} was not accepted: {count} wrong with its configuration")
