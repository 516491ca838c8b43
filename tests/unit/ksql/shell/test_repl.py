"""The prompt: what Enter does, the shell's commands, and a session typed into a real terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

import pytest
from tests.unit.ksql.shell.fake_server import FakeServer, Refusal
from tests.unit.ksql.shell.seen import Seen

from caudal.ksql.shell.repl import Leave, Repl, history_path, is_finished
from caudal.ksql.shell.session import Session

SOURCE = Path(__file__).parents[4] / "src"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("  ", True),
        ("help", True),
        ("EXIT", True),
        ("output json", True),
        ("server http://localhost:8088", True),
        ("SELECT 1", False),
        ("SELECT 1\nFROM s", False),
        ("SELECT ';'", False),
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SHOW STREAMS; SHOW", False),
        ("output is a column", False),
    ],
)
def test_enter_runs_what_is_finished(text: str, expected: bool) -> None:
    assert is_finished(text) is expected


@pytest.fixture
def repl(session: Session) -> Repl:
    return Repl(session, None)


def test_commands_of_the_shell(repl: Repl, server: FakeServer, screen: Seen) -> None:
    for text in ("help", "output", "output json;", "output TABULAR", "server", "version", "history"):
        repl.handle(text)
    shown = screen.text
    assert "SPOOL OFF;" in shown
    assert re.findall(r"Output format: (\w+)", shown) == ["TABULAR", "JSON", "TABULAR"]
    assert f"Server: {server.url}\n" in shown
    assert "Server: 9.9.9" in shown
    for text in ("exit", "QUIT;"):
        with pytest.raises(Leave):
            repl.handle(text)
    assert server.texts() == []


def test_mistakes_are_shown_and_the_shell_goes_on(repl: Repl, server: FakeServer, screen: Seen) -> None:
    server.statements["DROP STREAM s;"] = Refusal("line 1:13: no stream S\nDROP STREAM s;\n            ^")
    repl.handle("DROP STREAM s;")
    repl.handle("output XML")
    repl.handle("SET a;")
    repl.handle("server http://127.0.0.1:9")
    assert screen.err.getvalue().splitlines() == [
        "line 1:13: no stream S",
        "DROP STREAM s;",
        "            ^",
        "There is no output format 'XML': there are JSON and TABULAR.",
        "line 1:5: Expected a property's name as a string, found 'a'.",
        "SET a",
        "    ^",
        f"Still at {server.url}: No KSQL server answers at http://127.0.0.1:9: start one, "
        "or say where it is with --server.",
    ]


def test_where_history_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CAUDAL_KSQL_HISTORY", str(tmp_path / "h"))
    assert history_path() == tmp_path / "h"
    monkeypatch.setenv("CAUDAL_KSQL_HISTORY", "")
    assert history_path() is None
    monkeypatch.delenv("CAUDAL_KSQL_HISTORY")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_path() == tmp_path / "caudal" / "ksql-history"


class Terminal:
    """`caudal ksql` in a terminal of its own, typed into."""

    def __init__(self, url: str, folder: Path) -> None:
        self.master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        environment = os.environ | {
            "PYTHONPATH": str(SOURCE),
            "CAUDAL_KSQL_HISTORY": str(folder / "history"),
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "TERM": "xterm",
            "CAUDAL_DEBUG": "1",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "caudal.cli.main", "ksql", "--server", url],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def wait_for(self, pattern: str, seconds: float = 45) -> str:
        """Reads until the pattern has come since the last one that was waited for."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen)):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError(f"{pattern!r} did not come; this came: {self.seen!r}")
            try:
                part = os.read(self.master, 65536).decode(errors="replace")
            except OSError:
                part = ""
            if not part:
                raise AssertionError(f"{pattern!r} did not come before the end; this came: {self.seen!r}")
            # Without what only moves the cursor and sets colours.
            self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[>=]", "", part)
        self.seen = self.seen[found.end() :]
        return found.group()

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal(server: FakeServer, tmp_path: Path) -> Iterator[Terminal]:
    typed_into = Terminal(server.url, tmp_path)
    yield typed_into
    typed_into.close()


def test_a_session_in_a_terminal(terminal: Terminal, server: FakeServer, tmp_path: Path) -> None:
    created = [{"@type": "currentStatus", "commandStatus": {"status": "SUCCESS", "message": "Stream created"}}]
    server.statements["CREATE STREAM s (a INT)\nWITH (kafka_topic='s');"] = created
    header = {"queryId": "q7", "columnNames": ["A"], "columnTypes": ["INTEGER"]}
    server.queries["SELECT * FROM s EMIT CHANGES;"] = [header, [41], [42], None]
    terminal.wait_for("version 9.9.9: RUNNING")
    terminal.wait_for("ksql>")

    # A statement over two lines.
    terminal.type("CREATE STREAM s (a INT)\r")
    terminal.wait_for(r"\n +>")
    terminal.type("WITH (kafka_topic='s');\r")
    terminal.wait_for("Stream created")
    terminal.wait_for("ksql>")

    # Rows of a push query; Ctrl-C ends it, and not the shell.
    terminal.type("SELECT * FROM s EMIT CHANGES;\r")
    terminal.wait_for(r"\|42 +\|")
    terminal.type("\x03")
    terminal.wait_for("Query terminated")
    terminal.wait_for("ksql>")
    assert server.closed == ["q7"]

    # Ctrl-C at the prompt drops what was typed; Tab completes.
    terminal.type("DROP EVERYTHING\x03")
    terminal.wait_for("ksql>")
    terminal.type("DESCRI\t")
    terminal.wait_for("DESCRIBE")
    terminal.type(" s;\r")
    terminal.wait_for("ksql>")
    terminal.type("exit\r")
    terminal.wait_for("Goodbye")
    assert terminal.process.wait(30) == 0
    assert server.texts()[0] == "CREATE STREAM s (a INT)\nWITH (kafka_topic='s');"
    assert server.texts()[-1] == "DESCRIBE s;"
    assert not any("EVERYTHING" in text for text in server.texts())
    history = tmp_path / "history"
    assert "WITH (kafka_topic='s');" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0
