"""What the broker counts, and how a scrape shows it in Prometheus' text format.

Two halves. `observe` runs once per request on the event loop and must cost less than a microsecond: plain lists, no
locks, no labels, no library. A scrape reads those counters and the broker's own state (logs, groups, transactions)
into plain families (`families`, on the loop, in small steps), and only then builds Prometheus objects and text
(`render_families`, safe in a thread, since it touches nothing shared). prometheus_client is imported at the first
scrape: a broker that nobody scrapes does not pay for it.

Deliberately absent: rates and quantiles (Prometheus computes them), and series of topics that no longer exist.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from caudal import __version__
from caudal.broker.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from caudal.broker.broker import Broker

# Upper bounds in seconds. Fetch waits for data (long poll), so its higher buckets are patience, not slowness.
LATENCY_BOUNDS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
)

# Positions in a row: the counters of one API.
_COUNT, _SECONDS, _IN, _OUT, _BUCKETS = range(5)


class Metrics:
    """The broker's counters. Everything is changed and read on the event loop only."""

    __slots__ = ("_errors", "_rows", "_started", "connections")

    def __init__(self) -> None:
        self._rows: dict[int, list[Any]] = {}
        self._errors: Counter[tuple[int, int]] = Counter()
        self._started = time.time()
        self.connections = 0

    def observe(self, api_key: int, seconds: float, bytes_in: int, bytes_out: int, error: int = 0) -> None:
        """Count one answered request."""
        try:
            row = self._rows[api_key]
        except KeyError:
            row = self._rows[api_key] = [0, 0.0, 0, 0] + [0] * (len(LATENCY_BOUNDS) + 1)
        row[0] += 1
        row[1] += seconds
        row[2] += bytes_in
        row[3] += bytes_out
        row[4 + bisect_left(LATENCY_BOUNDS, seconds)] += 1
        if error:
            self._errors[api_key, int(error)] += 1

    def requests(self, api_key: int) -> int:
        """How many requests of this API were answered."""
        row = self._rows.get(api_key)
        return int(row[_COUNT]) if row else 0

    def errors(self, api_key: int) -> int:
        """How many of them carried an error code."""
        return sum(count for (api, _), count in list(self._errors.items()) if api == api_key)

    def families(self, broker: Broker | None) -> Iterator[Family | None]:
        """Every family with its samples, read from the counters and the broker.

        A None between asks the caller to let the loop breathe.
        """
        yield from self._request_families()
        yield Family("caudal_connections", "gauge", "Client connections open now.").one(self.connections)
        yield Family("caudal_start_time_seconds", "gauge", "When the broker started, in seconds since 1970.").one(
            self._started
        )
        yield from _process_families()
        if broker is None:
            return
        for read in (_broker_families, _partition_families, _group_families, _transaction_families):
            yield None
            yield from read(broker)

    def render(self, broker: Broker | None) -> bytes:
        """The whole page at once (tests, embedding). The server goes through `families` in steps instead."""
        return render_families([family for family in self.families(broker) if family is not None])

    def _request_families(self) -> Iterator[Family]:
        count = Family("caudal_requests_total", "counter", "Requests answered.", ("api",))
        received = Family("caudal_request_bytes_total", "counter", "Bytes of requests received.", ("api",))
        sent = Family("caudal_response_bytes_total", "counter", "Bytes of responses sent.", ("api",))
        latency = Family(
            "caudal_request_duration_seconds",
            "histogram",
            "From the request's last byte to its answer; Fetch and JoinGroup include waiting on purpose.",
            ("api",),
        )
        for api_key, row in list(self._rows.items()):
            labels = (api_name(api_key),)
            count.add(labels, row[_COUNT])
            received.add(labels, row[_IN])
            sent.add(labels, row[_OUT])
            latency.add(labels, (row[_SECONDS], tuple(row[_BUCKETS:])))
        errors = Family(
            "caudal_request_errors_total", "counter", "Responses that carried an error code.", ("api", "error")
        )
        for (api_key, code), amount in list(self._errors.items()):
            errors.add((api_name(api_key), error_name(code)), amount)
        yield from (count, received, sent, latency, errors)


class Family:
    """A metric and its samples as plain values, to cross from the event loop to the thread that makes text of them."""

    __slots__ = ("help", "kind", "labels", "name", "samples")

    def __init__(self, name: str, kind: str, help: str, labels: tuple[str, ...] = ()) -> None:
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
        self.samples: list[tuple[tuple[str, ...], Any]] = []

    def add(self, labels: tuple[str, ...], value: Any) -> None:
        self.samples.append((labels, value))

    def one(self, value: float) -> Family:
        self.samples.append(((), value))
        return self


def render_families(families: Iterable[Family]) -> bytes:
    """Prometheus' text for these families."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
    from prometheus_client.exposition import generate_latest
    from prometheus_client.registry import Collector, CollectorRegistry

    class Scrape(Collector):
        def collect(self) -> Iterator[Any]:
            for family in families:
                if family.kind == "histogram":
                    histogram = HistogramMetricFamily(family.name, family.help, labels=family.labels)
                    for labels, (total, counts) in family.samples:
                        histogram.add_metric(labels, _cumulative(counts), total)
                    yield histogram
                    continue
                factory = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
                metric = factory(family.name, family.help, labels=family.labels)
                for labels, value in family.samples:
                    metric.add_metric(labels, value)
                yield metric

    # auto_describe off: registering must not run a scrape of its own.
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Scrape())
    return bytes(generate_latest(registry))


def _cumulative(counts: tuple[int, ...]) -> list[tuple[str, float]]:
    buckets: list[tuple[str, float]] = []
    total = 0
    for bound, count in zip((*map(str, LATENCY_BOUNDS), "+Inf"), counts, strict=True):
        total += count
        buckets.append((bound, total))
    return buckets


def api_name(api_key: int) -> str:
    """Kafka's spelling of an API: `OffsetCommit`."""
    try:
        return "".join(part.capitalize() for part in ApiKey(api_key).name.split("_"))
    except ValueError:
        return f"Unknown{api_key}"


def error_name(code: int) -> str:
    """Kafka's spelling of an error code: `UNKNOWN_TOPIC_OR_PARTITION`."""
    from caudal.broker.errors import ErrorCode

    try:
        return ErrorCode(code).name.upper()
    except ValueError:
        return str(code)


def _process_families() -> Iterator[Family]:
    """Memory, CPU and open files, from /proc where there is one (names as Prometheus' own clients use them)."""
    times = os.times()
    yield Family("process_cpu_seconds_total", "counter", "CPU time used by the broker.").one(times.user + times.system)
    try:
        with open("/proc/self/statm", "rb") as statm:
            pages = int(statm.read().split()[1])
        files = len(os.listdir("/proc/self/fd"))
    except (OSError, IndexError, ValueError):
        return
    yield Family("process_resident_memory_bytes", "gauge", "Memory in use.").one(pages * os.sysconf("SC_PAGE_SIZE"))
    yield Family("process_open_fds", "gauge", "Open files and sockets.").one(files)


def _broker_families(broker: Broker) -> Iterator[Family]:
    info = Family("caudal_info", "gauge", "Which broker this is.", ("version", "node_id", "cluster_id"))
    info.add((__version__, str(broker.node_id), str(broker.cluster_id)), 1)
    yield info
    topics = broker.metadata.topics
    yield Family("caudal_topics", "gauge", "Topics, internal ones included.").one(len(topics))


# One row per partition: name, kind, help, how to read it.
_PARTITION_METRICS: tuple[tuple[str, str, str, Callable[[Any], float]], ...] = (
    ("caudal_log_size_bytes", "gauge", "Bytes of the partition's log.", lambda p: p.log.size),
    ("caudal_log_start_offset", "gauge", "First offset that can be read.", lambda p: p.log_start_offset),
    ("caudal_log_end_offset", "gauge", "Offset that the next record gets.", lambda p: p.log_end_offset),
    ("caudal_high_watermark", "gauge", "Offset up to which records are confirmed.", lambda p: p.high_watermark),
    (
        "caudal_last_stable_offset",
        "gauge",
        "Offset up to which transactions are decided.",
        lambda p: p.last_stable_offset,
    ),
    ("caudal_messages_in_total", "counter", "Records appended since the start.", lambda p: p.messages_in),
    ("caudal_partition_bytes_in_total", "counter", "Bytes appended since the start.", lambda p: p.bytes_in),
    ("caudal_partition_bytes_out_total", "counter", "Bytes fetched since the start.", lambda p: p.bytes_out),
)


def _partition_families(broker: Broker) -> Iterator[Family | None]:
    families = [Family(name, kind, text, ("topic", "partition")) for name, kind, text, _ in _PARTITION_METRICS]
    partitions = 0
    for topic in list(broker.metadata.topics):
        info = broker.metadata.topics.get(topic)
        for index in range(len(info.partitions) if info else 0):
            partition = broker.partition(topic, index)
            if partition is None:
                continue
            partitions += 1
            labels = (topic, str(index))
            for family, (_, _, _, read) in zip(families, _PARTITION_METRICS, strict=True):
                family.samples.append((labels, read(partition)))
            if partitions % 200 == 0:
                yield None
    yield Family("caudal_partitions", "gauge", "Partitions on this broker.").one(partitions)
    yield from families


def _group_families(broker: Broker) -> Iterator[Family | None]:
    states = Family("caudal_groups", "gauge", "Consumer groups by state.", ("state",))
    for state, count in broker.groups.states().items():
        states.add((state,), count)
    members = Family("caudal_group_members", "gauge", "Members of a group.", ("group",))
    for name, group in list(broker.groups.groups.items()):
        members.add((name,), len(group.members))
    yield None
    place = ("group", "topic", "partition")
    committed = Family("caudal_group_committed_offset", "gauge", "Offset a group has committed.", place)
    lag = Family("caudal_group_lag", "gauge", "Records between a committed offset and the high watermark.", place)
    # The list is taken at once: offsets may be committed while this rests.
    for seen, (name, topic, index, offset) in enumerate(list(broker.groups.committed()), 1):
        labels = (name, topic, str(index))
        committed.add(labels, offset)
        partition = broker.partition(topic, index)
        if partition is not None:
            lag.add(labels, max(0, partition.high_watermark - offset))
        if seen % 500 == 0:
            yield None
    yield from (states, members, committed, lag)


def _transaction_families(broker: Broker) -> Iterator[Family]:
    states = Family("caudal_transactions", "gauge", "Transactional ids by the state of their transaction.", ("state",))
    for state, count in broker.transactions.count_by_state().items():
        states.add((state,), count)
    yield states
