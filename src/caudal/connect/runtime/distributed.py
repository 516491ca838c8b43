"""A worker of a cluster: what it runs is what its group's leader assigns, what is configured is in the config topic.

A turn of the thread: join the group where that is due, take over what was assigned, then do what others ask. What the
group revokes is stopped before the group is joined again, so that nothing runs in two places. Only the leader writes
the config topic; other workers send what is to be written there, and the REST layer forwards what users ask.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from caudal.connect.errors import ConnectError
from caudal.connect.runtime import config_state, session_key, worker_client
from caudal.connect.runtime.config_state import Asked, Configs, Record
from caudal.connect.runtime.config_store import ConfigStore
from caudal.connect.runtime.group_protocol import CONFIG_MISMATCH, NOTHING, Load
from caudal.connect.runtime.herder import RETRY_SECONDS, TICK_SECONDS
from caudal.connect.runtime.membership import Joined, Membership, Outlook
from caudal.connect.runtime.model import Forward, Rebalancing, RestError, State, TargetState, TaskId
from caudal.connect.runtime.rest_herder import RestHerder
from caudal.connect.runtime.runs import StartTask
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.statuses import StatusTopic

log = logging.getLogger("caudal.connect.herder")

CATCH_UP_SECONDS = 10.0
STATUS_SECONDS = 3.0
FENCE_ATTEMPTS = 10


class DistributedHerder(RestHerder):
    def __init__(self, settings: WorkerSettings, start_task: StartTask | None = None) -> None:
        client = settings.librdkafka()
        statuses = StatusTopic(client, settings.status_topic, settings.status_partitions, self.on_status)
        super().__init__(settings, statuses, start_task)
        self._store = ConfigStore(client, settings.config_topic, settings.group_id, self._on_configs)
        outlook = Outlook(self._configs_up_to, self._released)
        self._membership = Membership(settings, outlook, lambda: self.queue.post(_nothing))
        self._pool = ThreadPoolExecutor(4, thread_name_prefix="connect-worker")
        # Of its own: those of the first may all be waiting for what is fenced here.
        self._fencers = ThreadPoolExecutor(4, thread_name_prefix="connect-fence")
        self._assigned = NOTHING
        self._assigned_at = 0  # the config offset that the assignment was made for
        self._member_id = ""
        self._leader_url: str | None = None
        self._leads = False
        self._has_pen = False
        self._fencing: dict[str, Future[None]] = {}

    # -- life --------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        self.statuses.start()
        self._store.start()
        self.configs = self._store.snapshot
        self._membership.start()

    def close(self) -> None:
        self._membership.leave()
        self._store.stop()
        for pool in (self._pool, self._fencers):
            pool.shutdown(wait=False, cancel_futures=True)
        for name, fencing in self._fencing.items():
            if not fencing.done():
                fencing.set_exception(ConnectError(f"The worker stops before earlier tasks of {name} were fenced."))

    def tick(self) -> None:
        joined = self._membership.poll(TICK_SECONDS, self._assigned, self.configs)
        if joined is not None:
            self._on_joined(joined)
        self._give_up_when_cut_off()
        if self._membership.is_joining():
            return
        if self._leads:
            self._take_the_pen()
        # A change of the group that came meanwhile is seen to first.
        self.serve(0 if self._membership.is_rebalancing() else TICK_SECONDS)

    def _on_joined(self, joined: Joined) -> None:
        assignment = joined.assignment
        if assignment.error == CONFIG_MISMATCH:
            self._store.refresh(CATCH_UP_SECONDS)
            self.stopping.wait(RETRY_SECONDS / 4)
            self._membership.rejoin()
            return
        self.runs.group_generation = joined.generation
        self._member_id, self._leads, self._leader_url = joined.member_id, joined.is_leader, assignment.leader_url
        if not self._leads and self._has_pen:
            self._has_pen = False
            self._store.release()
        self._assigned = (self._assigned - assignment.revoked) | assignment.assigned
        self._assigned_at = assignment.config_offset
        log.info(
            "generation %d: %s, %d connectors and %d tasks, %d revoked",
            joined.generation,
            "this worker leads" if self._leads else f"led by {assignment.leader_url}",
            len(self._assigned.connectors),
            len(self._assigned.tasks),
            len(assignment.revoked),
        )
        self._reconcile()
        if assignment.revoked:
            self.statuses.flush()
            self._membership.rejoin()
        elif assignment.delay_ms and self._leads:
            self.queue.post(self._membership.rejoin, assignment.delay_ms / 1000)

    def _reconcile(self) -> None:
        if self._store.snapshot.offset < self._assigned_at:
            self._store.refresh(CATCH_UP_SECONDS)
        before, self.configs = self.configs, self._store.snapshot
        # What is not configured any more is not anybody's: the leader need not revoke it.
        self._assigned -= before.load() - self.configs.load()
        if self.configs.offset < self._assigned_at:
            log.warning("the configurations are behind the assignment: nothing is started yet")
            self.runs.reconcile(self._assigned & self.runs.load, self.configs)
        else:
            self.runs.reconcile(self._assigned, self.configs)
        if self._leads:
            if self._has_pen:  # without it, there may be connectors that this worker has not read of yet
                self.forget_the_deleted()
            if before.load() != self.configs.load():
                self._membership.rejoin()

    def _give_up_when_cut_off(self) -> None:
        """Others take over what a lost worker had, so it must not go on with it."""
        limit = self.settings.session_timeout_ms / 1000 + self.settings.scheduled_rebalance_delay_seconds
        if self._assigned and self._membership.unreachable_seconds() > limit:
            log.warning("the group was not reached for %.0f s: everything is stopped", limit)
            self._assigned = NOTHING
            self.runs.stop_all(quietly=True)  # it has no say in what others may have taken over
            self._membership.rejoin()  # the broker may come back without having missed this worker

    def _take_the_pen(self) -> None:
        now = int(time.time() * 1000)
        try:
            if not self._has_pen:
                self._store.claim()
                self._has_pen = True
                self._reconcile()
            if session_key.is_due(self._store.snapshot.session_key, now):
                self.write([config_state.session_key_record(session_key.new_key(now))])
        except (ConnectError, RestError) as error:
            log.warning("this worker leads, but cannot write: %s", error)
            self._has_pen = False
            self.stopping.wait(RETRY_SECONDS / 4)

    # -- in other threads --------------------------------------------------------------------------------------------

    def _on_configs(self, configs: Configs, asked: list[Asked]) -> None:
        self.queue.post(self._reconcile)
        for request in asked:
            self.queue.post(lambda request=request: self.do_as_asked(request))  # type: ignore[misc]

    def _configs_up_to(self, offset: int) -> Configs:
        if self._store.snapshot.offset < offset:
            self._store.refresh(CATCH_UP_SECONDS)
        return self._store.snapshot

    def _released(self, missing: Load) -> Load:
        self.statuses.refresh(STATUS_SECONDS)
        gone = {name for name in missing.connectors if _is_released(self.statuses.connector(name))}
        return Load(frozenset(gone), frozenset(id for id in missing.tasks if _is_released(self.statuses.task(id))))

    # -- what the common part asks for -------------------------------------------------------------------------------

    def newest(self) -> Configs:
        return self._store.snapshot

    def metrics(self) -> dict[str, dict[str, float]]:
        found = super().metrics()
        found[""] |= {"epoch": self.runs.group_generation, "leader": float(self._leads), **self._membership.metrics()}
        return found

    def check_leader(self) -> None:
        if self._leads and not self._membership.is_rebalancing():
            return
        if self._leads or self._leader_url is None:
            raise Rebalancing
        raise Forward(self._leader_url)

    def write(self, records: list[Record]) -> None:
        try:
            self._store.write(records)
        except Rebalancing:
            self._has_pen = False
            self._membership.rejoin()
            raise
        except ConnectError as error:
            raise RestError(500, str(error)) from None

    def forward_to_owner(self, id: TaskId | str) -> None:
        if not self._leads:
            self.check_leader()
        url = self._membership.url_of(lambda load: id in (load.tasks if isinstance(id, TaskId) else load.connectors))
        if url is None or url == self.settings.url:
            raise Rebalancing
        raise Forward(url)

    def store_task_configs(self, name: str, configs: list[dict[str, str]]) -> None:
        if self._leads:
            self._write_tasks(name, configs)
        elif self._leader_url is None:
            raise Rebalancing
        else:
            self._pool.submit(self._send_task_configs, self._leader_url, name, configs)

    def _write_tasks(self, name: str, configs: list[dict[str, str]]) -> None:
        """Of the leader, in its thread."""
        if self.newest().target(name) is not TargetState.STOPPED:  # it has none, whoever had not heard of it yet
            self.write(config_state.task_records(name, configs))

    def _send_task_configs(self, leader: str, name: str, configs: list[dict[str, str]]) -> None:
        try:
            worker_client.send_task_configs(leader, name, configs, self._store.snapshot.session_key)
        except Exception as error:  # whatever it is: without tasks the connector does nothing
            log.warning("the leader has not taken the tasks of %s: %s; it is asked again", name, error)
            self.ask_for_tasks_again(name)

    def may_run(self, id: TaskId, generation: int) -> None:
        """Raises when this worker is not to run this task any more. Any thread may ask; it blocks."""
        if not self._store.refresh(CATCH_UP_SECONDS):
            raise ConnectError(f"The newest configurations cannot be read, so {id} may be another worker's.")
        if self._store.snapshot.generation(id.connector) != generation or id not in self._assigned.tasks:
            raise ConnectError(f"The task {id} was configured anew or is another worker's: this run ends.")

    # -- from other workers ------------------------------------------------------------------------------------------

    def put_task_configs(self, name: str, configs: list[dict[str, str]], signature: str | None) -> None:
        self._check_signature(session_key.task_configs_body(configs), signature)

        def put() -> None:
            self.check_leader()
            self._must_exist(name)
            self._write_tasks(name, configs)

        self.ask(put)

    def fence(self, name: str, signature: str | None) -> None:
        self._check_signature(b"", signature)

        def begin() -> Future[None]:
            self.check_leader()
            self._must_exist(name)
            return self._begin_fencing(name)

        try:
            self.ask(begin).result()
        except ConnectError as error:
            raise RestError(500, f"Earlier tasks of {name} could not be fenced: {error}") from None

    def _check_signature(self, body: bytes, signature: str | None) -> None:
        key = self._store.snapshot.session_key
        if signature is None:
            raise RestError(400, "Internal request missing required signature")
        if key is None:
            raise RestError(503, "This worker is still starting up and has not been able to read a session key yet.")
        if not session_key.is_signed(key, body, signature):
            raise RestError(403, "Internal request contained invalid signature.")

    # -- zombies of exactly-once sources -----------------------------------------------------------------------------

    def prepare(self, name: str, start: Callable[[], None], refuse: Callable[[Exception], None]) -> None:
        config = self.configs.connectors[name]
        is_exact = config.get("exactly.once.support", "").strip().lower() == "required"
        if not is_exact or not self.settings.exactly_once_source or not self.configs.needs_fencing(name):
            start()
            return

        def wait() -> None:
            try:
                self._fenced_by_leader(name)
            except Exception as error:
                refuse(error)
            else:
                start()

        self._pool.submit(wait)

    def _fenced_by_leader(self, name: str) -> None:
        for attempt in range(FENCE_ATTEMPTS):
            try:
                if self._leads:
                    self.ask(lambda: self._begin_fencing(name)).result()
                elif self._leader_url is not None:
                    worker_client.send_fence(self._leader_url, name, self._store.snapshot.session_key)
                else:
                    raise Rebalancing
                return
            except RestError as error:
                if attempt == FENCE_ATTEMPTS - 1 or self.stopping.wait(RETRY_SECONDS):
                    raise ConnectError(f"Earlier tasks of {name} could not be fenced: {error}") from None

    def _begin_fencing(self, name: str) -> Future[None]:
        """Of the leader, in its thread. Once for all who ask at the same time: a second one would fence the new."""
        known = self._fencing.get(name)
        if known is not None and not known.done():
            return known
        configs = self._store.snapshot
        done: Future[None] = Future()
        if not configs.needs_fencing(name):
            done.set_result(None)
            return done
        self._fencing[name] = done
        self._fencers.submit(self._fence, name, configs, done)
        return done

    def _fence(self, name: str, configs: Configs, done: Future[None]) -> None:
        from caudal.connect.runtime.tasks import fence

        try:
            fence(self.settings, name, configs.fenced.get(name, (0, 0))[0], configs.connectors[name])
            self.ask(lambda: self._note_fenced(name, configs))
        except Exception as error:
            if not done.done():
                done.set_exception(error)
        else:
            if not done.done():
                done.set_result(None)

    def _note_fenced(self, name: str, configs: Configs) -> None:
        if self._store.snapshot.generation(name) != configs.generation(name):
            raise ConnectError(f"The tasks of {name} were configured anew meanwhile.")
        self.write([config_state.fencing_record(name, len(configs.tasks(name)))])


def _is_released(status: object) -> bool:
    return getattr(status, "state", None) is State.UNASSIGNED


def _nothing() -> None: ...
