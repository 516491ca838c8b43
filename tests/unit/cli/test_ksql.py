"""`caudal ksql` with -e, -f and standard input: what it prints, where, and its exit code."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.unit.ksql.shell.fake_server import FakeServer, Refusal, fake_server

from caudal.cli.main import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Ksql = Callable[..., Outcome]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server() as running:
        running.statements["SHOW STREAMS;"] = [{"@type": "streams", "streams": []}]
        yield running


@pytest.fixture
def ksql(server: FakeServer, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ksql:
    monkeypatch.setenv("CAUDAL_KSQL", server.url)

    def run(*arguments: str, input: str = "") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.StringIO(input))
        with pytest.raises(SystemExit) as left:
            main(["ksql", *arguments])
        out, err = capfd.readouterr()
        return Outcome(left.value.code if isinstance(left.value.code, int) else 0, out, err)

    return run


def test_statements_given_with_e(ksql: Ksql, server: FakeServer) -> None:
    outcome = ksql("-e", "SHOW STREAMS", "-e", "SHOW STREAMS; DROP STREAM ${s};", "-d", "s=orders")
    assert outcome == (0, "There are no streams.\n" * 2, "")
    assert server.texts() == ["SHOW STREAMS;", "SHOW STREAMS;", "DROP STREAM ${s};"]
    assert server.sent("/ksql")[-1]["sessionVariables"] == {"s": "orders"}


def test_statements_of_a_file_and_of_standard_input(ksql: Ksql, tmp_path: Path) -> None:
    script = tmp_path / "a.sql"
    script.write_text("-- all\nSHOW STREAMS;\n")
    assert ksql("-f", str(script)) == (0, "There are no streams.\n", "")
    assert ksql(input="SHOW STREAMS;") == (0, "There are no streams.\n", "")
    assert ksql(input="") == (0, "", "")


def test_json(ksql: Ksql) -> None:
    outcome = ksql("--json", "-e", "SHOW STREAMS;")
    assert json.loads(outcome.out) == {"@type": "streams", "streams": []}


def test_a_mistake_ends_with_the_caret_and_code_1(ksql: Ksql, server: FakeServer, tmp_path: Path) -> None:
    server.statements["SHOW STREMS;"] = Refusal("line 1:6: Expected STREAMS\nSHOW STREMS;\n     ^")
    outcome = ksql("-e", "SHOW STREMS; SHOW STREAMS;")
    assert outcome == (1, "", "caudal: line 1:6: Expected STREAMS\nSHOW STREMS;\n     ^\n")
    script = tmp_path / "a.sql"
    script.write_text("SHOW STREAMS;\n\nSHOW STREMS;")
    outcome = ksql("-f", str(script))
    assert outcome.code == 1
    assert outcome.out == "There are no streams.\n"
    assert outcome.err.startswith(f"caudal: {script}, statement at line 3: line 1:6: Expected STREAMS\n")


def test_mistakes_of_the_command_line(ksql: Ksql, tmp_path: Path) -> None:
    assert ksql("-e", "x", "-f", "y") == (2, "", "caudal: give -e or -f, not both\n")
    assert ksql("-d", "x", "-e", "y") == (2, "", "caudal: -d takes NAME=VALUE, not 'x'\n")
    outcome = ksql("-f", str(tmp_path / "none.sql"))
    assert outcome.code == 1
    assert outcome.err == f"caudal: Cannot read {tmp_path / 'none.sql'}: no such file or directory.\n"


def test_no_server(ksql: Ksql) -> None:
    outcome = ksql("--server", "http://127.0.0.1:9", "-e", "SHOW STREAMS;")
    assert outcome.code == 1
    assert outcome.err == (
        "caudal: No KSQL server answers at http://127.0.0.1:9: start one, or say where it is with --server.\n"
    )
