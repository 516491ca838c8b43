"""The seven levels: which older schemas a new one is compared with, and in which direction."""

from __future__ import annotations

from collections.abc import Sequence

from caudal.registry.schemas.schema import ParsedSchema

LEVELS = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)


def differences(level: str, new: ParsedSchema, older: Sequence[ParsedSchema]) -> list[str]:
    """Why `new` may not follow `older` (oldest first) at this level, a sentence each; empty: it may."""
    raise NotImplementedError
