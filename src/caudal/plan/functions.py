"""What a user's function is in a plan: a Python callable, a SQL expression kept as text, or a PySpark Column.

A callable runs in the interpreter only. A SQL expression is data: it can be printed and stored, and may also run
natively. A Column runs in the native lane only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Function:
    """A user's function. `sql` is its text where it was given as an expression; `call` is what the interpreter calls.

    `call` takes exactly the arguments that the step's comment names. Where the user's callable takes fewer, `call` is a
    small function around it and `original` is the user's. Of a `column`, `call` only says that it cannot be called.
    """

    call: Callable[..., Any]
    sql: str | None = None
    original: Callable[..., Any] | None = None
    column: Any = field(default=None, compare=False)

    @property
    def direct(self) -> Callable[..., Any]:
        """What to call for every record: `call`, or the plain function inside of it where it has one. Callables that
        are pickled as data (SQL's compiled expressions) have it as `direct_call`: an object between costs some 60 ns.
        """
        found: Callable[..., Any] = getattr(self.call, "direct_call", self.call)
        return found

    def __str__(self) -> str:
        if self.sql is not None:
            return self.sql
        if self.column is not None:
            return str(self.column)
        shown = self.original if self.original is not None else self.call
        return getattr(shown, "__qualname__", None) or type(shown).__qualname__
