"""`caudal ksql`: SQL over streams, typed at a prompt or given with -e and -f."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caudal.cli.clients import AsJson, key_values
from caudal.cli.errors import CliError, UsageError

if TYPE_CHECKING:
    from caudal.ksql.shell.session import Session

DEFAULT_SERVER = "http://localhost:8088"


def register(app: typer.Typer) -> None:
    app.command("ksql")(ksql)


def ksql(
    execute: Annotated[
        list[str] | None,
        typer.Option("-e", "--execute", metavar="STATEMENT", help="Run this and leave. Repeatable."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", metavar="FILE", help="Run the statements of a file and leave.")
    ] = None,
    server: Annotated[
        str, typer.Option("--server", "-s", envvar="CAUDAL_KSQL", metavar="URL", help="The KSQL server.")
    ] = DEFAULT_SERVER,
    define: Annotated[
        list[str] | None,
        typer.Option("-d", "--define", metavar="NAME=VALUE", help="A variable, used as ${NAME}. Repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """SQL over streams: a prompt, or statements from -e, -f or standard input. Exit code 1 when one fails."""
    variables = key_values(define, "-d")
    if execute and file is not None:
        raise UsageError("give -e or -f, not both")
    try:
        from caudal.ksql.shell.client import Server
        from caudal.ksql.shell.screen import Screen
        from caudal.ksql.shell.session import Session
    except ModuleNotFoundError as error:
        raise _not_installed(error) from None
    session = Session(Server(server), Screen(), as_json=as_json)
    session.variables.update(variables)
    try:
        if execute or file is not None or not sys.stdin.isatty():
            _run_and_leave(session, execute or [], file)
        else:
            _prompt(session)
    finally:
        session.screen.spool_off()
        session.server.close()


def _run_and_leave(session: Session, statements: list[str], file: Path | None) -> None:
    from caudal.ksql.errors import KsqlError
    from caudal.ksql.shell.client import NotAnswering, ServerError
    from caudal.ksql.shell.session import ShellError

    try:
        if file is not None:
            session.run_file(file)
        elif statements:
            for statement in statements:
                session.run_text(statement)
        else:
            session.run_text(sys.stdin.read())
    except KsqlError as error:
        raise CliError(error.explained()) from None
    except (NotAnswering, ServerError, ShellError) as error:
        raise CliError(str(error)) from None


def _prompt(session: Session) -> None:
    try:
        from caudal.ksql.shell.repl import Repl, history_path
    except ModuleNotFoundError as error:
        raise _not_installed(error) from None
    Repl(session, history_path()).run()


def _not_installed(error: ModuleNotFoundError) -> CliError:
    return CliError(f"the KSQL shell needs {error.name}: pip install 'caudal[ksql]'")
