"""What a person sees on a terminal and what a pipe gets: tables, colours, questions and bars."""

from __future__ import annotations

import json
import os
import re
import uuid
from pathlib import Path

import pytest

from caudal.testing import EmbeddedBroker

from .conftest import Caudal
from .terminal import in_terminal

COLOUR = re.compile(r"\x1b\[[0-9;]*[1-9][0-9;]*m")


@pytest.fixture
def topic(on_broker: Caudal) -> str:
    name = f"t-{uuid.uuid4().hex[:8]}"
    assert on_broker("topic", "create", name, "-p", "2").code == 0
    return name


def test_a_terminal_gets_a_table_and_a_pipe_gets_text(on_broker: Caudal, topic: str) -> None:
    shown = in_terminal(["topic", "list"])
    assert shown.code == 0
    assert "──────" in shown.text and topic in shown.text
    piped = on_broker("topic", "list").out
    assert "─" not in piped and "\x1b" not in piped
    assert f"{topic:<10}" in piped


def test_a_table_fits_into_a_narrow_terminal(on_broker: Caudal, topic: str) -> None:
    shown = in_terminal(["topic", "describe", topic], columns=50)
    assert all(len(line) <= 60 for line in re.sub(r"\x1b\[[0-9;]*m", "", shown.text).splitlines() if "id " not in line)


def test_colours_on_a_terminal_and_none_with_no_color(on_broker: Caudal, topic: str) -> None:
    assert on_broker("produce", topic, input=b"x\n").code == 0
    assert on_broker("consume", topic, "-G", f"g-{topic}", "-c", "1").code == 0
    assert "\x1b[33mempty" in in_terminal(["group", "list"]).text
    plain = in_terminal(["group", "list"], environment={"NO_COLOR": "1"}).text
    assert "empty" in plain and not re.search(r"\x1b\[3[0-9]m", plain)


def test_a_name_cannot_steer_the_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from caudal.cli import output

    monkeypatch.setattr(output, "is_terminal", lambda: True)
    output.print_table(["NAME"], [["a\x1b]0;owned\x07b"]])
    assert "\x1b]0" not in capsys.readouterr().out


@pytest.mark.parametrize(("answer", "code", "said"), [("y\n", 0, "deleted topic"), ("n\n", 1, "nothing was deleted")])
def test_a_person_is_asked_before_something_is_deleted(
    on_broker: Caudal, topic: str, answer: str, code: int, said: str
) -> None:
    shown = in_terminal(["topic", "delete", topic], keys={"[y/N]": answer})
    assert shown.code == code
    assert f"Delete {topic} and all records in it?" in shown.text
    assert said in shown.text


def test_yes_is_not_asked(on_broker: Caudal, topic: str) -> None:
    shown = in_terminal(["topic", "delete", "--yes", topic])
    assert (shown.code, "[y/N]" in shown.text) == (0, False)


def test_the_doctors_table(broker: EmbeddedBroker, tmp_path: Path) -> None:
    shown = in_terminal(["doctor", "--data", str(tmp_path)], environment={"CAUDAL_BOOTSTRAP": broker.bootstrap})
    assert shown.code == 0, shown.text
    assert "✓" in shown.text and "FIX" in shown.text and "in order" in shown.text


def test_a_bar_while_a_big_file_is_produced_and_read_back(on_broker: Caudal, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "big.txt"
    file.write_text("".join(f"{number:07d} {'x' * 90}\n" for number in range(200_000)))
    shown = in_terminal(["produce", topic, "-l", str(file)])
    assert shown.code == 0
    assert re.search(r"[\d,]+ of [\d,]+ records delivered", shown.text)
    assert re.search(r"of 18\.\d MiB \(\d+ %\)", shown.text)
    with (tmp_path / "out.txt").open("wb") as out:
        shown = in_terminal(["consume", topic, "-e"], stdout=out.fileno())
    assert shown.code == 0
    assert re.search(r"of 200,000 records \(\d+ %\)", shown.text)
    assert sum(1 for _ in (tmp_path / "out.txt").open("rb")) == 200_000


def test_no_bar_among_the_records_on_a_terminal(on_broker: Caudal, topic: str) -> None:
    assert on_broker("produce", topic, input=b"hello\n").code == 0
    shown = in_terminal(["consume", topic, "-e"])
    assert shown.text.replace("\r\n", "\n") == "hello\n"


@pytest.mark.parametrize(
    "arguments",
    [["topic", "list"], ["topic", "describe", "{topic}"], ["group", "list"], ["cluster", "profile", "list"]],
)
def test_lists_and_descriptions_have_json(on_broker: Caudal, topic: str, arguments: list[str]) -> None:
    outcome = on_broker(*(part.format(topic=topic) for part in arguments), "--json")
    assert outcome.code == 0
    json.loads(outcome.out)


def test_every_list_and_describe_takes_json() -> None:
    """And every command that deletes takes --yes, and every one that talks to a broker takes --bootstrap and -b."""
    from typer.main import get_command

    from caudal.cli.main import build_app

    os.environ.pop("_CAUDAL_COMPLETE", None)
    seen = 0

    def walk(command: object, path: tuple[str, ...]) -> None:
        nonlocal seen
        children = getattr(command, "commands", None)
        if children:
            for name, child in children.items():
                walk(child, (*path, name))
            return
        options = {option for parameter in getattr(command, "params", ()) for option in parameter.opts}
        seen += 1
        if path[-1] in ("list", "describe", "show", "status"):
            assert "--json" in options, path
        if path[-1] in ("delete", "remove"):
            assert {"--yes", "-y"} <= options, path
        if "--bootstrap" in options and path != ("up",):
            assert "-b" in options, path

    walk(get_command(build_app([])), ())
    assert seen > 40
