"""The one table of protocol error codes (kio's, generated from Kafka's) and the exception that carries one.

Whoever finds a fault raises `KafkaError`; the nearest handler that knows where the code belongs in its response
(partition, topic or top level) catches it. Nothing here formats for people: that is the CLI's work.
"""

from __future__ import annotations

from kio.schema.errors import ErrorCode

__all__ = ["ErrorCode", "KafkaError"]


class KafkaError(Exception):
    """A fault with its protocol code. The message goes to the client where the response has room for one."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.name)
        self.code = code
        self.message = message
