"""A worker that is alone: no group, configurations from files, states in memory, source offsets in a file.

Connectors can be made and changed over REST, too; what was made that way is gone when the worker stops.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from caudal.broker.config.properties_file import parse_properties
from caudal.connect.errors import ConfigError
from caudal.connect.runtime.config_state import Configs, ConfigState, Record
from caudal.connect.runtime.model import RestError
from caudal.connect.runtime.rest_herder import RestHerder
from caudal.connect.runtime.runs import StartTask
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.statuses import Statuses


class StandaloneHerder(RestHerder):
    def __init__(
        self, settings: WorkerSettings, files: Iterable[Path] = (), start_task: StartTask | None = None
    ) -> None:
        super().__init__(settings, Statuses(self.on_status), start_task)
        self._files = list(files)
        self._state = ConfigState()
        self._offset = 0

    def start(self) -> None:
        """Raises ConfigError for a file that is wrong: nothing is begun then."""
        read = {path: read_connector_file(path) for path in self._files}
        super().start()
        for path, (name, config) in read.items():
            try:
                self.put_config(name, config)
            except RestError as error:
                self.stop()
                raise ConfigError(f"{path}: {error.message}") from None

    def newest(self) -> Configs:
        return self.configs

    def write(self, records: list[Record]) -> None:
        asked = []
        for key, value in records:
            data = None if value is None else json.dumps(value).encode()
            request = self._state.apply(self._offset, key.encode(), data)
            self._offset += 1
            if request is not None:
                asked.append(request)
        self.configs = self._state.snapshot()
        self.runs.reconcile(self.configs.load(), self.configs)
        self.forget_the_deleted()
        for request in asked:
            self.do_as_asked(request)


def read_connector_file(path: Path) -> tuple[str, dict[str, Any]]:
    """Name and configuration. A properties file, or JSON: the configuration itself, or {"name": …, "config": {…}}."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    config: Any
    if path.suffix == ".json" or text.lstrip().startswith("{"):
        try:
            config = json.loads(text)
        except ValueError as error:
            raise ConfigError(f"{path} is not JSON: {error}") from None
        if not isinstance(config, dict):
            raise ConfigError(f"{path} must hold a JSON object.")
        if isinstance(config.get("config"), Mapping):
            config = {**config["config"], "name": config.get("name") or config["config"].get("name")}
    else:
        config = parse_properties(text)
    name = config.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"{path} has no name: every connector needs one.", "name")
    return name, config
