"""Rules in CEL, Google's Common Expression Language, by cel-python. Parsed once; an expression cannot do anything but
look at what it is given. `guard ; expression` runs the expression only where the guard is true."""

from __future__ import annotations

import datetime
import threading
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

_lock = threading.Lock()
_programs: dict[str, Callable[[Mapping[str, Any]], Any]] = {}

SKIPPED = object()  # the guard was not true


def compiled(text: str) -> Callable[[Mapping[str, Any]], Any]:
    """A function of the variables; ValueError where the text is not CEL."""
    guard, semicolon, expression = text.partition(";")
    if not semicolon:
        return _program(text.strip())
    run = _program(expression.strip())
    if not guard.strip():
        return run
    holds = _program(guard.strip())
    return lambda variables: run(variables) if holds(variables) else SKIPPED


def _program(text: str) -> Callable[[Mapping[str, Any]], Any]:
    import celpy
    from celpy.celparser import CELParseError
    from celpy.evaluation import CELEvalError

    with _lock:
        known = _programs.get(text)
        if known is not None:
            return known
        try:
            environment = celpy.Environment()
            program = environment.program(environment.compile(text))
        except CELParseError as error:
            place = f" at column {error.column}" if error.column else ""
            raise ValueError(f"{text!r} is not CEL{place}") from None

        def run(variables: Mapping[str, Any]) -> Any:
            given = {name: to_cel(value) for name, value in variables.items()}
            try:
                return from_cel(program.evaluate(given))
            except CELEvalError as error:
                said = error.args[0] if error.args else error
                raise ValueError(f"{text!r} fails: {' '.join(str(said).split())}") from None

        _programs[text] = run
        return run


def to_cel(value: Any) -> Any:
    from celpy import celtypes

    if value is None:
        return None
    if isinstance(value, bool):
        return celtypes.BoolType(value)
    if isinstance(value, int):
        return celtypes.IntType(value) if -(1 << 63) <= value < 1 << 63 else celtypes.UintType(value)
    if isinstance(value, (float, Decimal)):
        return celtypes.DoubleType(value)
    if isinstance(value, str):
        return celtypes.StringType(value)
    if isinstance(value, (bytes, bytearray)):
        return celtypes.BytesType(value)
    if isinstance(value, Mapping):
        return celtypes.MapType({celtypes.StringType(str(key)): to_cel(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return celtypes.ListType([to_cel(item) for item in value])
    if isinstance(value, datetime.datetime):
        return celtypes.TimestampType(value)
    if isinstance(value, datetime.timedelta):
        return celtypes.DurationType(value)
    if isinstance(value, datetime.date):
        moment = datetime.datetime(value.year, value.month, value.day, tzinfo=datetime.UTC)
        return celtypes.TimestampType(moment)
    if isinstance(value, (uuid.UUID, datetime.time)):
        return celtypes.StringType(str(value))
    return celtypes.StringType(str(value))


def from_cel(value: Any) -> Any:
    from celpy import celtypes

    if value is None or value.__class__ in (bool, int, float, str, bytes):
        return value
    if isinstance(value, celtypes.BoolType):
        return bool(value)
    if isinstance(value, (celtypes.MapType, dict)):
        return {from_cel(key): from_cel(item) for key, item in value.items()}
    if isinstance(value, (celtypes.ListType, list, tuple)):
        return [from_cel(item) for item in value]
    if isinstance(value, datetime.datetime):
        return datetime.datetime.fromtimestamp(value.timestamp(), datetime.UTC)
    if isinstance(value, datetime.timedelta):
        return datetime.timedelta(seconds=value.total_seconds())
    plain: tuple[type[Any], ...] = (int, float, str, bytes)
    return next((kind(value) for kind in plain if isinstance(value, kind)), value)
