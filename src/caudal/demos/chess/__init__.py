"""Chess: the moves are a stream, the board is a table, and any moment of the game can be asked for."""
