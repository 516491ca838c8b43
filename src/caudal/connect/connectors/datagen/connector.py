"""Datagen as a connector. Its offset is the number of the next record, and the record follows from number and seed:
a task that starts anew makes the same records again, so exactly once holds."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random, SystemRandom
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def, not_empty
from caudal.connect.connector import SourceConnector, SourceTask
from caudal.connect.connectors.datagen.generator import Generator, generator
from caudal.connect.connectors.local_paths import ALLOWED_FOLDERS, allowed_path
from caudal.connect.data import Kind
from caudal.connect.errors import ConfigError
from caudal.connect.records import SourceRecord

_BLOCK = 500  # records that share a seed; a start in the middle makes those before it again
_TASK, _TASKS = "datagen.task", "datagen.tasks"


class DatagenTask(SourceTask):
    def start(self, config: dict[str, Any]) -> None:
        made, keyfield = _described(config)
        self._make, self._schema, self._keyfield = made.make, made.schema, keyfield
        field = made.schema.field(keyfield) if keyfield else None
        self._key_schema = field.schema if field is not None else None
        self._topic = config["kafka.topic"]
        self._most = config["iterations"]
        self._interval = config["max.interval"] / 1000
        self._task = int(self.context.config.get(_TASK, "0"))
        self._tasks = int(self.context.config.get(_TASKS, "1"))
        self._partition = {"task.id": self._task}
        stored = self.context.offsets.offset(self._partition) or {}
        self._seed = stored.get("random.seed", config["random.seed"])
        if self._seed is None:
            self._seed = SystemRandom().getrandbits(53)
        self._next = int(stored.get("current.iteration", 0))
        self._block: list[Any] = []  # the values of the current block
        self._due = time.monotonic()
        self._pace = Random()

    def poll(self) -> Sequence[SourceRecord] | None:
        if self._most > 0 and self._next >= self._most:
            self.context.stopping.wait(1.0)
            return None
        count = 1
        if self._interval > 0:
            wait = self._due - time.monotonic()
            if wait > 0 and self.context.stopping.wait(min(wait, 1.0)):
                return None
            if time.monotonic() < self._due:
                return None
            self._due = time.monotonic() + self._pace.random() * self._interval
        else:
            count = _BLOCK - self._next % _BLOCK
        if self._most > 0:
            count = min(count, self._most - self._next)
        return [self._record() for _ in range(count)]

    def _record(self) -> SourceRecord:
        at = self._next % _BLOCK
        if at == 0 or not self._block:
            self._block = self._values(self._next - at)
        self._next += 1
        value = self._block[at]
        return SourceRecord(
            self._partition,
            {"current.iteration": self._next, "random.seed": self._seed},
            self._topic,
            value,
            self._schema,
            value[self._keyfield] if self._keyfield else None,
            self._key_schema,
        )

    def _values(self, first: int) -> list[Any]:
        random = Random(f"{self._seed}:{self._task}:{first}")
        make, tasks, task = self._make, self._tasks, self._task
        # Tasks count in turn, so that what iterates is not there twice.
        return [make(random, number * tasks + task) for number in range(first, first + _BLOCK)]


class Datagen(SourceConnector):
    """Made-up records, from a ready set or an annotated Avro schema."""

    task = DatagenTask
    aliases = ("io.confluent.kafka.connect.datagen.DatagenConnector",)

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="kafka.topic", importance=Importance.HIGH, validator=not_empty, doc="The topic to write to."),
            Key(name="quickstart", default="", importance=Importance.HIGH, doc="The name of a ready set of data.",
                recommender=lambda config: quickstarts()),
            Key(name="schema.string", default="", importance=Importance.HIGH,
                doc="Instead of quickstart: an Avro schema whose arg.properties say what values look like."),
            Key(name="schema.filename", default="", doc="Instead of schema.string: the file that holds it."),
            Key(name="schema.keyfield", default="", doc="The field that is the record's key; quickstarts have one."),
            Key(name="max.interval", type=Type.LONG, default=500, minimum=0, importance=Importance.HIGH,
                doc="The longest time between two records, in milliseconds; 0 is as fast as can be."),
            Key(name="iterations", type=Type.LONG, default=1_000_000, importance=Importance.HIGH,
                doc="How many records each task makes; 0 or less is without end. Then the task has nothing to do."),
            Key(name="random.seed", type=Type.LONG, default=None, doc="The same seed gives the same records."),
            ALLOWED_FOLDERS,
        )  # fmt: skip

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        try:
            _described(config)
        except ConfigError as error:
            return {error.key or "quickstart": [str(error)]}
        return {}

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [{**self.context.config, _TASK: str(task), _TASKS: str(most)} for task in range(most)]

    def exactly_once_support(self, config: Mapping[str, Any]) -> bool | None:
        return True


@cache
def _quickstarts() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files(__package__) / "quickstarts.json").read_text("utf-8"))
    return found


def quickstarts() -> list[str]:
    return sorted(_quickstarts())


def _described(config: Mapping[str, Any]) -> tuple[Generator, str]:
    """The generator and the name of the key's field. Raises ConfigError."""
    given = [name for name in ("quickstart", "schema.string", "schema.filename") if config[name]]
    if len(given) != 1:
        key = given[1] if given else "quickstart"
        raise ConfigError(f"{key}: give one of quickstart, schema.string and schema.filename.", key)
    keyfield = config["schema.keyfield"]
    match given[0]:
        case "quickstart":
            name = config["quickstart"].lower()
            if name not in quickstarts():
                raise ConfigError(
                    f"quickstart: there is no {name}; there are {', '.join(quickstarts())}.", "quickstart"
                )
            described = _quickstarts()[name]
            made = generator(described["schema"])
            keyfield = keyfield or described["keyfield"]
        case "schema.string":
            made = generator(_json(config["schema.string"], "schema.string"))
        case _:
            path = allowed_path(config["schema.filename"], config, "schema.filename")
            try:
                text = path.read_text("utf-8")
            except (OSError, UnicodeError) as error:
                raise ConfigError(f"schema.filename: {path} cannot be read: {error}.", "schema.filename") from None
            made = generator(_json(text, "schema.filename"))
    if made.schema.kind is not Kind.STRUCT:
        raise ConfigError(f"{given[0]}: the schema must be a record.", given[0])
    if keyfield and made.schema.field(keyfield) is None:
        raise ConfigError(f"schema.keyfield: the schema has no field {keyfield}.", "schema.keyfield")
    return made, keyfield


def _json(text: str, key: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{key}: not JSON ({error}).", key) from None
