"""The flags of `caudal up` to its servers: read without the command-line library, and never understood differently."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path
from typing import Any

import pytest

from caudal.cli import supervised
from caudal.cli.commands import up
from caudal.cli.supervised import FLAGS, PROCESSES, REPEATABLE, SWITCHES, fields_of


def test_flags_become_fields_of_their_types() -> None:
    words = [
        "--port",
        "8081",
        "--data",
        "d",
        "--allow-folder",
        "a",
        "--allow-folder",
        "b",
        "--stop-on-stdin-eof",
        "--ready-fd",
        "7",
    ]
    assert fields_of(words) == {
        "port": 8081,
        "data": Path("d"),
        "allowed_folders": [Path("a"), Path("b")],
        "stop_on_stdin_eof": True,
        "ready_fd": 7,
    }


@pytest.mark.parametrize("words", [["--help"], ["--port"], ["--port", "x"], ["--port=1"], ["-c", "a=b"], ["file.json"]])
def test_what_is_not_in_the_tables_is_left_to_the_command(words: list[str]) -> None:
    assert fields_of(words) is None


def test_a_server_that_nobody_supervises_is_left_to_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib, "import_module", lambda name: pytest.fail("it was run"))
    supervised.run(["registry", "--bootstrap", "host:9092"])
    supervised.run(["demo", "--bootstrap", "host:9092", "--ready-fd", "3"])
    supervised.run(["registry", "--ready-fd", "3"])  # the broker may be in the environment


def test_everything_that_up_tells_its_servers_is_understood(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    services: list[Any] = []
    for name in ("registry_is_installed", "connect_is_installed", "ksql_is_installed", "ui_is_installed"):
        monkeypatch.setattr(up, name, lambda: True)
    monkeypatch.setattr(up, "missing_java", lambda: None)
    monkeypatch.setattr(up, "supervise", lambda found, notes, data: services.extend(found))
    ports = dict.fromkeys(("kafka_port", "registry_port", "connect_port", "ksql_port", "ui_port"), 0)
    up.up(data=tmp_path, host="0.0.0.0", master="local[2]", allow_folder=[tmp_path], **ports)  # type: ignore[arg-type]
    for service in services[1:]:
        command, *rest = service.arguments
        fields = fields_of(rest)
        assert fields is not None, service
        options = importlib.import_module(PROCESSES[command]).Options
        assert set(fields) <= {field.name for field in dataclasses.fields(options)}


@pytest.mark.parametrize("command", PROCESSES)
def test_the_tables_name_flags_that_the_commands_have(command: str) -> None:
    """A flag of the tables means the same as typer's: it has this name there."""
    module = importlib.import_module(f"caudal.cli.commands.{command.replace('-', '_')}")
    text = Path(str(module.__file__)).read_text()
    fields = {field.name for field in dataclasses.fields(importlib.import_module(PROCESSES[command]).Options)}
    named = {flag: name for flag, (name, _) in {**FLAGS, **REPEATABLE}.items()} | SWITCHES
    for flag, name in named.items():
        if name in fields and flag != "--bootstrap":  # that one is shared by all commands
            assert f'"{flag}"' in text, flag
