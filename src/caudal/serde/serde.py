"""What a serde is, and the base of ours. The protocol is all that the rest of Caudal asks for: a user's own class with
the two methods is a serde as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self


class SerdeError(ValueError):
    """One sentence: which serde could not read or write what, and why."""


class SchemasUnavailable(SerdeError):
    """The schema registry is away: nothing is wrong with the record, so nobody may skip it for this."""


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

    def described(self) -> dict[str, Any]:
        """The settings for a plan: no secrets."""
        return {name: getattr(self, name) for name in self.settings}

    def remade(self, change: Callable[[Any], Any]) -> Self:
        """This serde with the serdes inside of it changed."""
        settings = {name: getattr(self, name) for name in self.settings}
        changed = {name: change(value) if hasattr(value, "deserialize") else value for name, value in settings.items()}
        return self if all(changed[name] is settings[name] for name in settings) else type(self)(**changed)

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


def bound(serde: Serde, topic: str, is_key: bool) -> Serde:
    """The serde as it is used for keys or values of this topic. Those that care have `for_topic(topic, is_key)`; in
    others, such as windowed keys, the serdes inside are bound."""
    for_topic = getattr(serde, "for_topic", None)
    if for_topic is not None:
        made: Serde = for_topic(topic, is_key)
        return made
    return serde.remade(lambda inner: bound(inner, topic, is_key)) if isinstance(serde, BuiltInSerde) else serde


def with_registry(serde: Serde, registry: str) -> Serde:
    """The serde with the registry's address, where it needs one and was not given its own (`for_registry`)."""
    for_registry = getattr(serde, "for_registry", None)
    if for_registry is not None:
        made: Serde = for_registry(registry)
        return made
    return serde.remade(lambda inner: with_registry(inner, registry)) if isinstance(serde, BuiltInSerde) else serde
