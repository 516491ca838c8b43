"""From a text to a ParsedSchema, by the name of its language."""

from __future__ import annotations

from collections.abc import Sequence

from caudal.registry.schemas.schema import InvalidSchema, ParsedSchema, Resolved

TYPES = ("AVRO", "JSON", "PROTOBUF")


def parse(schema_type: str, text: str, references: Sequence[Resolved] = ()) -> ParsedSchema:
    """Raises InvalidSchema. The languages are imported at first use: each needs libraries of its own."""
    try:
        match schema_type:
            case "AVRO":
                from caudal.registry.schemas.avro.schema import AvroSchema

                return AvroSchema(text, references)
            case "JSON":
                from caudal.registry.schemas.json_schema.schema import JsonSchema

                return JsonSchema(text, references)
            case "PROTOBUF":
                from caudal.registry.schemas.protobuf.schema import ProtobufSchema

                return ProtobufSchema(text, references)
            case _:
                raise InvalidSchema(f"The schema type '{schema_type}' is not known; known are {', '.join(TYPES)}.")
    except RecursionError:  # the languages limit depth themselves; chains of references can still be long
        raise InvalidSchema("The schema nests too deeply.") from None
