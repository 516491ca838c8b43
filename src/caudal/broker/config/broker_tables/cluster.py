"""Broker properties of replication, controllers, quotas and metrics.

On a single broker most of these have nothing to act on; they are here so that a file written for a cluster starts.
"""

from __future__ import annotations

from typing import Final

from caudal.broker.config.broker_tables.rows import (
    CLUSTER_WIDE,
    HIGH,
    LOW,
    boolean,
    class_name,
    integer,
    items,
    long,
    string,
)
from caudal.broker.config.definition import LONG_MAX, at_least, one_of

CLUSTER: Final = (
    # Replication.
    integer("default.replication.factor", 1, "Replicas of a topic created without a number.", at_least(1), idle=True),
    boolean(
        "unclean.leader.election.enable",
        False,
        "Lets a replica that is not in sync lead when no other is left.",
        scope=CLUSTER_WIDE,
        importance=HIGH,
    ),
    long(
        "replica.lag.time.max.ms",
        30_000,
        "Time without catching up after which a replica leaves the ISR.",
        importance=HIGH,
        idle=True,
    ),
    integer("replica.socket.timeout.ms", 30_000, "Wait for an answer of the leader.", importance=HIGH, idle=True),
    integer("replica.socket.receive.buffer.bytes", 65_536, "Receive buffer of followers.", importance=HIGH, idle=True),
    integer("replica.fetch.max.bytes", 1 << 20, "Bytes a follower fetches per partition.", at_least(0), idle=True),
    integer("replica.fetch.wait.max.ms", 500, "Longest wait of a follower's fetch.", importance=HIGH, idle=True),
    integer("replica.fetch.backoff.ms", 1000, "Pause of a follower after an error.", at_least(0), idle=True),
    integer("replica.fetch.min.bytes", 1, "Bytes a follower's fetch waits for.", importance=HIGH, idle=True),
    integer(
        "replica.fetch.response.max.bytes", 10 << 20, "Bytes a follower fetches at a time.", at_least(0), idle=True
    ),
    integer(
        "num.replica.fetchers",
        1,
        "Fetchers per source broker.",
        at_least(1),
        scope=CLUSTER_WIDE,
        importance=HIGH,
        idle=True,
    ),
    integer(
        "num.replica.alter.log.dirs.threads",
        None,
        "Threads that move replicas between folders.",
        importance=HIGH,
        idle=True,
    ),
    long(
        "replica.high.watermark.checkpoint.interval.ms",
        5000,
        "Time between two notes of the high watermarks.",
        importance=HIGH,
        idle=True,
    ),
    string("replica.selector.class", None, "Java class that chooses the replica to read from.", idle=True),
    boolean(
        "auto.leader.rebalance.enable", True, "Gives leadership back to preferred replicas.", importance=HIGH, idle=True
    ),
    integer(
        "leader.imbalance.per.broker.percentage",
        10,
        "Imbalance that is tolerated, in percent.",
        importance=HIGH,
        idle=True,
    ),
    long(
        "leader.imbalance.check.interval.seconds",
        300,
        "Time between two looks at the balance.",
        at_least(1),
        importance=HIGH,
        idle=True,
    ),
    long(
        "unclean.leader.election.interval.ms",
        300_000,
        "Time between two looks for leaderless partitions.",
        at_least(1),
        idle=True,
    ),
    string("inter.broker.protocol.version", "4.3", "Version brokers speak among themselves.", idle=True),
    # Shutdown.
    boolean("controlled.shutdown.enable", True, "Hands leadership over before stopping.", idle=True),
    integer("controlled.shutdown.max.retries", 3, "Tries to hand over.", idle=True),
    long("controlled.shutdown.retry.backoff.ms", 5000, "Pause between two tries.", idle=True),
    # Controllers.
    items(
        "controller.listener.names", None, "Listeners of controllers; this broker opens none of them.", importance=HIGH
    ),
    items("controller.quorum.voters", [], "Controllers, as id@host:port.", importance=HIGH, idle=True),
    items("controller.quorum.bootstrap.servers", [], "Controllers to ask first.", importance=HIGH, idle=True),
    boolean(
        "controller.quorum.auto.join.enable",
        False,
        "Lets a controller join the voters by itself.",
        importance=LOW,
        idle=True,
    ),
    integer(
        "controller.quorum.election.timeout.ms",
        1000,
        "Wait without a leader before an election.",
        at_least(0),
        importance=HIGH,
        idle=True,
    ),
    integer(
        "controller.quorum.election.backoff.max.ms",
        1000,
        "Longest pause between elections.",
        at_least(0),
        importance=HIGH,
        idle=True,
    ),
    integer(
        "controller.quorum.fetch.timeout.ms",
        2000,
        "Wait without a successful fetch.",
        at_least(0),
        importance=HIGH,
        idle=True,
    ),
    integer("controller.quorum.append.linger.ms", 25, "Wait to collect metadata writes.", at_least(0), idle=True),
    integer("controller.quorum.request.timeout.ms", 2000, "Longest wait for an answer.", at_least(0), idle=True),
    integer("controller.quorum.retry.backoff.ms", 20, "Pause before a retry.", at_least(0), importance=LOW, idle=True),
    integer("controller.socket.timeout.ms", 30_000, "Wait for an answer of the controller.", idle=True),
    integer("broker.heartbeat.interval.ms", 2000, "Time between two heartbeats to the controller.", idle=True),
    integer("broker.session.timeout.ms", 9000, "Silence after which a broker counts as gone.", idle=True),
    integer("initial.broker.registration.timeout.ms", 60_000, "Wait for the first registration.", idle=True),
    long("server.max.startup.time.ms", LONG_MAX, "Longest start.", at_least(0), idle=True),
    long(
        "metadata.log.max.record.bytes.between.snapshots",
        20 << 20,
        "Metadata written between snapshots.",
        at_least(1),
        importance=HIGH,
        idle=True,
    ),
    long(
        "metadata.log.max.snapshot.interval.ms",
        3_600_000,
        "Time between two snapshots.",
        at_least(0),
        importance=HIGH,
        idle=True,
    ),
    integer(
        "metadata.log.segment.bytes",
        1 << 30,
        "Segment size of the metadata log.",
        at_least(8 << 20),
        importance=HIGH,
        idle=True,
    ),
    long("metadata.log.segment.ms", 604_800_000, "Segment age of the metadata log.", importance=HIGH, idle=True),
    long("metadata.max.retention.bytes", 100 << 20, "Metadata kept, by size.", importance=HIGH, idle=True),
    long("metadata.max.retention.ms", 604_800_000, "Metadata kept, by age.", importance=HIGH, idle=True),
    integer(
        "metadata.max.idle.interval.ms",
        500,
        "Time between two empty metadata records.",
        at_least(0),
        importance=LOW,
        idle=True,
    ),
    integer(
        "controller.quorum.fetch.max.bytes", 1 << 20, "Bytes fetched at a time.", at_least(1), importance=LOW, idle=True
    ),
    integer(
        "controller.quorum.fetch.snapshot.max.bytes",
        1 << 20,
        "Bytes of a snapshot fetched at a time.",
        at_least(1),
        importance=LOW,
        idle=True,
    ),
    # ZooKeeper.
    string("zookeeper.connect", None, "Addresses of ZooKeeper, with an optional path.", importance=HIGH, idle=True),
    integer("zookeeper.connection.timeout.ms", None, "Wait for ZooKeeper.", importance=HIGH, idle=True),
    integer(
        "zookeeper.session.timeout.ms",
        18_000,
        "Silence after which ZooKeeper ends the session.",
        importance=HIGH,
        idle=True,
    ),
    # Quotas.
    integer("quota.window.num", 11, "Samples kept for client quotas.", at_least(1), importance=LOW, idle=True),
    integer("quota.window.size.seconds", 1, "Length of such a sample.", at_least(1), importance=LOW, idle=True),
    integer(
        "replication.quota.window.num",
        11,
        "Samples kept for replication quotas.",
        at_least(1),
        importance=LOW,
        idle=True,
    ),
    integer(
        "replication.quota.window.size.seconds", 1, "Length of such a sample.", at_least(1), importance=LOW, idle=True
    ),
    integer(
        "controller.quota.window.num", 11, "Samples kept for topic changes.", at_least(1), importance=LOW, idle=True
    ),
    integer(
        "controller.quota.window.size.seconds", 1, "Length of such a sample.", at_least(1), importance=LOW, idle=True
    ),
    class_name(
        "client.quota.callback.class", None, "Java class that decides client quotas.", importance=LOW, idle=True
    ),
    long(
        "leader.replication.throttled.rate",
        LONG_MAX,
        "Bytes per second for throttled leaders.",
        at_least(0),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    long(
        "follower.replication.throttled.rate",
        LONG_MAX,
        "Bytes per second for throttled followers.",
        at_least(0),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    long(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        LONG_MAX,
        "Bytes per second between folders.",
        at_least(0),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    integer(
        "alter.log.dirs.replication.quota.window.num",
        11,
        "Samples kept for moves between folders.",
        at_least(1),
        importance=LOW,
        idle=True,
    ),
    integer(
        "alter.log.dirs.replication.quota.window.size.seconds",
        1,
        "Length of such a sample.",
        at_least(1),
        importance=LOW,
        idle=True,
    ),
    # Metrics.
    items("metric.reporters", [], "Java classes that report metrics.", scope=CLUSTER_WIDE, importance=LOW, idle=True),
    integer("metrics.num.samples", 2, "Samples kept per metric.", at_least(1), importance=LOW, idle=True),
    long("metrics.sample.window.ms", 30_000, "Length of such a sample.", at_least(1), importance=LOW, idle=True),
    string(
        "metrics.recording.level",
        "INFO",
        "Detail of the metrics.",
        one_of("INFO", "DEBUG", "TRACE"),
        importance=LOW,
        idle=True,
    ),
    items("kafka.metrics.reporters", [], "Older name for reporters.", importance=LOW, idle=True),
    integer(
        "kafka.metrics.polling.interval.secs",
        10,
        "Time between two of their looks.",
        at_least(1),
        importance=LOW,
        idle=True,
    ),
    boolean("auto.include.jmx.reporter", True, "Reports metrics over JMX.", importance=LOW, idle=True),
    integer("telemetry.max.bytes", 1 << 20, "Largest client telemetry push.", at_least(1), importance=LOW, idle=True),
    items("config.providers", [], "Providers of indirect values.", scope=CLUSTER_WIDE, importance=LOW, idle=True),
)
