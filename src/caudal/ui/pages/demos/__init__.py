"""The demonstrations, live: the election map and the chess board."""

from caudal.ui.pages.demos import chess, elections

__all__ = ["chess", "elections"]
