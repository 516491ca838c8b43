"""The prompt: lines until a semicolon, history in a file, Tab, and Ctrl-C that ends a query and not the shell."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.filters import completion_is_selected, has_completions
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings

from caudal.ksql.errors import KsqlError
from caudal.ksql.shell.client import NotAnswering, Server, ServerError
from caudal.ksql.shell.completion import Names, StatementCompleter
from caudal.ksql.shell.session import Session, ShellError
from caudal.ksql.syntax.script import is_complete

HELP = """\
Statements end with a semicolon and may span lines; Tab completes. Ctrl-C ends a query, Ctrl-D leaves.

  SHOW STREAMS | TABLES | TOPICS | QUERIES | FUNCTIONS | PROPERTIES;     what there is
  DESCRIBE name [EXTENDED];  DESCRIBE FUNCTION name;                     what one looks like
  CREATE STREAM | TABLE name (columns) WITH (...);                       name the data of a topic
  CREATE STREAM | TABLE name AS SELECT ...;                              start a persistent query
  SELECT ... EMIT CHANGES;                                               follow a query's results
  SELECT ... FROM table WHERE ...;                                       ask for the present state
  PRINT topic [FROM BEGINNING] [LIMIT n];                                look into a topic
  INSERT INTO name VALUES (...);                                         write a row
  TERMINATE query;  EXPLAIN query;                                       end or look into a query
  SET 'property' = 'value';  UNSET 'property';                           properties of this session
  DEFINE name = 'value';  UNDEFINE name;                                 variables, used as ${name}
  RUN SCRIPT 'file.sql';                                                 run a file's statements
  SPOOL 'file';  SPOOL OFF;                                              write the session to a file

Commands of the shell, without a semicolon:

  help            this text
  output          show how answers are drawn; output JSON | TABULAR sets it
  server [URL]    show or change the server
  history         what was typed before
  version         of the shell and the server
  clear           empty the screen
  exit            leave (also quit, Ctrl-D)"""

COMMANDS = ("help", "output", "server", "history", "version", "clear", "exit", "quit")


class Leave(Exception):
    """The person typed exit."""


class Repl:
    def __init__(self, session: Session, history: Path | None, prompt: PromptSession[str] | None = None) -> None:
        self.session = session
        self.screen = session.screen
        self.names = Names(lambda: session.server)
        session.changed = self.names.forget
        self._prompt = prompt or PromptSession(
            message="ksql> ",
            prompt_continuation=lambda width, line, wrapped: ">".rjust(width - 1) + " ",
            history=_history(history),
            completer=StatementCompleter(session, self.names),
            complete_in_thread=True,
            complete_while_typing=False,
            multiline=True,
            key_bindings=_bindings(),
            enable_history_search=False,
        )

    def run(self) -> None:
        """Until the person leaves."""
        self._welcome()
        while True:
            try:
                text = self._prompt.prompt()
            except KeyboardInterrupt:
                continue
            except EOFError:
                break
            try:
                self.handle(text)
            except Leave:
                break
        self.screen.line("Goodbye.")
        self.screen.spool_off()

    def handle(self, text: str) -> None:
        """What was typed: a command of the shell, or statements. Errors are shown, and the shell goes on."""
        try:
            if not self._command(text.strip().rstrip(";").strip()):
                self.session.run_text(text)
        except KeyboardInterrupt:
            self.screen.line()
        except KsqlError as error:
            self.screen.error(error.explained())
        except (ServerError, NotAnswering, ShellError) as error:
            self.screen.error(str(error))

    # -- commands ------------------------------------------------------------------------------------------------------

    def _command(self, text: str) -> bool:
        word, _, argument = text.partition(" ")
        argument = argument.strip()
        match word.lower():
            case "exit" | "quit" if not argument:
                raise Leave
            case "help":
                self.screen.line(HELP)
            case "output":
                self._output(argument)
            case "server":
                self._server(argument)
            case "history" if not argument:
                for number, line in enumerate(self._prompt.history.get_strings(), 1):
                    self.screen.line(f"{number:>5}  {line}")
            case "version" if not argument:
                self._versions()
            case "clear" if not argument:
                self.screen.console.clear()
            case _:
                return False
        return True

    def _output(self, argument: str) -> None:
        if argument.upper() in ("JSON", "TABULAR"):
            self.session.as_json = argument.upper() == "JSON"
        elif argument:
            raise ShellError(f"There is no output format '{argument}': there are JSON and TABULAR.")
        self.screen.line(f"Output format: {'JSON' if self.session.as_json else 'TABULAR'}")

    def _server(self, argument: str) -> None:
        if argument:
            other = Server(argument.strip("'\""))
            try:
                other.info()
            except (NotAnswering, ServerError) as error:
                other.close()
                raise ShellError(f"Still at {self.session.server.url}: {error}") from None
            self.session.server.close()
            self.session.server = other
            self.names.forget()
        self.screen.line(f"Server: {self.session.server.url}")

    def _versions(self) -> None:
        from caudal import __version__

        self.screen.line(f"Shell: {__version__}\nServer: {self.session.server.info().get('version', 'unknown')}")

    def _welcome(self) -> None:
        from caudal import __version__

        self.screen.line(f"Caudal KSQL {__version__}: type help for help, exit to leave.")
        try:
            info = self.session.server.info()
            state = info.get("serverStatus", "unknown")
            self.screen.line(f"Server {self.session.server.url}, version {info.get('version', 'unknown')}: {state}")
        except (NotAnswering, ServerError) as error:
            self.screen.error(f"{error} Or type: server URL")


def is_finished(text: str) -> bool:
    """Whether Enter runs this, instead of beginning a new line.

    >>> is_finished("SELECT *"), is_finished("SELECT * FROM s;"), is_finished("help"), is_finished("server http://x")
    (False, True, True, True)
    """
    stripped = text.strip()
    words = stripped.split(None, 2)
    if not words or (words[0].lower() in COMMANDS and len(words) <= 2 and "\n" not in stripped):
        return True
    return is_complete(text)


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter", filter=~(has_completions & completion_is_selected))
    def _(event: Any) -> None:
        buffer = event.current_buffer
        if is_finished(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    @bindings.add("enter", filter=has_completions & completion_is_selected)
    def _take(event: Any) -> None:
        event.current_buffer.complete_state = None

    return bindings


def _history(path: Path | None) -> History:
    """In a file that only its owner reads: statements may hold secrets. Without one where it cannot be written."""
    if path is None:
        return InMemoryHistory()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        print(f"caudal: no history is kept: {error}", file=sys.stderr)
        return InMemoryHistory()
    return FileHistory(str(path))


def history_path() -> Path | None:
    """CAUDAL_KSQL_HISTORY (empty: none), or the place of such files in the home folder."""
    given = os.environ.get("CAUDAL_KSQL_HISTORY")
    if given is not None:
        return Path(given).expanduser() if given else None
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "caudal" / "ksql-history"
