"""`caudal doctor`: what is installed, reachable and wrong, each trouble with its fix.

The checks themselves are in `cli/checks.py`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from caudal.cli.clients import DEFAULT_BOOTSTRAP, AsJson, ClientProperties
from caudal.cli.output import print_json

_SIGNS = {"ok": "ok  ", "note": "note", "trouble": "BAD "}


def register(app: typer.Typer) -> None:
    app.command("doctor")(doctor)


def doctor(
    data: Annotated[Path, typer.Option("--data", help="The data folder to look at.")] = Path("caudal-data"),
    bootstrap: Annotated[
        str | None,
        typer.Option(
            "--bootstrap",
            "-b",
            metavar="HOST:PORT",
            help="A broker that must answer (default: see whether one is at localhost:9092).",
        ),
    ] = None,
    as_json: AsJson = False,
    properties: ClientProperties = None,
) -> None:
    """Check the installation, the ports, the data folder and the broker. Exit code 1 when something is wrong."""
    from caudal.cli.checks import TROUBLE, Situation, run_checks

    given = bootstrap or os.environ.get("CAUDAL_BOOTSTRAP")
    situation = Situation(given or DEFAULT_BOOTSTRAP, given is not None, data, list(properties or ()))
    findings = []
    for finding in run_checks(situation):
        findings.append(finding)
        if not as_json:
            print(f"{_SIGNS[finding.status]} {finding.check}: {finding.text}")
            if finding.fix:
                print(f"       → {finding.fix}")
    troubles = sum(finding.status == TROUBLE for finding in findings)
    if as_json:
        print_json({"healthy": not troubles, "findings": [finding._asdict() for finding in findings]})
    else:
        print("\neverything needed is in order" if not troubles else f"\n{troubles} thing{'s' * (troubles > 1)} to fix")
    raise typer.Exit(1 if troubles else 0)
