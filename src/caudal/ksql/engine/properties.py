"""Properties of server and session: which there are, what they may be, and what holds for a statement.

A session's property may be written with or without `ksql.streams.`; a server's holds where the session has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from caudal.ksql.errors import KsqlError, suggestion

PREFIX = "ksql.streams."

OFFSET_RESET = "auto.offset.reset"
GUARANTEE = "processing.guarantee"
MAX_PUSH = "ksql.max.push.queries"
MAX_PERSISTENT = "ksql.persistent.query.limit"
PULL_ENABLED = "ksql.pull.queries.enable"
PULL_TABLE_SCAN = "ksql.query.pull.table.scan.enabled"
PULL_MAX_LAG = "ksql.query.pull.max.allowed.offset.lag"
PULL_WAIT = "ksql.query.pull.wait.ms"
INSERT_ENABLED = "ksql.insert.into.values.enabled"
TOPIC_PREFIX = "ksql.output.topic.name.prefix"
BATCH_THRESHOLD = "ksql.query.batch.spark.records"

MAX_LAG_DEFAULT = 9_223_372_036_854_775_807


@dataclass(frozen=True, slots=True)
class Known:
    """A property of the engine's own; `editable`: a session may set it."""

    default: Any
    kind: type = str
    choices: tuple[str, ...] = ()
    editable: bool = True


KNOWN: dict[str, Known] = {
    OFFSET_RESET: Known("latest", choices=("earliest", "latest")),
    GUARANTEE: Known("exactly_once_v2", choices=("exactly_once_v2", "exactly_once", "at_least_once", "at_most_once")),
    MAX_PUSH: Known(100, int, editable=False),
    MAX_PERSISTENT: Known(2_147_483_647, int, editable=False),
    PULL_ENABLED: Known(True, bool),
    PULL_TABLE_SCAN: Known(True, bool),
    PULL_MAX_LAG: Known(MAX_LAG_DEFAULT, int),
    PULL_WAIT: Known(10_000, int),
    BATCH_THRESHOLD: Known(200_000, int),
    INSERT_ENABLED: Known(True, bool),
    TOPIC_PREFIX: Known("", editable=False),
    "ksql.persistence.default.format.key": Known("KAFKA"),
    "ksql.persistence.default.format.value": Known(""),
    "ksql.persistence.wrap.single.values": Known(True, bool),
    "ksql.internal.topic.replicas": Known(-1, int, editable=False),
    "ksql.sink.partitions": Known(0, int),
    "ksql.sink.replicas": Known(0, int),
    "ksql.service.id": Known("default_", editable=False),
    "ksql.connect.url": Known("", editable=False),
    "ksql.schema.registry.url": Known("", editable=False),
    "ksql.fail.on.deserialization.error": Known(False, bool),
    "ksql.variable.substitution.enable": Known(True, bool),
    "ksql.headers.columns.enabled": Known(True, bool, editable=False),
    "ksql.create.or.replace.enabled": Known(True, bool),
    "ksql.suppress.enabled": Known(True, bool),
    "ksql.timestamp.throw.on.invalid": Known(False, bool),
    "ksql.properties.overrides.denylist": Known("", editable=False),
    "ksql.query.push.v2.enabled": Known(False, bool),
    "ksql.extension.dir": Known("ext", editable=False),
}

# Properties of Kafka Streams and its clients that sessions commonly set. They are kept with the query; those that have
# no counterpart here change nothing.
# fmt: off
CLIENT_PROPERTIES = frozenset({
    "cache.max.bytes.buffering", "statestore.cache.max.bytes", "commit.interval.ms", "num.stream.threads",
    "num.standby.replicas", "max.task.idle.ms", "replication.factor", "default.timestamp.extractor",
    "default.deserialization.exception.handler", "default.production.exception.handler", "topology.optimization",
    "state.dir", "max.poll.records", "max.poll.interval.ms", "session.timeout.ms", "heartbeat.interval.ms",
    "fetch.min.bytes", "fetch.max.bytes", "fetch.max.wait.ms", "max.partition.fetch.bytes", "request.timeout.ms",
    "isolation.level", "client.id", "linger.ms", "batch.size", "buffer.memory", "compression.type", "acks",
    "retries", "max.request.size", "max.block.ms", "delivery.timeout.ms", "max.in.flight.requests.per.connection",
    "enable.idempotence", "metadata.max.age.ms", "reconnect.backoff.ms", "retry.backoff.ms", "poll.ms",
    "task.timeout.ms", "windowstore.changelog.additional.retention.ms", "rocksdb.config.setter",
    "transaction.timeout.ms",
})
# fmt: on
_NEVER = frozenset({"application.id", "bootstrap.servers", "group.id", "transactional.id"})


def canonical(name: str) -> str:
    """
    >>> canonical("ksql.streams.auto.offset.reset")
    'auto.offset.reset'
    """
    bare = name.strip()
    return bare.removeprefix(PREFIX)


def is_valid(name: str) -> bool:
    """Whether a session may set it; what GET /is_valid_property asks."""
    bare = canonical(name)
    if bare in _NEVER:
        return False
    if bare in KNOWN:
        return KNOWN[bare].editable
    return without_client_prefix(bare) in CLIENT_PROPERTIES or bare.startswith("ksql.functions.")


def without_client_prefix(name: str) -> str:
    for prefix in ("consumer.", "producer.", "topic.", "main.consumer.", "restore.consumer.", "admin."):
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def checked(name: str, value: Any) -> tuple[str, Any]:
    """The canonical name and the typed value. Raises KsqlError."""
    bare = canonical(name)
    if not is_valid(name):
        if bare in _NEVER or bare in KNOWN:
            raise KsqlError(f"Cannot override property '{bare}': it is the server's.")
        known = [*KNOWN, *CLIENT_PROPERTIES]
        near = suggestion(bare, known).lower().replace("did", "Did") if suggestion(bare, known) else ""
        raise KsqlError(f"Not recognizable as ksql, streams, consumer, or producer property: '{bare}'.{near}")
    return bare, typed(bare, value)


def typed(bare: str, value: Any) -> Any:
    known = KNOWN.get(bare)
    if known is None:
        return value
    if known.kind is bool:
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("true", "false"):
            return str(value).lower() == "true"
        raise KsqlError(f"Invalid value {value} for property {bare}: true or false is needed.")
    if known.kind is int:
        try:
            return int(value)
        except (TypeError, ValueError):
            raise KsqlError(f"Invalid value {value} for property {bare}: a number is needed.") from None
    text = str(value)
    if known.choices and text.lower() not in known.choices:
        raise KsqlError(f"Invalid value {value} for property {bare}: it takes {', '.join(known.choices)}.")
    return text.lower() if known.choices else text


def checked_all(properties: Mapping[str, Any] | None) -> dict[str, Any]:
    return dict(checked(name, value) for name, value in (properties or {}).items() if value is not None)


class Properties:
    """What holds for one statement: the session's first, then ALTER SYSTEM, the server's, the default."""

    def __init__(self, session: Mapping[str, Any], system: Mapping[str, Any], server: Mapping[str, Any]) -> None:
        self.session = session
        self._system = system
        self._server = server

    def __getitem__(self, name: str) -> Any:
        for level in (self.session, self._system, self._server):
            for written in (name, PREFIX + name):
                if written in level:
                    return typed(name, level[written])
        return KNOWN[name].default if name in KNOWN else None

    def merged(self) -> dict[str, Any]:
        """Everything that is set anywhere, and the defaults of the engine's own: what the planner gets."""
        merged: dict[str, Any] = {name: known.default for name, known in KNOWN.items()}
        for level in (self._server, self._system, self.session):
            for name, value in level.items():
                merged[canonical(name)] = typed(canonical(name), value)
        return merged
