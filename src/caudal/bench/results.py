"""From the values of every round to the rows of the table: medians, ratios with their spread, and whether the targets
are met.

The ratio of a figure is taken within a round, where both servers ran one right after the other, and then the median
over the rounds; the ratio of two medians would mix rounds in which the machine was busy with others in which it was
not.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from caudal.bench.case import Case, Figure

CAUDAL, KAFKA = "caudal", "kafka"
Verdict = Literal["met", "not met", "failed", ""]


@dataclass(slots=True)
class Row:
    case: str
    key: str
    figure: Figure
    caudal: list[float] = field(default_factory=list)
    kafka: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    failure: str | None = None

    @property
    def caudal_median(self) -> float | None:
        return statistics.median(self.caudal) if self.caudal else None

    @property
    def kafka_median(self) -> float | None:
        return statistics.median(self.kafka) if self.kafka else None

    @property
    def ratio(self) -> float | None:
        return statistics.median(self.ratios) if self.ratios else None

    @property
    def spread(self) -> tuple[float, float] | None:
        return (min(self.ratios), max(self.ratios)) if len(self.ratios) > 1 else None

    @property
    def verdict(self) -> Verdict:
        """Empty when the figure has no target, or nothing to compare with."""
        if self.caudal_median is None:
            return "failed" if self.failure else ""
        answers = [target.is_met(self.ratio, self.caudal_median) for target in self.figure.targets]
        if False in answers:
            return "not met"
        return "met" if answers and None not in answers else ""

    @property
    def is_within_spread(self) -> bool:
        """A missed ratio that some round did reach: the rounds disagree, more of them would tell."""
        return self.verdict == "not met" and any(
            all(target.is_met(ratio, self.caudal_median or math.nan) for target in self.figure.targets)
            for ratio in self.ratios
        )


@dataclass(slots=True)
class Results:
    """Everything measured in a run, filed by case, round and server."""

    cases: Sequence[Case]
    values: dict[tuple[str, int, str], dict[str, float]] = field(default_factory=dict)
    failures: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, case: str, round_number: int, server: str, values: dict[str, float]) -> None:
        self.values[case, round_number, server] = values

    def fail(self, case: str, server: str, reason: str) -> None:
        self.failures[case, server] = reason

    def rows(self) -> list[Row]:
        return [self.row(case, key, figure) for case in self.cases for key, figure in case.figures.items()]

    def row(self, case: Case, key: str, figure: Figure) -> Row:
        row = Row(case.name, key, figure)
        reasons = [
            self.failures[case.name, server] for server in (CAUDAL, KAFKA) if (case.name, server) in self.failures
        ]
        row.failure = reasons[0] if reasons else None
        for number in sorted({number for name, number, _server in self.values if name == case.name}):
            caudal = self.values.get((case.name, number, CAUDAL), {}).get(key)
            kafka = self.values.get((case.name, number, KAFKA), {}).get(key)
            if caudal is not None:
                row.caudal.append(caudal)
            if kafka is not None:
                row.kafka.append(kafka)
            if caudal is not None and kafka:
                row.ratios.append(caudal / kafka)
        return row

    def as_json(self) -> dict[str, Any]:
        return {
            "rows": [
                {
                    "case": row.case,
                    "figure": row.key,
                    "title": row.figure.title,
                    "unit": row.figure.unit,
                    "more_is_better": row.figure.more_is_better,
                    "caudal": row.caudal_median,
                    "kafka": row.kafka_median,
                    "ratio": row.ratio,
                    "spread": row.spread,
                    "targets": [str(target) for target in row.figure.targets],
                    "verdict": row.verdict,
                    "rounds": {"caudal": row.caudal, "kafka": row.kafka},
                    "failure": row.failure,
                }
                for row in self.rows()
            ],
            "failures": [
                {"case": case, "server": server, "reason": reason} for (case, server), reason in self.failures.items()
            ],
        }
