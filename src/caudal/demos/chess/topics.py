"""The topics of chess. One partition each: the order of everything is the order of the offsets."""

from __future__ import annotations

from typing import Any

MOVES = "chess.moves"  # by game: from where to where
SQUARES = "chess.squares"  # the board, by game and square: a table whose whole history is kept
REFUSED = "chess.refused"  # dead letters: moves that the rules do not allow, with the reason in a header

KEPT = {"retention.ms": str(2 * 86_400_000), "retention.bytes": str(8 << 20), "segment.bytes": str(1 << 20)}


def create(admin: Any) -> None:
    """Makes the topics that are not there."""
    from caudal.demos.hosting import create_topics

    create_topics(admin, dict.fromkeys((MOVES, SQUARES, REFUSED), (1, KEPT)))
