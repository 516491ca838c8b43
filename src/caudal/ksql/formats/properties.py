"""The WITH clause: which properties there are, where they may stand, what their values may be, and which of them go
together; and the formats and the window that they say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any

from caudal.ksql.errors import KsqlError, Position, suggestion
from caudal.ksql.formats.avro_schema import is_full_name, key_schema_name
from caudal.ksql.formats.delimited import NAMED_DELIMITERS
from caudal.ksql.formats.serdes import FORMATS, REGISTRY_FORMATS
from caudal.ksql.sources import Format, SourceKind, Window, WindowKind
from caudal.ksql.syntax.statements import Property

DEFAULT_KEY_FORMAT = "ksql.persistence.default.format.key"
DEFAULT_VALUE_FORMAT = "ksql.persistence.default.format.value"
WRAP_SINGLE_VALUES = "ksql.persistence.wrap.single.values"
_UNITS = {"MILLISECOND": 1, "SECOND": 1000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000}
_DURATION = re.compile(r"\s*([0-9]+)\s+([A-Za-z]+?)S?\s*", re.IGNORECASE)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_INT_MAX = (1 << 31) - 1


class Where(Enum):
    """Where a WITH clause stands."""

    CREATE = "CREATE"
    CREATE_AS = "CREATE AS SELECT"
    INSERT = "INSERT INTO"
    ASSERT_TOPIC = "ASSERT TOPIC"


@dataclass(frozen=True, slots=True)
class With:
    """Checked properties by name, each of its type, and where each stands."""

    values: Mapping[str, Any]
    at: Mapping[str, Position] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        return self.values.get(name)

    def problem(self, message: str, *names: str) -> KsqlError:
        """An error that points to the first of these properties that was given."""
        return KsqlError(message, next((self.at[name] for name in names if name in self.at), None))


# -- values ------------------------------------------------------------------------------------------------------------


class _Wrong(Exception):
    """Why a value cannot be one of a property."""

    def __str__(self) -> str:
        said = str(self.args[0])
        return said if said.endswith(("?", ".")) else f"{said}."


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Wrong("a text in quotes is needed")
    return value


def _filled(value: Any) -> str:
    if not _text(value).strip():
        raise _Wrong("it must not be empty")
    return str(value)


def _topic(value: Any) -> str:
    if not _text(value):
        raise _Wrong("it must not be empty")
    if _TOPIC.fullmatch(value) is None or value in (".", ".."):
        raise _Wrong("a topic's name has letters, digits, '.', '_' and '-', at most 249 of them")
    return str(value)


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        number = int(value) if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,19}", value) else value
        if isinstance(number, bool) or not isinstance(number, int):
            raise _Wrong("a whole number is needed")
        if number < low:
            raise _Wrong(f"it must be at least {low}")
        if number > high:
            raise _Wrong(f"it must be at most {high}")
        return number

    return read


def _boolean(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise _Wrong("true or false is needed")
    return value


def _format(value: Any) -> str:
    name = _text(value).upper()
    if name not in FORMATS:
        raise _Wrong(f"Unknown format: {value}.{suggestion(name, FORMATS)} There are: {', '.join(FORMATS)}")
    return name


def _delimiter(value: Any) -> str:
    named = NAMED_DELIMITERS.get(_text(value).upper())
    if named is not None:
        return named
    if len(value) != 1 or value.isspace() or value in '"\r\n':
        raise _Wrong("a delimiter is a single character, or SPACE, or TAB")
    return str(value)


def _column(value: Any) -> str:
    """A name as in SQL: upper case unless it is in back-quotes."""
    text = _filled(value)
    if len(text) > 2 and text[0] == text[-1] == "`":
        return text[1:-1].replace("``", "`")
    return text.upper()


def _one_of(*names: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        name = _text(value).upper()
        if name not in names:
            raise _Wrong(f"it is one of {', '.join(names)}.{suggestion(name, names)}")
        return name

    return read


def duration(text: Any) -> int:
    """Milliseconds; ValueError where it is none.

    >>> duration("7 days"), duration("1 SECOND")
    (604800000, 1000)
    """
    found = _DURATION.fullmatch(text) if isinstance(text, str) else None
    unit = _UNITS.get(found[2].upper()) if found else None
    if found is None or unit is None:
        raise ValueError("a duration such as '10 SECONDS' is needed, in milliseconds, seconds, minutes, hours or days")
    return int(found[1]) * unit


def _duration(value: Any) -> int:
    try:
        made = duration(value)
    except ValueError as error:
        raise _Wrong(str(error)) from None
    if made <= 0:
        raise _Wrong("it must be greater than zero")
    return made


def _schema_name(value: Any) -> str:
    if not is_full_name(_filled(value).strip()):
        raise _Wrong("a name such as com.example.Order is needed")
    return str(value).strip()


# -- the table ---------------------------------------------------------------------------------------------------------

_BOTH = (Where.CREATE, Where.CREATE_AS)
_ONLY_CREATE = (Where.CREATE,)
PROPERTIES: dict[str, tuple[tuple[Where, ...], Callable[[Any], Any]]] = {
    "KAFKA_TOPIC": (_BOTH, _topic),
    "PARTITIONS": ((*_BOTH, Where.ASSERT_TOPIC), _whole(1, _INT_MAX)),
    "REPLICAS": ((*_BOTH, Where.ASSERT_TOPIC), _whole(1, 32767)),
    "RETENTION_MS": (_BOTH, _whole(-1, (1 << 63) - 1)),
    "CLEANUP_POLICY": (_BOTH, _one_of("COMPACT", "DELETE", "COMPACT,DELETE")),
    "FORMAT": (_BOTH, _format),
    "KEY_FORMAT": (_BOTH, _format),
    "VALUE_FORMAT": (_BOTH, _format),
    "KEY_DELIMITER": (_BOTH, _delimiter),
    "VALUE_DELIMITER": (_BOTH, _delimiter),
    "TIMESTAMP": (_BOTH, _column),
    "TIMESTAMP_FORMAT": (_BOTH, _filled),
    "WRAP_SINGLE_VALUE": (_BOTH, _boolean),
    "WINDOW_TYPE": (_ONLY_CREATE, _one_of("TUMBLING", "HOPPING", "SESSION")),
    "WINDOW_SIZE": (_ONLY_CREATE, _duration),
    "KEY_SCHEMA_ID": (_BOTH, _whole(0, _INT_MAX)),
    "VALUE_SCHEMA_ID": (_BOTH, _whole(0, _INT_MAX)),
    "KEY_SCHEMA_FULL_NAME": (_BOTH, _schema_name),
    "VALUE_SCHEMA_FULL_NAME": (_BOTH, _schema_name),
    "VALUE_AVRO_SCHEMA_FULL_NAME": (_BOTH, _schema_name),
    "KEY_PROTOBUF_NULLABLE_REPRESENTATION": (_BOTH, _one_of("OPTIONAL", "WRAPPER")),
    "VALUE_PROTOBUF_NULLABLE_REPRESENTATION": (_BOTH, _one_of("OPTIONAL", "WRAPPER")),
    "SOURCED_BY_CONNECTOR": (_ONLY_CREATE, _filled),
    "TTL": (_BOTH, _duration),
    "QUERY_ID": ((Where.INSERT,), _filled),
}


def read_with(given: Iterable[Property | tuple[str, Any]], where: Where, kind: SourceKind | None = None) -> With:
    """The properties checked: each for itself, then together. Pairs of name and value will do: a plan's."""
    values: dict[str, Any] = {}
    at: dict[str, Position] = {}
    for one in given:
        name, value, place = (one.name, one.value, one.at) if isinstance(one, Property) else (*one, None)
        name = name.upper()
        if name not in PROPERTIES:
            raise KsqlError(
                f"Invalid config variable(s) in the WITH clause: {name}.{suggestion(name, _names(where))}", place
            )
        places, read = PROPERTIES[name]
        if where not in places:
            raise KsqlError(f"Invalid config variable(s) in the WITH clause of {where.value}: {name}.", place)
        if name in values:
            raise KsqlError(f"The property {name} is given twice.", place)
        try:
            values[name] = read(value)
        except _Wrong as error:
            raise KsqlError(f"Invalid value {_shown(value)} for property {name}: {error}", place) from None
        if place is not None:
            at[name] = place
    found = With(values, at)
    _check_together(found, where, kind)
    return found


def _names(where: Where) -> list[str]:
    return [name for name, (places, _) in PROPERTIES.items() if where in places]


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}'" if isinstance(value, str) else str(value) if isinstance(value, (int, Decimal)) else repr(value)


def _check_together(found: With, where: Where, kind: SourceKind | None) -> None:
    if where is Where.CREATE and found.get("KAFKA_TOPIC") is None:
        raise KsqlError('Missing required property "KAFKA_TOPIC" which has no default value.')
    for name in ("KEY_FORMAT", "VALUE_FORMAT"):
        if found.get("FORMAT") is not None and found.get(name) is not None:
            raise found.problem(
                f"Cannot supply both '{name}' and 'FORMAT' properties, as 'FORMAT' sets both key and value formats. "
                "Either use just 'FORMAT', or use 'KEY_FORMAT' and 'VALUE_FORMAT'.",
                name,
            )
    if found.get("VALUE_AVRO_SCHEMA_FULL_NAME") is not None and found.get("VALUE_SCHEMA_FULL_NAME") is not None:
        raise found.problem(
            "Cannot supply both 'VALUE_AVRO_SCHEMA_FULL_NAME' and 'VALUE_SCHEMA_FULL_NAME' properties. "
            "Please only set 'VALUE_SCHEMA_FULL_NAME'.",
            "VALUE_AVRO_SCHEMA_FULL_NAME",
        )
    if found.get("VALUE_FORMAT") == "NONE" or found.get("FORMAT") == "NONE":
        raise found.problem("The 'NONE' format can only be used for keys.", "VALUE_FORMAT", "FORMAT")
    if found.get("TIMESTAMP_FORMAT") is not None and found.get("TIMESTAMP") is None:
        raise found.problem("'TIMESTAMP_FORMAT' needs 'TIMESTAMP', the column that it is about.", "TIMESTAMP_FORMAT")
    _check_window(found)
    if kind is SourceKind.STREAM and found.get("TTL") is not None:
        raise found.problem("'TTL' is only valid for tables: a stream's rows go with its topic's retention.", "TTL")
    windowed = where is Where.CREATE_AS or found.get("WINDOW_TYPE") is not None
    if kind is SourceKind.TABLE and not windowed and found.get("RETENTION_MS") is not None:
        raise found.problem(
            "Invalid config variable in the WITH clause: RETENTION_MS. Non-windowed tables do not support retention.",
            "RETENTION_MS",
        )


def _check_window(found: With) -> None:
    kind, size = found.get("WINDOW_TYPE"), found.get("WINDOW_SIZE")
    if kind in ("TUMBLING", "HOPPING") and size is None:
        raise found.problem(
            f"{kind} windows require 'WINDOW_SIZE' to be provided in the WITH clause. "
            "For example: WINDOW_SIZE='10 SECONDS'.",
            "WINDOW_TYPE",
        )
    if kind == "SESSION" and size is not None:
        raise found.problem("'WINDOW_SIZE' should not be set for SESSION windows.", "WINDOW_SIZE")
    if kind is None and size is not None:
        raise found.problem("'WINDOW_SIZE' needs 'WINDOW_TYPE': TUMBLING or HOPPING.", "WINDOW_SIZE")


# -- what they say -----------------------------------------------------------------------------------------------------


def window_of(found: With) -> Window | None:
    kind = found.get("WINDOW_TYPE")
    return None if kind is None else Window(WindowKind(kind), found.get("WINDOW_SIZE"))


def formats_of(
    found: With,
    source: str,
    statement_properties: Mapping[str, Any],
    inherited: tuple[Format, Format] | None = None,
) -> tuple[Format, Format]:
    """The formats of keys and values. What is not said is inherited (a sink has those of its leftmost source), else the
    server's default. `source` names the stream or table: the schema of its keys in Avro is named after it."""
    return (
        _one_format("KEY", found, source, statement_properties, inherited and inherited[0]),
        _one_format("VALUE", found, source, statement_properties, inherited and inherited[1]),
    )


def _one_format(
    part: str, found: With, source: str, statement_properties: Mapping[str, Any], inherited: Format | None
) -> Format:
    name = found.get(f"{part}_FORMAT") or found.get("FORMAT")
    properties: dict[str, Any] = {}
    if name is None and inherited is not None:
        name = inherited.name
        # The id and name of another's schema stay with the other.
        properties = {key: value for key, value in inherited.properties if key in ("delimiter", "nullable")}
    if name is None:
        name = _default_format(part, statement_properties)
    properties |= _format_properties(part, name, found)
    if part == "KEY" and name == "AVRO":
        properties.setdefault("full_schema_name", key_schema_name(source))
    wrapped = found.get("WRAP_SINGLE_VALUE") if part == "VALUE" else None
    return Format(name, tuple(sorted(properties.items())), wrapped)


def _default_format(part: str, statement_properties: Mapping[str, Any]) -> str:
    setting = DEFAULT_KEY_FORMAT if part == "KEY" else DEFAULT_VALUE_FORMAT
    given = statement_properties.get(setting) or ("KAFKA" if part == "KEY" else None)
    if given is None:
        raise KsqlError(
            f"Statement is missing the '{part}_FORMAT' property from the WITH clause. "
            f"Either provide one or set a default via the '{setting}' config."
        )
    try:
        return _format(given)
    except _Wrong as error:
        raise KsqlError(f"Invalid value {_shown(given)} for config {setting}: {error}") from None


def _format_properties(part: str, name: str, found: With) -> dict[str, Any]:
    """Those of this format; KsqlError where one is given that the format has no use for."""
    properties: dict[str, Any] = {}

    def take(
        property: str, key: str, formats: Sequence[str], convert: Callable[[Any], Any] = lambda value: value
    ) -> None:
        value = found.get(property)
        if value is None:
            return
        if name not in formats:
            allowed = " or ".join([", ".join(formats[:-1]), formats[-1]] if len(formats) > 1 else formats)
            raise found.problem(
                f"'{property}' is only valid with the format {allowed}, and the {part.lower()} format is {name}.",
                property,
            )
        properties[key] = convert(value)

    take(f"{part}_DELIMITER", "delimiter", ["DELIMITED"])
    take(f"{part}_SCHEMA_FULL_NAME", "full_schema_name", list(REGISTRY_FORMATS))
    if part == "VALUE":
        take("VALUE_AVRO_SCHEMA_FULL_NAME", "full_schema_name", ["AVRO"])
    take(f"{part}_PROTOBUF_NULLABLE_REPRESENTATION", "nullable", ["PROTOBUF", "PROTOBUF_NOSR"], str.lower)
    if found.get(f"{part}_SCHEMA_ID") is not None and name not in REGISTRY_FORMATS:
        raise found.problem(
            f"{part}_FORMAT should support schema inference when {part}_SCHEMA_ID is provided. "
            f"Current format is {name}.",
            f"{part}_SCHEMA_ID",
        )
    take(f"{part}_SCHEMA_ID", "schema_id", list(REGISTRY_FORMATS))
    return properties


def missing_topic(kind: SourceKind, name: str, topic: str, at: Position | None = None) -> KsqlError:
    """What to say where the topic is not there and PARTITIONS was not given."""
    return KsqlError(
        f"Topic '{topic}' does not exist. If you want to create a new topic for the {kind.value.lower()}, re-run the "
        "statement providing the required 'PARTITIONS' configuration in the WITH clause (and optionally 'REPLICAS'). "
        f"For example: CREATE {kind.value} {name} (...) WITH (KAFKA_TOPIC='{topic}', PARTITIONS=1, ...);",
        at,
    )
