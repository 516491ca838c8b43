"""Masks: what readers see of a field that they may not see. `keep_first` and `keep_last` characters stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.serde.rules.encryption import Sealed, SealedBytes


class Mask:
    """Parameters: keep_first, keep_last (0), char (*). Numbers and other kinds become None, bytes become empty."""

    def __init__(self, params: Mapping[str, str]) -> None:
        self._first, self._last = _count(params, "keep_first"), _count(params, "keep_last")
        self._char = params.get("char", "*")
        if len(self._char) != 1:
            raise ValueError("char takes one character")

    def __call__(self, value: Any) -> Any:
        if isinstance(value, Sealed):
            return self._char * 8  # the last characters of a cipher text mean nothing
        if isinstance(value, (bytes, SealedBytes)):
            return b""
        if not isinstance(value, str):
            return None
        if self._first + self._last >= len(value):
            return self._char * len(value)
        hidden = len(value) - self._first - self._last
        return value[: self._first] + self._char * hidden + value[self._first + hidden :]


def _count(params: Mapping[str, str], name: str) -> int:
    text = str(params.get(name, "0"))
    if not text.isdecimal():
        raise ValueError(f"{name} takes a number, not {text!r}")
    return int(text)
