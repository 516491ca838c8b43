"""What a run is made of: the task, its typed configuration, its converters and transforms, from the specification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from caudal.connect.connector import Task
from caudal.connect.connector_config import (
    TransformChain,
    connector_plugin,
    converters_of,
    parse,
    parse_framework,
    transforms_of,
)
from caudal.connect.converter import Converter
from caudal.connect.plugins import add_plugin_path
from caudal.connect.runtime.model import TaskSpec
from caudal.connect.runtime.settings import WorkerSettings
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
    chain: TransformChain = field(default_factory=TransformChain)
    errors: ErrorSettings = field(default_factory=ErrorSettings)
    close: Callable[[], None] = _nothing

    @property
    def transform(self) -> Callable[[Any], Any] | None:
        """Of one record; None where there is nothing to do."""
        return self.chain.apply if self.chain else None

    def failed_transform(self) -> str:
        """The class that the last error of `transform` came from."""
        return self.chain.failed_class or "TransformChain"


def task_class(spec: TaskSpec, settings: WorkerSettings) -> type[Task]:
    """Raises ConfigError where there is no such connector."""
    add_plugin_path(settings.plugin_path)
    cls: type[Task] = connector_plugin(spec.connector_config).cls.task
    return cls


def assemble(spec: TaskSpec, settings: WorkerSettings) -> Parts:
    """Raises ConfigError that names the property."""
    config = spec.connector_config
    kind = task_class(spec, settings)
    framework = parse_framework(config)
    # A connector may leave out of a task's configuration what holds for all tasks.
    task_config = parse({**config, **spec.task_config}, settings)
    converters = converters_of(config, settings)
    chain = transforms_of(config)

    def close() -> None:
        converters.close()
        chain.close()

    return Parts(
        kind(), task_config, *converters, framework=framework, chain=chain, errors=ErrorSettings.of(framework),
        close=close,
    )  # fmt: skip
