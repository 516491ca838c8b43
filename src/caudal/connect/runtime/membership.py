"""A worker's place in its group: joins, heartbeats, and the leader's decision, through the broker's group protocol.

`Membership` belongs to the herder's thread: `poll` joins where that is due and returns what was assigned. Heartbeats go
on by themselves in the thread of kafka-python's client, whose coordinator does the protocol; there the leader decides,
too, while the herder waits in `poll`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka import errors as kafka_errors
from kafka.coordinator.base import BaseCoordinator
from kafka.net.compat import KafkaNetClient

from caudal.connect.errors import ConnectError
from caudal.connect.runtime.assignment import Decision, Memory, Worker, decide
from caudal.connect.runtime.config_state import Configs
from caudal.connect.runtime.group_protocol import (
    CONFIG_MISMATCH,
    NOTHING,
    PROTOCOL_TYPE,
    SESSIONED,
    VERSIONS,
    Assignment,
    Load,
    WorkerMetadata,
    decode_assignment,
    decode_metadata,
    encode_assignment,
    encode_metadata,
)
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.tasks.task_metrics import TaskMetrics

log = logging.getLogger("caudal.connect.membership")

BOOTSTRAP_MS = 30_000
LEAVE_MS = 5_000
# A broker that is away for a while is said once, by us, and not ten times a second.
QUIET = {"kafka.net": logging.CRITICAL, "kafka.cluster": logging.CRITICAL, "kafka.coordinator": logging.CRITICAL}
# How librdkafka's properties are called in kafka-python.
CLIENT_PROPERTIES = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
}


class Joined(NamedTuple):
    """A round of the group is over."""

    generation: int
    member_id: str
    is_leader: bool
    assignment: Assignment


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the leader needs to know of the cluster, asked for when it decides; in the client's thread."""

    configs: Callable[[int], Configs]  # read at least up to this offset, if that is possible
    released: Callable[[Load], Load]  # of these, what its last owner stopped in good order


class Membership:
    def __init__(self, settings: WorkerSettings, outlook: Outlook, wake: Callable[[], None]) -> None:
        """`wake` is called from the client's thread when `poll` should be called soon."""
        self._settings = settings
        self._outlook = outlook
        self._wake = wake
        self._client: Any = None
        self._coordinator: _Coordinator | None = None
        self._joining: Any = None
        self._join_ended = threading.Event()
        self._joined_at: float | None = None
        self._unreachable_since: float | None = None
        self._join_began = 0.0
        self._rebalances = TaskMetrics()
        self._rounds = 0

    def start(self) -> None:
        settings = self._settings
        for name, level in QUIET.items():
            logging.getLogger(name).setLevel(level)
        try:
            self._client = KafkaNetClient(**client_properties(settings))
            self._client._net.start()
            self._client._manager.bootstrap(BOOTSTRAP_MS)
        except kafka_errors.KafkaError as error:
            raise ConnectError(f"No broker answers at {settings.bootstrap}: {error}") from None
        self._coordinator = _Coordinator(
            self._client,
            self._outlook,
            self._wake,
            settings.url,
            settings.scheduled_rebalance_delay_seconds,
            group_id=settings.group_id,
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            max_poll_interval_ms=settings.rebalance_timeout_ms,
            api_version=self._client._manager.broker_version,
        )

    def poll(self, seconds: float, load: Load, configs: Configs) -> Joined | None:
        """Joins where that is due, with what this worker has. Returns the outcome of a round, once."""
        assert self._coordinator is not None
        coordinator = self._coordinator
        coordinator.load, coordinator.config_offset = load, configs.offset
        try:
            coordinator.poll_heartbeat()
            if coordinator.need_rejoin() or self._joining is not None:
                self._join(coordinator, seconds)
            self._note_reachable(not coordinator.coordinator_unknown())
        except kafka_errors.KafkaError as error:
            self._note_reachable(False)
            log.error("the group %s does not take this worker: %s", self._settings.group_id, error)
            time.sleep(min(seconds, 1.0))
            coordinator.request_rejoin()
        joined, coordinator.joined = coordinator.joined, None
        if joined is not None:
            self._joined_at = time.monotonic()
            self._rounds += 1
            self._rebalances.sample("rebalance-{}-time-ms", (self._joined_at - self._join_began) * 1000)
        return joined

    def metrics(self) -> dict[str, float]:
        """Kafka Connect's connect-worker-rebalance-metrics, as far as they are numbers. Any thread may ask."""
        since = -1.0 if self._joined_at is None else (time.monotonic() - self._joined_at) * 1000
        times = self._rebalances.values()
        return {
            "completed-rebalances-total": self._rounds,
            "rebalancing": float(self.is_rebalancing()),
            "rebalance-avg-time-ms": times.get("rebalance-avg-time-ms", 0.0),
            "rebalance-max-time-ms": times.get("rebalance-max-time-ms", 0.0),
            "time-since-last-rebalance-ms": since,
        }

    def _join(self, coordinator: _Coordinator, seconds: float) -> None:
        # Not `ensure_active_group` with a time-out: it forgets a join that ends between two calls, and begins anew.
        if self._joining is None:
            self._join_began = time.monotonic()
            self._joining = self._client._manager.call_soon(coordinator.ensure_active_group_async)
            self._join_ended.clear()
            self._joining.add_both(lambda _: self._join_ended.set())
        if self._join_ended.wait(seconds):
            ended, self._joining = self._joining, None
            if ended.failed():
                raise ended.exception

    def rejoin(self) -> None:
        if self._coordinator is not None:
            self._coordinator.request_rejoin()

    def is_joining(self) -> bool:
        """A round has begun that is not over; `poll` waits for it."""
        return self._joining is not None

    def is_rebalancing(self) -> bool:
        return (
            self._coordinator is None
            or self._joining is not None
            or self._coordinator.need_rejoin()
            or not self._coordinator.stable()
        )

    def unreachable_seconds(self) -> float:
        """For how long the broker may have believed that this worker is gone: since the last heartbeat it answered.

        A join in flight is no absence, as long as there is a connection: the broker waits for others meanwhile.
        """
        now = time.monotonic()
        if self._joining is not None or self._joined_at is None or self._coordinator is None:
            return 0.0 if self._unreachable_since is None else now - self._unreachable_since
        return now - max(self._joined_at, float(self._coordinator.heartbeat.last_receive))

    def url_of(self, holder: Callable[[Load], bool]) -> str | None:
        """Only the leader knows: the address of the worker whose load this is true of."""
        members = self._coordinator.members if self._coordinator is not None else {}
        return next((worker.url for worker in members.values() if holder(worker.load)), None)

    def leave(self) -> None:
        if self._coordinator is not None:
            try:
                self._coordinator.close(timeout_ms=LEAVE_MS)
            except kafka_errors.KafkaError as error:
                log.warning("the group %s could not be left: %s", self._settings.group_id, error)
        if self._client is not None:
            self._client.close()

    def _note_reachable(self, reachable: bool) -> None:
        if reachable and self._unreachable_since is not None:
            log.info("the coordinator of the group %s answers again", self._settings.group_id)
            self._unreachable_since = None
        elif not reachable and self._unreachable_since is None:
            log.warning("the coordinator of the group %s does not answer", self._settings.group_id)
            self._unreachable_since = time.monotonic()


class _Coordinator(BaseCoordinator):  # type: ignore[misc]  # kafka-python has no types
    def __init__(
        self, client: Any, outlook: Outlook, wake: Callable[[], None], url: str, delay: float, **config: Any
    ) -> None:
        super().__init__(client, **config)
        self.load = NOTHING
        self.config_offset = 0
        self.joined: Joined | None = None
        self.members: dict[str, Worker] = {}  # of the leader: what everybody has after its last decision
        self._outlook = outlook
        self._tell_herder = wake
        self._url = url
        self._max_delay = delay
        self._memory = Memory()
        self._leads = False

    def protocol_type(self) -> str:
        return PROTOCOL_TYPE

    def group_protocols(self) -> list[tuple[str, bytes]]:
        self._leads = False  # until this round says otherwise
        has = Assignment("", "", self.config_offset, self.load) if self.load else None
        worker = WorkerMetadata(self._url, self.config_offset, has)
        return [(name, encode_metadata(worker, version)) for name, version in VERSIONS.items()]

    def request_rejoin(self) -> None:
        super().request_rejoin()
        self._tell_herder()

    def reset_generation(self, *given: Any, **named: Any) -> None:
        super().reset_generation(*given, **named)
        self._tell_herder()

    def _perform_assignment(self, leader_id: str, protocol: str, members: Sequence[Any]) -> dict[str, bytes]:
        self._leads = True
        version = VERSIONS.get(protocol, VERSIONS[SESSIONED])
        told = {member.member_id: decode_metadata(bytes(member.metadata)) for member in members}
        newest = max(one.config_offset for one in told.values())
        configs = self._outlook.configs(newest)
        url = told[leader_id].url
        if configs.offset < newest:
            log.info("this worker leads, but has not read the newest configurations yet: everybody joins again")
            mismatch = Assignment(leader_id, url, newest, error=CONFIG_MISMATCH)
            return {member: encode_assignment(mismatch, version) for member in told}
        decision = self._decide({member: Worker(one.url, one.load) for member, one in told.items()}, configs)
        return {
            member: encode_assignment(
                Assignment(
                    leader_id,
                    url,
                    configs.offset,
                    decision.assigned[member],
                    decision.revoked[member],
                    int(decision.delay * 1000),
                ),
                version,
            )
            for member in told
        }

    def _decide(self, workers: dict[str, Worker], configs: Configs) -> Decision:
        taken = NOTHING
        for worker in workers.values():
            taken |= worker.load
        missing = configs.load() - taken
        released = (
            self._outlook.released(missing) if missing and (self._memory.connectors or self._memory.tasks) else NOTHING
        )
        now = time.monotonic()
        decision = decide(workers, configs.load(), self._memory, now, self._max_delay, released)
        self._memory = decision.memory
        self.members = {
            member: Worker(worker.url, (worker.load - decision.revoked[member]) | decision.assigned[member])
            for member, worker in workers.items()
        }
        moves = {member: (len(decision.assigned[member]), len(decision.revoked[member])) for member in workers}
        log.info("assigned and revoked, by worker: %s; what was lost waits for %.1f s", moves, decision.delay)
        return decision

    async def _on_join_complete_async(self, generation: int, member_id: str, protocol: str, data: bytes) -> None:
        if not self._leads:
            self._memory, self.members = Memory(), {}  # what another leader decides is not known here
        self.joined = Joined(generation, member_id, self._leads, decode_assignment(bytes(data)))


def client_properties(settings: WorkerSettings) -> dict[str, Any]:
    """What kafka-python is told, of what librdkafka is told."""
    names = CLIENT_PROPERTIES
    given = {names[name]: value for name, value in settings.client.items() if name in names}
    if "security_protocol" in given:
        given["security_protocol"] = str(given["security_protocol"]).upper()  # librdkafka takes any case
    return {"bootstrap_servers": settings.bootstrap.split(","), "client_id": f"connect-{settings.group_id}", **given}
