"""Broker properties of the coordinators: classic consumer groups and their offsets, transactions."""

from __future__ import annotations

from typing import Final

from caudal.broker.config.broker_tables.rows import (
    CLUSTER_WIDE,
    HIGH,
    LOW,
    boolean,
    integer,
    long,
    short,
)
from caudal.broker.config.definition import INT_MAX, at_least, between

_CODEC: Final = between(0, 4)

COORDINATORS: Final = (
    # The offsets topic.
    integer(
        "offsets.topic.num.partitions",
        50,
        "Partitions of __consumer_offsets; fixed once the topic exists.",
        at_least(1),
        importance=HIGH,
    ),
    short(
        "offsets.topic.replication.factor",
        3,
        "Replicas of __consumer_offsets, at most as many as there are brokers.",
        at_least(1),
        importance=HIGH,
    ),
    integer(
        "offsets.topic.segment.bytes", 100 << 20, "Segment size of __consumer_offsets.", at_least(1), importance=HIGH
    ),
    integer(
        "offsets.topic.compression.codec",
        0,
        "Codec of __consumer_offsets, by number.",
        _CODEC,
        importance=HIGH,
        idle=True,
    ),
    integer(
        "offsets.retention.minutes",
        10080,
        "How long the offsets of an empty group are kept.",
        at_least(1),
        importance=HIGH,
    ),
    long(
        "offsets.retention.check.interval.ms",
        600_000,
        "Time between two looks for expired offsets.",
        at_least(1),
        importance=HIGH,
    ),
    integer(
        "offsets.load.buffer.size",
        5 << 20,
        "Bytes read at a time when groups load.",
        at_least(1),
        importance=HIGH,
        idle=True,
    ),
    integer(
        "offsets.commit.timeout.ms",
        5000,
        "Wait for replicas when offsets are committed.",
        at_least(1),
        importance=HIGH,
        idle=True,
    ),
    integer("offset.metadata.max.bytes", 4096, "Largest text a client may store with an offset.", importance=HIGH),
    # Classic groups.
    integer("group.min.session.timeout.ms", 6000, "Shortest session time-out a consumer may ask for."),
    integer("group.max.session.timeout.ms", 1_800_000, "Longest session time-out a consumer may ask for."),
    integer(
        "group.initial.rebalance.delay.ms",
        3000,
        "How long a new group waits for more members before its first assignment.",
    ),
    integer("group.max.size", INT_MAX, "Members a group may have.", at_least(1)),
    # Transactions.
    integer(
        "transaction.state.log.num.partitions",
        50,
        "Partitions of __transaction_state; fixed once the topic exists.",
        at_least(1),
        importance=HIGH,
    ),
    short(
        "transaction.state.log.replication.factor",
        3,
        "Replicas of __transaction_state, at most as many as there are brokers.",
        at_least(1),
        importance=HIGH,
    ),
    integer(
        "transaction.state.log.min.isr",
        2,
        "Replicas of __transaction_state that must be in sync, at most as many as it has.",
        at_least(1),
        importance=HIGH,
    ),
    integer(
        "transaction.state.log.segment.bytes",
        100 << 20,
        "Segment size of __transaction_state.",
        at_least(1),
        importance=HIGH,
    ),
    integer(
        "transaction.state.log.load.buffer.size",
        5 << 20,
        "Bytes read at a time when transactions load.",
        at_least(1),
        importance=HIGH,
        idle=True,
    ),
    integer(
        "transaction.max.timeout.ms",
        900_000,
        "Longest transaction time-out a producer may ask for.",
        at_least(1),
        importance=HIGH,
    ),
    integer(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        10_000,
        "Time between two looks for transactions to abort.",
        at_least(1),
        importance=LOW,
    ),
    integer(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        3_600_000,
        "Time between two looks for forgotten transactional ids.",
        at_least(1),
        importance=LOW,
    ),
    integer(
        "transactional.id.expiration.ms",
        604_800_000,
        "Time after which an unused transactional id is forgotten.",
        at_least(1),
        importance=HIGH,
    ),
    boolean(
        "transaction.partition.verification.enable",
        True,
        "Checks with the coordinator that a transactional write belongs to an open transaction.",
        scope=CLUSTER_WIDE,
        importance=LOW,
        idle=True,
    ),
    boolean(
        "transaction.two.phase.commit.enable",
        False,
        "Lets producers keep transactions open for an outside coordinator.",
        importance=LOW,
    ),
    integer(
        "producer.id.expiration.ms",
        86_400_000,
        "Time after which a partition forgets an idle producer.",
        at_least(1),
        scope=CLUSTER_WIDE,
        importance=LOW,
    ),
    integer(
        "producer.id.expiration.check.interval.ms",
        600_000,
        "Time between two such looks.",
        at_least(1),
        importance=LOW,
    ),
    integer(
        "add.partitions.to.txn.retry.backoff.ms",
        20,
        "Pause before asking the coordinator again.",
        at_least(1),
        importance=HIGH,
    ),
    integer(
        "add.partitions.to.txn.retry.backoff.max.ms",
        100,
        "Longest such pause.",
        at_least(0),
        importance=HIGH,
    ),
)
