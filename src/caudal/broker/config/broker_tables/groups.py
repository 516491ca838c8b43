"""Broker properties of the newer group protocols: consumer groups assigned by the broker, share groups, streams groups.

None is served yet; the classic protocol's properties are in `coordinators.py`.
"""

from __future__ import annotations

from typing import Final

from caudal.broker.config.broker_tables.rows import CLUSTER_WIDE, HIGH, integer, items, short, string
from caudal.broker.config.definition import INT_MAX, at_least, between, one_of

GROUPS: Final = (
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
    # Assignment intervals.
    integer(
        "group.consumer.assignment.interval.ms",
        1000,
        "Shortest time between two assignments of a consumer group.",
        at_least(0),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    integer("group.consumer.min.assignment.interval.ms", 0, "Its lower limit.", at_least(0), idle=True),
    integer("group.consumer.max.assignment.interval.ms", 15_000, "Its upper limit.", at_least(0), idle=True),
    integer(
        "group.share.assignment.interval.ms",
        1000,
        "Shortest time between two assignments of a share group.",
        at_least(0),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    integer("group.share.min.assignment.interval.ms", 0, "Its lower limit.", at_least(0), idle=True),
    integer("group.share.max.assignment.interval.ms", 15_000, "Its upper limit.", at_least(0), idle=True),
    integer(
        "group.streams.assignment.interval.ms",
        1000,
        "Shortest time between two assignments of a streams group.",
        at_least(0),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    integer("group.streams.min.assignment.interval.ms", 0, "Its lower limit.", at_least(0), idle=True),
    integer("group.streams.max.assignment.interval.ms", 15_000, "Its upper limit.", at_least(0), idle=True),
    # Limits of what a group may ask for.
    integer("group.share.min.delivery.count.limit", 2, "Fewest deliveries a group may set.", between(2, 5), idle=True),
    integer("group.share.max.delivery.count.limit", 10, "Most deliveries a group may set.", between(5, 25), idle=True),
    integer(
        "group.share.min.partition.max.record.locks",
        100,
        "Fewest locks a group may set.",
        between(100, 2000),
        idle=True,
    ),
    integer(
        "group.share.max.partition.max.record.locks",
        4000,
        "Most locks a group may set.",
        between(2000, 10_000),
        idle=True,
    ),
    integer("group.share.max.share.sessions", 2000, "Share sessions open at one time.", at_least(1), idle=True),
    integer("group.streams.min.session.timeout.ms", 45_000, "Shortest session time-out.", at_least(1), idle=True),
    integer("group.streams.max.session.timeout.ms", 60_000, "Longest session time-out.", at_least(1), idle=True),
    integer("group.streams.min.heartbeat.interval.ms", 5000, "Shortest heartbeat interval.", at_least(1), idle=True),
    integer("group.streams.max.heartbeat.interval.ms", 15_000, "Longest heartbeat interval.", at_least(1), idle=True),
    integer("group.streams.max.standby.replicas", 2, "Most standby copies a group may set.", at_least(0), idle=True),
    integer(
        "group.streams.initial.rebalance.delay.ms",
        3000,
        "How long a new streams group waits for members.",
        at_least(0),
        idle=True,
    ),
    # The share coordinator.
    integer("share.coordinator.threads", 1, "Threads of the share coordinator.", at_least(1), idle=True),
    integer("share.coordinator.append.linger.ms", -1, "Wait to collect its writes.", at_least(-1), idle=True),
    integer(
        "share.coordinator.cached.buffer.max.bytes",
        1_048_588,
        "Largest buffer kept for reuse.",
        at_least(524288),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    integer(
        "share.coordinator.load.buffer.size", 5 << 20, "Bytes read at a time.", at_least(1), importance=HIGH, idle=True
    ),
    integer(
        "share.coordinator.snapshot.update.records.per.snapshot",
        500,
        "Updates between two snapshots.",
        between(0, 500),
        idle=True,
    ),
    integer("share.coordinator.state.topic.compression.codec", 0, "Codec, by number.", importance=HIGH, idle=True),
    integer("share.coordinator.write.timeout.ms", 5000, "Wait for replicas.", at_least(1), importance=HIGH, idle=True),
    integer("share.fetch.purgatory.purge.interval.requests", 1000, "Housekeeping interval.", idle=True),
)
