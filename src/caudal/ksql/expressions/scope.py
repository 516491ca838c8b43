"""What names mean in an expression: each a column of the row at hand, and where in the row it lies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from caudal.ksql.errors import KsqlError, Position, suggestion
from caudal.ksql.syntax.tree import Name, TypeName
from caudal.ksql.types import SqlType, quoted


class Where(Enum):
    KEY = "key"  # key[index]; of a windowed key, key.key[index]
    VALUE = "value"  # value[index]
    WINDOW_START = "window start"  # key.start
    WINDOW_END = "window end"  # key.end


@dataclass(frozen=True, slots=True)
class Binding:
    name: str
    type: SqlType
    where: Where
    index: int = 0
    source: str | None = None  # the alias it can be qualified with


class Scope:
    """The columns that an expression may name. `is_windowed`: the row's key is a `Windowed`. `types` are those of
    CREATE TYPE, for CASTs that name one."""

    def __init__(
        self,
        bindings: Iterable[Binding],
        *,
        is_windowed: bool = False,
        types: Mapping[str, SqlType] | None = None,
    ) -> None:
        self.bindings = tuple(bindings)
        self.is_windowed = is_windowed
        self.types = dict(types or {})

    def has(self, name: str) -> bool:
        return any(one.name == name for one in self.bindings)

    def type_named(self, text: str) -> SqlType | None:
        """The type of a text with custom types in it (`ARRAY<address>`); None where one of them is not known."""
        from caudal.ksql.syntax.parser import resolve_type

        def custom(name: str, at: Position) -> SqlType:
            found = self.types.get(name) or self.types.get(name.upper())
            if found is None:
                raise KeyError(name)
            return found

        try:
            return resolve_type(TypeName(text), custom)
        except KeyError:
            return None

    def resolve(self, name: Name) -> Binding:
        found = [
            one for one in self.bindings if one.name == name.name and (name.source is None or one.source == name.source)
        ]
        if len(found) == 1:
            return found[0]
        shown = name.name if name.source is None else f"{name.source}.{name.name}"
        if not found:
            known = [one.name for one in self.bindings]
            raise KsqlError(f"Column '{shown}' cannot be resolved.{similar(name.name, known)}", name.at)
        sources = ", ".join(sorted(f"{one.source}.{one.name}" for one in found))
        raise KsqlError(f"Column '{shown}' is ambiguous. Could be {sources}.", name.at)


def similar(wrong: str, known: Iterable[str]) -> str:
    """Like `suggestion`, for names that may be quoted: the same one in another case comes first.

    >>> similar("AMOUNT", ["amount"])
    " Did you mean '`amount`'?"
    """
    known = list(known)
    same = next((one for one in known if one.upper() == wrong.upper()), None)
    return suggestion(wrong, known) if same is None else f" Did you mean '{quoted(same)}'?"
