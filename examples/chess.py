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

The rules (`caudal.demos.chess.rules`) are complete but for the draws that need a history: by repetition and by fifty
moves. `caudal demo chess` goes on from here: the squares as a table, asked for at any moment of the game.
"""

from caudal.demos.chess.rules import diagram, new_game, play
from caudal.serde import Json, String
from caudal.streams import StreamsBuilder

builder = StreamsBuilder("chess")


def refusal(game):
    return f"{game['move']}: {game['refused']}"


def is_over(game):
    return game["result"] is not None


moves = builder.stream("moves", key=String(), value=String())
boards = moves.group_by_key().aggregate(new_game, play, value=Json(), store="boards")

changes = (
    boards.to_stream()
    .split(name="move-")
    .branch(lambda game: "refused" in game, name="refused")
    .default_branch(name="played")
)
changes["refused"].map_values(refusal, value=String()).to("refused-moves")
changes["played"].map_values(diagram, value=String()).to("diagrams")
changes["played"].filter(is_over).map_values(lambda game: game["result"], value=String()).to("games-over")

if __name__ == "__main__":
    builder.run()
