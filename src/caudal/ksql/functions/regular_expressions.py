"""REGEXP_EXTRACT, REGEXP_EXTRACT_ALL, REGEXP_REPLACE and REGEXP_SPLIT_TO_ARRAY, with Java's regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from caudal.ksql.functions.java_patterns import compiled
from caudal.ksql.functions.registry import Check, scalar


def _readable(place: int) -> Check:
    """The expression at this place of a call, where it is a literal."""
    return lambda arguments: None if arguments[place] is None else compiled(arguments[place])


@scalar(
    "REGEXP_EXTRACT",
    "(pattern STRING, text STRING) -> STRING",
    "(pattern STRING, text STRING, capture_group INTEGER) -> STRING",
    category="REGULAR EXPRESSION",
    description="The first part of a text that a regular expression matches, or one of its groups there.",
    check=_readable(0),
)
def regexp_extract(pattern: str, text: str, group: int = 0) -> str | None:
    """
    >>> regexp_extract("(.*) (.*)", "hello there", 2)
    'there'
    """
    expression = compiled(pattern)
    if group > expression.groups:
        return None
    found = expression.search(text)
    return None if found is None else _group(found, group)


@scalar(
    "REGEXP_EXTRACT_ALL",
    "(pattern STRING, text STRING) -> ARRAY<STRING>",
    "(pattern STRING, text STRING, capture_group INTEGER) -> ARRAY<STRING>",
    category="REGULAR EXPRESSION",
    description="All parts of a text that a regular expression matches, or one of its groups in each.",
    check=_readable(0),
)
def regexp_extract_all(pattern: str, text: str, group: int = 0) -> list[str | None] | None:
    expression = compiled(pattern)
    return None if group > expression.groups else [_group(found, group) for found in expression.finditer(text)]


def _group(found: re.Match[str], group: int) -> str | None:
    if group < 0:
        raise ValueError(f"There is no group {group}.")
    taken: str | None = found[group]
    return taken


@scalar(
    "REGEXP_REPLACE",
    "(text STRING, pattern STRING, replacement STRING) -> STRING",
    category="REGULAR EXPRESSION",
    description="The text with all matches replaced; $1 and ${name} in the replacement are groups of the match.",
    check=_readable(1),
)
def regexp_replace(text: str, pattern: str, replacement: str) -> str:
    r"""
    >>> regexp_replace("hello there", "(\\w)(\\w*)", "$2$1")
    'elloh heret'
    """
    return compiled(pattern).sub(_replacement(pattern, replacement), text)


@lru_cache(maxsize=1000)
def _replacement(pattern: str, replacement: str) -> Callable[[re.Match[str]], str] | str:
    """What `sub` takes: Java's template as a function, or as it is where nothing in it is special."""
    if "$" not in replacement and "\\" not in replacement:
        return replacement
    expression = compiled(pattern)
    parts: list[str | int] = []  # texts, and numbers of groups
    at = 0
    while at < len(replacement):
        sign = replacement[at]
        at += 1
        if sign == "\\":
            if at == len(replacement):
                raise ValueError(f"The replacement '{replacement}' ends with a backslash that escapes nothing.")
            parts.append(replacement[at])
            at += 1
        elif sign == "$":
            number, at = _reference(expression, replacement, at)
            parts.append(number)
        else:
            parts.append(sign)
    return lambda found: "".join([part if isinstance(part, str) else found[part] or "" for part in parts])


def _reference(expression: re.Pattern[str], replacement: str, at: int) -> tuple[int, int]:
    """The group that stands after a `$`, and where the text goes on. A number takes as many digits as give a group."""
    named = re.compile(r"\{([A-Za-z][A-Za-z0-9]*)\}").match(replacement, at)
    if named is not None:
        if named[1] not in expression.groupindex:
            raise ValueError(f"There is no group '{named[1]}' in the regular expression.")
        return expression.groupindex[named[1]], named.end()
    end = at
    while end < len(replacement) and replacement[end] in "0123456789":
        if end > at and int(replacement[at : end + 1]) > expression.groups:
            break
        end += 1
    if end == at:
        raise ValueError(f"A group's number or {{name}} follows $ in the replacement '{replacement}'; \\$ is a dollar.")
    if int(replacement[at:end]) > expression.groups:
        raise ValueError(f"There is no group {replacement[at:end]} in the regular expression.")
    return int(replacement[at:end]), end


@scalar(
    "REGEXP_SPLIT_TO_ARRAY",
    "(text STRING, pattern STRING) -> ARRAY<STRING>",
    category="REGULAR EXPRESSION",
    description="The parts of a text between matches, empty ones too; an empty expression parts every character.",
    check=_readable(1),
)
def regexp_split_to_array(text: str, pattern: str) -> list[str]:
    """
    >>> regexp_split_to_array("xabbya", "a.?b*"), regexp_split_to_array("abc", "")
    (['x', 'y', ''], ['a', 'b', 'c'])
    """
    expression = compiled(pattern)
    return _split_by_any(text, expression) if expression.fullmatch("") else _split(text, expression)


def _split_by_any(text: str, expression: re.Pattern[str]) -> list[str]:
    """By an expression that also matches nothing: no empty part in front, none at the end."""
    parts: list[str] = []
    start = 0
    for found in expression.finditer(text):
        if start == 0 and found.start() == found.end() == 0:
            continue
        parts.append(text[start : found.start()])
        start = found.end()
    if start == 0:
        return [text]
    parts.append(text[start:])
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _split(text: str, expression: re.Pattern[str]) -> list[str]:
    """Empty parts stay. A match of no width (a look-ahead) at the start of a part is passed over."""
    parts: list[str] = []
    start = at = 0
    while True:
        found = expression.search(text, at)
        if found is None:
            return [*parts, text[start:]]
        if found.end() == start:
            at = start + 1
            if at > len(text):
                return [*parts, text[start:]]
            continue
        parts.append(text[start : found.start()])
        start = at = found.end()
