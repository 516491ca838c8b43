"""`caudal cluster profile / mirror / promote`: several clusters by name, one of them the primary."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from caudal.cli import live_values, profiles
from caudal.cli.asking import Yes, confirm
from caudal.cli.clients import AsJson, key_values, parse_address
from caudal.cli.errors import SOMETHING_LEFT, CliError, UsageError
from caudal.cli.output import print_json, print_table
from caudal.cli.profiles import Profile

cluster = typer.Typer(help="Name clusters, mirror one to another, make a copy the primary.", no_args_is_help=True)
profile = typer.Typer(help="Names for clusters: what --cluster takes.", no_args_is_help=True)
cluster.add_typer(profile, name="profile")

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of the cluster.", autocompletion=live_values.profile_names)
]
Properties = Annotated[
    list[str] | None,
    typer.Option("-c", "-X", metavar="PROP=VALUE", help="A property of its clients (librdkafka's). Repeatable."),
]


def register(app: typer.Typer) -> None:
    app.add_typer(cluster, name="cluster")


@profile.command("add")
def add(
    name: Name,
    bootstrap: Annotated[str, typer.Option("--bootstrap", "-b", metavar="HOST:PORT", help="Its brokers.")],
    registry: Annotated[str | None, typer.Option("--registry", metavar="URL", help="Its Schema Registry.")] = None,
    connect: Annotated[str | None, typer.Option("--connect", metavar="URL", help="A worker of its Connect.")] = None,
    ksql: Annotated[str | None, typer.Option("--ksql", metavar="URL", help="Its KSQL server.")] = None,
    primary: Annotated[bool, typer.Option("--primary", help="Make it the primary; the first one is anyway.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Instead of the one that has this name.")] = False,
    properties: Properties = None,
) -> None:
    """Add a cluster."""
    known = profiles.load()
    if profiles.check_name(name) in known.clusters and not replace:
        raise CliError(f"there is a cluster '{name}' already; --replace puts this one in its place")
    for address in bootstrap.split(","):
        parse_address(address)
    for flag, url in (("--registry", registry), ("--connect", connect), ("--ksql", ksql)):
        if url is not None and not url.startswith(("http://", "https://")):
            raise UsageError(f"{flag} takes a URL, such as http://localhost:8083, not '{url}'")
    added = Profile(name, bootstrap, registry, connect, ksql, key_values(properties, "-c"))
    changed = known.with_profile(added, primary)
    profiles.save(changed)
    print(f"{name} is {'the primary' if changed.primary == name else 'added'}")


@profile.command("list")
def list_profiles(as_json: AsJson = False) -> None:
    """List the clusters; the primary has a star."""
    known = profiles.load()
    rows = [known.clusters[name] for name in sorted(known.clusters)]
    if as_json:
        print_json([{**one.shown(), "primary": one.name == known.primary} for one in rows])
        return
    print_table(
        ["", "NAME", "BOOTSTRAP", "REGISTRY", "CONNECT", "KSQL"],
        [
            ["*" if one.name == known.primary else "", one.name, one.bootstrap, one.registry, one.connect, one.ksql]
            for one in rows
        ],
        empty="no clusters; `caudal cluster profile add NAME --bootstrap HOST:PORT` adds one",
    )


@profile.command("show")
def show(name: Name, as_json: AsJson = False) -> None:
    """Show a cluster; secrets are hidden."""
    known = profiles.load()
    found = {**known.get(name).shown(), "primary": name == known.primary}
    if as_json:
        print_json(found)
        return
    properties = found.pop("properties")
    for key, value in found.items():
        print(f"{key:<10} {'-' if value is None else value}")
    assert isinstance(properties, dict)
    for key, value in properties.items():
        print(f"  {key}={value}")


@profile.command("use")
def use(name: Name) -> None:
    """Make a cluster the primary: what commands mean when they are told no address."""
    profiles.save(profiles.load().with_primary(name))
    print(f"{name} is the primary")


@profile.command("remove")
def remove(name: Name, yes: Yes = False) -> None:
    """Forget a cluster. Nothing in the cluster itself is touched. Asks first when a person is at the keyboard."""
    left = profiles.load().without(name)
    confirm(f"Forget {name}, its addresses and its client properties?", yes)
    profiles.save(left)
    print(f"{name} is removed")


@cluster.command("mirror")
def mirror(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FROM",
            help="The profile of the cluster that is copied.",
            autocompletion=live_values.profile_names,
        ),
    ],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="The profile of the copy.", autocompletion=live_values.profile_names)
    ],
    topics: Annotated[str, typer.Option("--topics", help="Names and regular expressions, with commas.")] = ".*",
    groups: Annotated[str, typer.Option("--groups", help="Groups whose offsets are translated.")] = ".*",
    keep_names: Annotated[
        bool, typer.Option("--keep-names/--prefix-names", help="Copies are named as the original, or FROM.original.")
    ] = True,
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="How many tasks copy records, at most.")] = 2,
    offset_lag_max: Annotated[
        int, typer.Option("--offset-lag-max", min=0, help="Records between two offset syncs, at most.")
    ] = 100,
    create: Annotated[bool, typer.Option("--create", help="Create the connectors on TO's Connect.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="Write a file for each connector there.")
    ] = None,
    properties: Annotated[
        list[str] | None, typer.Option("-c", metavar="KEY=VALUE", help="A property of all three connectors.")
    ] = None,
) -> None:
    """Print, write or create the three connectors of a mirror: records, group offsets, heartbeats."""
    from caudal.cli.mirror_connectors import mirror_configs

    known = profiles.load()
    if source == target:
        raise UsageError("a cluster is not mirrored to itself")
    configs = mirror_configs(
        known.get(source),
        known.get(target),
        topics,
        groups,
        keep_names=keep_names,
        tasks=tasks,
        offset_lag_max=offset_lag_max,
        more=key_values(properties, "-c"),
    )
    if output is not None:
        _write(configs, output)
    if create:
        _create(configs, known.get(target))
    if output is None and not create:
        shown = [profiles.without_secrets(config) for config in configs]
        print_json(shown)
        if shown != configs:
            print(
                "secrets are hidden here; -o FOLDER writes files that have them, --create sends them", file=sys.stderr
            )


def _write(configs: list[dict[str, str]], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for config in configs:
            file = folder / f"{config['name']}.json"
            file.touch(mode=0o600)  # client properties may hold a password
            file.write_text(json.dumps(config, indent=2) + "\n")
            print(file)
    except OSError as error:
        raise CliError(f"{folder} cannot be written: {error.strerror}") from None


def _create(configs: list[dict[str, str]], target: Profile) -> None:
    from caudal.cli.connect_access import connect_client

    if target.connect is None:
        raise CliError(
            f"the profile '{target.name}' has no Connect; add it with: caudal cluster profile add {target.name} "
            f"--replace --bootstrap {target.bootstrap} --connect URL"
        )
    with connect_client(target.connect) as client:
        for config in configs:
            client.ask("PUT", f"/connectors/{config['name']}/config", config)
            print(f"the connector {config['name']} runs on {target.connect}")


@cluster.command("promote")
def promote(
    name: Name,
    force: Annotated[
        bool, typer.Option("--force", help="Although the cluster that it copies still answers, or it is no copy.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a copy the primary: stop its mirrors, translate group offsets a last time, mark it.

    Exit code 0: all done. 3: it is the primary, and something is left to do. 1: nothing was changed.
    """
    from dataclasses import asdict

    from caudal.cli import promotion

    def agreed(question: str) -> bool:
        return not as_json and sys.stdin.isatty() and typer.confirm(question, err=True)

    result = promotion.promote(name, force, agreed)
    if as_json:
        print_json({**asdict(result), "primary": True})
    else:
        for text in result.done:
            print(text)
        for text in result.notes:
            print(f"note: {text}")
        for text in result.left:
            print(f"left to do: {text}", file=sys.stderr)
    if result.left:
        raise typer.Exit(SOMETHING_LEFT)
