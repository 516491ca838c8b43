"""What shells complete: commands, options and live values, by typer's protocol and in a real bash (zsh and fish where
they are installed)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from caudal.cli.completion import SCRIPTS
from caudal.testing import EmbeddedBroker
from tests.unit.cli.web_server import web_server

from .conftest import Caudal
from .terminal import in_terminal

Completed = Callable[..., list[str]]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home without anything, and `caudal` on the PATH."""
    program = tmp_path / "bin" / "caudal"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m caudal.cli.main "$@"\n')
    program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CAUDAL_", "XDG_"))}
    return {
        **kept,
        "HOME": str(tmp_path),
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "CAUDAL_PROFILES": str(tmp_path / "clusters.json"),
    }


@pytest.fixture
def completed(environment: dict[str, str]) -> Completed:
    """What may come next on a line."""

    def ask(line: str, shell: str = "bash") -> list[str]:
        asked = {"_CAUDAL_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line}
        asked["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
        said = subprocess.run(
            ["caudal"], env={**environment, **asked}, capture_output=True, text=True, timeout=60, check=False
        )
        assert said.stderr == ""
        return said.stdout.split("\n")[:-1] if said.stdout.strip() else []

    return ask


@pytest.fixture(scope="module")
def names(broker: EmbeddedBroker) -> Iterator[str]:
    """A beginning that two topics and a group have in common."""
    common = f"n{uuid.uuid4().hex[:6]}"
    for end in ("-orders", "-orders-b"):
        broker.create_topic(f"{common}{end}")
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": f"{common}-group", "log_level": 0})
    consumer.subscribe([f"{common}-orders"])
    deadline = time.monotonic() + 20
    while not consumer.assignment() and time.monotonic() < deadline:
        consumer.poll(0.1)
    yield common
    consumer.close()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("caudal top", ["topic"]),
        ("caudal topic de", ["describe", "delete"]),
        ("caudal topic list --js", ["--json"]),
        ("caudal topic list --clus", ["--cluster"]),
        ("caudal broker --node", ["--node-id"]),
        ("caudal bench st", ["streams"]),
        ("caudal completion ", ["bash", "zsh", "fish"]),
        ("caudal topic 'des", ["describe"]),
    ],
)
def test_commands_and_options(completed: Completed, line: str, expected: list[str]) -> None:
    assert [name for name in completed(line) if name] == expected


def test_descriptions_for_shells_that_show_them(completed: Completed) -> None:
    assert "list\tList the groups and their states." in completed("caudal group ", "fish")


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("caudal topic describe -b {address} {n}", ["-orders", "-orders-b"]),
        ("caudal consume --bootstrap={address} {n}", ["-orders", "-orders-b"]),
        ("caudal consume {n}-orders -b {address} -G {n}", ["-group"]),
        ("caudal group describe -b {address} {n}", ["-group"]),
        ("caudal group reset {n}-group -b {address} --topic {n}-orders-", ["-orders-b"]),
    ],
)
def test_topics_and_groups_of_the_cluster(
    completed: Completed, broker: EmbeddedBroker, names: str, line: str, ends: list[str]
) -> None:
    assert completed(line.format(address=broker.bootstrap, n=names)) == [f"{names}{end}" for end in ends]


def test_subjects_and_connectors(completed: Completed) -> None:
    with web_server({"/subjects": ["orders-value", "pay-value"], "/connectors": ["lines", "logs"]}) as url:
        assert completed(f"caudal schema show --registry {url} ord") == ["orders-value"]
        assert completed(f"caudal connector pause --connect {url} lines lo") == ["logs"]


def test_profiles_and_the_cluster_that_was_chosen(
    completed: Completed, broker: EmbeddedBroker, names: str, environment: dict[str, str]
) -> None:
    add = ["caudal", "cluster", "profile", "add", "west", "--bootstrap", broker.bootstrap]
    subprocess.run(add, env=environment, check=True, capture_output=True)
    assert completed("caudal topic list --cluster w") == ["west"]
    assert completed(f"caudal topic describe --cluster west {names}-orders-") == [f"{names}-orders-b"]
    assert completed("caudal cluster profile show w") == ["west"]


def test_silence_within_a_second_where_nobody_answers(completed: Completed) -> None:
    before = time.monotonic()
    assert completed("caudal topic describe -b 127.0.0.1:1 ") == []
    assert completed("caudal schema show --registry http://127.0.0.1:1 ") == []
    assert time.monotonic() - before < 10


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_script_is_printed_and_installed(caudal: Caudal, tmp_path: Path, shell: str) -> None:
    assert caudal("completion", shell).out == SCRIPTS[shell]
    from caudal.cli.completion import install

    for _ in range(2):
        path, _ = install(shell, {"HOME": str(tmp_path)})
        assert path.read_text() == SCRIPTS[shell]
    for rc in tmp_path.glob(".*rc"):
        assert rc.read_text().count(str(path.parent)) in (1, 2), "told once, however often it is installed"


def test_a_shell_that_is_not_known(caudal: Caudal) -> None:
    assert caudal("completion", "tcsh").code == 2


def test_in_a_real_bash(environment: dict[str, str], broker: EmbeddedBroker, names: str) -> None:
    """An address with a colon in it and a name after `=`: readline cuts words there."""
    subprocess.run(["caudal", "completion", "bash", "--install"], env=environment, check=True, capture_output=True)
    with Path(environment["HOME"], ".bashrc").open("a") as settings:
        settings.write("PS1='ready> '\n")
    typed = f"caudal topic describe --bootstrap={broker.bootstrap} {names}-orders-\t\r"
    shown = in_terminal(
        ["--noprofile", "-i"],
        command=["bash"],
        keys={"ready>": typed, "PARTITION": "exit\r"},
        environment=environment,
    )
    assert f"{names}-orders-b" in shown.text and "PARTITION" in shown.text


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_in_a_real_zsh(environment: dict[str, str]) -> None:
    subprocess.run(["caudal", "completion", "zsh", "--install"], env=environment, check=True, capture_output=True)
    with Path(environment["HOME"], ".zshrc").open("a") as settings:
        settings.write("PS1='ready> '\n")
    shown = in_terminal(
        ["-i"],
        command=["zsh"],
        keys={"ready>": "caudal grou\t --help\r", "rewind": "exit\r"},
        environment={**environment, "ZDOTDIR": environment["HOME"]},
    )
    assert "caudal group" in shown.text and "rewind" in shown.text


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_in_a_real_fish(environment: dict[str, str], broker: EmbeddedBroker, names: str) -> None:
    line = f"caudal topic describe -b {broker.bootstrap} {names}-orders-"
    said = subprocess.run(
        ["fish", "-c", f"{SCRIPTS['fish']}\ncomplete -C '{line}'"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == [f"{names}-orders-b"]
