"""What the commands of the benches share: their common flags, and how a run ends."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from caudal import jars
from caudal.bench.client import ClientError
from caudal.bench.servers import ServerError


class BenchError(Exception):
    """One sentence: why nothing can be measured."""


def parser_of(name: str, description: str, rounds: int) -> argparse.ArgumentParser:
    """With the flags that every bench has."""
    parser = argparse.ArgumentParser(prog=f"caudal bench {name}", description=description)
    add = parser.add_argument
    add("--rounds", type=int, default=rounds, help="how often everything is measured (default: %(default)s)")
    add("--quick", action="store_true", help="a smoke run: everything once and tiny; its figures mean nothing")
    add("--json", action="store_true", help="print JSON instead of the tables")
    add("--markdown", type=Path, metavar="FILE", help="rewrite the generated part of this page")
    return parser


def add_data_flag(parser: argparse.ArgumentParser) -> None:
    help = "where the servers keep their data while it runs (default: a temporary folder)"
    parser.add_argument("--data", type=Path, metavar="DIR", help=help)


def exit_code(run: Callable[[], object]) -> int:
    """0; 1 when the results name failures; 2 when nothing could be measured. A missed target is a result."""
    # Asked to end, it ends as by Ctrl-C: the servers are stopped and their folders removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return 1 if getattr(run(), "failures", None) else 0
    except (BenchError, ClientError, ServerError, jars.JarError) as error:
        print(f"caudal bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
