"""A folder of plugins for tests: a source, a sink, transforms and a predicate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from caudal.connect import (
    ConfigDef,
    ConfigError,
    DataError,
    Importance,
    Key,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceTask,
    Type,
)
from caudal.connect.converter import Predicate, Transform


class RowsTask(SourceTask):
    pass


class PartsSource(SourceConnector):
    """A source that knows whether it is exactly once from its configuration."""

    task = RowsTask
    aliases = ("com.example.PartsSourceConnector",)

    @classmethod
    def config(cls) -> ConfigDef:
        return ConfigDef(
            (
                Key(name="url", importance=Importance.HIGH, doc="Where.", group="Database", order=1),
                Key(name="password", type=Type.PASSWORD, default=None, doc="The password.", group="Database"),
                Key(name="batch", type=Type.INT, default=100, minimum=1, doc="How many."),
                Key(name="once", default="", doc="What it answers when it is asked."),
            )
        )

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        if config["url"].startswith("down:"):
            raise OSError(f"cannot reach {config['url']} with {config['password']}")
        wrong = config["url"].startswith("bad:")
        return {"url": [f"There is no such database: {config['url']}"]} if wrong else {}

    def exactly_once_support(self, config: Mapping[str, Any]) -> bool | None:
        return {"yes": True, "no": False}.get(config["once"])


class PartsSinkTask(SinkTask):
    pass


class PartsSink(SinkConnector):
    task = PartsSinkTask


class Suffix(Transform[Any]):
    @classmethod
    def config(cls) -> ConfigDef:
        return ConfigDef((Key(name="text", doc="What is put behind the value."),))

    def configure(self, config: Mapping[str, Any]) -> None:
        self.text = config["text"]
        self.closed = False

    def apply(self, record: Any) -> Any:
        return replace(record, value=record.value + self.text)

    def close(self) -> None:
        self.closed = True


class Between(Transform[Any]):
    """Two keys that are right each by itself, and wrong together."""

    @classmethod
    def config(cls) -> ConfigDef:
        return ConfigDef(
            tuple(Key(name=name, type=Type.INT, default=0, doc="A bound.") for name in ("low", "low.high"))
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        if config["low.high"] == 13:
            raise ConfigError("13 brings bad luck.")
        if config["low"] > config["low.high"]:
            raise ConfigError(f"low.high is {config['low.high']}, less than low.", "low")

    def apply(self, record: Any) -> Any:
        return record


class DropAll(Transform[Any]):
    def apply(self, record: Any) -> Any:
        return None


class Refuse(Transform[Any]):
    aliases = ("com.example.Refuse",)

    def apply(self, record: Any) -> Any:
        raise DataError("not this one")


class IsLong(Predicate[Any]):
    @classmethod
    def config(cls) -> ConfigDef:
        return ConfigDef((Key(name="size", type=Type.INT, doc="From which length."),))

    def configure(self, config: Mapping[str, Any]) -> None:
        self.size = config["size"]

        if self.size == 13:
            raise ConfigError("`size` must not be 13.", "size")

    def test(self, record: Any) -> bool:
        if record.value is None:
            raise DataError("nothing has no length")
        return len(record.value) >= int(self.size)
