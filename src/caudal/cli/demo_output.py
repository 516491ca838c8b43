"""How the demonstrations look in the shell: their progress, and their results as tables or JSON."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from caudal.cli.output import print_json

if TYPE_CHECKING:
    from rich.table import Table

    from caudal.demos.chess.running import GameOutcome
    from caudal.demos.elections.running import Outcome


class Steps:
    """A bar for each step, on stderr; a line for each where stderr is no terminal."""

    def __init__(self, steps: Mapping[str, str], *, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        self._steps = dict(steps)
        self._quiet = quiet
        self._plain = not sys.stderr.isatty()
        self._begun: set[str] = set()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            disable=quiet or self._plain,
        )
        self._tasks = {name: self._progress.add_task(title, total=1.0, start=False) for name, title in steps.items()}

    def said(self, step: str, done: float) -> None:
        """`done` goes from 0 to 1."""
        if step not in self._begun:
            self._begun.add(step)
            self._progress.start_task(self._tasks[step])
            if self._plain and not self._quiet:
                print(f"{self._steps[step]} …", file=sys.stderr, flush=True)
        self._progress.update(self._tasks[step], completed=done)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()


@contextlib.contextmanager
def without_netlib() -> Iterator[None]:
    """MLlib's linear algebra says on stderr where it looked for native libraries. Java's own does here."""

    class Filtered:
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def write(self, text: str) -> int:
            return len(text) if text.startswith("netlib-") else int(self._stream.write(text))

        def __getattr__(self, name: str) -> Any:
            return getattr(self._stream, name)

    whole = sys.stderr
    sys.stderr = Filtered(whole)
    try:
        yield
    finally:
        sys.stderr = whole


def print_night(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        print_json(night_json(outcome))
        return
    from rich.console import Console

    console = Console()
    console.print(_communities(outcome))
    console.print(_parties(outcome))
    right = f"every figure of {outcome.reports} reports from {outcome.stations} polling stations is right"
    if outcome.is_right:
        console.print(f"[green]✓[/green] {right} ({outcome.seconds:.0f} s). All figures are simulated.")
        return
    console.print(f"[red]✗[/red] {len(outcome.differences)} figures are not what was voted:")
    for sentence in outcome.differences[:20]:
        console.print(f"  {sentence}")


def night_json(outcome: Outcome) -> dict[str, Any]:
    standings = outcome.standings
    return {
        "right": outcome.is_right,
        "differences": outcome.differences,
        "night": outcome.night,
        "resumed": outcome.resumed,
        "simulated": True,
        "stations": outcome.stations,
        "reports": outcome.reports,
        "seconds": round(outcome.seconds, 1),
        "votes": standings.votes(),
        "seats": standings.seats(),
        "change": standings.change(),
        "turnout": standings.turnout(),
        "communities": dict(sorted(standings.results.items())),
        "projection": {
            "counted": outcome.early.get("counted"),
            "parties": {party: list(one) for party, one in outcome.early.get("projection", {}).items()},
        },
        "model": outcome.model,
    }


def _communities(outcome: Outcome) -> Table:
    from rich.table import Table

    from caudal.demos.elections.country import COMMUNITIES, PARTIES

    names = {party.id: party for party in PARTIES}
    table = Table(title=f"Night {outcome.night}: autonomous communities and cities (simulated)", title_justify="left")
    for column in ("Community", "Winner"):
        table.add_column(column)
    for column in ("Lead", "Votes", "Turnout", "Seats"):
        table.add_column(column, justify="right")
    for community in COMMUNITIES:
        row = outcome.standings.results.get(community.code)
        if row is None:
            table.add_row(community.name, "–")
            continue
        winner, votes = names[row["winner"]], sum(row["votes"].values())
        seats = " ".join(f"[{names[one].dark}]{count}[/]" for one, count in row["seats"].items() if count)
        table.add_row(
            community.name,
            f"[{winner.dark}]■[/] {winner.name}",
            f"{100 * row['lead']:.1f} %",
            f"{votes:,}",
            f"{100 * votes / row['electors_counted']:.1f} %",
            seats,
        )
    return table


def _parties(outcome: Outcome) -> Table:
    from rich.table import Table

    from caudal.demos.elections.country import PARTIES

    standings, early = outcome.standings, outcome.early.get("projection", {})
    votes, seats, change = standings.votes(), standings.seats(), standings.change()
    total = max(1, sum(votes.values()))
    title = "Parties"
    if early:
        title += f"; the projection is that of {100 * outcome.early['counted']:.0f} % counted, with its 90 % interval"
    table = Table(title=title, title_justify="left")
    table.add_column("Party")
    for column in ("Votes", "Share", "Change", "Seats", "Projected"):
        table.add_column(column, justify="right")
    for party in sorted(PARTIES, key=lambda one: -votes[one.id]):
        guess = early.get(party.id)
        told = f"{100 * guess.share:.1f} % ({100 * guess.low:.1f}–{100 * guess.high:.1f})" if guess else "–"
        table.add_row(
            f"[{party.dark}]■[/] {party.name}",
            f"{votes[party.id]:,}",
            f"{100 * votes[party.id] / total:.1f} %",
            f"{change[party.id]:+.1f}" if change else "–",
            str(seats[party.id]),
            told,
        )
    return table


def print_game(outcome: GameOutcome, as_json: bool) -> None:
    if as_json:
        print_json(outcome.as_json())
        return
    from rich.console import Console

    console = Console(highlight=False)
    console.print(outcome.text(), markup=False)
    for sentence in outcome.differences:
        console.print(f"[red]✗[/red] {sentence}")
    if outcome.is_right:
        console.print(f"[green]✓[/green] {outcome.verdict()}")
