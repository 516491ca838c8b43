"""Broker properties of identity, listeners, connections and request handling."""

from __future__ import annotations

from typing import Final

from caudal.broker.config.broker_tables.rows import (
    CLUSTER_WIDE,
    HIGH,
    LOW,
    PER_BROKER,
    boolean,
    class_name,
    integer,
    items,
    long,
    string,
)
from caudal.broker.config.definition import INT_MAX, Limit, at_least, items_of, not_empty
from caudal.broker.schemas.http_get import url_fault

_PROTOCOLS: Final = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"

_REGISTRY_URLS: Final = Limit(
    lambda urls: not any(map(url_fault, urls)), "a list of http:// or https:// addresses without user names"
)

NETWORK: Final = (
    # Who this broker is.
    integer("node.id", 1, "Number of this broker, unique in its cluster.", at_least(0), importance=HIGH),
    integer("broker.id", -1, "Older name of node.id; used when node.id is not set.", importance=HIGH),
    string("broker.rack", None, "Where this broker stands (a rack, a zone); clients and placement can prefer it."),
    items(
        "process.roles",
        ["broker", "controller"],
        "What this process does: carry data (broker), carry metadata (controller), or both.",
        items_of("broker", "controller"),
        importance=HIGH,
        idle=True,
    ),
    boolean("broker.id.generation.enable", True, "Lets ZooKeeper hand out a broker number.", idle=True),
    integer("reserved.broker.max.id", 1000, "Highest number a person may give to a broker.", at_least(0), idle=True),
    # Where it listens.
    items(
        "listeners",
        ["PLAINTEXT://127.0.0.1:9092"],
        "Addresses to listen on, each NAME://host:port. Empty host or 0.0.0.0 means every interface.",
        not_empty(),
        scope=PER_BROKER,
        importance=HIGH,
    ),
    items(
        "advertised.listeners",
        None,
        "Addresses told to clients, when they differ from where the broker listens (containers, NAT).",
        not_empty(),
        importance=HIGH,
    ),
    string(
        "listener.security.protocol.map",
        _PROTOCOLS,
        "Security protocol of each listener name, as NAME:PROTOCOL pairs.",
        scope=PER_BROKER,
        importance=LOW,
    ),
    string("inter.broker.listener.name", None, "Listener that brokers use among themselves.", idle=True),
    string("security.inter.broker.protocol", "PLAINTEXT", "Security protocol among brokers.", idle=True),
    items("early.start.listeners", None, "Listeners opened before authorization is ready.", importance=HIGH, idle=True),
    # Sockets and connections.
    integer(
        "socket.send.buffer.bytes",
        102400,
        "Send buffer of client sockets; -1 leaves it to the operating system.",
        importance=HIGH,
        idle=True,
    ),
    integer(
        "socket.receive.buffer.bytes",
        102400,
        "Receive buffer of client sockets; -1 leaves it to the operating system.",
        importance=HIGH,
        idle=True,
    ),
    integer(
        "socket.request.max.bytes",
        100 << 20,
        "Largest request accepted; a larger one closes its connection.",
        at_least(1),
        importance=HIGH,
    ),
    integer("socket.listen.backlog.size", 50, "Connections the system may hold before accept.", at_least(1), idle=True),
    integer(
        "max.connections",
        INT_MAX,
        "Connections open at one time; further ones are closed at once.",
        at_least(0),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    integer(
        "max.connections.per.ip",
        INT_MAX,
        "Connections open at one time from one address.",
        at_least(0),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    string(
        "max.connections.per.ip.overrides",
        "",
        "Exceptions to max.connections.per.ip, as address:count pairs.",
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    integer(
        "max.connection.creation.rate",
        INT_MAX,
        "New connections per second.",
        at_least(0),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    long("connections.max.idle.ms", 600_000, "Time after which a silent connection is closed."),
    integer(
        "connection.failed.authentication.delay.ms",
        100,
        "Pause before a connection that failed to authenticate is closed.",
        at_least(0),
        importance=LOW,
        idle=True,
    ),
    # Requests.
    integer(
        "num.network.threads",
        3,
        "Threads that move bytes.",
        at_least(1),
        scope=CLUSTER_WIDE,
        importance=HIGH,
        idle=True,
    ),
    integer(
        "num.io.threads",
        8,
        "Threads for blocking disk work.",
        at_least(1),
        scope=CLUSTER_WIDE,
        importance=HIGH,
        idle=True,
    ),
    integer(
        "background.threads",
        10,
        "Threads for background tasks.",
        at_least(1),
        scope=CLUSTER_WIDE,
        importance=HIGH,
        idle=True,
    ),
    integer(
        "queued.max.requests", 500, "Requests waiting before reading pauses.", at_least(1), importance=HIGH, idle=True
    ),
    long("queued.max.request.bytes", -1, "Bytes of waiting requests before reading pauses; -1 is no limit.", idle=True),
    integer("request.timeout.ms", 30000, "Longest wait for an answer of another broker.", importance=HIGH, idle=True),
    long("socket.connection.setup.timeout.ms", 10000, "Wait for a connection to another broker.", idle=True),
    long("socket.connection.setup.timeout.max.ms", 30000, "Longest such wait after retries.", idle=True),
    integer(
        "fetch.max.bytes",
        55 << 20,
        "Most bytes one Fetch response carries, whatever the client asks for.",
        at_least(1024),
    ),
    integer("max.incremental.fetch.session.cache.slots", 1000, "Fetch sessions remembered at one time.", at_least(0)),
    integer(
        "max.request.partition.size.limit",
        2000,
        "Partitions that one DescribeTopicPartitions response may carry.",
        at_least(1),
    ),
    integer("fetch.purgatory.purge.interval.requests", 1000, "Housekeeping interval of waiting fetches.", idle=True),
    integer(
        "producer.purgatory.purge.interval.requests", 1000, "Housekeeping interval of waiting produces.", idle=True
    ),
    integer("delete.records.purgatory.purge.interval.requests", 1, "Housekeeping interval of waits.", idle=True),
    items(
        "confluent.schema.registry.url",
        [],
        "Addresses of the schema registry, for topics whose records must carry a registered schema.",
        _REGISTRY_URLS,
        importance=HIGH,
    ),
    class_name("principal.builder.class", None, "Class that names the caller.", scope=PER_BROKER, idle=True),
)
