"""The cluster that a copy comes from, when the copy is promoted: whether it answers, what is missing, its groups."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from caudal.cli.clients import check_reachable
from caudal.cli.errors import CliError
from caudal.cli.profiles import Profile
from caudal.connect.connectors.mirror.checkpoint import MirrorCheckpoint, Translation
from caudal.connect.connectors.mirror.formats import Checkpoint
from caudal.connect.connectors.mirror.settings import offset_syncs_topic, policy_of
from caudal.connect.errors import ConnectError

_SHOWN = 3  # partitions, in a sentence


class Origin:
    """Made from the configuration of a checkpoint connector, as its Connect shows it."""

    def __init__(self, config: Mapping[str, Any], clusters: Mapping[str, Profile], target: Profile) -> None:
        self.name = str(config.get("source.cluster.alias"))
        address = config.get("source.cluster.bootstrap.servers")
        # The worker's secrets are not shown here; a profile of the same address has its own.
        profile = next((one for one in clusters.values() if one.bootstrap == address), clusters.get(self.name))
        plain = {key: value for key, value in config.items() if "${" not in str(value)}
        self._given = {**(profile.as_side("source") if profile else {}), **plain, **target.as_side("target")}
        if profile is not None:
            self._given |= {f"source.cluster.{key}": value for key, value in profile.properties.items()}
        self._given["source.cluster.alias"] = self.name
        self._given["target.cluster.alias"] = str(config.get("target.cluster.alias", "target"))
        self._typed = MirrorCheckpoint.config().parse(self._given)
        self.checkpoints_topic = policy_of(self._typed).checkpoints_topic(self.name)
        self._translation: Translation | None = None
        self._silence: str | None = None
        try:
            check_reachable(str(self._given["source.cluster.bootstrap.servers"]))
        except CliError as error:
            self._silence = error.message.partition(". Start one")[0]

    def answers(self) -> bool:
        return self._silence is None

    def said_of_lag(self) -> str:
        """The end of a sentence, before the mirrors are stopped; nothing where it cannot be known."""
        behind = self.behind(catch_up=True)
        return "" if behind is None else f", and {behind_words(behind)} not in the copy yet"

    def behind(self, catch_up: bool = False) -> dict[str, int] | None:
        """Records by partition that are not in the copy; None: not known."""
        if self._silence is not None:
            return None
        try:
            if catch_up:
                self._opened().catch_up()
            found = self._opened().behind()
        except ConnectError:
            return None
        return {f"{place.topic}-{place.partition}": count for place, count in sorted(found.items())}

    def translate_now(self, done: list[str], notes: list[str]) -> list[Checkpoint] | None:
        """By its own groups, if it answers."""
        if self._silence is None:
            try:
                translation = self._opened()
                translation.catch_up()
                chosen = MirrorCheckpoint.group_filter(self._typed)
                groups = [group for group in translation.source.groups() if chosen(group)]
                found = translation.checkpoints(groups)
            except ConnectError as error:
                self._silence = str(error)
            else:
                done.append(f"the groups of '{self.name}' are translated as of now: it still answers")
                return found
        notes.append(f"'{self.name}' does not answer: groups are moved by the last checkpoints ({self._silence})")
        return None

    def translate_again(self, checkpoints: list[Checkpoint], notes: list[str]) -> list[Checkpoint]:
        """By the offset syncs, where those are in the copy: records that were copied last may have had none when the
        checkpoint was made."""
        if offset_syncs_topic(self._typed)[0] != "target":
            return checkpoints
        try:
            translation = self._opened()
            translation.catch_up()
        except ConnectError as error:
            notes.append(f"the offset syncs of '{self.name}' cannot be read: {error}")
            return checkpoints
        if translation.newest_ms is not None:
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(translation.newest_ms / 1000))
            notes.append(f"the last record of '{self.name}' was copied at {at}; what it took later is not in the copy")
        furthest: dict[tuple[str, int], int] = {}
        for one in checkpoints:
            place = (one.topic, one.partition)
            furthest[place] = max(furthest.get(place, 0), translation.beyond(one))
        lost = {f"{topic}-{partition}": count for (topic, partition), count in furthest.items() if count}
        if lost:
            notes.append(f"groups had read up to {sum(lost.values())} offsets more than were copied: {_listed(lost)}")
        return [translation.again(one) for one in checkpoints]

    def _opened(self) -> Translation:
        if self._translation is None:
            self._translation = Translation(self._typed, self._given)
        return self._translation

    def close(self) -> None:
        if self._translation is not None:
            self._translation.close()


def behind_words(behind: Mapping[str, int]) -> str:
    total = sum(behind.values())
    if not total:
        return "no record is"
    return f"{total} record{'s are' if total > 1 else ' is'} ({_listed(behind)})"


def _listed(counts: Mapping[str, int]) -> str:
    most = sorted(counts.items(), key=lambda item: -item[1])
    text = ", ".join(f"{place}: {count}" for place, count in most[:_SHOWN])
    return text + (f" and {len(most) - _SHOWN} more partitions" if len(most) > _SHOWN else "")
