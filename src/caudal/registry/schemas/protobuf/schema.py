"""A Protobuf schema as the registry knows it, and the descriptors that serialisers build their messages from."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from google.protobuf import descriptor_pb2

from caudal.registry.schemas.protobuf.compiler import MAIN, compiled, decoded, is_built_in, needed
from caudal.registry.schemas.protobuf.evolution import Comparison
from caudal.registry.schemas.protobuf.normal import sort
from caudal.registry.schemas.protobuf.printer import SCALARS, printed, reader_of_options, with_known_options
from caudal.registry.schemas.protobuf.types import MessageShape, messages_of
from caudal.registry.schemas.schema import (
    MAX_FIELDS,
    Field,
    Incompatibility,
    InvalidSchema,
    ParsedSchema,
    Reference,
    Resolved,
    in_order,
    other_language,
    wrong_type,
)

TYPE: Final = "PROTOBUF"
_FIELD_META: Final = "confluent.field_meta"


class ProtobufSchema:
    """`content` is the descriptor of the file, serialised; `imports` are those of all files it needs, by name."""

    __slots__ = ("_messages", "_resolved", "_types", "content", "imports", "name", "package", "references", "text")

    type: Final = TYPE

    def __init__(self, text: str, references: Sequence[Resolved] = ()) -> None:
        known = _known_files(references)
        contents = {name: _renamed(schema.content, name) for name, schema in known.items()}
        if (given := decoded(text, contents)) is not None:
            text = _written(given, contents)
        file = compiled(text, {name: schema.text for name, schema in known.items()})
        self.references: tuple[Reference, ...] = tuple(resolved.reference for resolved in references)
        self._resolved = tuple(references)
        self.imports = needed(file, contents)
        self.content: bytes = file.SerializeToString(deterministic=True)
        self.text: str = printed(with_known_options(self.content, self.imports))
        self.package: str = file.package
        first = file.message_type[0].name if file.message_type else None
        self.name = f"{file.package}.{first}" if first and file.package else first
        self._messages: list[MessageShape] | None = None
        self._types: dict[str, MessageShape] | None = None

    @property
    def identity(self) -> str:
        return self.text

    def normalized(self) -> ProtobufSchema:
        file = with_known_options(self.content, self.imports)
        sort(file)
        return ProtobufSchema(printed(file), in_order(self._resolved))

    def formatted(self, form: str) -> str:
        return base64.b64encode(self.content).decode() if form == "serialized" else self.text

    def reads(self, writer: ParsedSchema) -> Sequence[Incompatibility]:
        if not isinstance(writer, ProtobufSchema):
            return other_language(self, writer)
        comparison = Comparison(self._all_messages(), writer._all_messages())
        comparison.packages(self.package, writer.package)
        comparison.messages(self._own_messages(), writer._own_messages())
        return list(comparison.found)

    def fields(self) -> Iterator[Field]:
        files = {**self.imports, MAIN: self.content}
        reader = reader_of_options(files)
        messages: dict[str, Any] = {}
        for content in files.values():
            file = reader.FromString(content)
            for message in file.message_type:
                _index(message, f".{file.package}." if file.package else ".", messages)
        count = 0
        for number, message in enumerate(self._own_messages()):
            prefix = "" if number == 0 else f"{message.local_name}."
            for field in _fields(f".{message.full_name}", prefix, messages, ()):
                if count == MAX_FIELDS:
                    return
                yield field
                count += 1

    def _own_messages(self) -> list[MessageShape]:
        if self._messages is None:
            self._messages = messages_of(descriptor_pb2.FileDescriptorProto.FromString(self.content))
        return self._messages

    def _all_messages(self) -> dict[str, MessageShape]:
        if self._types is None:
            shapes = [
                *self._own_messages(),
                *(shape for content in self.imports.values() for shape in _shapes(content)),
            ]
            self._types = {message.full_name: message for shape in shapes for message in shape.all()}
        return self._types


def file_descriptor_set(schema: ParsedSchema) -> Any:
    """The descriptors of a schema and of all that it imports, each after what it needs; its own is the last."""
    if not isinstance(schema, ProtobufSchema):
        raise TypeError(f"A schema of type {schema.type} has no Protobuf descriptors.")
    result = descriptor_pb2.FileDescriptorSet()
    for content in (*schema.imports.values(), schema.content):
        result.file.append(descriptor_pb2.FileDescriptorProto.FromString(content))
    return result


@lru_cache(maxsize=512)
def _shapes(content: bytes) -> list[MessageShape]:
    return messages_of(descriptor_pb2.FileDescriptorProto.FromString(content))


def _known_files(references: Sequence[Resolved]) -> dict[str, ProtobufSchema]:
    """The files that references bring, theirs first, by the names under which they are imported."""
    known: dict[str, ProtobufSchema] = {}
    for resolved in references:
        if not isinstance(resolved.schema, ProtobufSchema):
            raise wrong_type(resolved, TYPE)
        known.update(_known_files(resolved.schema._resolved))
    known.update({resolved.reference.name: resolved.schema for resolved in references})  # type: ignore[misc]
    return {name: schema for name, schema in known.items() if not is_built_in(name)}


def _written(file: Any, imports: Mapping[str, bytes]) -> str:
    """A descriptor goes through its text, so that both forms of a schema are one, and what no text says is refused."""
    try:
        return printed(with_known_options(file.SerializeToString(), needed(file, imports)))
    except InvalidSchema:
        raise
    except (TypeError, ValueError, KeyError) as error:  # bytes that are no characters where a name should be
        raise InvalidSchema(f"The descriptor holds what no .proto text can say: {error}.") from None


def _renamed(content: bytes, name: str) -> bytes:
    file = descriptor_pb2.FileDescriptorProto.FromString(content)
    file.name = name
    return bytes(file.SerializeToString(deterministic=True))


def _index(message: Any, prefix: str, messages: dict[str, Any]) -> None:
    messages[prefix + message.name] = message
    for nested in message.nested_type:
        _index(nested, f"{prefix}{message.name}.", messages)


def _fields(name: str, prefix: str, messages: Mapping[str, Any], around: tuple[str, ...]) -> Iterator[Field]:
    known_to_all = name.startswith(".google.protobuf.")  # a timestamp is a value, not a message to look into
    if name in around or name not in messages or known_to_all or len(around) > 50:
        return
    for field in messages[name].field:
        path = f"{prefix}{field.name}"
        kind = SCALARS.get(field.type) or field.type_name.removeprefix(".")
        inner = field.type_name
        if inner in messages and messages[inner].options.map_entry:
            value = messages[inner].field[1]
            kind = f"map of {SCALARS.get(value.type) or value.type_name.removeprefix('.')}"
            inner = value.type_name
        elif field.label == field.LABEL_REPEATED:
            kind = f"repeated {kind}"
        doc, tags = _meta(field)
        yield Field(path, kind, doc, tags)
        yield from _fields(inner, f"{path}.", messages, (*around, name))


def _meta(field: Any) -> tuple[str, tuple[str, ...]]:
    for descriptor, value in field.options.ListFields():
        if descriptor.is_extension and descriptor.full_name == _FIELD_META:
            return value.doc, tuple(value.tags)
    return "", ()
