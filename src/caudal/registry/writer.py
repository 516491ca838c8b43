"""The pen: a transactional producer that only one instance of a group holds. Every method blocks: call in a thread.

All instances use the same transactional id, so taking the pen (`init_transactions`) fences whoever had it before and
ends what they left open. After any failure the pen must be taken anew: only then is it known what the log holds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from caudal.registry import errors
from caudal.registry.records import Encoded

INIT_SECONDS = 30.0
COMMIT_SECONDS = 10.0
TRANSACTION_MS = 10_000
LARGEST_MESSAGE = 100_000_000  # the topic decides, not the client


class PenLost(Exception):
    """Another instance took it: nothing of this write is in the log."""


class WriteFailed(Exception):
    """It is not known whether the write is in the log; the pen must be taken anew."""


class Pen:
    def __init__(self, client: Mapping[str, Any], topic: str, transactional_id: str) -> None:
        self._topic = topic
        settings = {
            "transactional.id": transactional_id,
            "transaction.timeout.ms": TRANSACTION_MS,
            "linger.ms": 0,
            "message.max.bytes": LARGEST_MESSAGE,
            "acks": "all",
        }
        self._producer = Producer({**client, **settings})
        self._producer.init_transactions(INIT_SECONDS)

    def append(self, records: Sequence[Encoded]) -> int:
        """All of them or none; returns the offset of the last. Raises PenLost, WriteFailed, 42209 or 50002."""
        offsets: list[int] = []
        refused: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Any) -> None:
            if error is None:
                offsets.append(message.offset())
            else:
                refused.append(error)

        committing = False
        try:
            self._producer.begin_transaction()
            for key, value in records:
                self._producer.produce(self._topic, key=key, value=value, partition=0, on_delivery=delivered)
            self._producer.flush(COMMIT_SECONDS)
            if refused:
                raise KafkaException(refused[0])
            committing = True
            self._commit()
        except KafkaException as error:
            raise self._failure(error.args[0], records, committing) from None
        except SystemError as error:
            # A fatal error (another holder) is raised by the client in the middle of a delivery report.
            cause = error.__cause__ or error.__context__ or error
            raise (WriteFailed if committing else PenLost)(str(cause)) from None
        except BufferError as error:
            raise WriteFailed(str(error)) from None
        if len(offsets) != len(records):
            raise WriteFailed(f"only {len(offsets)} of {len(records)} records were confirmed")
        return max(offsets)

    def close(self) -> None:
        """What is open is left to the next holder, who ends it."""
        try:
            self._producer.abort_transaction(1.0)
        except KafkaException:
            pass  # there was none, or it is fenced already
        self._producer.purge()

    def _commit(self) -> None:
        deadline = time.monotonic() + COMMIT_SECONDS
        while True:
            try:
                self._producer.commit_transaction(max(0.1, deadline - time.monotonic()))
                return
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise

    def _failure(self, error: KafkaError, records: Sequence[Encoded], committing: bool) -> Exception:
        if error.code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED):
            # A commit that failed because of another holder may be the second try of one that went through.
            return WriteFailed(error.str()) if committing else PenLost(error.str())
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE and not committing:
            return errors.schema_too_large(max(len(value or b"") for _, value in records))
        if error.code() == KafkaError._MSG_TIMED_OUT and not committing:
            return errors.timed_out("the broker did not take the record in time; nothing was written")
        return WriteFailed(error.str())
