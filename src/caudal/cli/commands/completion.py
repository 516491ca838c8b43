"""`caudal completion bash|zsh|fish`: prints the script that lets the shell complete, or installs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from caudal.cli.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


def register(app: typer.Typer) -> None:
    app.command("completion")(completion)


def _shells(incomplete: str) -> list[str]:
    return [shell for shell in SHELLS if shell.startswith(incomplete)]


def completion(
    shell: Annotated[
        str | None,
        typer.Argument(metavar="[SHELL]", help="bash, zsh or fish (default: yours).", autocompletion=_shells),
    ] = None,
    install: Annotated[bool, typer.Option("--install", help="Put it where the shell finds it.")] = False,
) -> None:
    """Let your shell complete commands, options, topics, groups, subjects and connectors."""
    from caudal.cli import completion as scripts

    chosen = shell or Path(os.environ.get("SHELL", "")).name
    if chosen not in SHELLS:
        raise UsageError(f"there is completion for bash, zsh and fish, not for '{chosen}'")
    if not install:
        sys.stdout.write(scripts.SCRIPTS[chosen])
        return
    path, then = scripts.install(chosen)
    print(f"completion for {chosen} is in {path}; {then}")
