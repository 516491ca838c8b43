"""The question before something is destroyed."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from caudal.cli.errors import CliError

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def confirm(question: str, yes: bool, otherwise: str = "nothing was deleted") -> None:
    """Asks a person at the keyboard; raises when the answer is no. A script is not asked: it has said what it wants."""
    if not yes and sys.stdin.isatty() and not typer.confirm(question, err=True):
        raise CliError(otherwise)
