"""The connectors of a mirror, as configurations: what `caudal cluster mirror` makes and `promote` looks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.cli.profiles import Profile

KINDS = ("Source", "Checkpoint", "Heartbeat")
_PACKAGES = ("org.apache.kafka.connect.mirror.", *(f"caudal.connect.connectors.mirror.{k.lower()}." for k in KINDS))


def mirror_configs(
    source: Profile,
    target: Profile,
    topics: str,
    groups: str,
    *,
    keep_names: bool,
    tasks: int,
    offset_lag_max: int,
    more: Mapping[str, str],
) -> list[dict[str, str]]:
    """Source, checkpoints and heartbeats, for the Connect of the target.

    Made for the loss of the source: offset syncs are kept in the target, which is what is left then, and positions of
    groups are looked at every second.
    """
    shared = {
        "source.cluster.alias": source.name,
        "target.cluster.alias": target.name,
        "source.cluster.bootstrap.servers": source.bootstrap,
        "target.cluster.bootstrap.servers": target.bootstrap,
        **{f"source.cluster.{name}": value for name, value in source.properties.items()},
        **{f"target.cluster.{name}": value for name, value in target.properties.items()},
        "replication.policy.class": ("Identity" if keep_names else "Default") + "ReplicationPolicy",
        "key.converter": "ByteArray",
        "value.converter": "ByteArray",
        "header.converter": "ByteArray",
    }
    own: dict[str, dict[str, str]] = {
        "Source": {
            "topics": topics,
            "tasks.max": str(tasks),
            "offset.lag.max": str(offset_lag_max),
            "offset-syncs.topic.location": "target",
            "refresh.topics.interval.seconds": "10",
            "sync.topic.configs.interval.seconds": "60",
        },
        "Checkpoint": {
            "topics": topics,
            "groups": groups,
            "offset-syncs.topic.location": "target",
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "5",
            "emit.checkpoints.interval.seconds": "1",
            "refresh.groups.interval.seconds": "5",
        },
        "Heartbeat": {"tasks.max": "1"},
    }
    return [
        {
            "name": f"mirror-{source.name}-{target.name}-{kind.lower()}",
            "connector.class": f"Mirror{kind}",
            **shared,
            **own[kind],
            **more,
        }
        for kind in KINDS
    ]


def mirror_kind(config: Mapping[str, Any]) -> str | None:
    """Source, Checkpoint or Heartbeat; None for a connector that is no mirror."""
    name = str(config.get("connector.class", ""))
    for package in _PACKAGES:
        name = name.removeprefix(package)
    kind = name.removesuffix("Connector").removeprefix("Mirror")
    return kind if kind in KINDS and "Mirror" in name else None
