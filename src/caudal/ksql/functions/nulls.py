"""What to take where a value is null, and what to take as null."""

from __future__ import annotations

from typing import Any

from caudal.ksql.functions.order import identity
from caudal.ksql.functions.registry import scalar

CONDITIONAL = "CONDITIONAL"


@scalar(
    "COALESCE",
    "(value T, others T...) -> T",
    description="The first value that is not null.",
    category=CONDITIONAL,
    nulls=True,
)
def coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


@scalar(
    "IFNULL",
    "(value T, instead T) -> T",
    description="The value, or another one where it is null.",
    category=CONDITIONAL,
    nulls=True,
    spark="coalesce({0}, {1})",
)
def ifnull(value: Any, instead: Any) -> Any:
    return instead if value is None else value


@scalar(
    "NULLIF",
    "(value T, other T) -> T",
    description="NULL where the two are equal, the first one otherwise.",
    category=CONDITIONAL,
    nulls=True,
)
def nullif(value: Any, other: Any) -> Any:
    if value is None or other is None:
        return value
    return None if identity(value) == identity(other) else value


@scalar(
    "AS_VALUE",
    "(key T) -> T",
    description="A key column once more, as a column of the value.",
    category="OTHER",
    spark="{0}",
)
def as_value(key: Any) -> Any:
    return key
