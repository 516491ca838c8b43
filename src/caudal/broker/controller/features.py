"""The features of KIP-584 this broker supports and has switched on, as ApiVersions tells them to clients.

Levels follow Kafka 4.3: `transaction.version` 2 makes producers use the transactions of KIP-890. A feature at level 0
is off. Levels are not changed one by one here; UpdateFeatures accepts only what is already in force.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# Levels of metadata.version count releases: 7 is the oldest a 4.x broker speaks (3.3), 30 is 4.3.
_SUPPORTED: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {"metadata.version": (7, 30), "transaction.version": (0, 2), "group.version": (0, 0)}
)
_FINALIZED: Final[Mapping[str, int]] = MappingProxyType({"metadata.version": 30, "transaction.version": 2})

FINALIZED_EPOCH: Final = 1  # which generation of the levels this is; they never change here


def supported() -> Mapping[str, tuple[int, int]]:
    """Feature → (lowest, highest) level."""
    return _SUPPORTED


def finalized() -> Mapping[str, int]:
    """Feature → level in force. A feature at level 0 is off and not listed."""
    return _FINALIZED
