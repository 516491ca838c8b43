"""From a descriptor to .proto text: the same descriptor always gives the same text, and the text gives the descriptor.

Comments are not part of a descriptor, so they go, as they do in Confluent's registry. Message types of the file's own
package are written from the package on (`Outer.Inner`), others in full with a leading dot.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from string import ascii_letters, digits
from typing import Any, Final

from google.protobuf import descriptor_pb2, message_factory, text_format
from google.protobuf.descriptor import FieldDescriptor

from caudal.registry.schemas.protobuf.compiler import MAIN, pool_of

_FIELD: Final = descriptor_pb2.FieldDescriptorProto
SCALARS: Final[Mapping[int, str]] = {
    _FIELD.TYPE_DOUBLE: "double",
    _FIELD.TYPE_FLOAT: "float",
    _FIELD.TYPE_INT64: "int64",
    _FIELD.TYPE_UINT64: "uint64",
    _FIELD.TYPE_INT32: "int32",
    _FIELD.TYPE_FIXED64: "fixed64",
    _FIELD.TYPE_FIXED32: "fixed32",
    _FIELD.TYPE_BOOL: "bool",
    _FIELD.TYPE_STRING: "string",
    _FIELD.TYPE_BYTES: "bytes",
    _FIELD.TYPE_UINT32: "uint32",
    _FIELD.TYPE_SFIXED32: "sfixed32",
    _FIELD.TYPE_SFIXED64: "sfixed64",
    _FIELD.TYPE_SINT32: "sint32",
    _FIELD.TYPE_SINT64: "sint64",
}
_LABELS: Final = {
    _FIELD.LABEL_OPTIONAL: "optional ",
    _FIELD.LABEL_REQUIRED: "required ",
    _FIELD.LABEL_REPEATED: "repeated ",
}
_MAX_NUMBER: Final = 536870911
_MAX_ENUM: Final = 2**31 - 1


def with_known_options(content: bytes, imports: Mapping[str, bytes]) -> Any:
    """The file read with the options that its imports define, which otherwise stay unread bytes."""
    return reader_of_options({**imports, MAIN: content}).FromString(content)


def reader_of_options(files: Mapping[str, bytes]) -> Any:
    """The class FileDescriptorProto, knowing the options that these files define."""
    if "google/protobuf/descriptor.proto" not in files:
        return descriptor_pb2.FileDescriptorProto
    kind = pool_of(files).FindMessageTypeByName("google.protobuf.FileDescriptorProto")
    return message_factory.GetMessageClass(kind)


def printed(file: Any) -> str:
    """`file` as `with_known_options` gives it."""
    return "\n".join(_Printer(file).file()) + "\n"


class _Printer:
    __slots__ = ("_file", "_prefix", "_syntax")

    def __init__(self, file: Any) -> None:
        self._file = file
        self._syntax: str = file.syntax or "proto2"
        self._prefix = f".{file.package}." if file.package else "."

    def file(self) -> Iterator[str]:
        file = self._file
        if self._syntax == "editions":
            name = descriptor_pb2.Edition.Name(file.edition).removeprefix("EDITION_")
            yield f'edition = "{name}";'
        else:
            yield f'syntax = "{self._syntax}";'
        if file.package:
            yield f"package {file.package};"
        if file.dependency:
            yield ""
        for index, name in enumerate(file.dependency):
            kind = "public " if index in file.public_dependency else "weak " if index in file.weak_dependency else ""
            yield f"import {kind}{quoted(name)};"
        if options := list(self._option_lines(file)):
            yield ""
            yield from options
        groups = {field.type_name for field in file.extension if field.type == _FIELD.TYPE_GROUP}
        types = {self._prefix + kind.name: kind for kind in file.message_type if self._prefix + kind.name in groups}
        for message_type in file.message_type:
            if self._prefix + message_type.name not in types:
                yield ""
                yield from self._message(message_type, ())
        for enum_type in file.enum_type:
            yield ""
            yield from self._enum(enum_type)
        yield from self._extensions(file.extension, types, ())
        for service in file.service:
            yield ""
            yield from self._service(service)

    def _message(self, message_type: Any, around: tuple[Any, ...]) -> Iterator[str]:
        yield f"message {message_type.name} {{"
        yield from _indented(self._body(message_type, (*around, message_type)))
        yield "}"

    def _body(self, message_type: Any, around: tuple[Any, ...]) -> Iterator[str]:
        yield from self._option_lines(message_type)
        yield from self._reserved(message_type, _MAX_NUMBER, open_end=True)
        for span in message_type.extension_range:
            yield f"extensions {_span(span.start, span.end - 1, _MAX_NUMBER)}{self._brackets(self._options(span))};"
        inner = _Nested(self, message_type, around)
        done: set[int] = set()
        for field in message_type.field:
            if not field.HasField("oneof_index") or field.proto3_optional:
                yield from inner.field(field)
            elif field.oneof_index not in done:
                done.add(field.oneof_index)
                oneof = message_type.oneof_decl[field.oneof_index]
                members = [other for other in message_type.field if _is_member(other, field.oneof_index)]
                yield from inner.before(members)
                yield f"oneof {oneof.name} {{"
                yield from _indented(self._option_lines(oneof))
                for member in members:
                    yield from _indented(inner.field(member, label=False))
                yield "}"
        yield from self._extensions(message_type.extension, inner.types, around)
        yield from inner.rest()
        for enum_type in message_type.enum_type:
            yield from self._enum(enum_type)

    def _enum(self, enum_type: Any) -> Iterator[str]:
        yield f"enum {enum_type.name} {{"
        yield from _indented(self._option_lines(enum_type))
        yield from _indented(self._reserved(enum_type, _MAX_ENUM, open_end=False))
        for value in enum_type.value:
            yield f"  {value.name} = {value.number}{self._brackets(self._options(value))};"
        yield "}"

    def _reserved(self, owner: Any, highest: int, *, open_end: bool) -> Iterator[str]:
        if owner.reserved_range:
            spans = (_span(span.start, span.end - open_end, highest) for span in owner.reserved_range)
            yield f"reserved {', '.join(spans)};"
        if owner.reserved_name:
            names = owner.reserved_name if self._syntax == "editions" else map(quoted, owner.reserved_name)
            yield f"reserved {', '.join(names)};"

    def _extensions(self, fields: Any, types: Mapping[str, Any], around: tuple[Any, ...]) -> Iterator[str]:
        extendee = None
        for field in fields:
            if field.extendee != extendee:
                if extendee is not None:
                    yield "}"
                elif not around:
                    yield ""
                extendee = field.extendee
                yield f"extend {self._type_name(extendee, around)} {{"
            if field.type == _FIELD.TYPE_GROUP and field.type_name in types:
                yield from _indented(self._group(field, types[field.type_name], around, label=True))
            else:
                yield f"  {self._field(field, around, label=True)}"
        if extendee is not None:
            yield "}"

    def _field(self, field: Any, around: tuple[Any, ...], *, label: bool) -> str:
        kind = SCALARS.get(field.type) or self._type_name(field.type_name, around)
        return f"{self._label(field) if label else ''}{kind} {self._end(field)}"

    def _map_field(self, field: Any, entry: Any, around: tuple[Any, ...]) -> str:
        key, value = entry.field
        kind = SCALARS.get(value.type) or self._type_name(value.type_name, around)
        return f"map<{SCALARS[key.type]}, {kind}> {self._end(field)}"

    def _group(self, field: Any, body: Any, around: tuple[Any, ...], *, label: bool) -> Iterator[str]:
        options = self._brackets(self._field_options(field))
        yield f"{self._label(field) if label else ''}group {body.name} = {field.number}{options} {{"
        yield from _indented(self._body(body, (*around, body)))
        yield "}"

    def _label(self, field: Any) -> str:
        if field.label == _FIELD.LABEL_OPTIONAL and self._syntax != "proto2" and not field.proto3_optional:
            return ""
        return _LABELS[field.label]

    def _end(self, field: Any) -> str:
        return f"{field.name} = {field.number}{self._brackets(self._field_options(field))};"

    def _field_options(self, field: Any) -> Iterator[str]:
        if field.HasField("default_value"):
            value = field.default_value
            if field.type == _FIELD.TYPE_STRING:
                value = quoted(value)
            elif field.type == _FIELD.TYPE_BYTES:
                value = f'"{value}"'  # is escaped already
            yield f"default = {value}"
        if field.HasField("json_name"):
            yield f"json_name = {quoted(field.json_name)}"
        yield from self._options(field)

    def _service(self, service: Any) -> Iterator[str]:
        yield f"service {service.name} {{"
        yield from _indented(self._option_lines(service))
        for method in service.method:
            given = ("stream " if method.client_streaming else "") + self._type_name(method.input_type, ())
            result = ("stream " if method.server_streaming else "") + self._type_name(method.output_type, ())
            options = list(self._option_lines(method))
            yield f"  rpc {method.name} ({given}) returns ({result})" + (" {" if options else ";")
            if options:
                yield from _indented(_indented(options))
                yield "  }"
        yield "}"

    def _option_lines(self, owner: Any) -> Iterator[str]:
        return (f"option {option};" for option in self._options(owner))

    def _options(self, owner: Any) -> Iterator[str]:
        if not owner.HasField("options"):
            return
        for descriptor, value in owner.options.ListFields():
            name = f"({self._option_name(descriptor.full_name)})" if descriptor.is_extension else descriptor.name
            if name == "map_entry":
                continue
            for item in value if descriptor.is_repeated else (value,):
                yield f"{name} = {_constant(descriptor, item)}"

    def _brackets(self, options: Iterable[str]) -> str:
        text = ", ".join(options)
        return f" [{text}]" if text else ""

    def _option_name(self, name: str) -> str:
        first = name.partition(".")[0]
        own = {kind.name for kind in (*self._file.message_type, *self._file.enum_type)}
        return f".{name}" if first in own or first in self._file.package.split(".")[1:] else name

    def _type_name(self, name: str, around: tuple[Any, ...]) -> str:
        """Short where nothing nearer has the same name."""
        if not name.startswith(self._prefix):
            return name
        short = name[len(self._prefix) :]
        first = short.partition(".")[0]
        own = {kind.name for kind in (*self._file.message_type, *self._file.enum_type)}
        nearer = (kind.name for scope in around for kind in (*scope.nested_type, *scope.enum_type))
        return name if first not in own or first in nearer else short


class _Nested:
    """The types inside a message. Those that fields bring along (maps, groups) are written with the field; the others
    just so that all come in the order of the descriptor, by which serialisers number messages."""

    __slots__ = ("_around", "_next", "_printer", "_with_fields", "types")

    def __init__(self, printer: _Printer, message_type: Any, around: tuple[Any, ...]) -> None:
        self._printer = printer
        self._around = around
        self._next = 0
        scope = printer._prefix + ".".join(outer.name for outer in around)
        self.types = {f"{scope}.{kind.name}": kind for kind in message_type.nested_type}
        fields = (*message_type.field, *message_type.extension)
        self._with_fields = {field.type_name for field in fields if self._brought(field) is not None}

    def before(self, fields: Iterable[Any]) -> Iterator[str]:
        for field in fields:
            if self._brought(field) is not None:
                yield from self._until(field)
                return

    def field(self, field: Any, *, label: bool = True) -> Iterator[str]:
        brought = self._brought(field)
        if brought is None:
            yield self._printer._field(field, self._around, label=label)
            return
        if label:
            yield from self._until(field)
        self._next = max(self._next, list(self.types).index(field.type_name) + 1)
        if field.type == _FIELD.TYPE_GROUP:
            yield from self._printer._group(field, brought, self._around, label=label)
        else:
            yield self._printer._map_field(field, brought, self._around)

    def rest(self) -> Iterator[str]:
        for name in list(self.types)[self._next :]:
            yield from self._alone(name)

    def _alone(self, name: str) -> Iterator[str]:
        if name not in self._with_fields:
            yield from self._printer._message(self.types[name], self._around)

    def _until(self, field: Any) -> Iterator[str]:
        place = list(self.types).index(field.type_name)
        for name in list(self.types)[self._next : place]:
            yield from self._alone(name)
        self._next = max(self._next, place)

    def _brought(self, field: Any) -> Any | None:
        kind = self.types.get(field.type_name)
        if kind is None or not (field.type == _FIELD.TYPE_GROUP or kind.options.map_entry):
            return None
        return kind


def quoted(text: str) -> str:
    out = []
    for character in text:
        if character in '"\\':
            out.append("\\" + character)
        elif character == "\n":
            out.append("\\n")
        elif character < " " or character == "\x7f":
            out.append(f"\\{ord(character):03o}")
        else:
            out.append(character)
    return f'"{"".join(out)}"'


def _constant(descriptor: FieldDescriptor, value: Any) -> str:
    match descriptor.type:
        case FieldDescriptor.TYPE_STRING:
            return quoted(value)
        case FieldDescriptor.TYPE_BYTES:
            plain = b" !#$%&'()*+,-./:;<=>?@[]^_`{|}~" + ascii_letters.encode() + digits.encode()
            return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in value) + '"'
        case FieldDescriptor.TYPE_BOOL:
            return "true" if value else "false"
        case FieldDescriptor.TYPE_ENUM:
            known = descriptor.enum_type.values_by_number.get(value)
            return known.name if known else str(value)
        case FieldDescriptor.TYPE_MESSAGE | FieldDescriptor.TYPE_GROUP:
            text = text_format.MessageToString(value, as_one_line=True, as_utf8=True)
            return f"{{ {text} }}" if text else "{ }"
        case FieldDescriptor.TYPE_FLOAT | FieldDescriptor.TYPE_DOUBLE:
            return str(value) if math.isinf(value) or math.isnan(value) else repr(value)
        case _:
            return str(value)


def _span(first: int, last: int, highest: int) -> str:
    if first == last:
        return str(first)
    return f"{first} to {'max' if last == highest else last}"


def _is_member(field: Any, oneof: int) -> bool:
    return bool(field.HasField("oneof_index") and field.oneof_index == oneof and not field.proto3_optional)


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" if line else line for line in lines)
