"""Whether a pattern of `patternProperties` matches the name of a property, asked only where the answer comes quickly.

Schemas come from strangers, and a pattern can be written so that matching takes years. Such patterns, and those that
are not Python's, are not run: the answer is then None, and who asks must expect both.
"""

from __future__ import annotations

import re
from functools import lru_cache
from re import _constants, _parser
from typing import Any, Final

_MAX_NAME: Final = 100
_MAX_REPEATS: Final = 2


def matches(pattern: str, name: str) -> bool | None:
    compiled = _compiled(pattern)
    if compiled is None or len(name) > _MAX_NAME:
        return None
    return compiled.search(name) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        if len(pattern) > 500 or _repeats(_parser.parse(pattern)) > _MAX_REPEATS:
            return None
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError, ValueError):
        return None


def _repeats(tokens: Any) -> int:
    """How many loops the engine may have to try against each other; a loop inside a loop counts as too many."""
    count = 0
    for operator, argument in tokens:
        if operator in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
            _, most, inner = argument
            within = _repeats(inner)
            shortest, longest = inner.getwidth()
            simple = not within and shortest == longest and not _has_branches(inner)
            count += (1 if simple else _MAX_REPEATS + 1) if most > 4 else within * max(int(most), 1)
        elif operator in (_constants.GROUPREF, _constants.GROUPREF_EXISTS):
            count += _MAX_REPEATS + 1
        elif isinstance(argument, tuple | list):
            count += sum(_repeats(part) for part in _inner(argument))
    return count


def _has_branches(tokens: Any) -> bool:
    return any(
        operator == _constants.BRANCH
        or (isinstance(argument, tuple | list) and any(_has_branches(part) for part in _inner(argument)))
        for operator, argument in tokens
    )


def _inner(argument: Any) -> list[Any]:
    found = []
    for part in argument:
        if isinstance(part, _parser.SubPattern):
            found.append(part)
        elif isinstance(part, list):
            found += [item for item in part if isinstance(item, _parser.SubPattern)]
    return found
