"""An Avro schema as the registry knows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from caudal.registry.schemas.avro.printer import printed
from caudal.registry.schemas.avro.reader import Reader
from caudal.registry.schemas.avro.resolution import incompatibilities
from caudal.registry.schemas.avro.types import Array, Map, Named, Record, Type, Union, described
from caudal.registry.schemas.json_text import load
from caudal.registry.schemas.schema import (
    MAX_FIELDS,
    Field,
    Incompatibility,
    ParsedSchema,
    Reference,
    Resolved,
    in_order,
    other_language,
    tags_of,
    wrong_type,
)

TYPE: Final = "AVRO"


class AvroSchema:
    """`root` is the type; `named` are all its named types, those of its references included, by full name."""

    __slots__ = ("_foreign", "_resolved", "named", "references", "root", "text")

    type: Final = TYPE

    def __init__(self, text: str, references: Sequence[Resolved] = ()) -> None:
        foreign: dict[str, Named] = {}
        for resolved in references:
            if not isinstance(resolved.schema, AvroSchema):
                raise wrong_type(resolved, TYPE)
            foreign.update(resolved.schema.named)
        reader = Reader(foreign)
        self.root = reader.read(load(text))
        self.named: dict[str, Named] = reader.names
        self.references: tuple[Reference, ...] = tuple(resolved.reference for resolved in references)
        self._resolved = tuple(references)
        self._foreign = frozenset(foreign)
        self.text = printed(self.root, self._foreign)

    @property
    def name(self) -> str | None:
        return self.root.full_name if isinstance(self.root, Record) else None

    @property
    def identity(self) -> str:
        return self.text

    def normalized(self) -> AvroSchema:
        return AvroSchema(printed(self.root, self._foreign, normal=True), in_order(self._resolved))

    def formatted(self, form: str) -> str:
        return printed(self.root) if form == "resolved" else self.text

    def reads(self, writer: ParsedSchema) -> Sequence[Incompatibility]:
        if not isinstance(writer, AvroSchema):
            return other_language(self, writer)
        return incompatibilities(self.root, writer.root)

    def fields(self) -> Iterator[Field]:
        for count, field in enumerate(_fields(self.root, "", ())):
            if count == MAX_FIELDS:
                return
            yield field


def _fields(avro_type: Type, prefix: str, around: tuple[Type, ...]) -> Iterator[Field]:
    match avro_type:
        case Record() if avro_type not in around:
            for field in avro_type.fields:
                path = f"{prefix}{field.name}"
                yield Field(path, described(field.type), field.doc or "", _tags(field.props, field.type))
                yield from _fields(field.type, f"{path}.", (*around, avro_type))
        case Array(items=inner) | Map(values=inner):
            yield from _fields(inner, prefix, around)
        case Union(branches=branches):
            for branch in branches:
                yield from _fields(branch, prefix, around)


def _tags(props: Any, avro_type: Type) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*tags_of(props), *tags_of(avro_type.props))))
