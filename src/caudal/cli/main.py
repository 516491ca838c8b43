"""The entry point of `caudal`: finds the command's file, runs it, turns a failure into one line and an exit code.

Commands are discovered: `cli/commands/<name>.py` with a `register(app)` is a command, and only the file that is asked
for is imported. `caudal broker` takes a path of its own before typer is imported: a broker that starts in a third of
a second cannot afford 0.1 s and 8 MB for a command-line library; nor can the servers of `caudal up`
(`cli/supervised.py`). `--cluster NAME` is taken off here, for all commands alike (`cli/profiles.py`). Deliberately
absent: any knowledge of a particular command beyond that.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from caudal.cli.errors import CliError

if TYPE_CHECKING:
    import typer


def main(argv: list[str] | None = None) -> NoReturn:
    """Run `caudal` with these arguments (default: the process's own) and leave with its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        if arguments[:1] == ["broker"]:
            from caudal.cli.broker_process import main as broker_main

            sys.exit(broker_main(arguments[1:]))
        if "--ready-fd" in arguments:
            from caudal.cli import supervised

            supervised.run(arguments)
        from caudal.cli import profiles

        with profiles.chosen(arguments) as arguments:
            build_app(arguments)(args=arguments, prog_name="caudal")
        sys.exit(0)
    except CliError as error:
        sys.stdout.flush()
        print(f"caudal: {error.message}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader (`| head`) went away: nothing is wrong. Point stdout at nowhere so that the interpreter's last
        # flush is silent too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)
    except Exception as error:
        if os.environ.get("CAUDAL_DEBUG"):
            raise
        text = " ".join(str(error).split()) or type(error).__name__
        print(
            f"caudal: unexpected {type(error).__name__}: {text} (set CAUDAL_DEBUG=1 to see the stack trace)",
            file=sys.stderr,
        )
        sys.exit(1)


def build_app(arguments: list[str]) -> typer.Typer:
    """The typer application with the command that `arguments` name, or with all of them (help, completion, a mistyped
    name).
    """
    import importlib
    import pkgutil

    import typer

    from caudal.cli import commands

    app = typer.Typer(
        help="The Kafka platform in Python. `caudal up` starts it, `caudal doctor` says what is wrong.",
        epilog="Every command takes --cluster NAME: a profile of `caudal cluster profile`. Without it and without an "
        "address the primary is meant.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=True)
    def root(version: bool = typer.Option(False, "--version", "-V", help="Print the version and leave.")) -> None:
        if version:
            from caudal import __version__

            typer.echo(f"caudal {__version__}")
            raise typer.Exit

    names = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))
    asked = arguments[0].replace("-", "_") if arguments else ""
    for name in [asked] if asked in names else names:
        importlib.import_module(f"{commands.__name__}.{name}").register(app)
    return app


if __name__ == "__main__":
    main()
