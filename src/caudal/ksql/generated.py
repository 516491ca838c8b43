"""Generated Python source as code objects: compiled once per text. Serdes and expressions of the same shape (the same
types in the same places) have the same text, as all that differs reaches it by reference; statements and queries make
many of them.

Nothing of a user's is ever in the text: names that have to be constants are put into the tree (`names`).
"""

from __future__ import annotations

import ast
from functools import lru_cache
from types import CodeType

_KEPT = 2000
_LONG = 20_000  # longer texts hardly come again


def code_of(source: str, what: str, names: tuple[tuple[str, str], ...] = ()) -> CodeType:
    """`what` is what tracebacks name it. `names`: string constants of the source, and what to put there instead.

    >>> exec(code_of("def shown(): return 'n0'", "an example", (("n0", "it's"),)))
    >>> shown()
    "it's"
    """
    return _compiled(source, what, names) if len(source) < _LONG else _compiled.__wrapped__(source, what, names)


@lru_cache(maxsize=_KEPT)
def _compiled(source: str, what: str, names: tuple[tuple[str, str], ...]) -> CodeType:
    if not names:
        return compile(source, f"<{what}>", "exec")
    return compile(_Names(dict(names)).visit(ast.parse(source)), f"<{what}>", "exec")


class _Names(ast.NodeTransformer):
    """Constants are quicker than variables; as nodes of the tree no name is ever read as source."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        name = self.names.get(node.value) if isinstance(node.value, str) else None
        return node if name is None else ast.copy_location(ast.Constant(name), node)
