"""`caudal demo`: demonstrations that run from the first event to a checked result, and end by themselves.

`--serve` is the other way: `caudal up --demo` has it running beside the servers, for the pages of the control center.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caudal.cli.clients import AsJson, ClientProperties, check_reachable, key_values
from caudal.cli.errors import CliError, UsageError
from caudal.cli.registry_access import Registry

if TYPE_CHECKING:
    from caudal.demos.elections.demonstration import Demonstration

Address = Annotated[
    str | None,
    typer.Option("--bootstrap", "-b", metavar="HOST:PORT", help="Use this Kafka (default: a broker in this process)."),
]
Speed = Annotated[
    float | None, typer.Option("--speed", min=0, help="1 is a night of about three minutes; 0 does not pause at all.")
]
StateDir = Annotated[Path | None, typer.Option("--state-dir", help="Folder for local state.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Demonstrations that end by themselves and check their result.", no_args_is_help=True)
    group.command("elections")(elections)
    group.command("chess")(chess)
    app.add_typer(group, name="demo")


def elections(
    bootstrap: Address = None,
    registry: Registry = None,
    votes: Annotated[int, typer.Option("--votes", min=5_000, help="About so many votes are cast.")] = 1_000_000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed is the same country.")] = 7,
    speed: Speed = None,
    serve: Annotated[bool, typer.Option("--serve", help="Night after night, until stopped.")] = False,
    with_chess: Annotated[
        bool, typer.Option("--with-chess", help="With --serve: games of chess too, on the same Spark.")
    ] = False,
    state_dir: StateDir = None,
    properties: ClientProperties = None,
    as_json: AsJson = False,
    ready_fd: Annotated[int, typer.Option("--ready-fd", hidden=True)] = -1,
    stop_on_stdin_eof: Annotated[bool, typer.Option("--stop-on-stdin-eof", hidden=True)] = False,
) -> None:
    """An election night in Spain, simulated: polling stations report, Spark counts, MLlib projects.

    The result is compared with what was really voted; exit code 0 means that every figure is right.
    """
    _check_spark()
    from caudal.cli.demo_output import without_netlib
    from caudal.demos.elections.demonstration import Demonstration
    from caudal.demos.elections.simulation import Country

    if serve and bootstrap is None:
        raise UsageError("--serve needs --bootstrap: somebody must be able to look")
    if with_chess and not serve:
        raise UsageError("--with-chess goes with --serve; `caudal demo chess` plays one game")
    country = Country.of(seed, votes)
    client = key_values(properties, "-X")
    stop = _stops(stop_on_stdin_eof) if serve else threading.Event()
    with _kafka(bootstrap, state_dir) as (address, folder), without_netlib():
        try:
            with Demonstration(
                address, country, registry=registry, client=client, state_dir=folder, with_chess=with_chess
            ) as demonstration:
                if serve:
                    _say_ready(ready_fd)
                    _serve(demonstration, 1.0 if speed is None else speed, stop)
                else:
                    _one_night(demonstration, 10.0 if speed is None else speed, as_json)
        except _failures() as error:
            raise CliError(str(error).rstrip(".")) from None


def chess(
    bootstrap: Address = None,
    game: Annotated[str, typer.Option("--game", help="immortal, evergreen or opera.")] = "immortal",
    speed: Annotated[float, typer.Option("--speed", min=0, help="Moves per second; 0 does not pause.")] = 4.0,
    state_dir: StateDir = None,
    properties: ClientProperties = None,
    as_json: AsJson = False,
) -> None:
    """A famous game of chess: the moves are a stream, the board is a table, illegal moves are dead letters.

    The last position is compared with the game's; exit code 0 means that every square is right.
    """
    _check_spark()
    from caudal.demos.chess.games import GAMES

    if game not in GAMES:
        raise UsageError(f"--game takes {', '.join(GAMES)}, not '{game}'")
    from caudal.cli.demo_output import Steps, print_game, without_netlib
    from caudal.demos.chess.running import play_game

    client = key_values(properties, "-X")
    with _kafka(bootstrap, state_dir) as (address, folder), without_netlib():
        try:
            with Steps({"spark": "Spark starts", "moves": "Moves"}, quiet=as_json) as steps:
                outcome = play_game(address, GAMES[game], speed, steps.said, client=client, state_dir=folder)
        except _failures() as error:
            raise CliError(str(error).rstrip(".")) from None
    print_game(outcome, as_json)
    if not outcome.is_right:
        raise typer.Exit(1)


def _one_night(demonstration: Demonstration, speed: float, as_json: bool) -> None:
    from caudal.cli.demo_output import Steps, print_night
    from caudal.demos.elections.running import run_night

    steps = {"spark": "Spark starts", "model": "Model is learnt", "count": "Votes are counted"}
    with Steps(steps, quiet=as_json) as shown:
        outcome = run_night(demonstration, speed, shown.said)
    print_night(outcome, as_json)
    if not outcome.is_right:
        raise typer.Exit(1)


def _serve(demonstration: Demonstration, speed: float, stop: threading.Event) -> None:
    from caudal.demos.elections.serving import serve

    logger = logging.getLogger("caudal.demo")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    serve(demonstration, speed, stop)


def _failures() -> tuple[type[Exception], ...]:
    """What is said in one sentence."""
    from confluent_kafka import KafkaException

    from caudal.runtime.errors import StreamsError

    return StreamsError, KafkaException, TimeoutError


def _check_spark() -> None:
    from importlib.util import find_spec

    if find_spec("pyspark") is None or find_spec("lmdb") is None:
        raise CliError("the demonstrations run on Spark: pip install 'caudal[spark]'")


@contextlib.contextmanager
def _kafka(bootstrap: str | None, state_dir: Path | None) -> Iterator[tuple[str, str]]:
    """An address and a folder for state: the person's, or of a broker and a folder that live as long as this."""
    folder = str(state_dir) if state_dir else None
    if bootstrap is not None:
        check_reachable(bootstrap)
        yield bootstrap, folder or _folder_of(bootstrap)
        return
    from caudal.testing import embedded_broker

    with tempfile.TemporaryDirectory(prefix="caudal-demo-") as temporary, embedded_broker() as broker:
        yield broker.bootstrap, folder or temporary


def _folder_of(bootstrap: str) -> str:
    """Two platforms of one machine must not share the state of applications that have the same name."""
    from caudal.runtime.spark.settings import default_state_dir

    name = "".join(letter if letter.isalnum() else "-" for letter in bootstrap)
    return str(Path(default_state_dir()) / f"demo-{name}")


def _stops(on_stdin_eof: bool) -> threading.Event:
    """Set by Ctrl-C, SIGTERM, or the end of stdin, which is the end of whoever started this."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())

    def read() -> None:
        while os.read(0, 4096):
            pass
        stop.set()

    if on_stdin_eof:
        threading.Thread(target=read, name="caudal-stdin", daemon=True).start()
    return stop


def _say_ready(ready_fd: int) -> None:
    facts: dict[str, Any] = {"address": "/demos/elections", "pid": os.getpid()}
    print("caudal demo is ready: nights follow each other until Ctrl-C", flush=True)
    if ready_fd >= 0:
        with os.fdopen(ready_fd, "w") as pipe:
            pipe.write(json.dumps(facts) + "\n")
