"""From the values of every round to the rows of the table of `caudal bench streams`.

As in results.py, a ratio is taken within a round and then the median over the rounds; the row itself, with its spread
and its verdict, is that of results.py. What is new here: several peers, and cases of Caudal compared with one another.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from caudal.bench.results import Row
from caudal.bench.streams_case import COMPARISONS, Comparison, StreamsCase
from caudal.bench.streams_engines import ENGINES


@dataclass(slots=True)
class StreamsResults:
    cases: Sequence[StreamsCase]
    comparisons: Sequence[Comparison] = field(default_factory=lambda: list(COMPARISONS))
    values: dict[tuple[str, int, str], dict[str, float]] = field(default_factory=dict)
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    starts: dict[str, float] = field(default_factory=dict)  # engine → seconds until its process was ready

    def add(self, case: str, round_number: int, engine: str, values: dict[str, float]) -> None:
        self.values[case, round_number, engine] = values

    def fail(self, case: str, engine: str, reason: str) -> None:
        self.failures[case, engine] = reason

    def median(self, case: str, engine: str, key: str) -> float | None:
        found = [
            values[key]
            for (name, _round, who), values in self.values.items()
            if (name, who) == (case, engine) and key in values
        ]
        return statistics.median(found) if found else None

    def shown(self) -> list[Comparison]:
        """Those whose own case was chosen; the other side may be missing, then there is no ratio."""
        chosen = {case.name for case in self.cases}
        return [comparison for comparison in self.comparisons if comparison.cases <= chosen]

    def rows(self) -> list[tuple[Comparison, Row]]:
        return [(comparison, self.row(comparison)) for comparison in self.shown()]

    def row(self, comparison: Comparison) -> Row:
        case, engine, key = comparison.of
        row = Row(case, key, comparison.figure)
        sides = [comparison.of, *([comparison.against] if comparison.against else [])]
        reasons = [self.failures[side[0], side[1]] for side in sides if (side[0], side[1]) in self.failures]
        row.failure = reasons[0] if reasons else None
        for number in sorted({number for _case, number, _engine in self.values}):
            own = self.values.get((case, number, engine), {}).get(key)
            peer = None
            if comparison.against is not None:
                other_case, other_engine, other_key = comparison.against
                peer = self.values.get((other_case, number, other_engine), {}).get(other_key)
            if own is not None:
                row.caudal.append(own)
            if peer is not None:
                row.kafka.append(peer)
            if own is not None and peer:
                row.ratios.append(own / peer)
        return row

    def as_json(self) -> dict[str, Any]:
        return {
            "start_seconds": self.starts,
            "cases": [
                {
                    "case": case.name,
                    "title": case.title,
                    "engines": {
                        engine: {
                            "title": ENGINES[engine].title,
                            "rounds": [
                                values
                                for (name, _round, who), values in sorted(self.values.items())
                                if (name, who) == (case.name, engine)
                            ],
                        }
                        for engine in case.engines
                    },
                }
                for case in self.cases
            ],
            "comparisons": [
                {
                    "figure": row.figure.title,
                    "unit": row.figure.unit,
                    "of": list(comparison.of),
                    "against": list(comparison.against) if comparison.against else None,
                    "value": row.caudal_median,
                    "peer": row.kafka_median,
                    "ratio": row.ratio,
                    "spread": row.spread,
                    "targets": [str(target) for target in row.figure.targets],
                    "verdict": row.verdict,
                }
                for comparison, row in self.rows()
            ],
            "failures": [
                {"case": case, "engine": engine, "reason": reason} for (case, engine), reason in self.failures.items()
            ],
        }
