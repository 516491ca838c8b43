"""`caudal topic create / list / describe / alter / delete`, through confluent-kafka's admin client.

Reassignment and placement come with the cluster.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caudal.cli.asking import Yes, confirm
from caudal.cli.clients import (
    DEFAULT_BOOTSTRAP,
    REQUEST_SECONDS,
    AsJson,
    Bootstrap,
    ClientProperties,
    TopicName,
    TopicNames,
    admin_client,
    cluster_metadata,
    key_values,
    no_topic,
    result_of,
)
from caudal.cli.errors import CliError, UsageError
from caudal.cli.output import print_heading, print_json, print_table

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

topic = typer.Typer(help="Create, list, describe, change and delete topics.", no_args_is_help=True)

Configs = Annotated[
    list[str] | None,
    typer.Option(
        "--config", "-c", metavar="KEY=VALUE", help="A topic property, such as retention.ms=60000. Repeatable."
    ),
]


def register(app: typer.Typer) -> None:
    app.add_typer(topic, name="topic")


@topic.command()
def create(
    names: Annotated[list[str], typer.Argument(metavar="NAME...")],
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, help="Default: the broker's num.partitions.")
    ] = None,
    replication: Annotated[
        int | None, typer.Option("--replication-factor", "-r", min=1, help="Default: the broker's.")
    ] = None,
    config: Configs = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="An existing topic is no error.")] = False,
    validate_only: Annotated[
        bool, typer.Option("--validate-only", help="Let the broker check, create nothing.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """Create topics."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import NewTopic

    from caudal.cli.clients import request_failed

    configs = key_values(config, "-c")
    admin = admin_client(bootstrap, properties)
    # -1 asks the broker for its own default of either number (Kafka 2.4 and later).
    new = [NewTopic(name, partitions or -1, replication or -1, config=configs) for name in names]
    verb = "would create" if validate_only else "created"
    failure: CliError | None = None
    for name, future in admin.create_topics(new, validate_only=validate_only, request_timeout=REQUEST_SECONDS).items():
        try:
            future.result(REQUEST_SECONDS + 1)
            print(f"{verb} topic {name}")
        except KafkaException as error:
            if if_not_exists and error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                print(f"topic {name} exists already")
                continue
            failure = _next_failure(failure, request_failed(error, bootstrap, f"topic '{name}' was not created"))
    if failure:
        raise failure


@topic.command("list")
def list_topics(
    internal: Annotated[
        bool, typer.Option("--internal", "-i", help="Show the internal topics (__consumer_offsets, …) too.")
    ] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """List the topics."""
    admin = admin_client(bootstrap, properties)
    rows = []
    for name, metadata in sorted(cluster_metadata(admin, bootstrap).topics.items()):
        if name.startswith("__") and not internal:
            continue
        replicas = {len(partition.replicas) for partition in metadata.partitions.values()}
        rows.append(
            {"topic": name, "partitions": len(metadata.partitions), "replication_factor": max(replicas, default=0)}
        )
    if as_json:
        print_json(rows)
    else:
        print_table(
            ["TOPIC", "PARTITIONS", "REPLICAS"],
            [list(row.values()) for row in rows],
            empty="no topics; create one with `caudal topic create NAME`",
        )


@topic.command()
def describe(
    names: TopicNames,
    all_configs: Annotated[
        bool, typer.Option("--all-configs", "-a", help="Every property with its default, not only those set.")
    ] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """Show partitions, offsets and properties of topics."""
    admin = admin_client(bootstrap, properties)
    documents = [_describe(admin, bootstrap, name, all_configs) for name in names]
    if as_json:
        print_json(documents if len(documents) > 1 else documents[0])
        return
    for position, document in enumerate(documents):
        if position:
            print()
        _print_topic(document)


def _describe(admin: AdminClient, bootstrap: str, name: str, all_configs: bool) -> dict[str, Any]:
    from confluent_kafka import KafkaError, TopicCollection, TopicPartition
    from confluent_kafka.admin import ConfigResource, OffsetSpec, ResourceType

    from caudal.cli.clients import explain

    listed = cluster_metadata(admin, bootstrap).topics.get(name)
    if listed is None:
        raise no_topic(name, admin, bootstrap)
    if listed.error is not None and listed.error.code() != KafkaError.NO_ERROR:
        raise CliError(f"topic '{name}': {explain(listed.error, bootstrap)}")
    described = admin.describe_topics(TopicCollection([name]), request_timeout=REQUEST_SECONDS)[name]
    configs = next(
        iter(
            admin.describe_configs([ConfigResource(ResourceType.TOPIC, name)], request_timeout=REQUEST_SECONDS).values()
        )
    )
    places = [TopicPartition(name, index) for index in sorted(listed.partitions)]
    earliest = admin.list_offsets({place: OffsetSpec.earliest() for place in places}, request_timeout=REQUEST_SECONDS)
    latest = admin.list_offsets({place: OffsetSpec.latest() for place in places}, request_timeout=REQUEST_SECONDS)
    description = result_of(described, bootstrap, f"topic '{name}'")
    partitions = []
    for place in places:
        metadata = listed.partitions[place.partition]
        first = result_of(earliest[place], bootstrap, f"topic '{name}'").offset
        end = result_of(latest[place], bootstrap, f"topic '{name}'").offset
        partitions.append(
            {
                "partition": place.partition,
                "leader": metadata.leader,
                "replicas": metadata.replicas,
                "isr": metadata.isrs,
                "earliest": first,
                "latest": end,
            }
        )
    entries = result_of(configs, bootstrap, f"topic '{name}'")
    # Source 1 is "set on this topic" in the protocol's numbering.
    shown = {key: entry.value for key, entry in sorted(entries.items()) if all_configs or int(entry.source) == 1}
    return {
        "topic": name,
        # confluent-kafka prints ids in plain base64; Kafka's tools use the alphabet that is safe in addresses.
        "topic_id": str(description.topic_id).replace("+", "-").replace("/", "_"),
        "internal": bool(description.is_internal),
        "partitions": partitions,
        "configs": shown,
    }


def _print_topic(document: dict[str, Any]) -> None:
    records = sum(partition["latest"] - partition["earliest"] for partition in document["partitions"])
    kind = "  internal" if document["internal"] else ""
    size = f"{len(document['partitions'])} partitions  {records} offsets in use"
    print_heading(f"{document['topic']}  id {document['topic_id']}  {size}{kind}")
    for key, value in document["configs"].items():
        print(f"  {key}={value}")
    print_table(
        ["PARTITION", "LEADER", "REPLICAS", "ISR", "EARLIEST", "LATEST"],
        [
            [
                row["partition"],
                row["leader"],
                ",".join(map(str, row["replicas"])),
                ",".join(map(str, row["isr"])),
                row["earliest"],
                row["latest"],
            ]
            for row in document["partitions"]
        ],
    )


@topic.command()
def alter(
    name: TopicName,
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, help="New total number of partitions (it can only grow).")
    ] = None,
    config: Configs = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", "-u", metavar="KEY", help="Back to the default. Repeatable.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """Add partitions, set or unset properties."""
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, ResourceType

    configs = key_values(config, "-c")
    if not (partitions or configs or unset):
        raise UsageError("nothing to change: give --partitions, -c KEY=VALUE or --unset KEY")
    admin = admin_client(bootstrap, properties)
    if name not in cluster_metadata(admin, bootstrap).topics:
        raise no_topic(name, admin, bootstrap)
    if configs or unset:
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in configs.items()
        ]
        entries += [ConfigEntry(key, None, incremental_operation=AlterConfigOpType.DELETE) for key in unset or ()]
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
        future = next(iter(admin.incremental_alter_configs([resource], request_timeout=REQUEST_SECONDS).values()))
        result_of(future, bootstrap, f"topic '{name}' was not changed")
        print(f"changed {', '.join([*configs, *(unset or ())])} of topic {name}")
    if partitions:
        future = admin.create_partitions([NewPartitions(name, partitions)], request_timeout=REQUEST_SECONDS)[name]
        result_of(future, bootstrap, f"topic '{name}' did not get {partitions} partitions")
        print(f"topic {name} has {partitions} partitions now")


@topic.command()
def delete(
    names: TopicNames,
    yes: Yes = False,
    if_exists: Annotated[bool, typer.Option("--if-exists", help="A missing topic is no error.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """Delete topics with all their records. Asks first when a person is at the keyboard."""
    from confluent_kafka import KafkaError, KafkaException

    from caudal.cli.clients import request_failed

    admin = admin_client(bootstrap, properties)
    confirm(f"Delete {', '.join(names)} and all records in it?", yes)
    failure: CliError | None = None
    for name, future in admin.delete_topics(names, request_timeout=REQUEST_SECONDS).items():
        try:
            future.result(REQUEST_SECONDS + 1)
            print(f"deleted topic {name}")
        except KafkaException as error:
            missing = error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
            if if_exists and missing:
                print(f"there is no topic {name}")
                continue
            said = request_failed(error, bootstrap, f"topic '{name}' was not deleted")
            failure = _next_failure(failure, no_topic(name, admin, bootstrap) if missing else said)
    if failure:
        raise failure


def _next_failure(previous: CliError | None, failure: CliError) -> CliError:
    # Of several failures the earlier are said as they come and the last one ends the command.
    if previous is not None:
        print(f"caudal: {previous.message}", file=sys.stderr)
    return failure
