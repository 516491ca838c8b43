"""`caudal broker` in the list of commands.

It is run by `cli/broker_process.py`, which main() reaches before typer is imported; the options live there.
"""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    # Everything after `broker` is left to the broker's own parser, --help included.
    settings = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
    app.command("broker", context_settings=settings)(broker)


def broker(context: typer.Context) -> None:
    """Run a Kafka broker."""
    from caudal.cli.broker_process import main

    raise typer.Exit(main(context.args))
