"""What every engine of `caudal bench streams` is asked to run, and the line protocol it is asked by.

A program of an engine reads one JSON command per line (`begin` with a job, `processed`, `end`) and answers each with
one JSON line, the first of which says that it is ready. The Java peer and the Quix peer speak the same protocol without
importing this. Nothing here measures: the bench looks at the topics from outside.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

WINDOW_MS = 60_000
# The bench stops an engine for minutes while the others run: Spark must not take that for the death of its executor.
PATIENT = {"spark.network.timeout": "1h"}
TOPOLOGIES = ("map", "sql-map", "count", "regroup", "sum", "join", "totals", "sql-totals")


@dataclass(frozen=True, slots=True)
class Job:
    topology: str
    application: str
    bootstrap: str
    input: str
    output: str
    table: str
    state: str
    guarantee: str = "at_least_once"
    # "defaults": what the engine does by itself, such as Kafka Streams' cache; "at once": and no producer lingers.
    emit: str = "updates"
    mode: str = "micro-batch"  # Caudal's
    batch_duration: str = "10 minutes"  # of Spark's batches in real-time mode
    threads: int = 2
    window: int = WINDOW_MS

    @property
    def exactly_once(self) -> bool:
        return self.guarantee == "exactly_once"

    def as_command(self) -> dict[str, Any]:
        return {"do": "begin", **asdict(self)}


def job_of(command: Mapping[str, Any]) -> Job:
    return Job(**{name: value for name, value in command.items() if name != "do"})


Handler = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]


def serve(handlers: Mapping[str, Handler], ready: Mapping[str, Any]) -> None:
    """Answers commands until the input ends. What a library prints must not get between the answers."""
    answers, sys.stdout = sys.stdout, sys.stderr

    def answer(message: Mapping[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    answer({"ready": True, **ready})
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer(handlers[command["do"]](command) or {})
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {error}"})
