"""JSON_SR: JSON with the id of a JSON Schema in front. What is written fits the schema by the way it is made, so that
it is not checked again; what is read is taken as JSON is, whichever schema wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caudal.ksql.formats.json import json_reader, json_writer
from caudal.ksql.formats.json_schema import json_schema_text
from caudal.ksql.formats.registry_row import RegistryRow
from caudal.serde.json_schema import JsonSchema
from caudal.serde.wire_format import HEAD_BYTES, schema_id


class JsonSrRow(RegistryRow):
    """
    >>> from caudal.ksql import types
    >>> from caudal.ksql.schema import Column
    >>> serde = JsonSrRow([Column("ID", types.BIGINT)]).for_registry("mock://docs").for_topic("json-sr", False)
    >>> serde.serialize((7,))[5:]
    b'{"ID":7}'
    """

    __slots__ = ()
    format = "JSON_SR"

    def __init__(self, columns: Sequence[Any], wrapped: bool = True, **settings: Any) -> None:
        super().__init__(columns, wrapped, **settings)
        schema: dict[str, Any] = {"schema_id": self.schema_id}
        if self.schema_id is None:
            schema = {"schema": self.schema_text()}
        self.serialize = json_writer(self, dumps=JsonSchema(**schema, validate=False, **self.at).serialize)
        parse = json_reader(self, begin=HEAD_BYTES)

        def read(data: bytes) -> Any:
            if schema_id(data) is None:
                raise self.unreadable(
                    data,
                    "it does not begin with the magic byte and a schema's id; where it is JSON without them, declare "
                    "the format JSON, not JSON_SR",
                )
            return parse(data)

        self.deserialize = read

    def schema_text(self) -> str:
        return json_schema_text(self.written, self.wrapped, self.schema_name)
