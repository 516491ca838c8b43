"""Avro by fastavro: records are dicts; dates, times, decimals and UUIDs are Python's own."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING, Any

import orjson

from caudal.registry.client import RegisteredSchema
from caudal.serde.avro_defaults import has_changeable, own_copy, set_defaults
from caudal.serde.avro_ranges import range_check
from caudal.serde.registry_serde import Read, RegistrySerde, Write
from caudal.serde.serde import SerdeError, cannot_read, cannot_write
from caudal.serde.wire_format import HEAD_BYTES, head

if TYPE_CHECKING:
    from caudal.serde.rules.shapes import Shape


class Avro(RegistrySerde):
    """A value with an Avro schema of the registry.

    >>> serde = Avro({"type": "record", "name": "Order", "fields": [{"name": "amount", "type": "double"}]},
    ...              registry="mock://docs", subject="orders-value")
    >>> serde.deserialize(serde.serialize({"amount": 2.5}))
    {'amount': 2.5}

    `infer=True` makes a schema of each dict as it is (text, whole numbers, fractions, booleans, bytes, dates, lists and
    dicts of these), under the name that `infer` gives if it is text: for a beginning, not for data that lasts.
    """

    __slots__ = ("_inferred", "infer")
    settings = (*RegistrySerde.settings, "infer")
    type = "AVRO"

    def __init__(self, schema: Any = None, *, infer: bool | str = False, **settings: Any) -> None:
        super().__init__(_named(schema), **settings)
        self.infer = infer
        self._inferred: dict[str, Write] = {}
        for text in (self.schema, self.reader_schema):
            if text is not None:
                self._loaded(text)

    def _writer(self, value: Any) -> Write:
        if not self.infer or self.schema is not None or self.schema_id is not None or self.use_latest_version:
            return super()._writer(value)
        from caudal.serde.avro_inference import inferred_schema

        try:
            text = inferred_schema(value, self.infer if isinstance(self.infer, str) else "Value")
        except ValueError as error:
            raise cannot_write(self, value, error) from None
        write = self._inferred.get(text)
        if write is None:
            write = self._inferred[text] = self._make_writer(self._registered(text))
        return write

    def _record_name(self, text: str) -> str | None:
        schema = self._loaded(text)
        if not isinstance(schema, dict) or "name" not in schema:
            return schema if isinstance(schema, str) else None
        name, space = schema["name"], schema.get("namespace")
        return f"{space}.{name}" if space and "." not in name else str(name)

    def _encoder(self, schema: RegisteredSchema) -> Write:
        from fastavro import schemaless_writer

        parsed = self.parsed(schema)
        begin = head(schema.id)
        too_large = range_check(parsed)

        def encode(value: Any) -> bytes:
            if too_large is not None and (wrong := too_large(value)) is not None:
                place = f"the field '{wrong[0].lstrip('.')}': " if wrong[0] else ""
                raise cannot_write(self, value, f"{place}{wrong[1]} does not fit into an int")
            out = BytesIO()
            out.write(begin)
            try:
                schemaless_writer(out, parsed, value)
            except Exception as error:
                raise cannot_write(self, value, _misfit(parsed, value) or error) from None
            return out.getvalue()

        return encode

    def _decoder(self, writer: RegisteredSchema, reader: RegisteredSchema | None) -> Read:
        from fastavro import schemaless_reader
        from fastavro.read import SchemaResolutionError

        written = self.parsed(writer)
        text = self.reader_schema if self.reader_schema is not None else self.schema
        if reader is None and text is not None:
            reader = self._given(text)
        wanted = None
        if reader is not None and reader.text != writer.text:
            wanted = self.parsed(reader)
            if wanted == written:
                wanted = None

        shares_defaults = wanted is not None and has_changeable(wanted)

        def decode(data: bytes) -> Any:
            source = BytesIO(data)
            source.seek(HEAD_BYTES)
            try:
                value = schemaless_reader(source, written, wanted)
            except SchemaResolutionError as error:
                why = " ".join(str(error).split()) or "the schemas do not fit"
                raise cannot_read(
                    self, data, f"schema {writer.id}, which it was written with, cannot be read as this one: {why}"
                ) from None
            except Exception as error:
                raise cannot_read(self, data, f"it does not fit schema {writer.id}: {_said(error)}") from None
            if source.read(1):
                raise cannot_read(self, data, f"it is longer than a value of schema {writer.id}")
            return own_copy(value) if shares_defaults else value

        return decode

    def _json_converter(self) -> Callable[[Any], Any]:
        from caudal.serde.avro_json import from_json

        if self.infer and self.schema is None:
            return super()._json_converter()
        schema = self.parsed(self._schema_to_write())
        return lambda value: from_json(schema, value)

    def _shape(self, schema: RegisteredSchema) -> Shape:
        from caudal.serde.rules.avro_shape import avro_shape

        return avro_shape(self.parsed(schema))

    def parsed(self, schema: RegisteredSchema) -> Any:
        """As fastavro wants it, with the named types of its references."""
        from fastavro import parse_schema
        from fastavro.schema import SchemaParseException, UnknownType

        named: dict[str, Any] = {}
        try:
            for _, other in self._referenced(schema):
                parse_schema(self._loaded(other.text), named)
            return set_defaults(parse_schema(self._loaded(schema.text), named))
        except UnknownType as error:
            raise SerdeError(f"{self!r}: the schema has an unknown type: {error}.") from None
        except SchemaParseException as error:
            raise SerdeError(f"{self!r}: the schema is not Avro: {_said(error)}.") from None

    def _loaded(self, text: str) -> Any:
        try:
            return orjson.loads(text)
        except ValueError as error:
            raise SerdeError(f"{self!r}: the schema is not JSON: {error}.") from None


def _named(schema: Any) -> Any:
    """A bare name, such as string, as the JSON that it is short for."""
    return f'"{schema}"' if isinstance(schema, str) and schema.isidentifier() else schema


def _misfit(schema: Any, value: Any) -> str | None:
    """Which field does not fit, in fastavro's words."""
    from fastavro import validate
    from fastavro.validation import ValidationError

    try:
        validate(value, schema)
    except ValidationError as error:
        return "; ".join(" ".join(str(each).split()) for each in error.errors[:3])
    except Exception:
        return None
    return None


def _said(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
