"""Values with a schema, read with what the registry says about their ids.

One `SchemaReading` serves one search: an id is asked for once, and a registry that is away is asked once more by the
next search, not by every record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from caudal.serde.serde import SchemasUnavailable, SerdeError
from caudal.serde.wire_format import schema_id
from caudal.ui.services.decoding import Note, SchemaValue

if TYPE_CHECKING:
    from caudal.serde.registry_serde import RegistrySerde

SERDES = {"AVRO": "Avro", "JSON": "JsonSchema", "PROTOBUF": "Protobuf"}


class SchemaReading:
    """`registry`: the address, or None where the platform has none."""

    def __init__(self, registry: str | None) -> None:
        self._registry = registry
        self._serdes: dict[int, RegistrySerde | Note] = {}  # a note where there is no reader
        self._away: Note | None = None if registry else Note("no-registry")

    def read(self, data: bytes) -> SchemaValue | None:
        id = schema_id(data)
        if not id:  # ids begin with 1; a small number in eight bytes looks like the id 0
            return None
        serde = self._serde(id)
        if isinstance(serde, Note):
            return SchemaValue(id, "", None, serde)
        try:
            return SchemaValue(id, serde.type, serde.deserialize(data))
        except SchemasUnavailable as error:
            self._away = Note("registry-away", _sentence(error))
            return SchemaValue(id, "", None, self._away)
        except SerdeError as error:
            return SchemaValue(id, "", None, Note("unreadable", _sentence(error)))

    def _serde(self, id: int) -> RegistrySerde | Note:
        known = self._serdes.get(id)
        if known is None:
            known = self._away or self._found(id)
            if not self._away:
                self._serdes[id] = known
        return known

    def _found(self, id: int) -> RegistrySerde | Note:
        from caudal.registry.client import RegistryError, shared_client
        from caudal.serde.description import registry_serde

        assert self._registry is not None  # or it would be away
        try:
            kind = SERDES.get(shared_client(self._registry, 0.0).schema(id).type)
            if kind is None:
                return Note("unknown-language", str(id))
            make: Callable[..., RegistrySerde] = registry_serde(kind)  # type: ignore[assignment]
            return make(registry=self._registry, wait_seconds=0.0)
        except RegistryError as error:
            if error.status == 404:
                return Note("unknown-schema", str(id))
            self._away = Note("registry-away", _sentence(error))
            return self._away
        except SerdeError as error:
            return Note("unreadable", _sentence(error))


def _sentence(error: Exception) -> str:
    return str(error).rstrip(".")
