"""Can data of the writer's messages be read with the reader's? Rules and their names as in Confluent's registry.

Numbers identify fields, names do not matter. Not a reason: fields added or removed that are not required, anything
about enums, a message that moved. Stricter than Confluent's, as Protobuf's own documentation is: a number or enum may
not change between single and repeated, and a field may not become required.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from caudal.registry.schemas.protobuf.types import FieldShape, FieldType, MapType, MessageShape
from caudal.registry.schemas.schema import Incompatibility

Types = Mapping[str, MessageShape]


class Comparison:
    """Between two files; the types are all messages that each file knows, its imports included, by full name."""

    __slots__ = ("_reader_types", "_seen", "_writer_types", "found")

    def __init__(self, reader_types: Types, writer_types: Types) -> None:
        self._reader_types = reader_types
        self._writer_types = writer_types
        self._seen: set[tuple[str, str]] = set()
        self.found: dict[Incompatibility, None] = {}

    def packages(self, reader: str, writer: str) -> None:
        if reader != writer:
            said = f"the package is '{reader}' in the reader schema and '{writer}' in the writer schema"
            self._add("PACKAGE_CHANGED", "#/", said, f"expected: {writer}, found: {reader}")

    def messages(self, readers: Sequence[MessageShape], writers: Sequence[MessageShape]) -> None:
        known = {message.local_name: message for message in readers}
        for writer in writers:
            reader = known.get(writer.local_name)
            if reader is None:
                said = f"the message '{writer.full_name}' of the writer schema is missing in the reader schema"
                self._add("MESSAGE_REMOVED", f"#/{writer.local_name}", said, writer.full_name)
            else:
                self.message(reader, writer)

    def message(self, reader: MessageShape, writer: MessageShape) -> None:
        if (reader.full_name, writer.full_name) in self._seen:
            return
        self._seen.add((reader.full_name, writer.full_name))
        path = f"#/{reader.local_name}"
        self._oneofs(reader, writer, path)
        for number in sorted(reader.fields.keys() | writer.fields.keys()):
            new, old = reader.fields.get(number), writer.fields.get(number)
            if new is None and old is not None:
                self._removed(old, reader, path)
            elif old is None and new is not None:
                if new.required:
                    said = f"the required field '{new.name}' of the reader schema is missing in the writer schema"
                    self._add("REQUIRED_FIELD_ADDED", f"{path}/{number}", said, new.name)
            elif new is not None and old is not None:
                self._field(new, old, f"{path}/{f'{new.oneof}/' if new.oneof else ''}{number}")
        self.messages(reader.nested, writer.nested)

    def _removed(self, old: FieldShape, reader: MessageShape, path: str) -> None:
        if old.required:
            said = f"the required field '{old.name}' of the writer schema is missing in the reader schema"
            self._add("REQUIRED_FIELD_REMOVED", f"{path}/{old.number}", said, old.name)
        elif old.oneof is not None and old.oneof in reader.oneofs:
            said = f"the field '{old.name}' of oneof '{old.oneof}' in the writer schema is missing in the reader schema"
            self._add("ONEOF_FIELD_REMOVED", f"{path}/{old.oneof}/{old.number}", said, old.name)

    def _oneofs(self, reader: MessageShape, writer: MessageShape, path: str) -> None:
        """A oneof keeps one of its fields: data that may carry two of them loses one."""
        for name, numbers in reader.oneofs.items():
            fields = [writer.fields[number] for number in numbers if number in writer.fields]
            single = [field.name for field in fields if field.oneof is None]
            groups = {field.oneof for field in fields if field.oneof is not None}
            if len(single) > 1:
                said = (
                    f"the fields {', '.join(single)}, which the writer schema may fill together,"
                    f" are in one oneof '{name}' in the reader schema"
                )
                self._add("MULTIPLE_FIELDS_MOVED_TO_ONEOF", f"{path}/{name}", said, ", ".join(single))
            elif len(single) + len(groups) > 1:
                moved = single or [field.name for field in fields if field.oneof != name]
                said = (
                    f"the field '{moved[0]}' is in the oneof '{name}' in the reader schema,"
                    " together with fields that the writer schema may fill besides it"
                )
                self._add("FIELD_MOVED_TO_EXISTING_ONEOF", f"{path}/{name}", said, moved[0])

    def _field(self, new: FieldShape, old: FieldShape, path: str) -> None:
        if isinstance(new.type, MapType) or isinstance(old.type, MapType):
            if isinstance(new.type, MapType) and isinstance(old.type, MapType):
                self._types(new.name, new.type.key, old.type.key, path)
                self._types(new.name, new.type.value, old.type.value, path)
            else:
                self._kind_changed(new, old, path)
            return
        if not self._types(new.name, new.type, old.type, path):
            return
        if new.required and not old.required:
            said = f"the field '{new.name}' is required in the reader schema and not in the writer schema"
            self._add("REQUIRED_FIELD_ADDED", path, said, new.name)
        elif new.repeated != old.repeated and new.type.group not in (None, "string or bytes"):
            said = (
                f"the field '{new.name}' is {_label(new)} in the reader schema and {_label(old)} in the writer schema,"
                " which only strings, bytes and messages bear"
            )
            self._add("FIELD_NUMERIC_LABEL_CHANGED", path, said, new.name)

    def _types(self, name: str, new: FieldType, old: FieldType, path: str) -> bool:
        if (new.group is None) != (old.group is None):
            said = f"the field '{name}' is of type {new.name} in the reader schema and {old.name} in the writer schema"
            self._add("FIELD_KIND_CHANGED", path, said, name)
            return False
        if new.group is None:
            return self._message_types(name, new, old, path)
        if new.group != old.group:
            said = (
                f"the field '{name}' is of type {new.name} in the reader schema and {old.name} in the writer schema,"
                " which are laid out differently"
            )
            self._add("FIELD_SCALAR_KIND_CHANGED", path, said, name)
            return False
        return True

    def _message_types(self, name: str, new: FieldType, old: FieldType, path: str) -> bool:
        reader, writer = self._reader_types.get(new.name), self._writer_types.get(old.name)
        local = reader.local_name if reader else new.name, writer.local_name if writer else old.name
        if local[0] != local[1]:
            said = f"the field '{name}' is of type {new.name} in the reader schema and {old.name} in the writer schema"
            self._add("FIELD_NAMED_TYPE_CHANGED", path, said, name)
            return False
        if reader is not None and writer is not None:
            self.message(reader, writer)
        return True

    def _kind_changed(self, new: FieldShape, old: FieldShape, path: str) -> None:
        new_kind, old_kind = ("a map" if isinstance(field.type, MapType) else "no map" for field in (new, old))
        said = f"the field '{new.name}' is {new_kind} in the reader schema and {old_kind} in the writer schema"
        self._add("FIELD_KIND_CHANGED", path, said, new.name)

    def _add(self, rule: str, path: str, said: str, info: str) -> None:
        self.found[Incompatibility(rule, path, f"At path '{path}' {said}", info)] = None


def _label(field: FieldShape) -> str:
    return "repeated" if field.repeated else "single"
