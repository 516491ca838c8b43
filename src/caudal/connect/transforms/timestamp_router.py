"""TimestampRouter: another topic, made of the old one and the timestamp of the record."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, config_def
from caudal.connect.converter import R, Transform
from caudal.connect.errors import DataError
from caudal.connect.transforms.part import java_names, with_topic
from caudal.connect.transforms.simple_date_format import SimpleDateFormat

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def check_format(name: str, value: Any) -> None:
    try:
        SimpleDateFormat(value)
    except ValueError as error:
        raise ValueError(f"It is no pattern of SimpleDateFormat: {error}") from None


class TimestampRouter(Transform[Any]):
    aliases = java_names("TimestampRouter")

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(
                name="topic.format",
                default="${topic}-${timestamp}",
                importance=Importance.HIGH,
                doc="The new topic: ${topic} is the old one, ${timestamp} the timestamp.",
            ),
            Key(
                name="timestamp.format",
                default="yyyyMMdd",
                importance=Importance.HIGH,
                doc="The timestamp, in UTC, as a pattern of java.text.SimpleDateFormat.",
                validator=check_format,
            ),
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._topic: str = config["topic.format"]
        format = SimpleDateFormat(config["timestamp.format"])
        self._write = format.write
        self._unit = 1 if format.has_milliseconds else 1000  # within it the text is the same
        self._last: tuple[str, int] | None = None
        self._routed = ""

    def apply(self, record: R) -> R | None:
        if record.timestamp is None:
            raise DataError("TimestampRouter needs a timestamp, and the record has none: let the source set it.")
        now = (record.topic, record.timestamp // self._unit)
        if now != self._last:
            text = self._write(_EPOCH + timedelta(milliseconds=record.timestamp))
            self._routed = self._topic.replace("${topic}", record.topic).replace("${timestamp}", text)
            self._last = now
        return with_topic(record, self._routed)
