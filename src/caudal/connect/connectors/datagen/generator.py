"""An annotated Avro schema as a generator: Connect's schema, and a function that makes the n-th value.

The annotations are those of Confluent's avro-random-generator, `arg.properties`: options, range, iteration, length,
regex, prefix, suffix, keys, odds, position, distribution, and kind (uuid, email, name). An iteration counts records.
Options from files, and unions of several types beside null, are refused.
"""

from __future__ import annotations

import string
import uuid
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

from caudal.connect import data
from caudal.connect.connectors.datagen.regex_sampler import regex_sampler
from caudal.connect.data import Field, Kind, Schema
from caudal.connect.errors import ConfigError

Make = Callable[[Random, int], Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LETTERS = string.ascii_letters + string.digits
_NAMES = (
    "Ada",
    "Alan",
    "Barbara",
    "Edsger",
    "Frances",
    "Grace",
    "Jim",
    "John",
    "Leslie",
    "Margaret",
    "Niklaus",
    "Radia",
)
_WHOLE = {"int": 31, "long": 63}


class Generator(NamedTuple):
    schema: Schema
    make: Make


def generator(given: Any, where: str = "schema", known: dict[str, Generator] | None = None) -> Generator:
    """Raises ConfigError that says where in the schema it is wrong."""
    known = {} if known is None else known
    if isinstance(given, list):
        return _union(given, {}, where, known)
    if isinstance(given, str):
        given = {"type": given}
    if not isinstance(given, dict) or "type" not in given:
        raise _wrong(where, "a type is expected")
    notes = given.get("arg.properties", {})
    if not isinstance(notes, dict):
        raise _wrong(where, "arg.properties is a JSON object")
    kind = given["type"]
    if isinstance(kind, list):
        return _union(kind, notes, where, known)
    if isinstance(kind, dict):  # {"type": {"type": "string", …}}
        return generator(kind if not notes else {**kind, "arg.properties": notes}, where, known)
    if kind in known:
        return known[kind]
    try:
        made = _made(kind, given, notes, where, known)
    except (TypeError, ValueError, KeyError) as error:
        raise _wrong(where, str(error)) from None
    if "options" in notes:
        made = Generator(made.schema, _options(notes["options"], kind, made.schema, where))
    if isinstance(given.get("name"), str) and kind in ("record", "enum", "fixed"):
        known[given["name"]] = made
    return made


def _made(
    kind: str, given: Mapping[str, Any], notes: Mapping[str, Any], where: str, known: dict[str, Generator]
) -> Generator:
    match kind:
        case "null":
            return Generator(data.STRING.as_optional(), lambda random, n: None)
        case "boolean":
            return Generator(data.BOOLEAN, _boolean(notes))
        case "int" | "long":
            return _logical(kind, given.get("logicalType"), _whole(kind, notes))
        case "float" | "double":
            return Generator(data.FLOAT32 if kind == "float" else data.FLOAT64, _real(notes))
        case "string":
            return Generator(data.STRING, _text(notes))
        case "bytes" | "fixed":
            if given.get("logicalType") == "decimal":
                return _decimal(given, notes)
            length = _length({"length": given["size"]} if kind == "fixed" else notes)
            return Generator(data.BYTES, lambda random, n: random.randbytes(length(random)))
        case "enum":
            symbols = list(given["symbols"])
            return Generator(data.STRING, lambda random, n: random.choice(symbols))
        case "array":
            item = generator(given["items"], f"{where}.items", known)
            length = _length(notes)
            make = item.make
            return Generator(
                data.array(item.schema), lambda random, n: [make(random, n) for _ in range(length(random))]
            )
        case "map":
            return _map(given, notes, where, known)
        case "record":
            return _record(given, where, known)
    raise ValueError(f"{kind!r} is not a type of Avro")


def _record(given: Mapping[str, Any], where: str, known: dict[str, Generator]) -> Generator:
    parts = []
    for field in given["fields"]:
        here = f"{where}.{field['name']}"
        described = field if "arg.properties" in field else field["type"]
        if described is field:
            described = {"type": field["type"], "arg.properties": field["arg.properties"]}
        parts.append((str(field["name"]), generator(described, here, known)))
    schema = Schema(Kind.STRUCT, name=_full_name(given), fields=tuple(Field(name, part.schema) for name, part in parts))
    makers = [(name, part.make) for name, part in parts]
    return Generator(schema, lambda random, n: {name: make(random, n) for name, make in makers})


def _full_name(given: Mapping[str, Any]) -> str | None:
    name, space = given.get("name"), given.get("namespace")
    return f"{space}.{name}" if name and space and "." not in name else name


def _map(given: Mapping[str, Any], notes: Mapping[str, Any], where: str, known: dict[str, Generator]) -> Generator:
    value = generator(given["values"], f"{where}.values", known)
    keys = notes.get("keys", {})
    key = generator({"type": "string", "arg.properties": keys}, f"{where}.keys").make
    length, make = _length(notes), value.make
    return Generator(
        data.map_of(data.STRING, value.schema),
        lambda random, n: {key(random, n): make(random, n) for _ in range(length(random))},
    )


def _union(given: list[Any], notes: Mapping[str, Any], where: str, known: dict[str, Generator]) -> Generator:
    types = [each for each in given if each != "null" and each != {"type": "null"}]
    if len(types) != 1:
        raise _wrong(where, "of unions, only those of null and one other type can be generated")
    inner = generator(types[0], where, known)
    if len(given) == 1:
        return inner
    null_at = next(at for at, each in enumerate(given) if each is not types[0])
    share = 1 / len(given)
    if "position" in notes:
        share = 1.0 if notes["position"] == null_at else 0.0
    if "distribution" in notes:
        share = float(notes["distribution"].get(str(null_at), 0))
    make = inner.make
    schema = inner.schema.as_optional()
    if "options" in notes:
        return Generator(schema, _options(notes["options"], "", schema, where))
    return Generator(schema, lambda random, n: None if random.random() < share else make(random, n))


def _boolean(notes: Mapping[str, Any]) -> Make:
    if "iteration" in notes:
        start = bool(notes["iteration"]["start"])
        return lambda random, n: start == (n % 2 == 0)
    odds = float(notes.get("odds", 0.5))
    return lambda random, n: random.random() < odds


def _whole(kind: str, notes: Mapping[str, Any]) -> Make:
    if "iteration" in notes:
        return _iteration(notes["iteration"], int)
    bits = _WHOLE[kind]
    least, most = _range(notes, -(1 << bits), 1 << bits)
    low, high = int(least), int(most)
    return lambda random, n: random.randrange(low, high)


def _real(notes: Mapping[str, Any]) -> Make:
    if "iteration" in notes:
        return _iteration(notes["iteration"], float)
    least, most = _range(notes, 0.0, 1.0)
    low, width = float(least), float(most) - float(least)
    return lambda random, n: low + random.random() * width


def _range(notes: Mapping[str, Any], least: float, most: float) -> tuple[float, float]:
    given = notes.get("range", {})
    least, most = given.get("min", least), given.get("max", most)
    if not least < most:
        raise ValueError(f"the range from {least} to {most} is empty")
    return least, most


def _iteration(given: Mapping[str, Any], number: type[int] | type[float]) -> Make:
    start = number(given["start"])
    initial = number(given.get("initial", start))
    if given.get("restart") is None:
        step = number(given.get("step", 1))
        return lambda random, n: initial + n * step
    restart = number(given["restart"])
    if restart == start:
        raise ValueError("the iteration restarts where it starts")
    step = number(given.get("step", 1 if restart > start else -1))
    if step == 0 or (step > 0) != (restart > start):
        raise ValueError("the iteration's step does not lead from start to restart")
    around = restart - start
    return lambda random, n: start + (initial - start + n * step) % around


def _text(notes: Mapping[str, Any]) -> Make:
    prefix, suffix = str(notes.get("prefix", "")), str(notes.get("suffix", ""))
    make = _bare_text(notes)
    if not prefix and not suffix:
        return make
    return lambda random, n: f"{prefix}{make(random, n)}{suffix}"


def _bare_text(notes: Mapping[str, Any]) -> Make:
    if "iteration" in notes:
        number = _iteration(notes["iteration"], int)
        return lambda random, n: str(number(random, n))
    match notes.get("kind"):
        case None:
            pass
        case "uuid":
            return lambda random, n: str(uuid.UUID(int=random.getrandbits(128), version=4))
        case "name":
            return lambda random, n: f"{random.choice(_NAMES)} {random.choice(_LETTERS[26:52])}."
        case "email":
            return lambda random, n: f"{random.choice(_NAMES).lower()}{random.randrange(1000)}@example.com"
        case other:
            raise ValueError(f"there is no kind {other!r} of text")
    if "regex" in notes:
        sample = regex_sampler(notes["regex"])
        return lambda random, n: sample(random)
    length = _length(notes)
    return lambda random, n: "".join(random.choices(_LETTERS, k=length(random)))


def _length(notes: Mapping[str, Any]) -> Callable[[Random], int]:
    given = notes.get("length", {"min": 8, "max": 16})
    if isinstance(given, int):
        return lambda random: given
    least = int(given.get("min", 0))
    most = int(given.get("max", least + 8))
    if not 0 <= least < most:
        raise ValueError(f"the length from {least} to {most} is empty")
    return lambda random: random.randrange(least, most)


def _logical(kind: str, logical: str | None, make: Make) -> Generator:
    match logical:
        case "timestamp-millis":
            schema = data.TIMESTAMP_SCHEMA
            return Generator(schema, lambda random, n: _EPOCH + timedelta(milliseconds=make(random, n)))
        case "timestamp-micros":
            schema = data.TIMESTAMP_SCHEMA
            return Generator(schema, lambda random, n: _EPOCH + timedelta(milliseconds=make(random, n) // 1000))
        case "date":
            return Generator(data.DATE_SCHEMA, lambda random, n: date(1970, 1, 1) + timedelta(days=make(random, n)))
        case "time-millis":
            return Generator(
                data.TIME_SCHEMA, lambda random, n: (_EPOCH + timedelta(milliseconds=make(random, n))).time()
            )
    return Generator(data.INT32 if kind == "int" else data.INT64, make)


def _decimal(given: Mapping[str, Any], notes: Mapping[str, Any]) -> Generator:
    precision, scale = int(given["precision"]), int(given.get("scale", 0))
    bound = 10 ** (precision - scale)
    least, most = _range(notes, -bound, bound)
    low, high = int(Decimal(str(least)).scaleb(scale)), int(Decimal(str(most)).scaleb(scale))
    return Generator(
        data.decimal(scale, precision), lambda random, n: Decimal(random.randrange(low, high)).scaleb(-scale)
    )


def _options(given: Any, kind: str, schema: Schema, where: str) -> Make:
    if not isinstance(given, list) or not given:
        raise _wrong(where, "options are a JSON array with something in it; files are not read")
    if kind in ("bytes", "fixed"):
        given = [b64decode(each) if kind == "bytes" else str(each).encode("latin-1") for each in given]
    return lambda random, n: random.choice(given)


def _wrong(where: str, what: str) -> ConfigError:
    return ConfigError(f"{where}: {what}.", "schema.string")
