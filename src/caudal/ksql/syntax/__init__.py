"""From text to tree: lexer, statements and expressions, each with its position; and from tree back to text.

`parse_script(text)` gives the statements of a script, `parse_statement(text)` the one, `parse_expression(text)` an
expression alone. Nothing here knows what exists: names are names, functions are calls.
"""

from __future__ import annotations
