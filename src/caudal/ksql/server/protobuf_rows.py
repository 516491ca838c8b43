"""Rows of /query-stream as Protobuf: the .proto text of a row, and each row as the bytes of that message."""

from __future__ import annotations

import base64
from typing import Any

from caudal.ksql.formats.protobuf import ProtobufNoSrRow
from caudal.ksql.formats.protobuf_schema import protobuf_text
from caudal.ksql.schema import Column, Schema


class ProtobufRows:
    def __init__(self, schema: Schema) -> None:
        columns = [Column(column.name, column.type) for column in schema]
        self.proto = protobuf_text(columns)
        self._serde = ProtobufNoSrRow(columns)

    def text_of(self, row: Any) -> str:
        """As JSON carries bytes."""
        return base64.b64encode(self._serde.serialize(tuple(row))).decode()
