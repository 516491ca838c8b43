"""Broker properties of tiered storage. There is none here: these only let a file that has them start.

`remote.log.storage.system.enable` may not be true, for then the file would expect what this broker cannot do.
"""

from __future__ import annotations

from typing import Final

from caudal.broker.config.broker_tables.rows import CLUSTER_WIDE, LOW, boolean, integer, long, string
from caudal.broker.config.definition import LONG_MAX, Limit, at_least

_OFF: Final = Limit(lambda value: not value, "false: this broker has no tiered storage")

TIERING: Final = (
    boolean("remote.log.storage.system.enable", False, "Switches tiered storage on.", _OFF, idle=True),
    string("remote.log.storage.manager.class.name", None, "Java class of the remote store.", idle=True),
    string("remote.log.storage.manager.class.path", None, "Where that class is.", idle=True),
    string("remote.log.storage.manager.impl.prefix", "rsm.config.", "Prefix of its properties.", idle=True),
    string("remote.log.metadata.manager.class.name", None, "Java class of the remote metadata.", idle=True),
    string("remote.log.metadata.manager.class.path", None, "Where that class is.", idle=True),
    string("remote.log.metadata.manager.impl.prefix", "rlmm.config.", "Prefix of its properties.", idle=True),
    string("remote.log.metadata.manager.listener.name", None, "Listener it uses.", idle=True),
    integer(
        "remote.log.metadata.custom.metadata.max.bytes",
        128,
        "Largest note of the store on a segment.",
        at_least(0),
        importance=LOW,
        idle=True,
    ),
    long(
        "remote.log.index.file.cache.total.size.bytes",
        1 << 30,
        "Local room for remote indexes.",
        at_least(1),
        scope=CLUSTER_WIDE,
        importance=LOW,
        idle=True,
    ),
    long("remote.log.manager.task.interval.ms", 30_000, "Time between copies.", at_least(1), importance=LOW, idle=True),
    integer("remote.log.manager.thread.pool.size", 2, "Threads of the copier.", at_least(1), idle=True),
    integer(
        "remote.log.manager.copier.thread.pool.size",
        10,
        "Threads that copy segments away.",
        at_least(1),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    integer(
        "remote.log.manager.expiration.thread.pool.size",
        10,
        "Threads that drop remote segments.",
        at_least(1),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    integer(
        "remote.log.manager.follower.thread.pool.size",
        2,
        "Threads of followers.",
        at_least(1),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    long(
        "remote.log.manager.copy.max.bytes.per.second",
        LONG_MAX,
        "Bytes per second to the remote store.",
        at_least(1),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    integer("remote.log.manager.copy.quota.window.num", 11, "Samples kept for that.", at_least(1), idle=True),
    integer("remote.log.manager.copy.quota.window.size.seconds", 1, "Length of a sample.", at_least(1), idle=True),
    long(
        "remote.log.manager.fetch.max.bytes.per.second",
        LONG_MAX,
        "Bytes per second from the remote store.",
        at_least(1),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    integer("remote.log.manager.fetch.quota.window.num", 11, "Samples kept for that.", at_least(1), idle=True),
    integer("remote.log.manager.fetch.quota.window.size.seconds", 1, "Length of a sample.", at_least(1), idle=True),
    integer("remote.log.reader.max.pending.tasks", 100, "Remote reads that may wait.", at_least(1), idle=True),
    integer("remote.log.reader.threads", 10, "Threads of remote reads.", at_least(1), scope=CLUSTER_WIDE, idle=True),
    integer(
        "remote.fetch.max.wait.ms", 500, "Longest wait for a remote read.", at_least(1), scope=CLUSTER_WIDE, idle=True
    ),
    long(
        "remote.list.offsets.request.timeout.ms",
        30_000,
        "Longest wait for a remote offset.",
        at_least(1),
        scope=CLUSTER_WIDE,
        idle=True,
    ),
    boolean(
        "follower.fetch.last.tiered.offset.enable",
        False,
        "Lets a new follower begin behind the tiered part.",
        scope=CLUSTER_WIDE,
        idle=True,
    ),
)
