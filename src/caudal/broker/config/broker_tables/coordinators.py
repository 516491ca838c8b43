"""Broker properties of the coordinators: consumer groups and their offsets, transactions, share groups."""

from __future__ import annotations

from typing import Final

from caudal.broker.config.broker_tables.rows import (
    CLUSTER_WIDE,
    HIGH,
    LOW,
    boolean,
    integer,
    items,
    long,
    short,
    string,
)
from caudal.broker.config.definition import INT_MAX, at_least, between, one_of

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
    # Groups of the new protocol.
    items(
        "group.coordinator.rebalance.protocols",
        ["classic", "consumer", "streams"],
        "Group protocols that are open to clients.",
        idle=True,
    ),
    integer("group.coordinator.threads", 4, "Threads of the coordinator.", at_least(1), importance=HIGH, idle=True),
    integer(
        "group.coordinator.background.threads", 2, "Its background threads.", at_least(1), importance=HIGH, idle=True
    ),
    integer("group.coordinator.append.linger.ms", -1, "Wait to collect coordinator writes.", at_least(-1), idle=True),
    integer(
        "group.coordinator.cached.buffer.max.bytes",
        1_048_588,
        "Largest buffer kept for reuse.",
        at_least(524288),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    integer("group.consumer.session.timeout.ms", 45_000, "Session time-out given to members.", at_least(1), idle=True),
    integer("group.consumer.min.session.timeout.ms", 45_000, "Its lower limit.", at_least(1), idle=True),
    integer("group.consumer.max.session.timeout.ms", 60_000, "Its upper limit.", at_least(1), idle=True),
    integer(
        "group.consumer.heartbeat.interval.ms", 5000, "Heartbeat interval given to members.", at_least(1), idle=True
    ),
    integer("group.consumer.min.heartbeat.interval.ms", 5000, "Its lower limit.", at_least(1), idle=True),
    integer("group.consumer.max.heartbeat.interval.ms", 15_000, "Its upper limit.", at_least(1), idle=True),
    integer("group.consumer.max.size", INT_MAX, "Members a consumer group may have.", at_least(1), idle=True),
    items("group.consumer.assignors", ["uniform", "range"], "Server-side assignors, the default one first.", idle=True),
    string(
        "group.consumer.migration.policy",
        "bidirectional",
        "Which way a live group may change protocol.",
        one_of("bidirectional", "upgrade", "downgrade", "disabled"),
        idle=True,
    ),
    integer(
        "group.consumer.regex.refresh.interval.ms",
        600_000,
        "Refresh of pattern subscriptions.",
        at_least(10_000),
        idle=True,
    ),
    # Share groups.
    integer(
        "group.share.session.timeout.ms", 45_000, "Session time-out of share group members.", at_least(1), idle=True
    ),
    integer("group.share.min.session.timeout.ms", 45_000, "Its lower limit.", at_least(1), idle=True),
    integer("group.share.max.session.timeout.ms", 60_000, "Its upper limit.", at_least(1), idle=True),
    integer(
        "group.share.heartbeat.interval.ms", 5000, "Heartbeat interval of share group members.", at_least(1), idle=True
    ),
    integer("group.share.min.heartbeat.interval.ms", 5000, "Its lower limit.", at_least(1), idle=True),
    integer("group.share.max.heartbeat.interval.ms", 15_000, "Its upper limit.", at_least(1), idle=True),
    integer("group.share.max.size", 200, "Members a share group may have.", between(1, 1000), idle=True),
    items("group.share.assignors", ["simple"], "Server-side assignor of share groups.", idle=True),
    integer(
        "group.share.delivery.count.limit", 5, "Deliveries before a record is given up.", between(2, 10), idle=True
    ),
    integer(
        "group.share.record.lock.duration.ms",
        30_000,
        "How long a delivered record stays locked.",
        between(1000, 3_600_000),
        idle=True,
    ),
    integer("group.share.min.record.lock.duration.ms", 15_000, "Its lower limit.", between(1000, 30_000), idle=True),
    integer(
        "group.share.max.record.lock.duration.ms", 60_000, "Its upper limit.", between(30_000, 3_600_000), idle=True
    ),
    integer(
        "group.share.partition.max.record.locks", 2000, "Locked records per partition.", between(100, 10_000), idle=True
    ),
    # Streams groups.
    integer(
        "group.streams.session.timeout.ms", 45_000, "Session time-out of streams group members.", at_least(1), idle=True
    ),
    integer(
        "group.streams.heartbeat.interval.ms",
        5000,
        "Heartbeat interval of streams group members.",
        at_least(1),
        idle=True,
    ),
    integer("group.streams.max.size", INT_MAX, "Members a streams group may have.", at_least(1), idle=True),
    integer("group.streams.num.standby.replicas", 0, "Standby copies of each task.", at_least(0), idle=True),
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
        idle=True,
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
        idle=True,
    ),
    integer(
        "add.partitions.to.txn.retry.backoff.ms",
        20,
        "Pause before asking the coordinator again.",
        at_least(1),
        importance=HIGH,
        idle=True,
    ),
    integer(
        "add.partitions.to.txn.retry.backoff.max.ms",
        100,
        "Longest such pause.",
        at_least(0),
        importance=HIGH,
        idle=True,
    ),
    # The state of share groups.
    integer(
        "share.coordinator.state.topic.num.partitions",
        50,
        "Partitions of __share_group_state.",
        at_least(1),
        importance=HIGH,
        idle=True,
    ),
    short(
        "share.coordinator.state.topic.replication.factor",
        3,
        "Replicas of __share_group_state.",
        at_least(1),
        importance=HIGH,
        idle=True,
    ),
    short(
        "share.coordinator.state.topic.min.isr",
        2,
        "In-sync replicas of __share_group_state.",
        at_least(1),
        importance=HIGH,
        idle=True,
    ),
    integer(
        "share.coordinator.state.topic.segment.bytes",
        100 << 20,
        "Segment size of __share_group_state.",
        at_least(1),
        importance=HIGH,
        idle=True,
    ),
)
