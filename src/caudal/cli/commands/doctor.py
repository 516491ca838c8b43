"""`caudal doctor`: what is installed, reachable and wrong, each trouble with its fix.

The checks themselves are in `cli/doctor/`, a file per theme.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caudal.cli.clients import DEFAULT_BOOTSTRAP, AsJson, ClientProperties
from caudal.cli.output import is_terminal, print_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from caudal.cli.doctor.check import Finding

SIGNS = {"ok": "✓", "note": "!", "trouble": "✗"}
PLAIN_SIGNS = {"ok": "ok", "note": "!", "trouble": "x"}  # for a terminal without Unicode
STYLES = {"ok": "green", "note": "yellow", "trouble": "bold red"}


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
    registry: Annotated[
        str | None,
        typer.Option("--registry", metavar="URL", help="A Schema Registry that must answer; the same for the others."),
    ] = None,
    connect: Annotated[str | None, typer.Option("--connect", metavar="URL", help="A worker of Connect.")] = None,
    ksql: Annotated[str | None, typer.Option("--ksql", metavar="URL", help="A KSQL server.")] = None,
    ui: Annotated[str | None, typer.Option("--ui", metavar="URL", help="The control center.")] = None,
    quiet: Annotated[bool, typer.Option("-q", help="Only what is not in order.")] = False,
    as_json: AsJson = False,
    properties: ClientProperties = None,
) -> None:
    """Find what is wrong with the installation, the machine and the cluster. Exit code 1 when something is."""
    from caudal.cli.doctor.check import OK, TROUBLE, Situation, run_checks

    given = bootstrap or os.environ.get("CAUDAL_BOOTSTRAP")
    services = {
        name: url
        for name, url in {
            "registry": registry or os.environ.get("CAUDAL_REGISTRY"),
            "connect": connect or os.environ.get("CAUDAL_CONNECT"),
            "ksql": ksql or os.environ.get("CAUDAL_KSQL"),
            "ui": ui,
        }.items()
        if url
    }
    situation = Situation(given or DEFAULT_BOOTSTRAP, given is not None, data, list(properties or ()), services)
    situation.cluster.addresses()  # an address that is none is a usage error, not a finding
    findings: list[Finding] = []
    shown = _shown(run_checks(situation), findings, quiet)
    if as_json:
        list(shown)
        troubles = sum(finding.status == TROUBLE for finding in findings)
        print_json({"healthy": not troubles, "findings": [finding._asdict() for finding in findings]})
        raise typer.Exit(1 if troubles else 0)
    if is_terminal():
        _print_table(shown)
    else:
        _print_lines(shown)
    troubles, notes = (sum(finding.status == status for finding in findings) for status in (TROUBLE, "note"))
    fine = sum(finding.status == OK for finding in findings)
    verdict = f"{troubles} thing{'s' * (troubles > 1)} to fix" if troubles else "everything needed is in order"
    print(f"\n{verdict} ({fine} in order, {notes} to know)")
    raise typer.Exit(1 if troubles else 0)


def _shown(found: Iterable[Finding], findings: list[Finding], quiet: bool) -> Iterable[Finding]:
    for finding in found:
        findings.append(finding)
        if not quiet or finding.status != "ok":
            yield finding


def _print_lines(findings: Iterable[Finding]) -> None:
    signs = SIGNS if _has_unicode() else PLAIN_SIGNS
    for finding in findings:
        print(f"{signs[finding.status]} {finding.check}: {finding.text}", flush=True)
        if finding.fix:
            print(f"    {'→' if _has_unicode() else '->'} {finding.fix}", flush=True)


def _print_table(findings: Iterable[Finding]) -> None:
    from rich.text import Text

    from caudal.cli.output import console, new_table

    screen, signs = console(), SIGNS if _has_unicode() else PLAIN_SIGNS
    table = new_table()
    table.add_column("", no_wrap=True)
    table.add_column("CHECK", no_wrap=True)
    table.add_column("FOUND", overflow="fold", ratio=3)
    table.add_column("FIX", overflow="fold", ratio=2)
    with screen.status("looking around"):
        for finding in findings:
            style = STYLES[finding.status]
            table.add_row(
                Text(signs[finding.status], style), Text(finding.check), Text(finding.text), Text(finding.fix, "cyan")
            )
    screen.print(table)


def _has_unicode() -> bool:
    try:
        "✓✗→".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
