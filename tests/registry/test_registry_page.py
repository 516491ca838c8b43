"""docs/registry.md: its commands run from top to bottom as they stand, and its table of levels is right."""

from __future__ import annotations

import io
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from caudal.cli.main import main
from caudal.registry.schemas.compatibility import LEVELS, differences
from caudal.registry.schemas.parse import parse
from caudal.registry.schemas.schema import ParsedSchema
from caudal.testing import embedded_broker
from tests.registry.running_registry import running_registry

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "registry.md").read_text()
BLOCKS = re.findall(r"^```sh(?: (\S+))?\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


# A here-document (or any other line of the shell), or a command of ours with what is piped into it.
STATEMENT = re.compile(
    r"(?P<other>cat >.*?\nEND|sed [^\n]*)|(?:echo '(?P<input>[^\n]*)' \| )?caudal (?P<ours>[^\n]*)", re.DOTALL
)


def test_the_commands_run_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Against a broker and a registry as `caudal up` starts them; a block marked `fails` must, each command of it."""
    monkeypatch.chdir(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("CAUDAL_REGISTRY", url)
    said = ""
    with embedded_broker({"confluent.schema.registry.url": url}) as broker, running_registry(broker.bootstrap, port):
        monkeypatch.setenv("CAUDAL_BOOTSTRAP", broker.bootstrap)
        for mark, text in BLOCKS:
            if mark == "up":
                continue
            position = 0
            while position < len(text.rstrip()):
                statement = STATEMENT.match(text, position)
                assert statement is not None, f"not understood: {text[position:]}"
                position = statement.end() + 1
                if statement["other"]:
                    subprocess.run(["sh", "-ec", statement["other"]], check=True)
                    continue
                monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((statement["input"] or "").encode())))
                with pytest.raises(SystemExit) as left:
                    main(shlex.split(statement["ours"]))
                out, err = capfd.readouterr()
                assert bool(left.value.code) == (mark == "fails"), f"caudal {statement['ours']}: {out}{err}"
                said += out + err
    quoted = PAGE.split("```\n" + "At path")[1].split("```")[0]
    assert "At path" + quoted in said, "what the page shows is what was said"
    assert "one with confluent.value.schema.validation needs a registered schema" in said
    assert '{"id":1,"customer":"ana"}' in said.replace(" ", ""), "consume shows the decoded record"


def record(**defaults: Any) -> ParsedSchema:
    """A record of these fields, texts all; `...` stands for no default."""
    fields = ", ".join(
        f'{{"name": "{name}", "type": "string"' + ("" if value is ... else f', "default": "{value}"') + "}"
        for name, value in defaults.items()
    )
    return parse("AVRO", f'{{"type": "record", "name": "R", "fields": [{fields}]}}')


ID, NOTE, BARE = record(id=...), record(id=..., note=""), record(id=..., note=...)
EXAMPLES = [
    ("BACKWARD", NOTE, [ID], BARE, [ID]),
    ("BACKWARD_TRANSITIVE", NOTE, [ID], BARE, [ID, NOTE]),
    ("BACKWARD", BARE, [ID, NOTE], BARE, [ID]),
    ("FORWARD", BARE, [ID], record(), [ID]),
    ("FORWARD_TRANSITIVE", record(id=""), [ID], record(), [ID, record(id="")]),
    ("FORWARD", record(), [ID, record(id="")], record(), [ID]),
    ("FULL", NOTE, [ID], BARE, [ID]),
    ("FULL", BARE, [ID, NOTE], BARE, [ID]),
    ("FULL_TRANSITIVE", NOTE, [ID], BARE, [ID, NOTE]),
]


@pytest.mark.parametrize(("level", "taken", "after", "refused", "behind"), EXAMPLES)
def test_the_table_of_levels(
    level: str, taken: ParsedSchema, after: list[ParsedSchema], refused: ParsedSchema, behind: list[ParsedSchema]
) -> None:
    assert differences(level, taken, after) == []
    assert differences(level, refused, behind) != []


def test_the_table_has_every_level() -> None:
    assert set(re.findall(r"^\| `([A-Z_]+)`", PAGE, re.MULTILINE)) == set(LEVELS)
