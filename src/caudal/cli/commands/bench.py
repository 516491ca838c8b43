"""`caudal bench NAME`: runs `caudal.bench.NAME`, whose `main(arguments)` has options of its own.

A new benchmark is a new module there.
"""

from __future__ import annotations

from typing import Annotated

import typer

from caudal.cli.errors import UsageError
from caudal.cli.similar import did_you_mean


def register(app: typer.Typer) -> None:
    # What follows the name belongs to the benchmark, its --help included.
    settings = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
    app.command("bench", context_settings=settings)(bench)


# Named like the part they measure; the other modules of the package are their machinery.
NAMES = ("broker", "connect", "ksql", "registry", "streams", "views")


def _names(incomplete: str) -> list[str]:
    return [name for name in NAMES if name.startswith(incomplete)]


def bench(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=_names, show_default=False)] = "--help",
) -> None:
    """Run a benchmark beside its peers: `caudal bench broker`."""
    if name in ("-h", "--help"):
        print(f"Usage: caudal bench NAME [OPTIONS], NAME being {' or '.join(NAMES)}; NAME --help shows its options.")
        return
    if name not in NAMES:
        meant = did_you_mean(name, NAMES) or f"there are {', '.join(NAMES)}"
        raise UsageError(f"there is no benchmark '{name}'; {meant}")
    import importlib

    raise typer.Exit(int(importlib.import_module(f"caudal.bench.{name}").main(context.args)))
