"""The schema registry as statements need it: the schema of a subject or id, and a sink's schemas registered when it is
made, so that a clash is the statement's error and not the first record's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from caudal.ksql.errors import KsqlError
from caudal.ksql.formats.registry_row import RegistryRow
from caudal.ksql.formats.serdes import REGISTRY_FORMATS, key_serde, value_serde
from caudal.ksql.schema import Column
from caudal.ksql.sources import Format
from caudal.registry.client import RegisteredSchema, RegistryClient, RegistryError, RegistryUnreachable


class Schemas(Protocol):
    """What is not there is None. KsqlError where the registry is away or refuses."""

    def latest(self, subject: str) -> RegisteredSchema | None: ...

    def by_id(self, id: int) -> RegisteredSchema | None: ...

    def version(self, subject: str, version: int) -> RegisteredSchema | None: ...

    def register(self, subject: str, text: str, type: str) -> int: ...


class RegistrySchemas:
    """`Schemas` of a registry, by its address or a client."""

    def __init__(self, registry: str | RegistryClient) -> None:
        self.client = RegistryClient(registry) if isinstance(registry, str) else registry

    def latest(self, subject: str) -> RegisteredSchema | None:
        return self._asked(lambda: self.client.latest(subject), f"the schema of '{subject}'")

    def by_id(self, id: int) -> RegisteredSchema | None:
        return self._asked(lambda: self.client.schema(id), f"the schema with id {id}")

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        return self._asked(lambda: self.client.version(subject, version), f"version {version} of '{subject}'")

    def register(self, subject: str, text: str, type: str) -> int:
        try:
            return self.client.register(subject, text, type).id
        except RegistryUnreachable as error:
            raise KsqlError(
                f"Could not register the schema for subject '{subject}': there is {error.message}."
            ) from None
        except RegistryError as error:
            message = error.message.rstrip(".")
            raise KsqlError(f"Could not register the schema for subject '{subject}': {message}.") from None

    def _asked(self, ask: Asked, what: str) -> RegisteredSchema | None:
        try:
            return ask()
        except RegistryUnreachable as error:
            raise KsqlError(f"Could not fetch {what}: there is {error.message}.") from None
        except RegistryError as error:
            if error.status == 404:
                return None
            raise KsqlError(f"Could not fetch {what}: {error.message.rstrip('.')}.") from None


class Asked(Protocol):
    def __call__(self) -> RegisteredSchema: ...


def subject_of(topic: str, is_key: bool) -> str:
    return f"{topic}-{'key' if is_key else 'value'}"


def sink_schemas(
    topic: str, key_format: Format, key: Sequence[Column], value_format: Format, value: Sequence[Column]
) -> Iterator[tuple[str, str, str]]:
    """Subject, text and type of each schema that a sink has. With a schema's id, the schema is there already."""
    for format, columns, is_key in ((key_format, key, True), (value_format, value, False)):
        if format.name not in REGISTRY_FORMATS or not columns or "schema_id" in dict(format.properties):
            continue
        serde = key_serde(format, columns) if is_key else value_serde(format, columns)
        assert isinstance(serde, RegistryRow)
        yield subject_of(topic, is_key), serde.schema_text(), REGISTRY_FORMATS[format.name]


def _check_given(format: Format, columns: Sequence[Column], topic: str, schemas: Schemas | None, is_key: bool) -> None:
    from caudal.ksql.formats.inference import ROWKEY, ROWVAL, inferred_columns

    known = inferred_columns(format, topic, schemas, is_key=is_key)
    if len(known) == 1 and known[0].name in (ROWKEY, ROWVAL):  # a value without a name
        fits = len(columns) == 1 and columns[0].type == known[0].type
        wrong = [] if fits else list(columns)
    else:
        pairs = [(column.name, column.type) for column in known]
        wrong = [column for column in columns if (column.name, column.type) not in pairs]
    if wrong:
        what = "key" if is_key else "value"
        raise KsqlError(
            f"The following {what} columns are changed, missing or reordered: [{', '.join(map(str, wrong))}]. "
            f"Schema from schema registry is [{', '.join(map(str, known))}]."
        )


def register_sink(
    schemas: Schemas | None,
    topic: str,
    key_format: Format,
    key: Sequence[Column],
    value_format: Format,
    value: Sequence[Column],
    *,
    only_new: bool = False,
) -> dict[str, int]:
    """Registers what a sink writes; the ids by subject. KsqlError where a schema may not follow what is there, or where
    the columns are not those of a schema that was given by its id. `only_new`: subjects that have a schema keep it."""
    ids = {}
    for format, columns, is_key in ((key_format, key, True), (value_format, value, False)):
        if format.name in REGISTRY_FORMATS and columns and "schema_id" in dict(format.properties):
            _check_given(format, columns, topic, schemas, is_key)
    for subject, text, type in sink_schemas(topic, key_format, key, value_format, value):
        if schemas is None:
            raise KsqlError(f"The format of topic '{topic}' needs a schema registry, and the server has none.")
        if only_new and schemas.latest(subject) is not None:
            continue
        ids[subject] = schemas.register(subject, text, type)
    return ids
