"""`caudal ksql-test`: scripts of SQL with assertions, run in process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from caudal.cli.errors import CliError, UsageError


def register(app: typer.Typer) -> None:
    app.command("ksql-test")(ksql_test)


def ksql_test(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Files of cases, or folders of *.sql.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per case.")] = False,
) -> None:
    """Run test cases of SQL: statements, INSERT and ASSERT, without broker and Spark."""
    from caudal.cli.ksql_process import EXTRA, is_installed

    if not is_installed():
        raise CliError(EXTRA)
    from caudal.ksql.testing.cases import BadFile, read_cases
    from caudal.ksql.testing.runner import run_case

    found: list[Path] = []
    for file in files:
        if file.is_dir():
            found += sorted(file.glob("*.sql"))
        elif file.is_file():
            found.append(file)
        else:
            raise UsageError(f"there is no file '{file}'")
    try:
        cases = [case for file in found for case in read_cases(file)]
    except BadFile as error:
        raise UsageError(str(error).rstrip(".")) from None
    failed = 0
    for case in cases:
        failure = run_case(case).failure
        failed += failure is not None
        if as_json:
            print(
                json.dumps({"file": str(case.file), "test": case.name, "passed": failure is None, "failure": failure})
            )
        elif failure is not None:
            print(f"FAILED {case.id}\n  {failure}".replace("\n", "\n  "))
    if not as_json:
        print(f"{len(cases) - failed} passed, {failed} failed")
    if failed:
        raise typer.Exit(1)
