"""The rules of chess, complete but for the draws that need a history (repetition and fifty moves). Pure.

A position's board is 64 letters, from a8 to h1; capitals are white, a dot is an empty square. Moves are written from
where to where (`e2e4`), a promotion with its piece (`a7a8q`); `from_notation` reads what chess books write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Step = tuple[int, int]
Position = dict[str, Any]

ORTHOGONAL: list[Step] = [(0, 1), (0, -1), (1, 0), (-1, 0)]
DIAGONAL: list[Step] = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
LEAPS: dict[str, list[Step]] = {
    "N": [(1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)],
    "K": ORTHOGONAL + DIAGONAL,
}
SLIDES = {"B": DIAGONAL, "R": ORTHOGONAL, "Q": ORTHOGONAL + DIAGONAL}
# King's move: the right that it needs, where the rook stands and goes, and what must be empty.
CASTLING: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "e1g1": ("K", "h1", "f1", ("f1", "g1")),
    "e1c1": ("Q", "a1", "d1", ("d1", "c1", "b1")),
    "e8g8": ("k", "h8", "f8", ("f8", "g8")),
    "e8c8": ("q", "a8", "d8", ("d8", "c8", "b8")),
}
# A king or rook that leaves its place, or a rook that is taken there, ends the right.
ENDS_RIGHT = {"e1": "KQ", "h1": "K", "a1": "Q", "e8": "kq", "h8": "k", "a8": "q"}
START = "rnbqkbnr" + "p" * 8 + "." * 32 + "P" * 8 + "RNBQKBNR"
SQUARES = tuple(f"{file}{rank}" for rank in range(8, 0, -1) for file in "abcdefgh")


def new_game() -> Position:
    return {
        "board": START,
        "turn": "white",
        "castling": "KQkq",
        "passed": None,  # the square behind a pawn that has just gone two steps
        "moves": 0,
        "move": None,
        "result": None,
    }


def place(name: str) -> int:
    return "abcdefgh".index(name[0]) + 8 * (8 - int(name[1]))


def reached(board: Sequence[str], start: int, steps: list[Step], slides: bool) -> Iterator[int]:
    """The squares that a piece comes to by these steps: up to the first that is taken, that one included."""
    for dx, dy in steps:
        x, y = start % 8 + dx, start // 8 + dy
        while 0 <= x < 8 and 0 <= y < 8:
            yield x + 8 * y
            if not slides or board[x + 8 * y] != ".":
                break
            x, y = x + dx, y + dy


def is_attacked(board: Sequence[str], target: int, by_white: bool) -> bool:
    """Looks from the square outwards: what a knight would reach from here, a knight there reaches back."""

    def stands(piece: str, steps: list[Step], slides: bool) -> bool:
        attacker = piece if by_white else piece.lower()
        return any(board[there] == attacker for there in reached(board, target, steps, slides))

    pawns = [(-1, 1), (1, 1)] if by_white else [(-1, -1), (1, -1)]
    return (
        stands("P", pawns, False)
        or any(stands(piece, steps, False) for piece, steps in LEAPS.items())
        or any(stands(piece, steps, True) for piece, steps in SLIDES.items())
    )


def possible_moves(game: Position) -> Iterator[str]:
    """The moves of the side to play by the way its pieces move; its own king may be left in check."""
    board, white = game["board"], game["turn"] == "white"
    for start, piece in enumerate(board):
        if piece == "." or piece.isupper() != white:
            continue
        kind, here = piece.upper(), SQUARES[start]
        if kind == "P":
            for there in _pawn_targets(board, start, white, game["passed"]):
                for promoted in "qrbn" if there // 8 in (0, 7) else [""]:
                    yield here + SQUARES[there] + promoted
            continue
        for there in reached(board, start, LEAPS.get(kind) or SLIDES[kind], kind in SLIDES):
            if board[there] == "." or board[there].isupper() != white:
                yield here + SQUARES[there]
    for move, (right, _, rook_to, empty) in CASTLING.items():
        if right not in game["castling"] or right.isupper() != white:
            continue
        is_free = all(board[place(name)] == "." for name in empty)
        if is_free and not any(is_attacked(board, place(name), not white) for name in (move[:2], rook_to)):
            yield move


def _pawn_targets(board: str, start: int, white: bool, passed: str | None) -> Iterator[int]:
    ahead = -1 if white else 1
    one, two = start + 8 * ahead, start + 16 * ahead
    if board[one] == ".":
        yield one
        if start // 8 == (6 if white else 1) and board[two] == ".":
            yield two
    for there in reached(board, start, [(-1, ahead), (1, ahead)], False):
        if (board[there] != "." and board[there].isupper() != white) or SQUARES[there] == passed:
            yield there


def after(game: Position, move: str) -> Position:
    """The position after a possible move."""
    board, white = list(game["board"]), game["turn"] == "white"
    start, end = place(move[:2]), place(move[2:4])
    piece, passed = board[start], None
    board[start], board[end] = ".", (move[4].upper() if white else move[4]) if move[4:] else piece
    if piece in "Pp":
        if move[2:4] == game["passed"]:
            board[end + (8 if white else -8)] = "."  # taken in passing
        if abs(end - start) == 16:
            passed = SQUARES[(start + end) // 2]
    if piece in "Kk" and move in CASTLING:
        _, rook_from, rook_to, _ = CASTLING[move]
        board[place(rook_from)], board[place(rook_to)] = ".", board[place(rook_from)]
    ended = ENDS_RIGHT.get(move[:2], "") + ENDS_RIGHT.get(move[2:4], "")
    return {
        "board": "".join(board),
        "turn": "black" if white else "white",
        "castling": "".join(right for right in game["castling"] if right not in ended),
        "passed": passed,
        "moves": game["moves"] + 1,
        "move": move,
        "result": None,
    }


def in_check(game: Position, white: bool) -> bool:
    return is_attacked(game["board"], game["board"].index("K" if white else "k"), not white)


def legal_moves(game: Position) -> list[str]:
    white = game["turn"] == "white"
    return [move for move in possible_moves(game) if not in_check(after(game, move), white)]


def play(name: str, move: str, game: Position) -> Position:
    """The board after a move, or the same board with a word on what is wrong with the move."""
    if game["result"] is not None:
        return {**game, "move": move, "refused": "the game is over"}
    if move not in legal_moves(game):
        return {**game, "move": move, "refused": f"{game['turn']} cannot play it"}
    position = after(game, move)
    if not legal_moves(position):
        checkmate = in_check(position, position["turn"] == "white")
        position["result"] = f"{game['turn']} wins" if checkmate else "draw"
    return position


def from_notation(game: Position, written: str) -> str:
    """'Nbd7' → 'b8d7': what the book means in this position. Raises ValueError where that is not one move."""
    text = written.rstrip("+#!?")
    if text in ("O-O", "O-O-O"):
        rank = "1" if game["turn"] == "white" else "8"
        wanted = f"e{rank}{'g' if text == 'O-O' else 'c'}{rank}"
        found = [move for move in legal_moves(game) if move == wanted]
    else:
        text, _, promoted = text.partition("=")
        piece = text[0] if text[0] in "NBRQK" else "P"
        rest = text.removeprefix(piece).replace("x", "") if piece != "P" else text.replace("x", "")
        target, hint = rest[-2:], rest[:-2]
        found = [
            move
            for move in legal_moves(game)
            if move[2:4] == target
            and game["board"][place(move[:2])].upper() == piece
            and all(letter in move[:2] for letter in hint)
            and move[4:] == promoted.lower()
        ]
    if len(found) != 1:
        raise ValueError(f"'{written}' is {'no move' if not found else 'not one move'} of {game['turn']}")
    return found[0]


def fen_board(board: str) -> str:
    """The pieces as FEN writes them."""
    rows = []
    for start in range(0, 64, 8):
        row = board[start : start + 8]
        for count in range(8, 0, -1):
            row = row.replace("." * count, str(count))
        rows.append(row)
    return "/".join(rows)


def diagram(name: str, game: Position) -> str:
    rows = [" ".join(game["board"][8 * y : 8 * y + 8]) for y in range(8)]
    to_play = game["result"] or f"{game['turn']} to play"
    return "\n".join([f"{name} after move {game['moves']}: {to_play}", *rows, ""])
