"""`caudal cluster promote`: makes a copy the primary, step by step, and says of each step whether it was done.

1. The copy's brokers must answer: else nothing is changed.
2. The mirrors that write to it are stopped, if its Connect answers: they would go on copying from the lost cluster when
   that comes back.
3. Group offsets are translated a last time: from the lost cluster's groups if it still answers, else from the last
   checkpoints in the copy. Groups that have members there already are left alone.
4. It becomes the primary of the profiles.

Topics of a copy can be written to at any time, so nothing has to be done for that.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from caudal.cli import profiles
from caudal.cli.clients import check_reachable
from caudal.cli.connect_access import ConnectClient, connect_client
from caudal.cli.errors import CliError
from caudal.cli.mirror_connectors import mirror_kind
from caudal.cli.profiles import Profile
from caudal.connect.connectors.mirror.checkpoint import MirrorCheckpoint, Translation, move_groups, read_checkpoints
from caudal.connect.connectors.mirror.cluster import Cluster
from caudal.connect.connectors.mirror.formats import Checkpoint
from caudal.connect.errors import ConnectError

STOP_SECONDS = 60.0
_CHECKPOINTS = ".checkpoints.internal"


@dataclass(slots=True)
class Promotion:
    """What was done (`done`), what is worth knowing (`notes`), and what somebody still has to do (`left`)."""

    cluster: str
    done: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    groups: dict[str, int] = field(default_factory=dict)


def promote(name: str) -> Promotion:
    known = profiles.load()
    profile = known.get(name)
    result = Promotion(name)
    check_reachable(profile.bootstrap)
    target = Cluster(_as_target(profile), "target")
    try:
        topics = target.topics()
    except ConnectError as error:
        raise CliError(f"'{name}' was not promoted: {error}") from None
    configs = _stop_mirrors(profile, result)
    checkpoints: list[Checkpoint] = []
    live: set[str] = set()
    for config in configs:
        found = _from_source(config, known.clusters, profile, result)
        if found is not None:
            live.add(str(config.get("source.cluster.alias")))
            checkpoints += found
    for topic in sorted(topics):
        alias = topic.removesuffix(_CHECKPOINTS)
        if topic.endswith(_CHECKPOINTS) and alias not in live:
            checkpoints += _from_checkpoints(target, topic, result)
    _move(target, checkpoints, result)
    if known.primary == name:
        result.notes.append(f"'{name}' was the primary already")
    else:
        profiles.save(known.with_primary(name))
        result.done.append(f"'{name}' is the primary now (it was '{known.primary}')")
    return result


def _as_target(profile: Profile) -> dict[str, str]:
    properties = {f"target.cluster.{key}": value for key, value in profile.properties.items()}
    return {"target.cluster.alias": profile.name, "target.cluster.bootstrap.servers": profile.bootstrap, **properties}


def _stop_mirrors(profile: Profile, result: Promotion) -> list[dict[str, Any]]:
    """The configurations of the checkpoint connectors, once all mirrors have stopped."""
    if profile.connect is None:
        result.left.append(
            f"the profile '{profile.name}' has no --connect: if mirrors write to it, stop them (caudal connector stop)"
        )
        return []
    try:
        with connect_client(profile.connect) as client:
            found = client.ask("GET", "/connectors", expand="info")
            mirrors = {name: one["info"]["config"] for name, one in found.items() if mirror_kind(one["info"]["config"])}
            for name in mirrors:
                client.of(name, "/stop", "PUT")
            for name in mirrors:
                _wait_until_stopped(client, name)
                result.done.append(f"the connector {name} is stopped")
            if not mirrors:
                result.notes.append(f"no mirror runs on {profile.connect}")
            return [config for config in mirrors.values() if mirror_kind(config) == "Checkpoint"]
    except CliError as error:
        result.left.append(f"the mirrors could not be stopped: {error.message}")
        return []


def _wait_until_stopped(client: ConnectClient, name: str) -> None:
    """So that the last records' offset syncs are written before groups are translated."""
    deadline = time.monotonic() + STOP_SECONDS
    while True:
        status = client.of(name, "/status")
        if status["connector"]["state"] == "STOPPED" and not status["tasks"]:
            return
        if time.monotonic() > deadline:
            raise CliError(f"the connector {name} does not stop; it is {status['connector']['state']}")
        time.sleep(0.2)


def _from_source(
    config: Mapping[str, Any], clusters: Mapping[str, Profile], profile: Profile, result: Promotion
) -> list[Checkpoint] | None:
    """Checkpoints as of now, by the lost cluster's own groups; None if it does not answer."""
    alias = str(config.get("source.cluster.alias"))
    bootstrap = str(config.get("source.cluster.bootstrap.servers"))
    # The worker's secrets are not shown here; a profile of the same address has its own.
    properties = next((one.properties for one in clusters.values() if one.bootstrap == bootstrap), {})
    plain = {key: value for key, value in config.items() if "${" not in str(value)}
    given = {**plain, **{f"source.cluster.{key}": value for key, value in properties.items()}, **_as_target(profile)}
    given["target.cluster.alias"] = str(config.get("target.cluster.alias", "target"))
    try:
        check_reachable(bootstrap)
        typed = MirrorCheckpoint.config().parse(given)
        translation = Translation(typed, given)
        try:
            translation.catch_up()
            chosen = MirrorCheckpoint.group_filter(typed)
            found = [
                one for group in translation.source.groups() if chosen(group) for one in translation.checkpoints(group)
            ]
        finally:
            translation.close()
    except (CliError, ConnectError) as error:
        message = str(error).partition(". Start one")[0]
        result.notes.append(f"'{alias}' does not answer: groups are moved by the last checkpoints ({message})")
        return None
    result.done.append(f"the groups of '{alias}' are translated as of now: it still answers")
    return found


def _from_checkpoints(target: Cluster, topic: str, result: Promotion) -> list[Checkpoint]:
    try:
        found = read_checkpoints(target, topic)
    except ConnectError as error:
        result.left.append(f"the checkpoints in {topic} could not be read: {error}")
        return []
    result.done.append(f"{len(found)} checkpoints are read from {topic}")
    return found


def _move(target: Cluster, checkpoints: list[Checkpoint], result: Promotion) -> None:
    by_group: dict[str, list[Checkpoint]] = {}
    for checkpoint in checkpoints:
        by_group.setdefault(checkpoint.group, []).append(checkpoint)
    for group, theirs in sorted(by_group.items()):
        try:
            moved, active = move_groups(target, theirs)
        except ConnectError as error:
            result.left.append(f"the group {group} was not moved: {error}")
            continue
        result.groups.update(moved)
        if active:
            result.notes.append(f"the group {group} has members on '{target.name}' already and is left as it is")
    if result.groups:
        result.done.append(f"the offsets of {len(result.groups)} groups are set where they were behind")
