"""Names that were mistyped: the one that does not exist, and those that may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from caudal.cli.errors import NotFound

MOST = 2


def no_such(what: str, name: str, known: Iterable[str], otherwise: str) -> NotFound:
    """
    >>> no_such("topic", "order", ["orders", "payments"], "`caudal topic list` shows what exists").message
    "there is no topic 'order'; did you mean orders?"
    """
    return NotFound(f"there is no {what} '{name}'; {did_you_mean(name, known) or otherwise}")


def did_you_mean(name: str, known: Iterable[str], *favourites: str) -> str:
    """'did you mean a or b?', empty where nothing is near. Favourites are taken where nothing else is near."""
    names = [each for each in known if each != name]
    folded = {each.lower(): each for each in names}
    close = [folded[each] for each in difflib.get_close_matches(name.lower(), folded, n=MOST, cutoff=0.6)]
    close = close or [each for each in names if each in favourites]
    return f"did you mean {' or '.join(close)}?" if close else ""
