"""Text: anything is written as its text, and what is read is text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key
from caudal.connect.converter import Converter, Decoded
from caudal.connect.converters.simple import text_of
from caudal.connect.data import STRING, Schema
from caudal.connect.errors import DataError

_OPTIONAL = STRING.as_optional()


def _known_encoding(name: str, value: Any) -> None:
    try:
        "".encode(value)
    except LookupError:
        raise ValueError("There is no encoding of this name; UTF-8 is the usual one") from None


class StringConverter(Converter):
    aliases = ("org.apache.kafka.connect.storage.StringConverter",)
    for_headers = True

    @classmethod
    def config(cls) -> ConfigDef:
        return ConfigDef(
            (
                Key(
                    name="converter.encoding",
                    default="UTF-8",
                    importance=Importance.HIGH,
                    doc="The character set of the bytes.",
                    validator=_known_encoding,
                ),
            )
        )

    def __init__(self) -> None:
        self._encoding = "utf-8"

    def configure(self, config: Mapping[str, Any], is_key: bool) -> None:
        self._encoding = config["converter.encoding"]

    def encode(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        try:
            return (value if value.__class__ is str else text_of(value)).encode(self._encoding)
        except UnicodeError as error:
            raise DataError(f"The text cannot be written as {self._encoding}: {error}.") from None

    def decode(self, topic: str, data: bytes | None) -> Decoded:
        if data is None:
            return Decoded(_OPTIONAL, None)
        try:
            return Decoded(_OPTIONAL, data.decode(self._encoding))
        except UnicodeError as error:
            raise DataError(f"The bytes are not {self._encoding}: {error}.") from None
