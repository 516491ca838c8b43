"""What a person gives as a connector: a .properties or .json file, stdin, and properties on the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from caudal.cli.clients import key_values
from caudal.cli.errors import CliError, UsageError
from caudal.cli.schema_files import read_text


class ConnectorFile(NamedTuple):
    name: str
    config: dict[str, Any]  # its name included
    initial_state: str | None = None


def read_connector(file: str | None, settings: Sequence[str] | None = None, name: str | None = None) -> ConnectorFile:
    """`settings` win over the file. JSON is {"name": …, "config": {…}} as POST /connectors takes it, or the
    configuration alone."""
    given = _read(file) if file is not None else ConnectorFile("", {})
    config = {**given.config, **key_values(settings, "--set")}
    found = name or str(config.get("name") or given.name)
    if not found:
        raise UsageError("the connector has no name: write name=… into the file, or give --set name=…")
    if "connector.class" not in config:
        raise UsageError(
            f"the connector {found} has no connector.class; `caudal connector plugins` lists what there is"
        )
    return ConnectorFile(found, {**config, "name": found}, given.initial_state)


def _read(file: str) -> ConnectorFile:
    shown = "stdin" if file == "-" else file
    text = read_text(file)
    if not text.strip():
        raise CliError(f"{shown} is empty")
    if Path(file).suffix == ".json" or (file == "-" and text.lstrip().startswith("{")):
        return _json(shown, text)
    from caudal.broker.config import ConfigError
    from caudal.broker.config.properties_file import parse_properties

    try:
        return ConnectorFile("", dict(parse_properties(text)))
    except ConfigError as error:
        raise CliError(f"{shown}: {str(error).rstrip('.')}") from None


def _json(shown: str, text: str) -> ConnectorFile:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CliError(f"{shown} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CliError(f"{shown} must hold a JSON object")
    config = value.get("config", value)
    if not isinstance(config, dict):
        raise CliError(f"{shown}: 'config' must be a JSON object")
    initial = value.get("initial_state") if config is not value else None
    name = value.get("name", "")
    if config is not value and isinstance(config.get("name", name), str) and config.get("name", name) != name and name:
        raise CliError(f"{shown} has two names, {name} and {config['name']}")
    return ConnectorFile(str(name), dict(config), initial)


def read_offsets(given: str) -> dict[str, Any]:
    """A file, `-`, or JSON itself: {"offsets": […]}, a list of offsets, or one of them."""
    text = given if given.lstrip()[:1] in ("{", "[") else read_text(given)
    try:
        value = json.loads(text)
    except ValueError as error:
        raise CliError(f"the offsets are not JSON: {error}") from None
    if isinstance(value, Mapping) and "offsets" in value:
        return dict(value)
    return {"offsets": value if isinstance(value, list) else [value]}
