"""The entry point: discovery, exit codes, one line on stderr, and what `caudal broker` does not import."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from caudal.cli import commands
from caudal.cli.main import build_app
from caudal.testing import EmbeddedBroker

from .conftest import Caudal


def test_every_command_is_listed_without_a_central_list(caudal: Caudal) -> None:
    outcome = caudal("--help")
    assert outcome.code == 0
    for name in ("broker", "up", "topic", "group", "produce", "consume", "doctor", "bench"):
        assert f"  {name} " in outcome.out


def test_a_new_file_is_a_new_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caudal: Caudal) -> None:
    (tmp_path / "hello.py").write_text("def register(app):\n    app.command('hello')(lambda: print('hola'))\n")
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    assert caudal("hello").out == "hola\n"


def test_only_the_command_asked_for_is_imported() -> None:
    app = build_app(["topic", "list"])
    assert [group.name for group in app.registered_groups] == ["topic"]
    assert not app.registered_commands


def test_the_version_is_printed(caudal: Caudal) -> None:
    assert caudal("--version").out.startswith("caudal ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["topic", "create"],
        ["topic", "alter", "t"],
        ["consume", "t", "-o", "middle"],
        ["consume", "t", "-o", "stored"],
        ["consume", "t", "t"],
        ["consume", "t", "-J", "-f", "%s"],
        ["consume", "t", "-G", "g", "-p", "0"],
        ["consume", "t", "--queue", "g"],
        ["produce", "t", "-z", "rar"],
        ["produce", "t", "-l"],
        ["produce", "t", "-H", "novalue"],
        ["group", "reset", "g"],
        ["group", "reset", "g", "--to-earliest", "--to-latest"],
        ["topic", "list", "--bootstrap", "host:port"],
        ["up", "--secure"],
        ["bench", "nonsense"],
        ["broker", "--port", "70000"],
        ["broker", "--port", "x"],
        ["broker", "--nonsense"],
        ["broker", "-c", "novalue"],
        ["broker", "-c", "log.segment.bites=1"],
        ["broker", "--zookeeper", "localhost:2181"],
    ],
)
def test_a_wrong_command_line_is_exit_code_2_without_a_stack_trace(caudal: Caudal, arguments: list[str]) -> None:
    outcome = caudal(*arguments)
    assert outcome.code == 2, outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.err.strip()
    assert outcome.out == ""


def test_queues_are_refused_with_the_reason(caudal: Caudal) -> None:
    outcome = caudal("consume", "t", "--queue", "workers")
    assert "share groups" in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [["topic", "list"], ["group", "list"], ["consume", "t", "-e"], ["produce", "t"], ["topic", "describe", "t"]],
)
def test_nobody_there_is_said_in_one_line_and_soon(caudal: Caudal, arguments: list[str]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        before = time.monotonic()
        outcome = caudal(*arguments, "--bootstrap", address)
    assert time.monotonic() - before < 5
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert address in outcome.err
    assert "caudal broker" in outcome.err


def test_a_port_that_is_no_broker_is_said_within_seconds(caudal: Caudal) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        before = time.monotonic()
        outcome = caudal("topic", "list", "--bootstrap", f"127.0.0.1:{silent.getsockname()[1]}")
    assert time.monotonic() - before < 8
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "did not answer" in outcome.err


def test_an_unexpected_failure_is_one_line_too(caudal: Caudal, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object, **__: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("caudal.cli.commands.topic.admin_client", explode)
    outcome = caudal("topic", "list")
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "RuntimeError: two lines" in outcome.err


def test_the_broker_path_imports_no_client_and_nothing_pretty() -> None:
    code = (
        "import sys, runpy, caudal.cli.main as m\n"
        "try: m.main(['broker', '--help'])\n"
        "except SystemExit: pass\n"
        "import caudal.broker.broker\n"
        "heavy = {'typer', 'rich', 'confluent_kafka', 'prometheus_client', 'psutil', 'pandas', 'pyspark'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "[]"


def test_a_list_in_a_pipe_loads_nothing_pretty_and_no_http_client(broker: EmbeddedBroker) -> None:
    """What `caudal topic list` costs before it asks the broker; 0.2 s of CPU when this was written."""
    code = (
        "import sys, caudal.cli.main as m\n"
        f"try: m.main(['topic', 'list', '-b', {broker.bootstrap!r}])\n"
        "except SystemExit: pass\n"
        "heavy = {'rich', 'httpx', 'psutil', 'prometheus_client', 'kio', 'pandas', 'pyspark', 'caudal.cli.doctor'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "[]"
