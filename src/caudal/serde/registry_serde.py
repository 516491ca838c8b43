"""What Avro, JsonSchema and Protobuf share: the wire format, which schema is written with and under which subject, the
writer's schema of every record by its id, rules, and the sentences when something is missing.

Writers and readers are made once, for the first value of a schema and the first record of an id; a record then costs
a dictionary look-up and the format's own work. Serdes are immutable and travel without what they have cached.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import orjson

from caudal.registry.client import (
    RegisteredSchema,
    RegistryClient,
    RegistryError,
    RegistryUnreachable,
    configured_registry,
    shared_client,
    without_credentials,
)
from caudal.registry.schemas.schema import Reference
from caudal.serde.rules.policy import READ, WRITE, Run, rules_of
from caudal.serde.rules.shapes import Shape
from caudal.serde.serde import BuiltInSerde, SchemasUnavailable, SerdeError, cannot_read
from caudal.serde.subjects import STRATEGIES, TOPIC, subject_name
from caudal.serde.wire_format import HEAD_BYTES

WAIT_SECONDS = 10.0
_UNKNOWN_SECONDS = 5.0  # how long an id stays unknown before the registry is asked again

Write = Callable[[Any], bytes]
Read = Callable[[bytes], Any]


class Reading(NamedTuple):
    """How records of one id are read: the function, the schema they were written with, and the one their values have
    (the reader's, where that is one of the registry's)."""

    read: Read
    written: RegisteredSchema
    seen: RegisteredSchema


class RegistrySerde(BuiltInSerde):
    """Arguments that all three have:

    - `schema`: the text (or, where it is JSON, its dict) to write with; records are read as this schema, too.
    - `reader_schema`: read as this one instead. Without either, a record is read as it was written.
    - `references`: of `schema`: (name, subject, version) each.
    - `schema_id`, `use_latest_version`: write with a registered schema instead; the latest one is looked up once.
    - `auto_register`: registers `schema` when it is new to the subject; otherwise it must be there.
    - `subject`, or `naming`: "topic", "record" or "topic-record".
    - `registry`: the address; without, the application's (`caudal run --registry`), or CAUDAL_REGISTRY.
    - `wait_seconds`: how long a registry that is away is asked again before that is an error.
    """

    __slots__ = (
        "_client",
        "_from_json",
        "_readers",
        "_unknown",
        "_write",
        "auto_register",
        "is_key",
        "naming",
        "normalize",
        "reader_schema",
        "references",
        "registry",
        "schema",
        "schema_id",
        "subject",
        "topic",
        "use_latest_version",
        "wait_seconds",
    )
    settings: ClassVar[tuple[str, ...]] = (
        "schema",
        "reader_schema",
        "references",
        "subject",
        "schema_id",
        "use_latest_version",
        "auto_register",
        "normalize",
        "naming",
        "registry",
        "wait_seconds",
        "topic",
        "is_key",
    )
    type: ClassVar[str]  # as the registry calls the language

    def __init__(
        self,
        schema: str | dict[str, Any] | list[Any] | None = None,
        *,
        reader_schema: str | dict[str, Any] | list[Any] | None = None,
        references: Sequence[Sequence[Any]] = (),
        subject: str | None = None,
        schema_id: int | None = None,
        use_latest_version: bool = False,
        auto_register: bool = True,
        normalize: bool = False,
        naming: str = TOPIC,
        registry: str | None = None,
        wait_seconds: float = WAIT_SECONDS,
        topic: str | None = None,
        is_key: bool = False,
    ) -> None:
        self.schema = _text(schema)
        self.reader_schema = _text(reader_schema)
        self.references = tuple(Reference(*each) for each in references)
        self.subject = subject
        self.schema_id = schema_id
        self.use_latest_version = use_latest_version
        self.auto_register = auto_register
        self.normalize = normalize
        if naming not in STRATEGIES:
            raise SerdeError(f"naming= takes {', '.join(STRATEGIES)}, not {naming!r}.")
        self.naming = naming
        try:
            without_credentials(registry or "")
        except ValueError as error:
            raise SerdeError(f"registry=: {error}.") from None
        self.registry = registry
        self.wait_seconds = wait_seconds
        self.topic = topic
        self.is_key = is_key
        self._client: RegistryClient | None = None
        self._write: Write | None = None
        self._from_json: Callable[[Any], Any] | None = None
        self._readers: dict[int, Read] = {}
        self._unknown: dict[int, tuple[float, str]] = {}

    # ------------------------------------------------------------------ what a plan does with it

    def for_topic(self, topic: str, is_key: bool) -> Self:
        """The same serde for the keys or the values of a topic, which names its subject."""
        return self._with(topic=topic, is_key=is_key)

    def for_registry(self, registry: str) -> Self:
        """The same serde at this registry, unless it was given its own."""
        return self if self.registry is not None else self._with(registry=registry)

    def _with(self, **changed: Any) -> Self:
        return type(self)(**{**{name: getattr(self, name) for name in self.settings}, **changed})

    def described(self) -> dict[str, Any]:
        shown = super().described()
        shown["registry"] = None if self.registry is None else without_credentials(self.registry)
        shown["references"] = [list(reference) for reference in self.references]
        return shown

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), {name: getattr(self, name) for name in self.settings})

    def __repr__(self) -> str:
        known = {"subject": self.subject, "schema_id": self.schema_id, "topic": self.topic}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in known.items() if value)})"

    # ------------------------------------------------------------------ records

    def serialize(self, value: Any) -> bytes:
        write = self._write
        if write is None:
            write = self._writer(value)
        return write(value)

    def deserialize(self, data: bytes) -> Any:
        if len(data) < HEAD_BYTES or data[0] != 0:
            raise self._not_wire_format(data)
        id = int.from_bytes(data[1:HEAD_BYTES], "big")
        read = self._readers.get(id)
        if read is None:
            read = self._reader(id, data)
        return read(data)

    def writer(self) -> Write:
        """What `serialize` does with every value, for who writes many: the schema is registered when it returns."""
        return self._write or self._writer(None)

    def reading(self, data: bytes) -> Reading:
        """What `deserialize` does with this record and all others of its id, for who reads many."""
        if len(data) < HEAD_BYTES or data[0] != 0:
            raise self._not_wire_format(data)
        id = int.from_bytes(data[1:HEAD_BYTES], "big")
        read = self._readers.get(id) or self._reader(id, data)
        written = self._schema(id)
        return Reading(read, written, self._schema_to_read() or written)

    def value_of_json(self, text: bytes) -> Any:
        """What a person means by a line of JSON, as a value to serialise: dates are ISO 8601, bytes are base64."""
        try:
            if self._from_json is None:
                self._from_json = self._json_converter()
            return self._from_json(orjson.loads(text))
        except ValueError as error:
            if isinstance(error, SerdeError):
                raise
            shown = text[:60].decode("utf-8", "replace")
            raise SerdeError(f"{self!r} cannot write {shown}: {str(error).rstrip('.')}.") from None

    def _json_converter(self) -> Callable[[Any], Any]:
        """From plain JSON to this format's values."""
        return lambda value: value

    def _not_wire_format(self, data: bytes) -> SerdeError:
        cause = f"its first byte is {data[0]}, not 0" if data and data[0] else "it is too short for a schema's id"
        return cannot_read(self, data, f"it is not in the registry's wire format: {cause}")

    # ------------------------------------------------------------------ writing

    def _writer(self, value: Any) -> Write:
        """Made with the first value and kept; formats that infer schemas make more than one."""
        self._write = self._make_writer(self._schema_to_write())
        return self._write

    def _make_writer(self, schema: RegisteredSchema) -> Write:
        encode = self._encoder(schema)
        rules = self._rules(schema, WRITE)
        return encode if rules is None else _then(rules, encode)

    def _schema_to_write(self) -> RegisteredSchema:
        if self.schema_id is not None:
            return self._schema(self.schema_id)
        if self.use_latest_version:
            subject = self.subject_for(self.schema)
            latest = self._ask(lambda client: client.latest(subject), f"the latest schema of '{subject}'")
            return self._of_this_type(latest)
        if self.schema is None:
            raise SerdeError(
                f"{self!r} has no schema to write with: give schema=, schema_id= or use_latest_version=True."
            )
        return self._registered(self.schema)

    def _registered(self, text: str) -> RegisteredSchema:
        """The schema with its id in the subject."""
        subject = self.subject_for(text)
        if not self.auto_register:
            return self._ask(
                lambda client: client.lookup(subject, text, self.type, self.references, normalize=self.normalize),
                f"the schema in '{subject}' (auto_register=False)",
            )
        id = self._ask(
            lambda client: client.register(subject, text, self.type, self.references, normalize=self.normalize),
            f"a place for the schema in '{subject}'",
        ).id
        return self._schema(id, subject)

    def subject_for(self, text: str | None) -> str:
        """Under which subject this schema is, or is to be, registered."""
        if self.subject is not None:
            return self.subject
        name = None if self.naming == TOPIC or text is None else self._record_name(text)
        return subject_name(self.naming, self.topic, self.is_key, name)

    # ------------------------------------------------------------------ reading

    def _reader(self, id: int, data: bytes) -> Read:
        known = self._unknown.get(id)
        if known is not None and known[0] > time.monotonic():
            raise SerdeError(known[1])
        try:
            writer = self._schema(id)
        except SchemasUnavailable:
            raise
        except SerdeError as error:
            failure = cannot_read(self, data, str(error).rstrip("."))
            self._unknown[id] = time.monotonic() + _UNKNOWN_SECONDS, str(failure)
            raise failure from None
        reader = self._schema_to_read()
        decode = self._decoder(writer, reader)
        rules = self._rules(reader or writer, READ)
        self._readers[id] = read = decode if rules is None else _then(decode, rules)
        return read

    def _schema_to_read(self) -> RegisteredSchema | None:
        """The reader's schema where it is one of the registry's; a text of our own is the format's business."""
        if self.reader_schema is not None or not self.use_latest_version:
            return None
        subject = self.subject_for(self.schema)
        return self._of_this_type(self._ask(lambda client: client.latest(subject), f"the latest schema of '{subject}'"))

    # ------------------------------------------------------------------ the registry

    @property
    def client(self) -> RegistryClient:
        """Of this serde's registry; one for all serdes of the process."""
        if self._client is None:
            self._client = shared_client(self.registry or configured_registry(), self.wait_seconds)
        return self._client

    def _schema(self, id: int, subject: str | None = None, format: str | None = None) -> RegisteredSchema:
        qualified = subject if subject is not None and subject.startswith(":") else None
        what = f"the schema with id {id}"
        return self._of_this_type(self._ask(lambda client: client.schema(id, subject=qualified, format=format), what))

    def _of_this_type(self, schema: RegisteredSchema) -> RegisteredSchema:
        if schema.type != self.type:
            raise SerdeError(f"The schema with id {schema.id} is {schema.type}, and {self!r} is for {self.type}.")
        return schema

    def _ask(self, question: Callable[[RegistryClient], RegisteredSchema], what: str) -> RegisteredSchema:
        client = self.client
        try:
            return question(client)
        except RegistryUnreachable as error:
            raise SchemasUnavailable(
                f"{self!r} needs {what}, and there is {error.message}. Start one with `caudal registry`, or give its "
                "address with registry= or CAUDAL_REGISTRY."
            ) from None
        except RegistryError as error:
            kind = SchemasUnavailable if error.status >= 500 or error.status in (401, 403, 429) else SerdeError
            message = error.message.rstrip(".")
            raise kind(f"{self!r} needs {what}, and the registry at {client.address} says: {message}.") from None

    def _referenced(self, schema: RegisteredSchema, format: str | None = None) -> list[tuple[str, RegisteredSchema]]:
        """The schemas that it refers to, theirs first, each with the name it is called by."""
        found: dict[str, RegisteredSchema] = {}

        def add(references: Sequence[Reference]) -> None:
            for name, subject, version in references:
                if name not in found:
                    other = self._reference(subject, version, format)
                    add(other.references)
                    found[name] = other

        add(schema.references)
        return list(found.items())

    def _reference(self, subject: str, version: int, format: str | None) -> RegisteredSchema:
        return self._ask(
            lambda client: client.version(subject, version, deleted=True, format=format),
            f"version {version} of '{subject}', which a schema refers to",
        )

    def _given(self, text: str) -> RegisteredSchema:
        """A schema of our own that is not asked for in the registry, with this serde's references."""
        return RegisteredSchema(-1, self.type, text, references=self.references)

    def _rules(self, schema: RegisteredSchema, mode: str) -> Run | None:
        """What the schema's rules do with a value."""
        if not schema.rule_set:
            return None
        return rules_of(schema.rule_set, schema.metadata, lambda: self._shape(schema), mode)

    # ------------------------------------------------------------------ the format

    @abstractmethod
    def _record_name(self, text: str) -> str | None:
        """The schema's own name, for subjects."""

    @abstractmethod
    def _encoder(self, schema: RegisteredSchema) -> Write:
        """Values to whole records, head included."""

    @abstractmethod
    def _decoder(self, writer: RegisteredSchema, reader: RegisteredSchema | None) -> Read:
        """Whole records to values."""

    @abstractmethod
    def _shape(self, schema: RegisteredSchema) -> Shape:
        """Where fields are in its values, for rules."""


def _text(schema: str | dict[str, Any] | list[Any] | None) -> str | None:
    return schema if schema is None or isinstance(schema, str) else orjson.dumps(schema).decode()


def _made(kind: type[RegistrySerde], settings: dict[str, Any]) -> RegistrySerde:
    return kind(**settings)


def _then(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: second(first(value))
