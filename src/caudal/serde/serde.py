"""What a serde is, and the base of ours. The protocol is all that the rest of Caudal asks for: a user's own class with
the two methods is a serde as well."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol


class SerdeError(ValueError):
    """One sentence: which serde could not read or write what, and why."""


class Serde(Protocol):
    """Between a Python value and bytes. None never reaches it."""

    def serialize(self, value: Any) -> bytes: ...

    def deserialize(self, data: bytes) -> Any: ...


class BuiltInSerde:
    """Equality, hash, repr and description from the settings that a serde was made with (`settings`)."""

    __slots__ = ()

    settings: ClassVar[tuple[str, ...]] = ()  # names of constructor arguments that are attributes too

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.settings)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._values() == self._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(value) for value in self._values())})"


def cannot_write(serde: object, value: Any, cause: object) -> SerdeError:
    shown = repr(value)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return SerdeError(f"{serde!r} cannot write {type(value).__name__} {shown}: {cause}.")


def cannot_read(serde: object, data: bytes, cause: object) -> SerdeError:
    shown = repr(bytes(data[:40]))
    if len(data) > 40:
        shown += f"... ({len(data)} bytes)"
    return SerdeError(f"{serde!r} cannot read {shown}: {cause}.")
