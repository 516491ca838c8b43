"""Records with schemas on the command line: from typed JSON to the wire format, and back to JSON."""

from __future__ import annotations

import datetime
import sys
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from caudal.cli.errors import CliError, UsageError
from caudal.serde.serde import SchemasUnavailable, SerdeError
from caudal.serde.wire_format import schema_id

if TYPE_CHECKING:
    from caudal.registry.client import RegistryClient
    from caudal.serde.registry_serde import RegistrySerde

FORMATS = {"avro": "Avro", "json-schema": "JsonSchema", "protobuf": "Protobuf"}
_OF_TYPE = {"AVRO": "Avro", "JSON": "JsonSchema", "PROTOBUF": "Protobuf"}
AUTO, RAW = "auto", "raw"


class SchemaWriter:
    """Lines of JSON to records: `--value avro --value-schema …`."""

    def __init__(self, serde: RegistrySerde, part: str) -> None:
        self._serde, self._part = serde, part

    def __call__(self, text: bytes, number: int) -> bytes:
        try:
            return self._serde.serialize(self._serde.value_of_json(text))
        except SerdeError as error:
            raise CliError(f"record {number}, {self._part}: {str(error).rstrip('.')}") from None


def schema_writer(
    topic: str,
    part: str,
    format: str | None,
    schema: str | None,
    id: int | None,
    subject: str | None,
    message: str | None,
    registry: str | None,
) -> SchemaWriter | None:
    """`part` is "key" or "value", as in the flags. None: the bytes as they come."""
    if format in (None, RAW):
        if schema is not None or id is not None or subject is not None or message is not None:
            raise UsageError(f"--{part}-schema and its like need --{part} {', '.join(FORMATS)}")
        return None
    if format not in FORMATS:
        raise UsageError(f"--{part} takes {', '.join(FORMATS)}, not '{format}'")
    if schema is not None and id is not None:
        raise UsageError(f"--{part}-schema and --{part}-schema-id exclude each other")
    if message is not None and format != "protobuf":
        raise UsageError(f"--{part}-message goes with --{part} protobuf")
    text = None if schema is None else _schema_text(schema, part)
    settings: dict[str, Any] = {"message": message} if format == "protobuf" else {}
    try:
        kind = _serde(FORMATS[format])
        serde = kind(
            text,
            schema_id=id,
            subject=subject,
            use_latest_version=text is None and id is None,
            registry=registry,
            wait_seconds=0.0,
            topic=topic,
            is_key=part == "key",
            **settings,
        )
    except SerdeError as error:
        raise UsageError(f"--{part}-schema: {str(error).rstrip('.')}") from None
    return SchemaWriter(serde, part)


def _schema_text(given: str, part: str) -> str:
    """A file's content, or the text itself."""
    if given.lstrip()[:1] in ("{", "[", '"') or any(word in given for word in ("message ", "\n", ";")):
        return given
    path = Path(given)
    if not path.exists() and given in _AVRO_PRIMITIVES:
        return given
    try:
        return path.read_text()
    except FileNotFoundError:
        raise UsageError(f"--{part}-schema: there is no file '{given}', and it is no schema itself") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--{part}-schema: '{given}' cannot be read: {error}") from None


_AVRO_PRIMITIVES = ("string", "long", "int", "double", "float", "boolean", "bytes", "null")


class Decoder:
    """Keys and values of records that carry a schema's id, as JSON-ready values. What is not in the wire format, or not
    known to the registry, is not decoded; without a registry nothing is, after one short try."""

    def __init__(self, registry: str | None, key: str, value: str, quiet: bool) -> None:
        for part, format in (("key", key), ("value", value)):
            if format not in (AUTO, RAW, *FORMATS):
                raise UsageError(f"--{part} takes {', '.join((AUTO, RAW, *FORMATS))}, not '{format}'")
        self._formats = {"key": key, "value": value}
        self._registry = registry
        self._quiet = quiet
        self._client: RegistryClient | None = None
        self._away = False
        self._serdes: dict[int, RegistrySerde | None] = {}
        self._said: set[str] = set()

    @property
    def decodes(self) -> bool:
        return any(format != RAW for format in self._formats.values())

    def without_keys(self) -> Decoder:
        self._formats["key"] = RAW
        return self

    def decoded(self, part: str, data: bytes | None, where: str) -> tuple[int, Any] | None:
        """The schema's id and the value; None: show it as it is."""
        format = self._formats[part]
        if data is None or format == RAW:
            return None
        id = schema_id(data)
        strict = format != AUTO
        if not id:  # ids begin with 1; a small number in eight bytes looks like the id 0
            if strict:
                raise CliError(f"{where}: the {part} is not in the registry's wire format (--{part} {format})")
            return None
        try:
            serde = self._serde_of(id)
            if serde is None:
                if strict:
                    raise CliError(f"{where}: the {part} cannot be decoded: {self._why(id)}")
                return None
            if strict and FORMATS[format] != type(serde).__name__:
                raise CliError(f"{where}: the {part} is {serde.type}, not {format}")
            return id, serde.deserialize(data)
        except SerdeError as error:
            if strict:
                raise CliError(f"{where}: {str(error).rstrip('.')}") from None
            if isinstance(error, SchemasUnavailable):
                self._away = True
            self._say(f"a {part} of schema {id} is shown as it is: {str(error).rstrip('.')}", f"{part} {id}")
            return None

    def _why(self, id: int) -> str:
        return "no registry answers" if self._away else f"the registry has no schema with id {id}"

    def _serde_of(self, id: int) -> RegistrySerde | None:
        """Its reader; None where the id is unknown or nobody can be asked."""
        if id in self._serdes or self._away:
            return self._serdes.get(id)
        from caudal.registry.client import RegistryError, RegistryUnreachable

        try:
            client = self._asked()
            kind = _serde(_OF_TYPE[client.schema(id).type])
            self._serdes[id] = kind(registry=self._registry, wait_seconds=0.0)
        except RegistryUnreachable as error:
            self._away = True
            self._say(f"records with schemas are shown as they are: {error.message}", "away")
        except RegistryError as error:
            if error.status >= 500 or error.status in (401, 403, 429):
                self._away = True
                self._say(f"records with schemas are shown as they are: {error.message}", "away")
            self._serdes[id] = None
        except KeyError:
            self._serdes[id] = None
        return self._serdes.get(id)

    def _asked(self) -> RegistryClient:
        if self._client is None:
            from caudal.registry.client import RegistryClient

            try:
                self._client = RegistryClient(self._registry, timeout=2.0, connect_timeout=1.0)
            except ValueError as error:
                raise UsageError(f"--registry: {error}") from None
        return self._client

    def _say(self, text: str, about: str) -> None:
        if not self._quiet and about not in self._said and len(self._said) < 5:
            self._said.add(about)
            print(text, file=sys.stderr)


def _serde(name: str) -> type[RegistrySerde]:
    from caudal.serde.description import registry_serde

    try:
        return registry_serde(name)  # type: ignore[return-value]
    except SerdeError as error:
        raise CliError(str(error).rstrip(".")) from None


def json_bytes(value: Any) -> bytes:
    return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS)


def _plain(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return b64encode(value).decode()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    return str(value)
