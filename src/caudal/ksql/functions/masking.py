"""MASK and its kin: upper-case letters, lower-case letters, digits and all else each become one character.

A NULL mask leaves its kind of character as it is.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from caudal.ksql.functions.registry import scalar

_DEFAULT = ("X", "x", "n", "-")
_KINDS = {"Lu": 0, "Ll": 1, "Nd": 2}  # by Unicode's general category; what is none of them is the last
_MASKS = "upper STRING, lower STRING, digit STRING, other STRING"


class _Mask(dict[int, str]):
    """For `str.translate`: what becomes of each character, worked out when it is first seen."""

    def __init__(self, masks: tuple[str | None, ...]) -> None:
        super().__init__()
        for mask in masks:
            if mask is not None and len(mask) != 1:
                raise ValueError(f"Invalid mask character: must be a single character, but was '{mask}'.")
        self.masks = masks

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        mask = self.masks[_KINDS.get(unicodedata.category(sign), 3)]
        self[code] = masked = sign if mask is None else mask
        return masked


@lru_cache(maxsize=256)
def _mask(*masks: str | None) -> _Mask:
    return _Mask(masks)


def _needs_no_negative(name: str, count: int) -> None:
    if count < 0:
        raise ValueError(f"{name} needs a number of characters that is not negative, but was {count}.")


@scalar(
    "MASK",
    "(text STRING) -> STRING",
    f"(text STRING, {_MASKS}) -> STRING",
    category="STRING",
    description="The text with its characters masked: X for upper case, x for lower case, n for digits, - for others.",
    nulls=True,
)
def mask(text: str | None, *masks: str | None) -> str | None:
    """
    >>> mask("My Test $123"), mask("My Test $123", "*", None, "1", None)
    ('Xx-Xxxx--nnn', '*y *est $111')
    """
    return None if text is None else text.translate(_mask(*(masks or _DEFAULT)))


@scalar(
    "MASK_KEEP_LEFT",
    "(text STRING, count INTEGER) -> STRING",
    f"(text STRING, count INTEGER, {_MASKS}) -> STRING",
    category="STRING",
    description="The text with all but its first characters masked.",
    nulls=True,
)
def mask_keep_left(text: str | None, count: int | None, *masks: str | None) -> str | None:
    if text is None or count is None:
        return None
    _needs_no_negative("MASK_KEEP_LEFT", count)
    return text[:count] + text[count:].translate(_mask(*(masks or _DEFAULT)))


@scalar(
    "MASK_KEEP_RIGHT",
    "(text STRING, count INTEGER) -> STRING",
    f"(text STRING, count INTEGER, {_MASKS}) -> STRING",
    category="STRING",
    description="The text with all but its last characters masked.",
    nulls=True,
)
def mask_keep_right(text: str | None, count: int | None, *masks: str | None) -> str | None:
    if text is None or count is None:
        return None
    _needs_no_negative("MASK_KEEP_RIGHT", count)
    kept = max(len(text) - count, 0)
    return text[:kept].translate(_mask(*(masks or _DEFAULT))) + text[kept:]


@scalar(
    "MASK_LEFT",
    "(text STRING, count INTEGER) -> STRING",
    f"(text STRING, count INTEGER, {_MASKS}) -> STRING",
    category="STRING",
    description="The text with its first characters masked.",
    nulls=True,
)
def mask_left(text: str | None, count: int | None, *masks: str | None) -> str | None:
    if text is None or count is None:
        return None
    _needs_no_negative("MASK_LEFT", count)
    return text[:count].translate(_mask(*(masks or _DEFAULT))) + text[count:]


@scalar(
    "MASK_RIGHT",
    "(text STRING, count INTEGER) -> STRING",
    f"(text STRING, count INTEGER, {_MASKS}) -> STRING",
    category="STRING",
    description="The text with its last characters masked.",
    nulls=True,
)
def mask_right(text: str | None, count: int | None, *masks: str | None) -> str | None:
    if text is None or count is None:
        return None
    _needs_no_negative("MASK_RIGHT", count)
    kept = max(len(text) - count, 0)
    return text[:kept] + text[kept:].translate(_mask(*(masks or _DEFAULT)))
