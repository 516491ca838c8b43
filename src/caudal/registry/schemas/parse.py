"""From a text to a ParsedSchema, by the name of its language."""

from __future__ import annotations

from collections.abc import Sequence

from caudal.registry.schemas.schema import ParsedSchema, Resolved

TYPES = ("AVRO", "JSON", "PROTOBUF")


def parse(schema_type: str, text: str, references: Sequence[Resolved] = ()) -> ParsedSchema:
    """Raises InvalidSchema."""
    raise NotImplementedError
