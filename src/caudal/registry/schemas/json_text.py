"""JSON as schema languages want it: strict, with a place in each error, and never deeper than can be walked safely."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from caudal.registry.schemas.schema import InvalidSchema

# Deeper than any schema that a person or a tool writes; far below what Python's own recursion allows.
MAX_DEPTH = 100
MAX_LENGTH = 4 * 1024 * 1024


def load(text: str) -> Any:
    """The value of a JSON text; raises InvalidSchema."""
    if len(text) > MAX_LENGTH:
        raise InvalidSchema(f"The schema has {len(text)} characters; at most {MAX_LENGTH} are allowed.")
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:]
        raise InvalidSchema(f"Not valid JSON at line {error.lineno}, column {error.colno}: {reason}.") from None
    except RecursionError:
        raise InvalidSchema(_too_deep()) from None
    except ValueError as error:  # a number of thousands of digits
        raise InvalidSchema(f"Not valid JSON: {error}.") from None
    _check(value)
    return value


def dump(value: Any) -> str:
    """Compact, in the order given, not escaping what need not be: as Jackson prints it for Confluent's registry."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def with_sorted_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: with_sorted_keys(value[key]) for key in sorted(value)}
    return [with_sorted_keys(item) for item in value] if isinstance(value, list) else value


def pointer(token: str) -> str:
    """A step of a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def shown(value: Any, limit: int = 60) -> str:
    """A value inside a sentence: never a page of it."""
    text = dump(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidSchema(f"Not valid JSON: {name} is not a JSON number.")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise InvalidSchema(f"The number {text[:40]} is too large for a double.")
    return value


def _too_deep() -> str:
    return f"The schema nests more than {MAX_DEPTH} levels deep."


def _check(value: Any) -> None:
    """Walks without recursion: depth, and strings that UTF-8 cannot carry."""
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                for key in node:
                    _check_text(key)
                below.extend(node.values())
            elif isinstance(node, list):
                below.extend(node)
            elif isinstance(node, str):
                _check_text(node)
        if not below:
            return
        level = below
    raise InvalidSchema(_too_deep())


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidSchema("A string has half of a surrogate pair, which is no character.") from None
