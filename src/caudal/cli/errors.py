"""The exceptions that end a command: a sentence for the person and an exit code. docs/cli.md lists the codes.

It imports nothing, so the broker's fast path may use it.
"""

from __future__ import annotations

FAILED = 1
WRONG_USAGE = 2
SOMETHING_LEFT = 3  # done, and something remains to be done by hand
NOT_FOUND = 4
INTERRUPTED = 130  # 128 + SIGINT, as shells have it


class CliError(Exception):
    """`message` says what is wrong and what to do; shown as one line on stderr."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


class UsageError(CliError):
    """The command line itself is wrong."""

    def __init__(self, message: str) -> None:
        super().__init__(message, WRONG_USAGE)


class NotFound(CliError):
    """The topic, group, subject, connector or cluster that was named does not exist."""

    def __init__(self, message: str) -> None:
        super().__init__(message, NOT_FOUND)
