"""Random numbers."""

from __future__ import annotations

import random

from caudal.ksql.functions.registry import scalar


@scalar("RANDOM", "() -> DOUBLE", description="Any number from 0 to less than 1.", category="MATHEMATICAL")
def any_number() -> float:
    return random.random()
