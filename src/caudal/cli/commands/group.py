"""`caudal group list / describe / reset / delete`, through confluent-kafka's admin client.

`reset` shows what it would do and changes nothing without --execute. Members of a running group own its offsets, so
an active group is refused.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caudal.cli import live_values
from caudal.cli.asking import Yes, confirm
from caudal.cli.clients import (
    DEFAULT_BOOTSTRAP,
    REQUEST_SECONDS,
    AsJson,
    Bootstrap,
    ClientProperties,
    GroupName,
    GroupNames,
    admin_client,
    cluster_metadata,
    no_group,
    no_topic,
    request_failed,
    result_of,
)
from caudal.cli.errors import NOT_FOUND, CliError, UsageError
from caudal.cli.offset_reset import Place, Target, plan_moves
from caudal.cli.output import print_heading, print_json, print_table
from caudal.cli.times import parse_time

if TYPE_CHECKING:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

group = typer.Typer(help="List, describe, rewind and delete consumer groups.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="group")


@group.command("list")
def list_groups(
    as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, properties: ClientProperties = None
) -> None:
    """List the groups and their states."""
    admin = admin_client(bootstrap, properties)
    listing = result_of(admin.list_consumer_groups(request_timeout=REQUEST_SECONDS), bootstrap)
    if listing.errors:
        raise CliError(f"some brokers did not list their groups: {listing.errors[0]}")
    rows = [
        {"group": entry.group_id, "state": _name(entry.state), "type": _name(entry.type)}
        for entry in sorted(listing.valid, key=lambda entry: str(entry.group_id))
    ]
    if as_json:
        print_json(rows)
    else:
        print_table(
            ["GROUP", "STATE", "TYPE"],
            [list(row.values()) for row in rows],
            empty="no groups; `caudal consume TOPIC -G NAME` makes one",
        )


@group.command()
def describe(
    names: GroupNames,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """Show state, members, committed offsets and lag of groups."""
    admin = admin_client(bootstrap, properties)
    documents = [_describe(admin, bootstrap, name) for name in names]
    if as_json:
        print_json(documents if len(documents) > 1 else documents[0])
        return
    for position, document in enumerate(documents):
        if position:
            print()
        _print_group(document)


def _describe(admin: AdminClient, bootstrap: str, name: str) -> dict[str, Any]:
    description = result_of(
        admin.describe_consumer_groups([name], request_timeout=REQUEST_SECONDS)[name], bootstrap, f"group '{name}'"
    )
    members: list[dict[str, Any]] = []
    owners: dict[Place, dict[str, Any]] = {}
    for member in description.members:
        assigned = [
            (place.topic, place.partition)
            for place in (member.assignment.topic_partitions if member.assignment else ())
        ]
        entry = {
            "member_id": member.member_id,
            "instance_id": member.group_instance_id,
            "client_id": member.client_id,
            "host": member.host,
            "partitions": [f"{topic}-{partition}" for topic, partition in sorted(assigned)],
        }
        members.append(entry)
        owners.update(dict.fromkeys(assigned, entry))
    committed = _committed(admin, bootstrap, name)
    if _name(description.state) == "dead" and not committed and not members:
        raise no_group(name, admin, bootstrap)
    places = sorted(committed.keys() | owners.keys())
    ends = _offsets(admin, bootstrap, places, "latest")
    rows = []
    for topic, partition in places:
        offset, end = committed.get((topic, partition)), ends.get((topic, partition))
        owner = owners.get((topic, partition))
        rows.append(
            {
                "topic": topic,
                "partition": partition,
                "committed": offset,
                "end": end,
                "lag": max(0, end - offset) if offset is not None and end is not None else None,
                "member_id": owner["member_id"] if owner else None,
                "client_id": owner["client_id"] if owner else None,
            }
        )
    return {
        "group": name,
        "state": _name(description.state),
        "type": _name(description.type),
        "assignor": description.partition_assignor or None,
        "coordinator": description.coordinator.id if description.coordinator else None,
        "lag": sum(row["lag"] or 0 for row in rows),
        "offsets": rows,
        "members": members,
    }


def _print_group(document: dict[str, Any]) -> None:
    assignor = f"  assignor {document['assignor']}" if document["assignor"] else ""
    print_heading(
        f"{document['group']}  {document['state']}  {len(document['members'])} members  lag {document['lag']}{assignor}"
    )
    print_table(
        ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "CLIENT", "MEMBER"],
        [
            [
                row["topic"],
                row["partition"],
                row["committed"],
                row["end"],
                row["lag"],
                row["client_id"],
                row["member_id"],
            ]
            for row in document["offsets"]
        ],
    )
    idle = [member for member in document["members"] if not member["partitions"]]
    for member in idle:
        print(f"without partitions: {member['client_id']} ({member['member_id']}) at {member['host']}")


@group.command()
def reset(
    name: GroupName,
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC[:P,P]",
            help="Only this topic, or these partitions. Repeatable.",
            autocompletion=live_values.topics,
        ),
    ] = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To the first record there is.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="Past the last record there is.")] = False,
    to_offset: Annotated[int | None, typer.Option("--to-offset", min=0, metavar="N", help="To this offset.")] = None,
    to_time: Annotated[
        str | None,
        typer.Option("--to-time", metavar="TIME", help="To the first record at or after: epoch ms, ISO 8601, or -10m."),
    ] = None,
    shift_by: Annotated[
        int | None, typer.Option("--shift-by", metavar="N", help="So many on, or back when negative.")
    ] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Do it; without this, only show it.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """Move a group's committed offsets. Shows the plan; --execute carries it out."""
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

    asked = [to_earliest, to_latest, to_offset is not None, to_time is not None, shift_by is not None]
    if sum(asked) != 1:
        raise UsageError("give exactly one of --to-earliest, --to-latest, --to-offset, --to-time, --shift-by")
    target = _target(to_earliest, to_offset, to_time, shift_by)
    admin = admin_client(bootstrap, properties)
    committed = _committed(admin, bootstrap, name)
    places = _chosen(admin, bootstrap, name, topics, committed)
    moves = plan_moves(
        target,
        places,
        committed=committed,
        earliest=_offsets(admin, bootstrap, places, "earliest"),
        latest=_offsets(admin, bootstrap, places, "latest"),
        at_time=_offsets(admin, bootstrap, places, target.value) if target.kind == "time" else {},
    )
    if not moves:
        raise CliError(f"the topics of group '{name}' are gone; there is nothing to reset")
    plan = [
        {
            "topic": move.topic,
            "partition": move.partition,
            "committed": move.committed,
            "new": move.new,
            "change": move.change,
        }
        for move in moves
    ]
    description = result_of(
        admin.describe_consumer_groups([name], request_timeout=REQUEST_SECONDS)[name], bootstrap, f"group '{name}'"
    )
    if execute:
        if description.members:
            raise CliError(
                f"group '{name}' has {len(description.members)} active members, which own its offsets; stop them first"
            )
        request = ConsumerGroupTopicPartitions(
            name, [TopicPartition(move.topic, move.partition, move.new) for move in moves]
        )
        done = result_of(
            admin.alter_consumer_group_offsets([request], request_timeout=REQUEST_SECONDS)[name],
            bootstrap,
            f"group '{name}' was not changed",
        )
        for place in done.topic_partitions:
            if place.error is not None:
                raise CliError(
                    f"{place.topic}-{place.partition} of group '{name}' was not changed: {place.error.str()}"
                )
    if as_json:
        print_json({"group": name, "executed": execute, "offsets": plan})
        return
    print_table(["TOPIC", "PARTITION", "COMMITTED", "NEW", "CHANGE"], [list(row.values()) for row in plan])
    if execute:
        print(f"group {name} is reset")
    else:
        active = f" (refused while its {len(description.members)} members are active)" if description.members else ""
        print(f"nothing was changed: add --execute to do this{active}", file=sys.stderr)


def _target(to_earliest: bool, to_offset: int | None, to_time: str | None, shift_by: int | None) -> Target:
    """Of the flags, of which exactly one is given; the last that is left is --to-latest."""
    if to_offset is not None:
        return Target("offset", to_offset)
    if to_time is not None:
        return Target("time", parse_time(to_time))
    if shift_by is not None:
        return Target("shift", shift_by)
    return Target("earliest" if to_earliest else "latest")


def _chosen(
    admin: AdminClient, bootstrap: str, name: str, topics: list[str] | None, committed: dict[Place, int]
) -> list[Place]:
    """The partitions to reset: those asked for, or all that the group has committed."""
    if not topics:
        if not committed:
            raise CliError(f"group '{name}' has committed no offsets; name the topics with --topic")
        return sorted(committed)
    known = cluster_metadata(admin, bootstrap).topics
    places: set[Place] = set()
    for text in topics:
        topic, colon, numbers = text.partition(":")
        if topic not in known:
            raise no_topic(topic, admin, bootstrap)
        if not colon:
            places.update((topic, partition) for partition in known[topic].partitions)
            continue
        for number in numbers.split(","):
            if not number.isdigit():
                raise UsageError(f"'{text}' is not TOPIC or TOPIC:PARTITION,PARTITION")
            if int(number) not in known[topic].partitions:
                raise CliError(f"topic '{topic}' has no partition {number}")
            places.add((topic, int(number)))
    return sorted(places)


@group.command()
def delete(
    names: GroupNames,
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """Delete groups that have no members, with their committed offsets."""
    admin = admin_client(bootstrap, properties)
    confirm(f"Delete {', '.join(names)} and the committed offsets?", yes)
    failures: list[CliError] = []
    for name, future in admin.delete_consumer_groups(names, request_timeout=REQUEST_SECONDS).items():
        try:
            result_of(future, bootstrap, f"group '{name}' was not deleted")
            print(f"deleted group {name}")
        except CliError as error:
            failures.append(no_group(name, admin, bootstrap) if error.exit_code == NOT_FOUND else error)
    for failure in failures[:-1]:
        print(f"caudal: {failure.message}", file=sys.stderr)
    if failures:
        raise failures[-1]


def _committed(admin: AdminClient, bootstrap: str, name: str) -> dict[Place, int]:
    from confluent_kafka import ConsumerGroupTopicPartitions

    request = [ConsumerGroupTopicPartitions(name)]
    answer = result_of(
        admin.list_consumer_group_offsets(request, request_timeout=REQUEST_SECONDS)[name], bootstrap, f"group '{name}'"
    )
    return {(place.topic, place.partition): place.offset for place in answer.topic_partitions if place.offset >= 0}


def _offsets(admin: AdminClient, bootstrap: str, places: list[Place], where: str | int) -> dict[Place, int]:
    """earliest, latest or by-time offsets; a partition that no longer exists is left out (its topic was deleted)."""
    from confluent_kafka import KafkaError, KafkaException, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    if not places:
        return {}
    if isinstance(where, int):
        spec = OffsetSpec.for_timestamp(where)
    else:
        spec = OffsetSpec.earliest() if where == "earliest" else OffsetSpec.latest()
    wanted: dict[TopicPartition, Any] = {TopicPartition(*place): spec for place in places}
    found: dict[Place, int] = {}
    gone = {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._NOENT,
    }
    for place, future in admin.list_offsets(wanted, request_timeout=REQUEST_SECONDS).items():
        try:
            found[place.topic, place.partition] = future.result(REQUEST_SECONDS + 1).offset
        except KafkaException as error:
            if error.args[0].code() not in gone:
                raise request_failed(error, bootstrap, f"{place.topic}-{place.partition}") from None
    return found


def _name(value: Any) -> str:
    """An enum of confluent-kafka in lower case with blanks: `preparing rebalance`."""
    text = getattr(value, "name", None) or str(value)
    return str(text).lower().replace("_", " ")
