"""The coordinator of transactions: requests in, records of `__transaction_state` and markers out.

The rules are in `transaction_state.py`, the record format in `transaction_records.py`, the markers in
`transaction_markers.py`; here they are put in the order that makes them durable:

    Prepare appended and replicated  →  a marker on every partition  →  Complete appended and replicated

Whatever dies in between is taken up again from the log: `load` completes the transactions that it finds prepared.

A transition is reserved (`Transaction.begin`) before it is written and applied only after it is replicated; while it is
under way other requests for the id are told CONCURRENT_TRANSACTIONS. With one replica it is applied within one step of
the event loop. Where it has to wait it goes on in a task of the coordinator, so that a client that disconnects cannot
leave it half done.

Deliberately not here: moving a partition of `__transaction_state` to another broker, and two-phase commit beyond what
Kafka 4.3 has (a transaction without time-out; keeping a prepared one is refused).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable
from time import time
from typing import TYPE_CHECKING, Any

from caudal.broker.coordinators import transaction_errors, transaction_records, transaction_state
from caudal.broker.coordinators.java_hash import partition_for
from caudal.broker.coordinators.transaction_markers import OFFSETS_TOPIC, Completion, Marker
from caudal.broker.coordinators.transaction_records import (
    NO_PRODUCER_ID,
    TopicPartition,
    TransactionState,
    TransactionValue,
    UnknownRecord,
)
from caudal.broker.coordinators.transaction_state import (
    EPOCH_BUMPING_CLIENT,
    LEGACY_CLIENT,
    NO_TIMEOUT_MS,
    ProducerIdentity,
    Transaction,
)
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.wire.primitives import Truncated

if TYPE_CHECKING:
    from caudal.broker.broker import Broker
    from caudal.broker.partition import Partition

log = logging.getLogger("caudal.broker.transactions")

TRANSACTIONS_TOPIC = "__transaction_state"

_RETRY_FIRST_S = 0.1
_RETRY_MOST_S = 5.0
_TOMBSTONES_PER_BATCH = 500


class TransactionCoordinator:
    """All transactional ids of this broker."""

    def __init__(self, broker: Broker, now_ms: Callable[[], int] = lambda: int(time() * 1000)) -> None:
        self._broker = broker
        self._now_ms = now_ms
        self._transactions: dict[str, Transaction] = {}
        self._completions: dict[str, Completion] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.loaded = False

    # ------------------------------------------------------------------------------------------------ life

    async def load(self, broker: Broker | None = None) -> None:
        """Reads the state of every transactional id, then completes the transactions that were decided."""
        for index in range(self._partition_count() if self._topic_exists() else 0):
            partition = self._broker.partition(TRANSACTIONS_TOPIC, index)
            if partition is not None and partition.log_end_offset > partition.log_start_offset:
                values = await self._broker.run_blocking(_read_values, partition)
                self._transactions.update({id_: Transaction(id_, value) for id_, value in values.items()})
        self.loaded = True
        for txn in list(self._transactions.values()):
            if txn.value.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
                log.info("%s: found in %s, its markers are written again", txn.id, txn.value.state.title)
                self._complete(txn)
        self._spawn(self._every("transaction.abort.timed.out.transaction.cleanup.interval.ms", self.abort_timed_out))
        self._spawn(self._every("transaction.remove.expired.transaction.cleanup.interval.ms", self.remove_expired))

    async def close(self) -> None:
        """Stops the background work; what is unfinished is taken up by the next `load`."""
        self.loaded = False
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ------------------------------------------------------------------------------------------------ requests

    async def init_producer_id(
        self,
        transactional_id: str | None,
        timeout_ms: int,
        expected: ProducerIdentity | None = None,
        *,
        two_phase_commit: bool = False,
        keep_prepared: bool = False,
    ) -> ProducerIdentity:
        """A producer id and epoch; whoever used the transactional id before is fenced, its transaction aborted."""
        if transactional_id is None:
            return ProducerIdentity(await self._broker.producer_ids.allocate(), 0)
        config = self._broker.config
        if not transactional_id:
            raise KafkaError(ErrorCode.invalid_request, "the transactional id is empty")
        if two_phase_commit and not config["transaction.two.phase.commit.enable"]:
            raise KafkaError(ErrorCode.transactional_id_authorization_failed)
        if keep_prepared:
            raise KafkaError(ErrorCode.unsupported_version)
        if not two_phase_commit and not 0 < timeout_ms <= config["transaction.max.timeout.ms"]:
            raise KafkaError(ErrorCode.invalid_transaction_timeout)
        if two_phase_commit:
            timeout_ms = NO_TIMEOUT_MS

        self._check_loaded()
        if not self._topic_exists():
            await self._broker.ensure_internal_topic(TRANSACTIONS_TOPIC)
        txn = self._transactions.get(transactional_id)
        if txn is None:
            value = transaction_state.created(await self._broker.producer_ids.allocate(), timeout_ms, self._now_ms())
            txn = self._transactions.setdefault(transactional_id, Transaction(transactional_id, value))
        spare = await self._spare_producer_id(txn)
        next_value = transaction_state.initialised(txn, timeout_ms, expected, spare, self._now_ms())
        if next_value is None:
            await self._abort_and_fence(txn, spare)
            spare = await self._spare_producer_id(txn)
            # If the markers are still on their way this raises CONCURRENT_TRANSACTIONS, and the client comes again.
            next_value = transaction_state.initialised(txn, timeout_ms, expected, spare, self._now_ms())
            if next_value is None:
                raise KafkaError(ErrorCode.concurrent_transactions)
        await self._transition(txn, next_value)
        log.debug("%s: producer %d, epoch %d", txn.id, next_value.producer_id, next_value.producer_epoch)
        return ProducerIdentity(next_value.producer_id, next_value.producer_epoch)

    async def add_partitions(
        self,
        transactional_id: str,
        identity: ProducerIdentity,
        partitions: Collection[TopicPartition],
        client_version: int = LEGACY_CLIENT,
    ) -> None:
        """Adds the partitions to the open transaction, or opens one with them."""
        txn = self._find(transactional_id)
        value = transaction_state.with_partitions(txn, identity, partitions, client_version, self._now_ms())
        if value is not None:
            await self._transition(txn, value)

    async def add_offsets(self, transactional_id: str, identity: ProducerIdentity, group_id: str) -> None:
        """Adds the partition of `__consumer_offsets` that keeps the group's offsets."""
        self._find(transactional_id)
        if OFFSETS_TOPIC not in self._broker.metadata.topics:
            await self._broker.ensure_internal_topic(OFFSETS_TOPIC)
        index = partition_for(group_id, len(self._broker.metadata.topics[OFFSETS_TOPIC].partitions))
        await self.add_partitions(transactional_id, identity, [(OFFSETS_TOPIC, index)])

    async def end_txn(
        self, transactional_id: str, identity: ProducerIdentity, commit: bool, client_version: int
    ) -> ProducerIdentity:
        """Decides the transaction; returns once that is durable, with what the producer is called from now on."""
        txn = self._find(transactional_id)
        spare = await self._spare_producer_id(txn) if client_version >= EPOCH_BUMPING_CLIENT else None
        target = transaction_state.end_target(txn, identity, commit, client_version)
        if target is None:
            return ProducerIdentity(txn.value.producer_id, txn.value.producer_epoch)
        return await self._prepare(txn, target, client_version, spare)

    def is_ongoing(
        self, transactional_id: str, producer_id: int, producer_epoch: int, topic: str, partition: int
    ) -> bool:
        """Whether the producer may write to the partition now. Sync, so that nothing slips in before the append."""
        txn = self._transactions.get(transactional_id)
        return txn is not None and txn.holds(producer_id, producer_epoch, (topic, partition))

    async def verify_or_add(
        self,
        transactional_id: str | None,
        producer_id: int,
        producer_epoch: int,
        topic_partitions: Collection[TopicPartition],
        add: bool,
    ) -> dict[TopicPartition, ErrorCode]:
        """For Produce and TxnOffsetCommit: are the partitions in the open transaction; with `add`, put them there.

        The codes are the coordinator's; `transaction_errors.for_write` turns them into the client's.
        """
        identity = ProducerIdentity(producer_id, producer_epoch)
        try:
            txn = self._find(transactional_id)
            if not add:
                return transaction_state.verified(txn, identity, topic_partitions)
            await self._add_patiently(txn.id, identity, topic_partitions)
        except KafkaError as error:
            return dict.fromkeys(topic_partitions, error.code)
        # The transaction may have ended while the record was being replicated.
        return {
            partition: ErrorCode.none
            if txn.holds(producer_id, producer_epoch, partition)
            else ErrorCode.concurrent_transactions
            for partition in topic_partitions
        }

    # ------------------------------------------------------------------------------------------------ views

    def partition_of(self, transactional_id: str) -> int:
        """The partition of `__transaction_state` that keeps the id."""
        return partition_for(transactional_id, self._partition_count())

    def describe(self, transactional_id: str) -> tuple[TransactionValue, Collection[TopicPartition]]:
        """The state of an id; once it is decided, only with the partitions that still lack their marker."""
        self._check_loaded()
        if not transactional_id:
            raise KafkaError(ErrorCode.invalid_request)
        txn = self._transactions.get(transactional_id)
        if txn is None or txn.pending is TransactionState.DEAD:
            raise KafkaError(ErrorCode.transactional_id_not_found)
        completion = self._completions.get(transactional_id)
        return txn.value, txn.value.partitions if completion is None else completion.remaining

    def list(self) -> Iterable[tuple[str, TransactionValue]]:
        self._check_loaded()
        return [(txn.id, txn.value) for txn in self._transactions.values() if txn.pending is not TransactionState.DEAD]

    def count_by_state(self) -> dict[str, int]:
        """How many transactional ids are in each state, for the metrics. Any thread may ask, as with the groups."""
        written = [state for state in TransactionState if state <= TransactionState.COMPLETE_ABORT]
        counts = dict.fromkeys((state.title for state in written), 0)
        for txn in list(self._transactions.values()):
            counts[txn.value.state.title] += 1
        return counts

    # ------------------------------------------------------------------------------------------------ clean-up

    async def abort_timed_out(self) -> None:
        """Aborts transactions whose time is up, with a new epoch: their producers are fenced."""
        now = self._now_ms()
        for txn in [txn for txn in self._transactions.values() if txn.has_timed_out(now)]:
            if not txn.has_timed_out(now):  # it ended while another one was aborted
                continue
            try:
                await self._abort_and_fence(txn)
                log.info("%s: transaction aborted after %d ms", txn.id, now - txn.value.start_ms)
            except KafkaError as error:
                log.warning("%s: the timed-out transaction stays for now: %s", txn.id, error.code.name)

    async def remove_expired(self) -> None:
        """Forgets transactional ids that nobody has used for `transactional.id.expiration.ms`."""
        now, expiration = self._now_ms(), self._broker.config["transactional.id.expiration.ms"]
        expired: dict[int, list[Transaction]] = {}
        for txn in self._transactions.values():
            if txn.has_expired(now, expiration):
                expired.setdefault(self.partition_of(txn.id), []).append(txn)
        for index, transactions in expired.items():
            for start in range(0, len(transactions), _TOMBSTONES_PER_BATCH):
                await self._bury(index, transactions[start : start + _TOMBSTONES_PER_BATCH])

    async def _bury(self, index: int, transactions: Collection[Transaction]) -> None:
        # Another request may have come while an earlier batch was replicated.
        still = [txn for txn in transactions if txn.pending is None]
        for txn in still:
            txn.begin(TransactionState.DEAD)
        try:
            partition = self._log_partition(index)
            appended = partition.append_records([(transaction_records.encode_key(txn.id), None) for txn in still])
            await partition.replicated(appended.last_offset)
        except BaseException as error:
            for txn in still:
                txn.cancel()
            if not isinstance(error, KafkaError):
                raise
            log.warning("%d expired transactional ids stay for now: %s", len(still), error.code.name)
        else:
            for txn in still:
                del self._transactions[txn.id]

    # ------------------------------------------------------------------------------------------------ transitions

    async def _abort_and_fence(self, txn: Transaction, spare: int | None = None) -> None:
        """The coordinator's own abort: always with a new epoch, whatever the client's version."""
        if spare is None and txn.epoch_exhausted:
            txn.begin(TransactionState.PREPARE_EPOCH_FENCE)  # nothing else may happen while we wait for an id
            try:
                spare = await self._spare_producer_id(txn)
            finally:
                txn.cancel()
        await self._prepare(txn, TransactionState.PREPARE_ABORT, EPOCH_BUMPING_CLIENT, spare)

    async def _prepare(
        self, txn: Transaction, target: TransactionState, client_version: int, spare: int | None
    ) -> ProducerIdentity:
        bumps = client_version >= EPOCH_BUMPING_CLIENT
        if bumps and txn.epoch_exhausted and spare is None:
            raise KafkaError(ErrorCode.concurrent_transactions)
        next_id = spare if bumps and txn.epoch_exhausted and spare is not None else NO_PRODUCER_ID
        value = transaction_state.prepared(txn.value, target, client_version, next_id, self._now_ms())
        await self._transition(txn, value)
        after = transaction_state.completed(value, 0)
        return ProducerIdentity(after.producer_id, after.producer_epoch)

    async def _transition(self, txn: Transaction, value: TransactionValue) -> None:
        """Makes `value` durable, then makes it the state. Raises with the state unchanged when that fails."""
        under_way = self._start_transition(txn, value)
        if under_way is not None:
            await asyncio.shield(under_way)

    def _start_transition(self, txn: Transaction, value: TransactionValue) -> asyncio.Task[None] | None:
        """Writes `value` and applies it at once if it is replicated (None), or in a task when it will be."""
        txn.begin(value.state)
        try:
            partition, offset = self._append(txn.id, value)
        except BaseException:
            txn.cancel()
            raise
        if partition.high_watermark > offset:
            self._apply(txn, value)
            return None
        return self._spawn(self._apply_when_replicated(txn, value, partition, offset))

    async def _apply_when_replicated(
        self, txn: Transaction, value: TransactionValue, partition: Partition, offset: int
    ) -> None:
        try:
            await partition.replicated(offset)
        except KafkaError as error:
            txn.cancel()
            raise KafkaError(transaction_errors.for_failed_append(error.code)) from error
        except BaseException:
            txn.cancel()
            raise
        self._apply(txn, value)

    def _apply(self, txn: Transaction, value: TransactionValue) -> None:
        txn.complete(value)
        if value.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
            self._complete(txn)

    def _append(self, transactional_id: str, value: TransactionValue) -> tuple[Partition, int]:
        try:
            partition = self._log_partition(self.partition_of(transactional_id))
            key = transaction_records.encode_key(transactional_id)
            appended = partition.append_records([(key, transaction_records.encode_value(value))])
        except KafkaError as error:
            raise KafkaError(transaction_errors.for_failed_append(error.code), error.message) from error
        return partition, appended.last_offset

    # ------------------------------------------------------------------------------------------------ completion

    def _complete(self, txn: Transaction) -> None:
        """Writes the markers and the Complete record: at once if it can be, else until it succeeds."""
        value = txn.value
        marker = Marker(
            value.producer_id,
            value.producer_epoch,
            value.state is TransactionState.PREPARE_COMMIT,
            self._log_partition(self.partition_of(txn.id)).leader_epoch,
        )
        completion = Completion(self._broker, txn.id, marker, value.partitions)
        under_way: asyncio.Task[None] | None = None
        try:
            if completion.advance():
                under_way = self._start_transition(txn, transaction_state.completed(value, self._now_ms()))
                if under_way is None:
                    return
        except Exception as error:
            _log_retry(txn, error)
        self._completions[txn.id] = completion
        self._spawn(self._complete_patiently(txn, completion, under_way))

    async def _complete_patiently(
        self, txn: Transaction, completion: Completion, under_way: asyncio.Task[None] | None
    ) -> None:
        pause = _RETRY_FIRST_S
        while True:
            try:
                if under_way is not None or await completion.retry():
                    under_way = under_way or self._start_transition(
                        txn, transaction_state.completed(txn.value, self._now_ms())
                    )
                    if under_way is not None:
                        await asyncio.shield(under_way)
                    del self._completions[txn.id]
                    return
            except Exception as error:
                _log_retry(txn, error)
            under_way = None
            await asyncio.sleep(pause)
            pause = min(pause * 2, _RETRY_MOST_S)

    # ------------------------------------------------------------------------------------------------ small parts

    async def _add_patiently(
        self, transactional_id: str, identity: ProducerIdentity, partitions: Collection[TopicPartition]
    ) -> None:
        """Waits a little for the end of the transaction before, so that the client need not come again."""
        config = self._broker.config
        pause = config["add.partitions.to.txn.retry.backoff.ms"] / 1000
        patience = config["add.partitions.to.txn.retry.backoff.max.ms"] / 1000
        while True:
            try:
                return await self.add_partitions(transactional_id, identity, partitions, EPOCH_BUMPING_CLIENT)
            except KafkaError as error:
                patience -= pause
                if error.code is not ErrorCode.concurrent_transactions or patience < 0:
                    raise
            await asyncio.sleep(pause)

    async def _spare_producer_id(self, txn: Transaction) -> int | None:
        """An id to go on with when the epochs of the current one have run out. Taken first, because it may wait."""
        return await self._broker.producer_ids.allocate() if txn.epoch_exhausted else None

    def _find(self, transactional_id: str | None) -> Transaction:
        if not transactional_id:
            raise KafkaError(ErrorCode.invalid_request, "the transactional id is empty")
        self._check_loaded()
        txn = self._transactions.get(transactional_id)
        if txn is None:
            raise KafkaError(ErrorCode.invalid_producer_id_mapping)
        return txn

    def _check_loaded(self) -> None:
        if not self.loaded:
            raise KafkaError(ErrorCode.coordinator_load_in_progress)

    def _topic_exists(self) -> bool:
        return TRANSACTIONS_TOPIC in self._broker.metadata.topics

    def _partition_count(self) -> int:
        topic = self._broker.metadata.topics.get(TRANSACTIONS_TOPIC)
        return len(topic.partitions) if topic else int(self._broker.config["transaction.state.log.num.partitions"])

    def _log_partition(self, index: int) -> Partition:
        partition = self._broker.partition(TRANSACTIONS_TOPIC, index)
        if partition is None:
            raise KafkaError(ErrorCode.coordinator_not_available)
        return partition

    async def _every(self, interval_config: str, action: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            await asyncio.sleep(self._broker.config[interval_config] / 1000)
            try:
                await action()
            except Exception:
                log.exception("clean-up of transactions failed, it is tried again")

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, KafkaError):
            log.error("background work of the transaction coordinator failed", exc_info=error)


def _log_retry(txn: Transaction, error: Exception) -> None:
    known = isinstance(error, KafkaError)
    log.warning("%s: not complete yet, it is tried again: %s", txn.id, error, exc_info=None if known else error)


def _read_values(partition: Partition) -> dict[str, TransactionValue]:
    """The last value of every id in the partition. Runs in a thread."""
    values: dict[str, TransactionValue] = {}
    for header, records in partition.iter_records():
        if header.is_control:
            continue
        for record in records:
            try:
                transactional_id = transaction_records.decode_key(record.key or b"")
                if record.value is None:
                    values.pop(transactional_id, None)
                else:
                    values[transactional_id] = transaction_records.decode_value(record.value)
            except (UnknownRecord, Truncated, UnicodeDecodeError) as error:
                log.warning("%s-%d, offset %d: %s", partition.topic, partition.index, record.offset, error)
    return values
