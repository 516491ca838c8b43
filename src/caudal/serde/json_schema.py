"""JSON with a JSON Schema of the registry: orjson reads and writes, jsonschema checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import orjson

from caudal.registry.client import RegisteredSchema
from caudal.serde.registry_serde import Read, RegistrySerde, Write
from caudal.serde.serde import SerdeError, cannot_read, cannot_write
from caudal.serde.wire_format import HEAD_BYTES, head

if TYPE_CHECKING:
    from caudal.serde.rules.shapes import Shape

Check = Callable[[Any], str | None]  # a value → what is wrong with it


class JsonSchema(RegistrySerde):
    """A JSON document that fits a schema. `validate=False` leaves the check out.

    >>> serde = JsonSchema({"type": "object", "properties": {"amount": {"type": "number"}}},
    ...                    registry="mock://docs", subject="payments-value")
    >>> serde.deserialize(serde.serialize({"amount": 2.5}))
    {'amount': 2.5}
    """

    __slots__ = ("validate",)
    settings = (*RegistrySerde.settings, "validate")
    type = "JSON"

    def __init__(self, schema: Any = None, *, validate: bool = True, **settings: Any) -> None:
        super().__init__(schema, **settings)
        self.validate = validate
        for text in (self.schema, self.reader_schema):
            if text is not None:
                self._loaded(text)

    def _record_name(self, text: str) -> str | None:
        schema = self._loaded(text)
        title = schema.get("title") if isinstance(schema, dict) else None
        return title if isinstance(title, str) else None

    def _encoder(self, schema: RegisteredSchema) -> Write:
        begin = head(schema.id)
        wrong = self._check(schema) if self.validate else None

        def encode(value: Any) -> bytes:
            try:
                text = orjson.dumps(value)
            except TypeError as error:
                raise cannot_write(self, value, error) from None
            if wrong is not None and wrong(value) is not None:
                # Dates and dataclasses are text and objects only when they are written.
                why = wrong(orjson.loads(text))
                if why is not None:
                    raise cannot_write(self, value, f"it does not fit schema {schema.id}: {why}")
            return begin + text

        return encode

    def _decoder(self, writer: RegisteredSchema, reader: RegisteredSchema | None) -> Read:
        text = self.reader_schema if self.reader_schema is not None else self.schema
        if reader is None and text is not None:
            reader = self._given(text)
        wrong = self._check(reader or writer) if self.validate else None
        which = "the reader's schema" if reader is not None else f"schema {writer.id}"

        def decode(data: bytes) -> Any:
            try:
                value = orjson.loads(memoryview(data)[HEAD_BYTES:])
            except ValueError as error:
                raise cannot_read(self, data, error) from None
            if wrong is not None:
                why = wrong(value)
                if why is not None:
                    raise cannot_read(self, data, f"it does not fit {which}: {why}")
            return value

        return decode

    def _shape(self, schema: RegisteredSchema) -> Shape:
        from caudal.serde.rules.json_shape import json_shape

        return json_shape(*self.documents(schema))

    def documents(self, schema: RegisteredSchema) -> tuple[Any, dict[str, Any]]:
        """The schema, and those that it refers to by name."""
        others = {name: self._loaded(other.text) for name, other in self._referenced(schema)}
        return self._loaded(schema.text), others

    def _check(self, schema: RegisteredSchema) -> Check:
        import referencing
        from jsonschema import exceptions, validators
        from referencing.jsonschema import DRAFT7, specification_with

        document, others = self.documents(schema)

        def resource(content: Any) -> Any:
            dialect = content.get("$schema") if isinstance(content, dict) else None
            specification = specification_with(str(dialect).rstrip("#"), default=DRAFT7) if dialect else DRAFT7
            return referencing.Resource.from_contents(content, default_specification=specification)

        known = [(name, resource(other)) for name, other in others.items()]
        kind = validators.validator_for(document, default=validators.Draft7Validator)
        try:
            kind.check_schema(document)
        except exceptions.SchemaError as error:
            raise SerdeError(f"{self!r}: the schema is not JSON Schema: {error.message}.") from None
        registry: Any = referencing.Registry().with_resources(known)
        validator = kind(document, registry=registry)

        def wrong(value: Any) -> str | None:
            try:
                error = next(validator.iter_errors(value), None)
            except referencing.exceptions.Unresolvable as unresolved:
                return f"the schema refers to {unresolved.ref!r}, which is not among its references"
            if error is None:
                return None
            place = ".".join(str(part) for part in error.absolute_path)
            return f"{f'the field {place!r}: ' if place else ''}{error.message}"

        return wrong

    def _loaded(self, text: str) -> Any:
        try:
            return orjson.loads(text)
        except ValueError as error:
            raise SerdeError(f"{self!r}: the schema is not JSON: {error}.") from None
