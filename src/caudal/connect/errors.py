"""What can go wrong in Connect, by what the framework does about it."""

from __future__ import annotations

import traceback


class ConnectError(Exception):
    """The task fails with these words in its status. One sentence, and what to do about it."""


class RetriableError(ConnectError):
    """The same call with the same records may succeed later: it is repeated, with back-off."""


class DataError(ConnectError):
    """One record cannot be converted, transformed or written: `errors.tolerance` decides about it."""


class ConfigError(ConnectError):
    """A configuration is wrong. `key` names the property, where one is to blame."""

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


def trace_of(error: BaseException) -> str:
    """What `/status` shows: the sentence first, so that it is found where only a line is shown."""
    return f"{type(error).__name__}: {error}\n{''.join(traceback.format_exception(error))}".rstrip()
