"""`caudal bench NAME`: runs `caudal.bench.NAME`, whose `main(arguments)` has options of its own.

A new benchmark is a new module there.
"""

from __future__ import annotations

import typer

from caudal.cli.errors import UsageError


def register(app: typer.Typer) -> None:
    # What follows the name belongs to the benchmark, its --help included.
    settings = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
    app.command("bench", context_settings=settings)(bench)


def bench(context: typer.Context) -> None:
    """Run a benchmark beside its peers: `caudal bench broker`."""
    import importlib
    import pkgutil

    import caudal.bench

    names = sorted(module.name for module in pkgutil.iter_modules(caudal.bench.__path__) if _is_benchmark(module.name))
    chosen, *arguments = context.args or ["--help"]
    if chosen in ("-h", "--help"):
        print(f"Usage: caudal bench NAME [OPTIONS], NAME being {' or '.join(names)}; NAME --help shows its options.")
        return
    if chosen not in names:
        raise UsageError(f"there is no benchmark '{chosen}'; there is {' and '.join(names)}")
    raise typer.Exit(int(importlib.import_module(f"caudal.bench.{chosen}").main(arguments)))


def _is_benchmark(name: str) -> bool:
    # The benchmarks are named like the part they measure; the other modules of the package are their machinery.
    return name in {"broker", "streams", "views", "ksql", "registry", "connect"}
