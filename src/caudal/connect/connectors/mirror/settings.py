"""What mirrors are told: MirrorMaker 2's properties under their names, and client properties behind its prefixes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.connectors.mirror.policy import ReplicationPolicy, replication_policy

Side = Literal["source", "target"]
Role = Literal["consumer", "producer", "admin"]

INTERNAL_PARTITIONS = "task.assigned.partitions"
INTERNAL_GROUPS = "task.assigned.groups"
# What a cluster's own servers keep their state in is not for another cluster's: a worker there would run the connectors
# of this one, a KSQL server its queries.
TOPICS_EXCLUDE = (
    r".*[\-\.]internal",
    r".*\.replica",
    "__.*",
    "connect-(configs|offsets|status)",
    "_caudal-ksql-.*_command",
)
GROUPS_EXCLUDE = ("console-consumer-.*", "connect-.*", "__.*")
CONFIGS_EXCLUDE = (
    r"follower\.replication\.throttled\.replicas",
    r"leader\.replication\.throttled\.replicas",
    r"message\.timestamp\.difference\.max\.ms",
    r"message\.timestamp\.(before|after)\.max\.ms",
    r"message\.timestamp\.type",
    r"unclean\.leader\.election\.enable",
    r"min\.insync\.replicas",
)
_JAAS = re.compile(r"""(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')""")


def _seconds(name: str, default: float, doc: str) -> Key:
    return Key(name=name, type=Type.DOUBLE, default=default, importance=Importance.LOW, minimum=0.05, doc=doc)


def _switch(name: str, default: bool, doc: str) -> Key:
    return Key(name=name, type=Type.BOOLEAN, default=default, importance=Importance.LOW, doc=doc)


CLUSTERS = config_def(
    Key(
        name="source.cluster.alias",
        importance=Importance.HIGH,
        doc="The source's name: in the names of copied topics, offsets and internal topics.",
    ),
    Key(name="target.cluster.alias", default="target", importance=Importance.HIGH, doc="The target's name."),
    Key(
        name="source.cluster.bootstrap.servers",
        importance=Importance.HIGH,
        doc="The source cluster. Further client properties go behind source.cluster., source.consumer., "
        "source.producer. and source.admin.",
    ),
    Key(
        name="target.cluster.bootstrap.servers",
        importance=Importance.HIGH,
        doc="The target cluster. Further client properties go behind target.cluster., target.producer. and "
        "target.admin.",
    ),
    Key(
        name="replication.policy.class",
        default="DefaultReplicationPolicy",
        importance=Importance.MEDIUM,
        doc="DefaultReplicationPolicy names the copy of orders west.orders; IdentityReplicationPolicy keeps names.",
        validator=lambda name, value: _known_policy(value),
    ),
    Key(name="replication.policy.separator", default=".", importance=Importance.LOW, doc="Between alias and name."),
)


def _known_policy(value: str) -> None:
    try:
        replication_policy(value, ".", "")
    except Exception as error:
        raise ValueError(str(error)) from None


TOPICS = config_def(
    Key(
        name="topics", type=Type.LIST, default=[".*"], importance=Importance.HIGH, doc="Names and regular expressions."
    ),
    Key(
        name="topics.exclude",
        type=Type.LIST,
        default=list(TOPICS_EXCLUDE),
        importance=Importance.HIGH,
        doc="Names and regular expressions of topics that are not copied.",
    ),
)
COPYING = config_def(
    Key(
        name="replication.factor", type=Type.INT, default=-1, importance=Importance.MEDIUM,
        doc="Of new topics; -1: the target's own default.",
    ),
    _switch("refresh.topics.enabled", True, "Whether new topics and partitions are looked for."),
    _seconds("refresh.topics.interval.seconds", 600, "How often."),
    _switch("sync.topic.configs.enabled", True, "Whether the copies' settings follow the source's."),
    _seconds("sync.topic.configs.interval.seconds", 600, "How often."),
    Key(
        name="config.properties.exclude",
        type=Type.LIST,
        default=list(CONFIGS_EXCLUDE),
        importance=Importance.MEDIUM,
        doc="Names and regular expressions of settings that are not copied.",
    ),
)  # fmt: skip
SYNCS = config_def(
    Key(
        name="offset-syncs.topic.location",
        default="source",
        choices=("source", "target"),
        importance=Importance.LOW,
        doc="The cluster that keeps the offset syncs.",
    ),
    Key(
        name="offset-syncs.topic.replication.factor", type=Type.INT, default=-1, importance=Importance.LOW,
        doc="-1: the cluster's own default.",
    ),
)  # fmt: skip
SOURCE = config_def(
    Key(
        name="offset.lag.max",
        type=Type.LONG,
        default=100,
        minimum=0,
        importance=Importance.LOW,
        doc="After how many records without one an offset sync is written, at the latest.",
    ),
    _switch("emit.offset-syncs.enabled", True, "Whether offset syncs are written: without them no group moves."),
    _switch("heartbeats.replication.enabled", True, "Whether topics of heartbeats are copied whatever `topics` says."),
    _switch(
        "provenance.header.enable", False, "Marks copied records with the source's alias, and copies none that came "
        "from the target: the way to mirror both ways under one name. Records are then not the same byte for byte.",
    ),
    Key(
        name="consumer.poll.timeout.ms", type=Type.LONG, default=1000, minimum=1, importance=Importance.LOW,
        doc="How long a poll of the source waits for records.",
    ),
    Key(
        name="max.poll.records", type=Type.INT, default=2000, minimum=1, importance=Importance.LOW,
        doc="How many records are read at once, at most.",
    ),
)  # fmt: skip
CHECKPOINTS = config_def(
    Key(name="groups", type=Type.LIST, default=[".*"], importance=Importance.HIGH, doc="Names, regular expressions."),
    Key(
        name="groups.exclude",
        type=Type.LIST,
        default=list(GROUPS_EXCLUDE),
        importance=Importance.HIGH,
        doc="Names and regular expressions of groups whose offsets are not translated.",
    ),
    _switch("emit.checkpoints.enabled", True, "Whether checkpoints are written."),
    _seconds("emit.checkpoints.interval.seconds", 60, "How often group offsets are looked at."),
    _switch("refresh.groups.enabled", True, "Whether new groups are looked for."),
    _seconds("refresh.groups.interval.seconds", 600, "How often."),
    _switch(
        "sync.group.offsets.enabled", False, "Whether translated offsets are written to the target's groups, where no "
        "consumer is active in them.",
    ),
    _seconds("sync.group.offsets.interval.seconds", 60, "How often."),
    Key(
        name="checkpoints.topic.replication.factor", type=Type.INT, default=-1, importance=Importance.LOW,
        doc="-1: the target's own default.",
    ),
)  # fmt: skip
HEARTBEATS = config_def(
    _switch("emit.heartbeats.enabled", True, "Whether heartbeats are written."),
    _seconds("emit.heartbeats.interval.seconds", 1, "How often."),
    Key(
        name="heartbeats.topic.replication.factor", type=Type.INT, default=-1, importance=Importance.LOW,
        doc="-1: the target's own default.",
    ),
)  # fmt: skip


def assigned(name: str) -> ConfigDef:
    """The property by which a connector tells a task its share: JSON."""
    return config_def(
        Key(name=name, default="[]", importance=Importance.LOW, doc="Set by the connector for each of its tasks.")
    )


def policy_of(config: Mapping[str, Any]) -> ReplicationPolicy:
    return replication_policy(
        config["replication.policy.class"], config["replication.policy.separator"], config["source.cluster.alias"]
    )


def client_properties(given: Mapping[str, Any], side: Side, role: Role) -> dict[str, str]:
    """librdkafka's properties of a client: `source.cluster.…`, then `consumer.…`, then `source.consumer.…`.

    Java's names mean the same, but for `sasl.jaas.config`, whose name and password are taken out.
    """
    result: dict[str, str] = {}
    for prefix in (f"{side}.cluster.", f"{role}.", f"{side}.{role}."):
        for name, value in given.items():
            if name.startswith(prefix) and value is not None:
                result[name.removeprefix(prefix)] = str(value)
    for name in ("alias", "poll.timeout.ms"):  # no client's properties, though they look like it
        result.pop(name, None)
    if (jaas := result.pop("sasl.jaas.config", None)) is not None:
        for name, double, single in _JAAS.findall(jaas):
            result.setdefault(f"sasl.{name}", re.sub(r"\\(.)", r"\1", double) or single)
    return result


def offset_syncs_topic(config: Mapping[str, Any]) -> tuple[Side, str]:
    """The cluster that has it, and its name: MirrorMaker's."""
    if config["offset-syncs.topic.location"].lower() == "target":
        return "target", f"mm2-offset-syncs.{config['source.cluster.alias']}.internal"
    return "source", f"mm2-offset-syncs.{config['target.cluster.alias']}.internal"
