"""Converters (bytes in a topic) and transforms (record by record on the way): the interfaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from caudal.connect.columns import DecodedColumns, NotThisWay
from caudal.connect.configuration import ConfigDef
from caudal.connect.data import Schema
from caudal.connect.records import Record

R = TypeVar("R", bound=Record)


class Decoded(NamedTuple):
    schema: Schema | None
    value: Any


class Converter:
    """Between a value with its schema and the bytes of a key, a value or a header. Used by one thread at a time."""

    aliases: ClassVar[tuple[str, ...]] = ()
    for_records: ClassVar[bool] = True  # may be a key.converter or value.converter
    for_headers: ClassVar[bool] = False  # may be a header.converter

    @classmethod
    def config(cls) -> ConfigDef:
        return ConfigDef()

    def configure(self, config: Mapping[str, Any], is_key: bool) -> None:
        """`config` typed by `config()`: the properties behind `key.converter.` or `value.converter.`, without that
        prefix. What the worker has for all (`schema.registry.url`) is in it where the connector does not say."""

    def encode(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Raises DataError. None with no schema, or with an optional one, may be None (a tombstone)."""
        raise NotImplementedError

    def decode(self, topic: str, data: bytes | None) -> Decoded:
        """Raises DataError. The same schema gives the same object, so that sinks can compare by identity."""
        raise NotImplementedError

    def decode_columns(self, topic: str, values: Sequence[bytes]) -> DecodedColumns:
        """What `decode` gives for each, as columns. Raises NotThisWay (or anything) where only `decode` can tell."""
        raise NotThisWay

    def close(self) -> None: ...


class Transform(Generic[R]):
    """Returns a record (a new one where something changes), or None to drop it. Raises DataError."""

    aliases: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def config(cls) -> ConfigDef:
        return ConfigDef()

    def configure(self, config: Mapping[str, Any]) -> None: ...

    def apply(self, record: R) -> R | None:
        raise NotImplementedError

    def close(self) -> None: ...


class Predicate(Generic[R]):
    aliases: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def config(cls) -> ConfigDef:
        return ConfigDef()

    def configure(self, config: Mapping[str, Any]) -> None: ...

    def test(self, record: R) -> bool:
        raise NotImplementedError

    def close(self) -> None: ...
