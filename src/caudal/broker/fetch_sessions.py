"""Fetch sessions (KIP-227): a consumer of many partitions names only what changed since its last fetch.

A session remembers what the client asked for and what it was last told per partition. Sessions live in a bounded cache;
one that was not used for a while gives way to a new one, and a client without a session is served all the same.
"""

from __future__ import annotations

import random
from time import monotonic
from typing import NamedTuple
from uuid import UUID

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.fetch import FetchRequest, PartitionRequest, PartitionResponse

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
NO_SESSION = 0

Key = tuple[str | UUID, int]
Told = tuple[int, int, int]


class FetchSession:
    __slots__ = ("epoch", "id", "last_used", "partitions", "told")

    def __init__(self, session_id: int) -> None:
        self.id = session_id
        self.epoch = 1
        self.partitions: dict[Key, PartitionRequest] = {}
        self.told: dict[Key, Told] = {}
        self.last_used = monotonic()

    def take(self, request: FetchRequest) -> None:
        """Adds and updates what this request names, drops what it forgets."""
        for item in request.partitions:
            self.partitions[item.topic, item.partition] = item
        for key in request.forgotten:
            self.partitions.pop(key, None)
            self.told.pop(key, None)

    def filter(self, answers: list[PartitionResponse]) -> list[PartitionResponse]:
        """Only what the client does not know yet: data, errors, moved offsets."""
        news = []
        for answer in answers:
            key = (answer.topic, answer.partition)
            state = (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset)
            if answer.records or answer.error or answer.diverging or self.told.get(key) != state:
                news.append(answer)
                if answer.error:
                    self.told.pop(key, None)
                else:
                    self.told[key] = state
                if answer.records:  # served last, so that the others come first when bytes are scarce
                    self.partitions[key] = self.partitions.pop(key)
        return news


class Opened(NamedTuple):
    """How a request is to be served: the partitions to look at, and the session to keep, if any."""

    error: ErrorCode
    session: FetchSession | None
    partitions: list[PartitionRequest]
    incremental: bool


class FetchSessions:
    """The bounded cache of sessions."""

    EVICTABLE_SECONDS = 120.0

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.sessions: dict[int, FetchSession] = {}

    def open(self, request: FetchRequest) -> Opened:
        if request.session_epoch == FINAL_EPOCH:  # no session wanted, and an old one ends here
            self.sessions.pop(request.session_id, None)
            return Opened(ErrorCode.none, None, request.partitions, False)
        if request.session_epoch == INITIAL_EPOCH:
            self.sessions.pop(request.session_id, None)
            session = self._create()
            if session is not None:
                session.take(request)
            return Opened(ErrorCode.none, session, request.partitions, False)
        found = self.sessions.get(request.session_id)
        if found is None:
            return Opened(ErrorCode.fetch_session_id_not_found, None, [], False)
        if found.epoch != request.session_epoch:
            return Opened(ErrorCode.invalid_fetch_session_epoch, None, [], False)
        found.epoch = 1 if found.epoch == 0x7FFFFFFF else found.epoch + 1
        found.last_used = monotonic()
        found.take(request)
        return Opened(ErrorCode.none, found, list(found.partitions.values()), True)

    def _create(self) -> FetchSession | None:
        if len(self.sessions) >= self.slots:
            oldest = min(self.sessions.values(), key=lambda session: session.last_used, default=None)
            if oldest is None or monotonic() - oldest.last_used < self.EVICTABLE_SECONDS:
                return None
            del self.sessions[oldest.id]
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self.sessions:
            session_id = random.randint(1, 0x7FFFFFFF)
        session = self.sessions[session_id] = FetchSession(session_id)
        return session
