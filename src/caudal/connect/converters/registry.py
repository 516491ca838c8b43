"""What the converters have in common whose schemas are in a registry: their properties, and which schema goes where.

A converter keeps one serde (`caudal.serde`) for each topic and schema that it writes, and one that reads; between them
and Connect stand the format's shapes, made once per schema. What a record costs is a look-up, its shape, its bytes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.converter import Converter, Decoded
from caudal.connect.converters.shaping import Shape
from caudal.connect.data import BOOLEAN, BYTES, FLOAT64, INT64, STRING, Kind, Schema
from caudal.connect.errors import DataError, RetriableError
from caudal.serde.registry_serde import Read, Reading, RegistrySerde, Write
from caudal.serde.serde import SchemasUnavailable, SerdeError
from caudal.serde.subjects import RECORD, TOPIC, TOPIC_RECORD

_STRATEGIES = {
    "TopicNameStrategy": TOPIC,
    "RecordNameStrategy": RECORD,
    "TopicRecordNameStrategy": TOPIC_RECORD,
    TOPIC: TOPIC,
    RECORD: RECORD,
    TOPIC_RECORD: TOPIC_RECORD,
}
_WITHOUT_SCHEMA = {bool: BOOLEAN, int: INT64, float: FLOAT64, str: STRING, bytes: BYTES}


def _strategy(name: str, value: Any) -> None:
    if value.rsplit(".", 1)[-1] not in _STRATEGIES:
        raise ValueError("Expected TopicNameStrategy, RecordNameStrategy or TopicRecordNameStrategy")


def _cache_size(name: str) -> Key:
    return Key(
        name=name, type=Type.INT, default=1000, minimum=1, importance=Importance.LOW, doc="How many schemas are kept."
    )


REGISTRY_KEYS = config_def(
    Key(
        name="schema.registry.url",
        type=Type.LIST,
        default=None,
        importance=Importance.HIGH,
        doc="The registry's address, or several. By default the worker's.",
    ),
    Key(
        name="auto.register.schemas",
        type=Type.BOOLEAN,
        default=True,
        doc="Whether schemas that are new to their subject are registered.",
    ),
    Key(
        name="use.latest.version",
        type=Type.BOOLEAN,
        default=False,
        importance=Importance.LOW,
        doc="Whether records are written with the subject's latest schema, and read as it.",
    ),
    Key(
        name="use.schema.id",
        type=Type.INT,
        default=-1,
        minimum=-1,
        importance=Importance.LOW,
        doc="The id of the registered schema to write with; -1: the record's own.",
    ),
    Key(
        name="normalize.schemas",
        type=Type.BOOLEAN,
        default=False,
        importance=Importance.LOW,
        doc="Whether the registry normalises schemas before it compares them.",
    ),
    *(
        Key(
            name=f"{part}subject.name.strategy",
            default=default,
            importance=Importance.LOW,
            doc="How subjects are named: TopicNameStrategy, RecordNameStrategy or TopicRecordNameStrategy.",
            validator=_strategy,
        )
        for part, default in (("", "TopicNameStrategy"), ("key.", None), ("value.", None))
    ),
    Key(
        name="basic.auth.credentials.source",
        default="URL",
        choices=("URL", "USER_INFO"),
        importance=Importance.LOW,
        doc="Where the registry's user and password are: in its address, or in basic.auth.user.info.",
    ),
    *(
        Key(name=name, type=Type.PASSWORD, default=None, importance=Importance.LOW, doc="user:password")
        for name in ("basic.auth.user.info", "schema.registry.basic.auth.user.info")
    ),
    _cache_size("schemas.cache.config"),
)


class Format(NamedTuple):
    """What a format knows of a Connect schema: its text, how values become those of the serde; the name of the
    message, for Protobuf."""

    text: str
    shape: Shape
    more: Mapping[str, Any] = {}


class RegistryConverter(Converter):
    serde: ClassVar[type[RegistrySerde]]
    head_is_id: ClassVar[bool] = True

    @classmethod
    def config(cls) -> ConfigDef:
        return REGISTRY_KEYS

    def __init__(self) -> None:
        self.options: Mapping[str, Any] = self.config().parse({})
        self._settings: dict[str, Any] = {}
        self._is_key = False
        self._writers: dict[str, dict[Schema, tuple[Write, Shape]]] = {}
        self._last: tuple[str, Schema, Write, Shape] | None = None
        self._reader: Any = None
        self._known: dict[bytes, tuple[Read, Schema, Shape | None]] = {}
        self._of_latest = False

    def configure(self, config: Mapping[str, Any], is_key: bool) -> None:
        self.options = config
        self._is_key = is_key
        self._of_latest = config["use.latest.version"]
        strategy = config["key.subject.name.strategy" if is_key else "value.subject.name.strategy"]
        strategy = strategy or config["subject.name.strategy"]
        self._settings = {
            "registry": _address(config),
            "auto_register": config["auto.register.schemas"],
            "normalize": config["normalize.schemas"],
            "naming": _STRATEGIES[strategy.rsplit(".", 1)[-1]],
        }

    # ------------------------------------------------------------------ writing

    def encode(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        last = self._last
        if last is not None and last[1] is schema and last[0] == topic and value is not None:
            write, shape = last[2], last[3]
        else:
            if schema is None:
                if value is None:
                    return None
                schema = _schema_of(value)
            if value is None and not (schema.has_default and schema.default is not None):
                if schema.optional:
                    return None
                raise DataError("There is no value, and its schema is required and has no default.")
            write, shape = self._writer(topic, schema)
            self._last = topic, schema, write, shape
        try:
            return write(shape(value))
        except SchemasUnavailable as error:
            raise RetriableError(str(error)) from None
        except SerdeError as error:
            raise DataError(str(error)) from None

    def _writer(self, topic: str, schema: Schema) -> tuple[Write, Shape]:
        known = self._writers.setdefault(topic, {})
        found = known.get(schema)
        if found is None:
            try:
                format = self.format_of(schema)
                serde = self.serde(
                    format.text,
                    topic=topic,
                    is_key=self._is_key,
                    use_latest_version=self._of_latest,
                    schema_id=self.options["use.schema.id"] if self.options["use.schema.id"] >= 0 else None,
                    **self._settings,
                    **format.more,
                )
                found = serde.writer(), format.shape  # the schema is registered now
            except SchemasUnavailable as error:
                raise RetriableError(str(error)) from None
            except SerdeError as error:
                raise DataError(str(error)) from None
            if len(known) >= self.options["schemas.cache.config"]:
                del known[next(iter(known))]
            known[schema] = found
        return found

    @abstractmethod
    def format_of(self, schema: Schema) -> Format:
        """Raises DataError where the format has no such schema."""

    # ------------------------------------------------------------------ reading

    def decode(self, topic: str, data: bytes | None) -> Decoded:
        if data is None:
            return Decoded(None, None)
        reader = self._reader
        if reader is None or (self._of_latest and reader.topic != topic):
            reader = self._new_reader(topic)
        known = self._known.get(data[1:5] if self.head_is_id else self.head_of(data))
        try:
            if known is None or data[0]:
                read, schema, shape = self._first_read(reader, data)
            else:
                read, schema, shape = known
            value = read(data)
        except SchemasUnavailable as error:
            raise RetriableError(str(error)) from None
        except SerdeError as error:
            raise DataError(str(error)) from None
        return Decoded(schema, value if shape is None else shape(value))

    def _new_reader(self, topic: str) -> Any:
        self._reader = self.serde(
            topic=topic,
            is_key=self._is_key,
            use_latest_version=self._of_latest,
            **self._settings,
            **self.reading_options(),
        )
        self._known.clear()
        return self._reader

    def _first_read(self, reader: Any, data: bytes) -> tuple[Read, Schema, Shape | None]:
        reading = reader.reading(data)  # says what is wrong with a head
        reading.read(data)  # and with the first record
        schema, shape = self.connect_of(reading, reader, data)
        if len(self._known) >= self.options["schemas.cache.config"]:
            self._known.clear()
        self._known[self.head_of(data)] = found = reading.read, schema, shape
        return found

    def head_of(self, data: bytes) -> bytes:
        """The bytes that say which schema a record has."""
        return data[1:5]

    def reading_options(self) -> dict[str, Any]:
        return {}

    @abstractmethod
    def connect_of(self, reading: Reading, reader: Any, data: bytes) -> tuple[Schema, Shape | None]:
        """The schema of what the serde has read, and how its values become Connect's; None: they are."""


def _address(config: Mapping[str, Any]) -> str | None:
    urls = config["schema.registry.url"]
    if not urls:
        return None
    user_info = config["schema.registry.basic.auth.user.info"] or config["basic.auth.user.info"]
    if config["basic.auth.credentials.source"] != "USER_INFO" or not user_info:
        return ",".join(urls)
    user, _, password = user_info.partition(":")
    credentials = f"{quote(user, safe='')}:{quote(password, safe='')}@"
    found = []
    for url in urls:
        scheme, separator, rest = url.rpartition("://")
        found.append(f"{scheme or 'http'}{separator or '://'}{credentials}{rest.rpartition('@')[2]}")
    return ",".join(found)


def _schema_of(value: Any) -> Schema:
    """Of a value that came without one."""
    schema = _WITHOUT_SCHEMA.get(value.__class__)
    if schema is None:
        raise DataError(
            f"This converter needs a schema, and the record has none for its {type(value).__name__}; use the "
            "JsonConverter with schemas.enable=false, or a source that has schemas."
        )
    return schema


def is_string_map(schema: Schema) -> bool:
    """Whether a map's keys are plain text, so that it is a map in every format."""
    assert schema.keys is not None
    return schema.keys.kind is Kind.STRING and not schema.keys.optional and not schema.keys.parameters
