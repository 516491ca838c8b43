"""Texts that a regular expression matches, chosen at random. Look-around and back references are refused."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from random import Random
from typing import Any

Sampler = Callable[[Random], str]

_MOST = 10  # repetitions of * and +, which have no bound of their own
_PRINTABLE = [chr(code) for code in range(0x20, 0x7F)]
_CATEGORIES = {
    "CATEGORY_DIGIT": set(string.digits),
    "CATEGORY_WORD": set(string.ascii_letters + string.digits + "_"),
    "CATEGORY_SPACE": {" "},
}


def regex_sampler(pattern: str) -> Sampler:
    """Raises ValueError.

    >>> bool(re.fullmatch("Item_[1-9][0-9]{0,2}", regex_sampler("Item_[1-9][0-9]{0,2}")(Random(1))))
    True
    """
    try:
        parsed = re._parser.parse(pattern)  # no public name, but the only parser there is
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
    return _sequence(parsed)


def _sequence(parsed: Any) -> Sampler:
    parts = [_part(str(kind), given) for kind, given in parsed]
    return lambda random: "".join([part(random) for part in parts])


def _part(kind: str, given: Any) -> Sampler:
    match kind:
        case "LITERAL":
            letter = chr(given)
            return lambda random: letter
        case "NOT_LITERAL":
            others = [each for each in _PRINTABLE if each != chr(given)]
            return lambda random: random.choice(others)
        case "ANY":
            return lambda random: random.choice(_PRINTABLE)
        case "IN":
            letters = _letters(given)
            return lambda random: random.choice(letters)
        case "BRANCH":
            branches = [_sequence(each) for each in given[1]]
            return lambda random: random.choice(branches)(random)
        case "SUBPATTERN":
            return _sequence(given[3])
        case "ATOMIC_GROUP":
            return _sequence(given)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, repeated = given
            part = _sequence(repeated)
            bound = min(int(most), int(least) + _MOST) if str(most) == "MAXREPEAT" else int(most)
            return lambda random: "".join([part(random) for _ in range(random.randint(least, bound))])
        case "AT":  # ^ and $
            return lambda random: ""
    raise ValueError(f"{kind.lower()} cannot be generated")


def _letters(given: Any) -> list[str]:
    letters: set[str] = set()
    is_negated = False
    for kind, value in given:
        match str(kind):
            case "NEGATE":
                is_negated = True
            case "LITERAL":
                letters.add(chr(value))
            case "RANGE":
                letters |= {chr(code) for code in range(value[0], value[1] + 1)}
            case "CATEGORY":
                name = str(value)
                letters |= _CATEGORIES.get(name) or set(_PRINTABLE) - _CATEGORIES[name.replace("_NOT_", "_")]
    found = sorted(set(_PRINTABLE) - letters if is_negated else letters)
    if not found:
        raise ValueError("A class has no letter that could be generated")
    return found
