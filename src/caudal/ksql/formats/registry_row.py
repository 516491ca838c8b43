"""What AVRO, JSON_SR and PROTOBUF share: a schema of the registry, by the topic's subject or by its id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from caudal.ksql.formats.columns import ColumnsSerde
from caudal.registry.client import without_credentials


class RegistryRow(ColumnsSerde):
    """`schema_id`: write with this schema, as it is registered. `schema_name`: the full name of the schema that is made
    of the columns. Reading goes by the id in the record, whatever wrote it."""

    __slots__ = ("is_key", "registry", "schema_id", "schema_name", "topic")
    settings: ClassVar[tuple[str, ...]] = (
        "columns",
        "wrapped",
        "schema_name",
        "schema_id",
        "registry",
        "topic",
        "is_key",
    )

    def __init__(
        self,
        columns: Sequence[Any],
        wrapped: bool = True,
        *,
        schema_name: str | None = None,
        schema_id: int | None = None,
        registry: str | None = None,
        topic: str | None = None,
        is_key: bool = False,
    ) -> None:
        super().__init__(columns, wrapped)
        self.schema_name = schema_name
        self.schema_id = schema_id
        self.registry = registry
        self.topic = topic
        self.is_key = is_key

    def for_topic(self, topic: str, is_key: bool) -> Self:
        return self._with(topic=topic, is_key=is_key)

    def for_registry(self, registry: str) -> Self:
        return self if self.registry is not None else self._with(registry=registry)

    def described(self) -> dict[str, Any]:
        shown = None if self.registry is None else without_credentials(self.registry)
        return {**super().described(), "registry": shown}

    def schema_text(self) -> str:
        """The schema of the columns, as it is registered for a sink."""
        raise NotImplementedError

    @property
    def at(self) -> dict[str, Any]:
        """Where the schemas are, for the serdes inside."""
        return {"registry": self.registry, "topic": self.topic, "is_key": self.is_key}

    def _with(self, **changed: Any) -> Self:
        return type(self)(**{**{name: getattr(self, name) for name in self.settings}, **changed})
