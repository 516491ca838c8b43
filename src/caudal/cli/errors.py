"""The one exception that ends a command: a sentence for the person and an exit code.

It imports nothing, so the broker's fast path may use it.
"""

from __future__ import annotations


class CliError(Exception):
    """`message` says what is wrong and what to do; shown as one line on stderr.

    Exit code 1, or 2 when the command was typed wrongly.
    """

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


class UsageError(CliError):
    """The command line itself is wrong (exit code 2)."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 2)
