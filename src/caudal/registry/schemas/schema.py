"""What every schema language offers to the registry, and the words for its parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

TAGS: Final = "confluent:tags"
MAX_FIELDS: Final = 5000  # of one schema that search sees: nested types can multiply without end


class InvalidSchema(ValueError):
    """The text is not a schema of its language: one sentence that says where and why (REST code 42201)."""


class Reference(NamedTuple):
    """As clients write it: in the text the other schema is called `name`; it is version `version` of `subject`."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Resolved:
    """A reference with the schema it means, whose own references are resolved too."""

    reference: Reference
    schema: ParsedSchema


class Incompatibility(NamedTuple):
    """One reason why data of the writer cannot be read by the reader."""

    rule: str  # as Confluent's registry calls it, such as READER_FIELD_MISSING_DEFAULT_VALUE
    path: str  # the place in the reader's schema, such as /fields/2 or #/properties/age
    message: str  # one sentence that names the field, with the words "reader schema" and "writer schema" for the sides
    info: str = ""  # the bare fact, as programs want it: the name of the field, "expected: 4, found: 8"


class Field(NamedTuple):
    """A field as search finds it."""

    path: str  # customer.address.city
    type: str
    doc: str
    tags: tuple[str, ...]


class ParsedSchema(Protocol):
    @property
    def type(self) -> str:
        """AVRO, JSON or PROTOBUF."""

    @property
    def text(self) -> str:
        """As it is stored and shown. Avro and JSON: as given, spaces removed or not as Confluent's registry does."""

    @property
    def references(self) -> tuple[Reference, ...]: ...

    @property
    def name(self) -> str | None:
        """Full name of the record or the first message, the title of a JSON schema; None where it has none."""

    @property
    def identity(self) -> str:
        """Two schemas with equal type, identity and references are the same schema and share an id."""

    def normalized(self) -> ParsedSchema:
        """The form that differs only where the meaning does (`normalize=true`)."""

    def formatted(self, form: str) -> str:
        """In another form: "resolved" (Avro, references put in), "serialized" (Protobuf, base64 of the descriptor)."""

    def reads(self, writer: ParsedSchema) -> Sequence[Incompatibility]:
        """Why a reader with this schema cannot read data of `writer`; empty: it can."""

    def fields(self) -> Iterable[Field]: ...


def other_language(reader: ParsedSchema, writer: ParsedSchema) -> list[Incompatibility]:
    message = f"The reader schema is of type {reader.type}, the writer schema of type {writer.type}"
    return [Incompatibility("SCHEMA_TYPE_CHANGED", "/", message, f"expected: {writer.type}, found: {reader.type}")]


def wrong_type(resolved: Resolved, expected: str) -> InvalidSchema:
    name, found = resolved.reference.name, resolved.schema.type
    return InvalidSchema(f"The reference '{name}' is a schema of type {found}, not {expected}.")


def in_order(references: Sequence[Resolved]) -> list[Resolved]:
    """Each once and sorted, as the normal form has them."""
    unique = {resolved.reference: resolved for resolved in references}
    return [unique[reference] for reference in sorted(unique)]


def tags_of(properties: Mapping[str, Any]) -> tuple[str, ...]:
    """The tags that data policies and search know, of an Avro type or field, or of a JSON schema."""
    tags = properties.get(TAGS)
    return tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()
