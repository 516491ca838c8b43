"""`caudal cluster promote`: makes a copy the primary, step by step, and says of each step whether it was done.

1. The copy's brokers must answer, and it must be a copy: else nothing is changed. Where the cluster that it copies
   still answers, somebody must have said that this is meant (`force`).
2. The mirrors that write to it are stopped, if its Connect answers: they would go on copying from the lost cluster when
   that comes back.
3. Group offsets are translated a last time: from the lost cluster's groups if it still answers, else from the last
   checkpoints in the copy and the offset syncs there. Groups that have members there already are left alone.
4. It becomes the primary of the profiles.

Topics of a copy can be written to at any time, so nothing has to be done for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from caudal.cli import profiles
from caudal.cli.clients import check_reachable
from caudal.cli.errors import CliError
from caudal.cli.mirror_origin import Origin, behind_words
from caudal.cli.mirror_stop import Mirrors
from caudal.cli.profiles import Profile, Profiles
from caudal.connect.connectors.mirror.checkpoint import move_groups, read_checkpoints
from caudal.connect.connectors.mirror.cluster import Cluster
from caudal.connect.connectors.mirror.formats import Checkpoint
from caudal.connect.errors import ConnectError

_CHECKPOINTS = ".checkpoints.internal"


@dataclass(slots=True)
class Promotion:
    """What was done (`done`), what is worth knowing (`notes`), and what somebody still has to do (`left`)."""

    cluster: str
    done: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    groups: dict[str, int] = field(default_factory=dict)  # how many partitions of each were set
    behind: dict[str, int] | None = None  # records by partition that are not in the copy; None: not known


def promote(name: str, force: bool = False, confirm: Callable[[str], bool] = lambda question: False) -> Promotion:
    known = profiles.load()
    profile = known.get(name)
    result = Promotion(name)
    check_reachable(profile.bootstrap)
    target = Cluster(profile.as_side("target"), "target")
    try:
        topics = target.topics()
    except ConnectError as error:
        raise CliError(f"'{name}' was not promoted: {error}") from None
    checkpoint_topics = sorted(topic for topic in topics if topic.endswith(_CHECKPOINTS))
    mirrors = Mirrors(profile)
    if known.primary == name and mirrors.are_stopped():
        result.notes.append(f"'{name}' is the primary already, and no mirror writes to it: nothing was done")
        return result
    if mirrors.are_none() and not checkpoint_topics and not force:
        raise CliError(
            f"'{name}' is no copy: no mirror is on its Connect, and it has no checkpoints; "
            f"`caudal cluster profile use {name}` makes it the primary nevertheless"
        )
    origins = _origins(known, profile, mirrors, result)
    try:
        _check_lost(known, profile, origins, force, confirm)
        mirrors.stop(result.done, result.notes, result.left)
        checkpoints = _translate(target, checkpoint_topics, origins, result)
    finally:
        for origin in origins:
            origin.close()
    _move(target, checkpoints, result)
    if known.primary == name:
        result.notes.append(f"'{name}' was the primary already")
    else:
        profiles.save(known.with_primary(name))
        result.done.append(f"'{name}' is the primary now (it was '{known.primary}')")
    return result


def _origins(known: Profiles, profile: Profile, mirrors: Mirrors, result: Promotion) -> list[Origin]:
    origins = []
    for config in mirrors.checkpoint_configs():
        try:
            origins.append(Origin(config, known.clusters, profile))
        except ConnectError as error:
            result.notes.append(f"the connector {config.get('name')} cannot be asked for groups: {error}")
    return origins


def _check_lost(
    known: Profiles, profile: Profile, origins: list[Origin], force: bool, confirm: Callable[[str], bool]
) -> None:
    """Refuses while the old primary or a source of the copy answers: both would be written to."""
    if force or known.primary == profile.name:
        return
    alive = {origin.name: origin.said_of_lag() for origin in origins if origin.answers()}
    if not alive and known.primary is not None and _answers(known.get(known.primary)):
        alive[known.primary] = ""
    if not alive:
        return
    words = "; ".join(f"'{name}' still answers{lag}" for name, lag in alive.items())
    if not confirm(f"{words}. Make '{profile.name}' the primary?"):
        raise CliError(f"{words}; stop what writes to it, then promote '{profile.name}' with --force")


def _answers(profile: Profile) -> bool:
    try:
        check_reachable(profile.bootstrap)
    except CliError:
        return False
    return True


def _translate(target: Cluster, topics: list[str], origins: list[Origin], result: Promotion) -> list[Checkpoint]:
    """Checkpoints of all groups: as of now where the source answers, else the last ones that are in the copy."""
    checkpoints: list[Checkpoint] = []
    read: set[str] = set()
    for origin in origins:
        found = origin.translate_now(result.done, result.notes)
        if found is not None:
            checkpoints += found
            read.add(origin.checkpoints_topic)
            if (behind := origin.behind()) is not None:
                result.behind = {**(result.behind or {}), **behind}
                result.notes.append(f"of '{origin.name}' {behind_words(behind)} not in the copy")
    by_topic = {origin.checkpoints_topic: origin for origin in origins}
    for topic in topics:
        if topic in read:
            continue
        try:
            found = read_checkpoints(target, topic)
        except ConnectError as error:
            result.left.append(f"the checkpoints in {topic} could not be read: {error}")
            continue
        result.done.append(f"{len(found)} checkpoints are read from {topic}")
        origin_of = by_topic.get(topic)
        checkpoints += found if origin_of is None else origin_of.translate_again(found, result.notes)
    return checkpoints


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
