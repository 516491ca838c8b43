"""Under which subject a record's schema must be registered: the naming strategies, by the names Confluent gives them.

Pure. Two of the strategies need the name of the record type, which `record_names` finds in a schema's text. It reads
no more of the text than that, so that the base install can do it; whether the schema is valid is the registry's matter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

_PACKAGE: Final = "io.confluent.kafka.serializers.subject."
TOPIC_NAME: Final = _PACKAGE + "TopicNameStrategy"
RECORD_NAME: Final = _PACKAGE + "RecordNameStrategy"
TOPIC_RECORD_NAME: Final = _PACKAGE + "TopicRecordNameStrategy"
STRATEGIES: Final = (TOPIC_NAME, RECORD_NAME, TOPIC_RECORD_NAME)

_PROTOBUF_NOISE: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', re.DOTALL)
_PROTOBUF_TOKEN: Final = re.compile(r"[\w.]+|[{};]")


class SubjectRule(NamedTuple):
    """Where the schemas of a topic's keys (or values) have to be registered."""

    strategy: str
    topic: str
    field: str  # "key" or "value"

    @property
    def needs_names(self) -> bool:
        return self.strategy != TOPIC_NAME

    def subjects(self, names: frozenset[str] = frozenset()) -> list[str]:
        """The subjects that will do, for a schema whose records have these names."""
        if self.strategy == TOPIC_NAME:
            return [f"{self.topic}-{self.field}"]
        if self.strategy == RECORD_NAME:
            return sorted(names)
        return sorted(f"{self.topic}-{name}" for name in names)


def record_names(schema_type: str, text: str) -> frozenset[str]:
    """The names that a schema's records can have. Protobuf: every message of the file, since a record names its own."""
    if schema_type == "PROTOBUF":
        return frozenset(_message_names(text))
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError):
        return frozenset()
    if schema_type == "JSON":
        title = schema.get("title") if isinstance(schema, dict) else None
        return frozenset({title}) if isinstance(title, str) else frozenset()
    return _avro_name(schema)


def _avro_name(schema: Any) -> frozenset[str]:
    if isinstance(schema, str):
        return frozenset({schema})
    if not isinstance(schema, dict):
        return frozenset()
    name, namespace = schema.get("name"), schema.get("namespace")
    if not isinstance(name, str):
        return frozenset()
    return frozenset({f"{namespace}.{name}" if namespace and "." not in name else name})


def _message_names(text: str) -> Iterator[str]:
    package, outer, word, before = "", list[str | None](), "", ""
    for token in _PROTOBUF_TOKEN.findall(_PROTOBUF_NOISE.sub(" ", text)):
        if token == "{":
            outer.append(word if before == "message" else None)
            if before == "message":
                yield ".".join(name for name in (package, *outer) if name)
        elif token == "}":
            del outer[-1:]
        elif token == ";" and before == "package" and not outer:
            package = word
        before, word = word, token
