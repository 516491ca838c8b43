"""What a run is made of: the task, its typed configuration, its converters and transforms, from the specification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from caudal.connect.converter import Converter
from caudal.connect.runtime.tasks.error_policy import ErrorSettings


def _nothing() -> None: ...


@dataclass(slots=True)
class Parts:
    task: Any  # SourceTask or SinkTask
    task_config: dict[str, Any]  # typed
    key: Converter
    value: Converter
    header: Converter
    framework: Mapping[str, Any] = field(default_factory=dict)  # the framework's keys, typed
    transform: Callable[[Any], Any] | None = None  # of one record; None where there are none
    errors: ErrorSettings = field(default_factory=ErrorSettings)
    close: Callable[[], None] = _nothing
