"""The chess board as a table that is drawn and read aloud alike, and the list of moves. Pure."""

from __future__ import annotations

from html import escape

from caudal.demos.chess.games import GAMES
from caudal.demos.chess.replay import GameHistory, Moment
from caudal.demos.chess.rules import SQUARES
from caudal.ui.words import t

GLYPHS = {"k": "♚", "q": "♛", "r": "♜", "b": "♝", "n": "♞", "p": "♟"}
FILES = "abcdefgh"


def piece_name(piece: str) -> str:
    names = {
        "k": t("king"),
        "q": t("queen"),
        "r": t("rook"),
        "b": t("bishop"),
        "n": t("knight"),
        "p": t("pawn"),
    }
    name = names[piece.lower()]
    return t("white {piece}", piece=name) if piece.isupper() else t("black {piece}", piece=name)


def board_html(moment: Moment, caption: str) -> str:
    touched = {moment.move[:2], moment.move[2:4]} if moment.move else set()
    files = "".join(f'<th scope="col">{file}</th>' for file in FILES)
    rows = []
    for row in range(8):
        cells = []
        for column in range(8):
            index = 8 * row + column
            square, piece = SQUARES[index], moment.board[index]
            classes = ("light" if (row + column) % 2 == 0 else "dark") + (" moved" if square in touched else "")
            inside = f'<span class="sr-only">{escape(t("empty square"))}</span>'
            if piece != ".":
                side = "white" if piece.isupper() else "black"
                inside = (
                    f'<svg class="piece {side}" viewBox="0 0 40 40" aria-hidden="true"><text x="20" y="32">'
                    f"{GLYPHS[piece.lower()]}&#xFE0E;</text></svg>"
                    f'<span class="sr-only">{escape(piece_name(piece))}</span>'
                )
            cells.append(f'<td class="{classes}" data-square="{square}">{inside}</td>')
        rows.append(f'<tr><th scope="row">{8 - row}</th>{"".join(cells)}</tr>')
    return (
        f'<div class="board-box"><table class="board"><caption class="sr-only">{escape(caption)}</caption>'
        f"<thead><tr><td class=corner></td>{files}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def moves_html(history: GameHistory, number: int) -> str:
    """Every move as a button that goes there."""
    parts = []
    for change in history.moved():
        if change.number % 2 == 1:
            parts.append(f'<span class="no">{(change.number + 1) // 2}.</span>')
        here = ' aria-current="step"' if change.number == number else ""
        parts.append(f'<button type="button" data-move="{change.number}"{here}>{escape(change.move or "")}</button>')
    return "".join(parts)


def title_of(game: str) -> str:
    """'opera-3' → 'Morphy – …, Paris 1858 (3)'."""
    name, _, number = game.rpartition("-")
    found = GAMES.get(name)
    return f"{found.title} ({number})" if found else game


def result_text(result: str | None, number: int) -> str:
    if result == "white wins":
        return t("White wins by checkmate.")
    if result == "black wins":
        return t("Black wins by checkmate.")
    if result is not None:
        return t("The game is drawn.")
    return t("White to move.") if number % 2 == 0 else t("Black to move.")
