"""Foreign-key joins of tables: inner and left.

    left table → Send → registration topic (keyed by foreign key) → Subscribe → Lookup → response topic (by primary key)
    right table → Notify → the same response topic
    response topic → Resolve → StreamToTable

The left side tells the right side's partition which rows refer to which foreign key; the right side keeps these
subscriptions and answers with its value, at once and whenever it changes. Answers may overtake each other, so each
carries the hash of the left value it is for: an answer to a value that is no longer the current one is dropped, with a
count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from caudal.plan import steps
from caudal.plan.topology import StoreKind
from caudal.runtime.operators.operator import (
    NULL_FOREIGN_KEY,
    NULL_KEY,
    OUTDATED_RESPONSE,
    Operator,
    Values,
    runs,
)
from caudal.runtime.record import Change, Record
from caudal.serde.foreign_key import (
    Instruction,
    Subscription,
    SubscriptionResponse,
    combined_key,
    foreign_key_prefix,
    split_combined_key,
    value_hash,
)

_UNSUBSCRIBE = Instruction.DELETE_KEY_NO_PROPAGATE
_UNSUBSCRIBE_AND_ANSWER = Instruction.DELETE_KEY_AND_PROPAGATE
_ALWAYS_ANSWER = Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE
_ANSWER_IF_FOUND = Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE


class CombinedKey(NamedTuple):
    foreign_key: Any
    primary_key: Any


@runs(steps.ForeignKeySend)
class ForeignKeySend(Operator):
    def prepare(self, step: steps.ForeignKeySend) -> None:
        self.extractor = step.extractor.direct
        self.serialize_key, self.serialize = step.foreign_key.serialize, step.value.serialize
        if step.left:
            self.process = self.process_left  # type: ignore[method-assign]

    def foreign_key(self, key: Any, value: Any) -> Any:
        return None if value is None else self.extractor(key, value)

    def changed(self, new: Any, old: Any) -> bool:
        return new is None or self.serialize_key(new) != self.serialize_key(old)

    def process(self, record: Record) -> None:
        """Inner join: there is a result only with a foreign key that is found."""
        change: Change = record.value
        old = self.foreign_key(record.key, change.old)
        if change.new is None:
            if old is not None:
                self.send(record, old, _UNSUBSCRIBE_AND_ANSWER)
            return
        new = self.extractor(record.key, change.new)
        if new is None:
            self.task.dropped[NULL_FOREIGN_KEY] += 1
            if old is not None:
                self.send(record, old, _UNSUBSCRIBE_AND_ANSWER)
        elif old is not None and self.changed(new, old):
            self.send(record, old, _UNSUBSCRIBE)
            # The old key may have had a result: without one for the new key it has to be deleted.
            self.send(record, new, _ALWAYS_ANSWER)
        else:
            self.send(record, new, _ANSWER_IF_FOUND)

    def process_left(self, record: Record) -> None:
        """Left join: every row has a result, so every change is answered; a null foreign key as well."""
        change: Change = record.value
        if change.new is None and change.old is None:
            return
        old = self.foreign_key(record.key, change.old)
        new = self.foreign_key(record.key, change.new)
        if old is not None and self.changed(new, old):
            self.send(record, old, _UNSUBSCRIBE)
        self.send(record, new, _ALWAYS_ANSWER)

    def send(self, record: Record, foreign_key: Any, instruction: Instruction) -> None:
        new = record.value.new
        subscription = Subscription(
            value_hash(None if new is None else self.serialize(new)), instruction, record.key, self.task.partition
        )
        self.forward(Record(foreign_key, subscription, record.timestamp, record.headers))


@runs(steps.ForeignKeySubscribe)
class ForeignKeySubscribe(Operator):
    """The change that goes on has no old value: nothing reads it."""

    def prepare(self, step: steps.ForeignKeySubscribe) -> None:
        self.store = self.task.store(step.store)
        self.timestamped = self.task.specs[step.store].kind is StoreKind.TIMESTAMPED
        self.serialize_foreign, self.serialize_primary = step.foreign_key.serialize, step.primary_key.serialize

    def process(self, record: Record) -> None:
        foreign_key = record.key
        subscription: Subscription = record.value
        if foreign_key is not None:
            self.keep(foreign_key, subscription, record.timestamp)
        elif subscription.instruction is not _ALWAYS_ANSWER:
            self.task.dropped[NULL_FOREIGN_KEY] += 1
            return
        key = CombinedKey(foreign_key, subscription.primary_key)
        self.forward(Record(key, Change(subscription, None), record.timestamp, record.headers))

    def keep(self, foreign_key: Any, subscription: Subscription, timestamp: int) -> None:
        key = combined_key(self.serialize_foreign(foreign_key), self.serialize_primary(subscription.primary_key))
        ends = subscription.instruction is _UNSUBSCRIBE or subscription.instruction is _UNSUBSCRIBE_AND_ANSWER
        kept = None if ends else subscription
        if self.timestamped:
            self.store.put(key, kept, timestamp)
        else:
            self.store.put(key, kept)


@runs(steps.ForeignKeyLookup)
class ForeignKeyLookup(Operator):
    lookup: Values

    def prepare(self, step: steps.ForeignKeyLookup) -> None:
        self.table = step.right_store

    def open(self) -> None:
        self.lookup = self.task.values(self.table)

    def process(self, record: Record) -> None:
        key: CombinedKey = record.key
        subscription: Subscription = record.value.new
        instruction = subscription.instruction
        if instruction is _UNSUBSCRIBE:
            return
        found = None if key.foreign_key is None else self.lookup(key.foreign_key)
        if found is None and instruction is _ANSWER_IF_FOUND:
            return
        value, timestamp = None, record.timestamp
        if found is not None:
            timestamp = max(timestamp, found[1])
            if instruction is not _UNSUBSCRIBE_AND_ANSWER:
                value = found[0]
        response = SubscriptionResponse(subscription.hash, value, subscription.primary_partition)
        self.forward(Record(key.primary_key, response, timestamp, record.headers))


@runs(steps.ForeignKeyNotify)
class ForeignKeyNotify(Operator):
    def prepare(self, step: steps.ForeignKeyNotify) -> None:
        self.store = self.task.store(step.store)
        self.timestamped = self.task.specs[step.store].kind is StoreKind.TIMESTAMPED
        self.serialize_foreign, self.read_primary = step.foreign_key.serialize, step.primary_key.deserialize

    def process(self, record: Record) -> None:
        if record.key is None:
            self.task.dropped[NULL_KEY] += 1
            return
        new = record.value.new
        prefix = foreign_key_prefix(self.serialize_foreign(record.key))
        for key, kept in self.store.prefix_scan(prefix):
            subscription: Subscription = kept[0] if self.timestamped else kept
            primary_key = self.read_primary(split_combined_key(key)[1])
            response = SubscriptionResponse(subscription.hash, new, subscription.primary_partition)
            self.forward(Record(primary_key, response, record.timestamp, record.headers))


@runs(steps.ForeignKeyResolve)
class ForeignKeyResolve(Operator):
    lookup: Values

    def prepare(self, step: steps.ForeignKeyResolve) -> None:
        self.table, self.left, self.joiner = step.left_store, step.left, step.joiner.direct
        self.serialize = step.value.serialize

    def open(self) -> None:
        self.lookup = self.task.values(self.table)

    def process(self, record: Record) -> None:
        key = record.key
        response: SubscriptionResponse = record.value
        found = self.lookup(key)
        current = None if found is None else found[0]
        if response.hash != value_hash(None if current is None else self.serialize(current)):
            self.task.dropped[OUTDATED_RESPONSE] += 1
            return
        if response.value is None and (current is None or not self.left):
            result = None
        else:
            result = self.joiner(key, current, response.value)
        self.forward(Record(key, result, record.timestamp, record.headers))
