r"""Chess: the moves are a stream, the board is a table.

Shows: an aggregate whose state is a document (the position), and how a table follows from a stream: applying all moves
of a game in order gives its board, on any machine, again and again. A move that the rules do not allow leaves the board
as it is and goes to a topic of its own.

Run it, with a broker at localhost:9092 (`caudal broker`):

    caudal topic create moves -p 2
    caudal run examples/chess.py

Feed it from another terminal: the game's name, then from where to where (a promotion adds the piece, `a7a8q`):

    printf '%s\n' 'ana-eva:f2f3' 'ana-eva:e7e5' 'ana-eva:e2e5' 'ana-eva:g2g4' 'ana-eva:d8h4' | caudal produce moves -K :

And look at the boards, the refused moves (here `e2e5`) and the results:

    caudal consume diagrams
    caudal consume refused-moves -K ': '
    caudal consume games-over -K ': '

The rules are complete but for the draws that need a history: by repetition and by fifty moves.
"""

from caudal.serde import Json, String
from caudal.streams import StreamsBuilder

builder = StreamsBuilder("chess")

# -- the rules: a board is 64 letters, from a8 to h1; capitals are white ---------------------------------------------

ORTHOGONAL, DIAGONAL = [(0, 1), (0, -1), (1, 0), (-1, 0)], [(1, 1), (1, -1), (-1, 1), (-1, -1)]
LEAPS = {
    "N": [(1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)],
    "K": ORTHOGONAL + DIAGONAL,
}
SLIDES = {"B": DIAGONAL, "R": ORTHOGONAL, "Q": ORTHOGONAL + DIAGONAL}
# King's move: the right that it needs, where the rook stands and goes, and what must be empty.
CASTLING = {
    "e1g1": ("K", "h1", "f1", ("f1", "g1")),
    "e1c1": ("Q", "a1", "d1", ("d1", "c1", "b1")),
    "e8g8": ("k", "h8", "f8", ("f8", "g8")),
    "e8c8": ("q", "a8", "d8", ("d8", "c8", "b8")),
}
# A king or rook that leaves its place, or a rook that is taken there, ends the right.
ENDS_RIGHT = {"e1": "KQ", "h1": "K", "a1": "Q", "e8": "kq", "h8": "k", "a8": "q"}


def new_game():
    board = "rnbqkbnr" + "p" * 8 + "." * 32 + "P" * 8 + "RNBQKBNR"
    return {
        "board": board,
        "turn": "white",
        "castling": "KQkq",
        "passed": None,
        "moves": 0,
        "move": None,
        "result": None,
    }


def square(x, y):
    return f"{'abcdefgh'[x]}{8 - y}"


def place(name):
    return "abcdefgh".index(name[0]) + 8 * (8 - int(name[1]))


def reached(board, start, steps, slides):
    """The squares that a piece comes to by these steps: up to the first that is taken, that one included."""
    for dx, dy in steps:
        x, y = start % 8 + dx, start // 8 + dy
        while 0 <= x < 8 and 0 <= y < 8:
            yield x + 8 * y
            if not slides or board[x + 8 * y] != ".":
                break
            x, y = x + dx, y + dy


def is_attacked(board, target, by_white):
    """Looks from the square outwards: what a knight would reach from here, a knight there reaches back."""

    def stands(piece, steps, slides):
        attacker = piece if by_white else piece.lower()
        return any(board[there] == attacker for there in reached(board, target, steps, slides))

    pawns = [(-1, 1), (1, 1)] if by_white else [(-1, -1), (1, -1)]
    return (
        stands("P", pawns, False)
        or any(stands(piece, steps, False) for piece, steps in LEAPS.items())
        or any(stands(piece, steps, True) for piece, steps in SLIDES.items())
    )


def possible_moves(game):
    """The moves of the side to play by the way its pieces move; its own king may be left in check."""
    board, white = game["board"], game["turn"] == "white"
    for start, piece in enumerate(board):
        if piece == "." or piece.isupper() != white:
            continue
        kind, here = piece.upper(), square(start % 8, start // 8)
        if kind == "P":
            for there in pawn_targets(board, start, white, game["passed"]):
                for promoted in "qrbn" if there // 8 in (0, 7) else [""]:
                    yield here + square(there % 8, there // 8) + promoted
            continue
        for there in reached(board, start, LEAPS.get(kind) or SLIDES[kind], kind in SLIDES):
            if board[there] == "." or board[there].isupper() != white:
                yield here + square(there % 8, there // 8)
    for move, (right, _, rook_to, empty) in CASTLING.items():
        if right not in game["castling"] or right.isupper() != white:
            continue
        is_free = all(board[place(name)] == "." for name in empty)
        if is_free and not any(is_attacked(board, place(name), not white) for name in (move[:2], rook_to)):
            yield move


def pawn_targets(board, start, white, passed):
    ahead = -1 if white else 1
    one, two = start + 8 * ahead, start + 16 * ahead
    if board[one] == ".":
        yield one
        if start // 8 == (6 if white else 1) and board[two] == ".":
            yield two
    for there in reached(board, start, [(-1, ahead), (1, ahead)], False):
        if (board[there] != "." and board[there].isupper() != white) or square(there % 8, there // 8) == passed:
            yield there


def after(game, move):
    """The position after a possible move."""
    board, white = list(game["board"]), game["turn"] == "white"
    start, end = place(move[:2]), place(move[2:4])
    piece, passed = board[start], None
    board[start], board[end] = ".", (move[4].upper() if white else move[4]) if move[4:] else piece
    if piece in "Pp":
        if move[2:4] == game["passed"]:
            board[end + (8 if white else -8)] = "."  # taken in passing
        if abs(end - start) == 16:
            passed = square(start % 8, (start + end) // 16)
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


def in_check(game, white):
    return is_attacked(game["board"], game["board"].index("K" if white else "k"), not white)


def legal_moves(game):
    white = game["turn"] == "white"
    return [move for move in possible_moves(game) if not in_check(after(game, move), white)]


def play(name, move, game):
    """The aggregator: the board after a move, or the same board with a word on what is wrong with the move."""
    if game["result"] is not None:
        return {**game, "move": move, "refused": "the game is over"}
    if move not in legal_moves(game):
        return {**game, "move": move, "refused": f"{game['turn']} cannot play it"}
    position = after(game, move)
    if not legal_moves(position):
        checkmate = in_check(position, position["turn"] == "white")
        position["result"] = f"{game['turn']} wins" if checkmate else "draw"
    return position


def diagram(name, game):
    rows = [" ".join(game["board"][8 * y : 8 * y + 8]) for y in range(8)]
    to_play = game["result"] or f"{game['turn']} to play"
    return "\n".join([f"{name} after move {game['moves']}: {to_play}", *rows, ""])


# -- the topology ----------------------------------------------------------------------------------------------------

moves = builder.stream("moves", key=String(), value=String())
boards = moves.group_by_key().aggregate(new_game, play, value=Json(), store="boards")

changes = (
    boards.to_stream()
    .split(name="move-")
    .branch(lambda game: "refused" in game, name="refused")
    .default_branch(name="played")
)
changes["refused"].map_values(lambda game: f"{game['move']}: {game['refused']}", value=String()).to("refused-moves")
changes["played"].map_values(diagram, value=String()).to("diagrams")
changes["played"].filter(lambda game: game["result"] is not None).map_values(
    lambda game: game["result"], value=String()
).to("games-over")

if __name__ == "__main__":
    builder.run()
