"""Protobuf without generated classes: a message is a dict, unless the class is given. The descriptors come from the
registry; each schema has a pool of its own, so that two versions of a message live side by side."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from caudal.registry.client import RegisteredSchema
from caudal.serde.protobuf_dicts import to_dict, to_message
from caudal.serde.registry_serde import Read, RegistrySerde, Write
from caudal.serde.serde import SerdeError, cannot_read, cannot_write
from caudal.serde.wire_format import head, message_indexes, read_message_indexes

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor

    from caudal.registry.schemas.schema import ParsedSchema, Reference
    from caudal.serde.rules.shapes import Shape


class Protobuf(RegistrySerde):
    """A message with a Protobuf schema of the registry, as a dict: numbers and bytes are Python's, enums are names,
    Timestamp and Duration are datetime and timedelta, and what is not set is None.

    >>> serde = Protobuf('syntax = "proto3"; message Order { string user = 1; double amount = 2; }',
    ...                  registry="mock://docs", subject="orders-protobuf-value")
    >>> serde.deserialize(serde.serialize({"user": "ana", "amount": 2.5}))
    {'user': 'ana', 'amount': 2.5}

    `message` names the message to write where it is not the file's first, or is a generated class, whose messages are
    then written and read; with a class, its own file is the schema.
    """

    __slots__ = ("_class", "_files", "message")
    settings = (*RegistrySerde.settings, "message")
    type = "PROTOBUF"

    def __init__(self, schema: Any = None, *, message: Any = None, **settings: Any) -> None:
        self._class: Any = None if message is None or isinstance(message, str) else message
        self.message = message
        self._files: dict[Any, FileDescriptor] = {}
        if self._class is not None and schema is None:
            schema = _serialized(self._class.DESCRIPTOR.file)
        super().__init__(schema, **settings)

    def described(self) -> dict[str, Any]:
        shown = super().described()
        if self._class is not None:
            shown |= {"message": self._class.DESCRIPTOR.full_name, "custom": True}
        return shown

    # ------------------------------------------------------------------ the format

    def _record_name(self, text: str) -> str | None:
        if self._class is not None:
            return str(self._class.DESCRIPTOR.full_name)
        if self.message is not None:
            return str(self.message)
        return self._parsed(text).name

    def _parsed(self, text: str) -> ParsedSchema:
        """A schema of our own, compiled here."""
        from caudal.registry.schemas.parse import parse
        from caudal.registry.schemas.schema import InvalidSchema, Resolved

        def resolved(references: Sequence[Reference]) -> list[Resolved]:
            found = []
            for reference in references:
                other = self._reference(reference.subject, reference.version, None)
                found.append(Resolved(reference, parse(self.type, other.text, resolved(other.references))))
            return found

        try:
            return parse(self.type, text, resolved(self.references))
        except InvalidSchema as error:
            raise SerdeError(f"{self!r}: the schema is not Protobuf: {str(error).rstrip('.')}.") from None

    def _registered(self, text: str) -> RegisteredSchema:
        if self._class is not None and not self.references:
            return self._with_dependencies(text)
        return super()._registered(text)

    def _with_dependencies(self, text: str) -> RegisteredSchema:
        """A class brings the files that its own one imports: they are registered under their names first."""
        known: dict[str, tuple[str, str, int]] = {}

        def references(file: Any) -> list[tuple[str, str, int]]:
            for other in file.dependencies:
                if other.name not in known and not _is_well_known(other.name):
                    inner = Protobuf(
                        _serialized(other),
                        references=references(other),
                        subject=other.name,
                        auto_register=self.auto_register,
                        registry=self.registry,
                        wait_seconds=self.wait_seconds,
                    )
                    inner._registered(inner.schema or "")
                    version = inner._ask(
                        lambda client, each=inner: client.lookup(  # type: ignore[misc]
                            each.subject, each.schema, each.type, each.references
                        ),
                        f"the version of '{other.name}'",
                    ).version
                    known[other.name] = (other.name, other.name, version or 1)
            return [known[other.name] for other in file.dependencies if other.name in known]

        found = references(self._class.DESCRIPTOR.file)
        return super(Protobuf, self._with(references=found))._registered(text)

    def _encoder(self, schema: RegisteredSchema) -> Write:
        descriptor = self._message_to_write(schema)
        begin = head(schema.id) + message_indexes(_path(descriptor))
        if self._class is not None:
            return self._class_encoder(begin)
        make: Callable[[Any], Any] = to_message(descriptor)

        def encode(value: Any) -> bytes:
            try:
                return begin + make(value).SerializeToString()  # type: ignore[no-any-return]
            except Exception as error:
                raise cannot_write(self, value, error) from None

        return encode

    def _class_encoder(self, begin: bytes) -> Write:
        name = self._class.DESCRIPTOR.full_name

        def encode(value: Any) -> bytes:
            if not hasattr(value, "DESCRIPTOR") or value.DESCRIPTOR.full_name != name:
                raise cannot_write(self, value, f"a message {name} is needed")
            return begin + value.SerializeToString()  # type: ignore[no-any-return]

        return encode

    def _decoder(self, writer: RegisteredSchema, reader: RegisteredSchema | None) -> Read:
        file = self._file(writer)
        text = self.reader_schema if self.reader_schema is not None else self.schema
        if reader is None and self._class is None and text is not None:
            reader = self._given(text)  # nothing is registered by reading
        wanted = None if reader is None or reader.text == writer.text else self._file(reader)
        parsers: dict[tuple[int, ...], Callable[[bytes], Any]] = {}

        def parser(path: tuple[int, ...]) -> Callable[[bytes], Any]:
            descriptor = _at(file, path)
            if self._class is not None:
                if descriptor.full_name != self._class.DESCRIPTOR.full_name:
                    raise ValueError(f"it is a {descriptor.full_name}, not a {self._class.DESCRIPTOR.full_name}")
                return self._class.FromString  # type: ignore[no-any-return]
            if wanted is not None:
                descriptor = _named(wanted, descriptor.full_name)
            return _dict_reader(descriptor)

        def decode(data: bytes) -> Any:
            try:
                path, begin = read_message_indexes(data)
                parse = parsers.get(path)
                if parse is None:
                    parse = parsers[path] = parser(path)
                return parse(data[begin:])
            except Exception as error:
                raise cannot_read(self, data, f"it does not fit schema {writer.id}: {error}") from None

        return decode

    def _json_converter(self) -> Callable[[Any], Any]:
        from google.protobuf.json_format import ParseDict, ParseError
        from google.protobuf.message_factory import GetMessageClass

        descriptor = self._message_to_write(self._schema_to_write())
        make, as_dict = GetMessageClass(descriptor), to_dict(descriptor)

        def convert(value: Any) -> Any:
            try:
                return as_dict(ParseDict(value, make(), descriptor_pool=descriptor.file.pool))
            except ParseError as error:
                raise ValueError(" ".join(str(error).split())) from None

        return convert

    def _shape(self, schema: RegisteredSchema) -> Shape:
        from caudal.serde.rules.protobuf_shape import protobuf_shape

        if self._class is not None:
            raise SerdeError(f"{self!r}: rules work on dicts: leave the class out.")
        return protobuf_shape(self._message_to_write(schema))

    # ------------------------------------------------------------------ descriptors

    def message_of(self, data: bytes, written: RegisteredSchema, seen: RegisteredSchema) -> Descriptor:
        """The message that a record is, as the schema has it that it is seen with."""
        path, _ = read_message_indexes(data)
        descriptor = _at(self._file(written), path)
        return descriptor if seen.id == written.id else _named(self._file(seen), descriptor.full_name)

    def _message_to_write(self, schema: RegisteredSchema) -> Descriptor:
        file = self._file(schema)
        if self._class is not None:
            return _named(file, self._class.DESCRIPTOR.full_name)
        if self.message is not None:
            return _named(file, self.message)
        if not file.message_types_by_name:
            raise SerdeError(f"{self!r}: schema {schema.id} has no message.")
        return next(iter(file.message_types_by_name.values()))

    def _file(self, schema: RegisteredSchema) -> FileDescriptor:
        """The file of a schema, with the files it imports, in a pool of its own."""
        key = schema.text if schema.id < 0 else schema.id
        known = self._files.get(key)
        if known is not None:
            return known
        from google.protobuf.descriptor_pb2 import FileDescriptorProto
        from google.protobuf.descriptor_pool import DescriptorPool

        pool = DescriptorPool()
        added: set[str] = set()

        def add(text: str, name: str) -> Any:
            proto = FileDescriptorProto.FromString(b64decode(text))
            proto.name = name
            for import_name in proto.dependency:
                if import_name not in added:
                    added.add(import_name)
                    _add_well_known(pool, import_name, added)
            added.add(name)
            pool.Add(proto)
            return proto

        try:
            others = self._referenced(schema, "serialized")
            added.update(name for name, _ in others)
            for name, other in others:
                add(other.text, name)
            proto = add(self._serialized(schema), f"caudal-{schema.id}.proto")
            file = pool.FindFileByName(proto.name)
        except SerdeError:
            raise
        except Exception as error:
            said = " ".join(str(error).split())
            raise SerdeError(f"{self!r}: schema {schema.id} cannot be made into descriptors: {said}.") from None
        self._files[key] = file
        return file

    def _serialized(self, schema: RegisteredSchema) -> str:
        """The file as a descriptor: the registry compiles its own."""
        if schema.id < 0:
            return self._parsed(schema.text).formatted("serialized")
        return self._schema(schema.id, schema.subject, "serialized").text


def _dict_reader(descriptor: Descriptor) -> Callable[[bytes], Any]:
    from google.protobuf.message_factory import GetMessageClass

    from_bytes = GetMessageClass(descriptor).FromString
    as_dict = to_dict(descriptor)
    return lambda data: as_dict(from_bytes(data))


def _path(descriptor: Descriptor) -> list[int]:
    outer = descriptor.containing_type
    siblings = descriptor.file.message_types_by_name.values() if outer is None else outer.nested_types
    place = [each.full_name for each in siblings].index(descriptor.full_name)
    return [place] if outer is None else [*_path(outer), place]


def _at(file: FileDescriptor, path: tuple[int, ...]) -> Descriptor:
    try:
        descriptor: Descriptor = list(file.message_types_by_name.values())[path[0]]
        for index in path[1:]:
            descriptor = descriptor.nested_types[index]
    except IndexError:
        raise ValueError(f"there is no message {list(path)} in it") from None
    return descriptor


def _named(file: FileDescriptor, name: str) -> Descriptor:
    """By full name, or without the package."""

    def search(messages: Any) -> Descriptor | None:
        for message in messages:
            short = message.full_name.removeprefix(f"{file.package}.")
            found = message if name in (message.full_name, short) else search(message.nested_types)
            if found is not None:
                return found
        return None

    found = search(file.message_types_by_name.values())
    if found is None:
        raise SerdeError(f"The schema has no message '{name}'.")
    return found


def _serialized(file: FileDescriptor) -> str:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    return b64encode(proto.SerializeToString()).decode()


def _is_well_known(name: str) -> bool:
    return name.startswith(("google/protobuf/", "google/type/", "confluent/"))


def _add_well_known(pool: Any, name: str, added: set[str]) -> None:
    """A file that every registry knows, such as google/protobuf/timestamp.proto."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    module = name.removesuffix(".proto").replace("/", ".") + "_pb2"
    if name.startswith("confluent/"):
        module = f"confluent_kafka.schema_registry.{module}"
    try:
        proto = FileDescriptorProto.FromString(import_module(module).DESCRIPTOR.serialized_pb)
    except ImportError:
        proto = _built_in(name)
    for other in proto.dependency:
        if other not in added:
            added.add(other)
            _add_well_known(pool, other, added)
    added.add(name)
    pool.Add(proto)


def _built_in(name: str) -> Any:
    """A file that comes with our compiler, for which no package has a module."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    from caudal.registry.schemas.protobuf.compiler import built_in, is_built_in

    if not is_built_in(name):
        raise ValueError(f"it imports {name}, which is not among its references")
    return FileDescriptorProto.FromString(dict(built_in(name) or ())[name])
