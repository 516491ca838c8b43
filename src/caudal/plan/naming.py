"""Names of nodes, stores and internal topics, as Kafka Streams 4.3 gives them.

Every unnamed node takes the next number of one counter. A named node takes a number as well and does not show it, so
that naming one node does not rename the others, nor their stores and topics. The prefixes are part of every existing
application's topic names: they never change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from caudal.plan.errors import PlanError

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_GENERATED = re.compile(r"KSTREAM.*-[0-9]{10}")


@dataclass(slots=True)
class Names:
    """The counter of one topology."""

    index: int = 0

    def next(self, prefix: str, given: str | None = None, suffix: str = "") -> str:
        """The name of a node: the given one (with its suffix), or prefix and number."""
        generated = f"{prefix}-{self.index:010d}"
        self.index += 1
        return generated if given is None else checked_name(given) + suffix

    def store(self, prefix: str) -> str:
        """The name of a store that the user did not name."""
        return self.next(f"{prefix}-STATE-STORE")

    def skip(self) -> None:
        """Takes a number that Kafka Streams takes at this place without using it."""
        self.index += 1


def is_generated(name: str) -> bool:
    """Whether a repartition topic is named after a numbered node or store; its three nodes are then numbered as
    well.
    """
    return _GENERATED.fullmatch(name) is not None


def checked_name(name: str) -> str:
    """The name, if topics and stores may be called so."""
    if name in ("", ".", ".."):
        raise PlanError(f"A name must not be '{name}'.")
    if len(name) > 249:
        raise PlanError(f"The name '{name[:40]}…' has {len(name)} characters; 249 are allowed.")
    if not _LEGAL.fullmatch(name):
        raise PlanError(f"The name '{name}' may only have letters, digits, '.', '_' and '-'.")
    return name


def repartition_topic(application_id: str, prefix: str) -> str:
    return f"{application_id}-{prefix}-repartition"


def changelog_topic(application_id: str, store: str) -> str:
    return f"{application_id}-{store}-changelog"
