"""Samples the cluster every few seconds into the history, and keeps the samples in a topic for the next start.

A sample is one Metadata and one ListOffsets request, the committed offsets of some groups, and the brokers' /metrics
where they answer. It may take a twentieth of the time: after a slow one (thousands of topics) the next comes later.
What the topic keeps is a day, one small record per sample. A cluster that refuses the topic is sampled all the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from caudal.ui.history import History
from caudal.ui.rates import Partition, counter_rate, message_rates, parse_metrics, quantile
from caudal.ui.services.errors import UiError
from caudal.ui.services.http import Http
from caudal.ui.services.kafka import ANSWER_SECONDS, Kafka

if TYPE_CHECKING:
    from confluent_kafka import Producer
    from confluent_kafka.admin import ClusterMetadata

TOPIC = "_caudal_metrics"
TOPIC_CONFIG = {
    "cleanup.policy": "delete",
    "retention.ms": str(24 * 3600 * 1000),
    "segment.ms": str(6 * 3600 * 1000),
    "segment.bytes": str(16 * 1024 * 1024),
}
EVERY_SECONDS = 5.0
SHARE_OF_TIME = 0.05
LONGEST_SECONDS = 60.0
GROUPS_PER_SAMPLE = 40
METRICS_PORT = 9404
READ_BACK_SECONDS = 10.0
DIGITS = 4

REQUESTS = "caudal_requests_total"
BYTES_IN = "caudal_request_bytes_total"
BYTES_OUT = "caudal_response_bytes_total"
LATENCY = "caudal_request_duration_seconds_bucket"
INFO = "caudal_info"

# One figure: its name, its labels, its value.
Figure = tuple[str, dict[str, str], float]

log = logging.getLogger("caudal.ui")


class Sampler:
    def __init__(
        self,
        history: History,
        kafka: Kafka,
        metrics: Sequence[str] = (),
        keep: bool = True,
        every: float = EVERY_SECONDS,
    ) -> None:
        self.history = history
        self.samples = 0
        self.broker_version: str | None = None  # where its /metrics says so
        self._kafka = kafka
        self._given = list(metrics)
        self._pages: dict[str, Http] = {}
        self._silent: set[str] = set()
        self._keep = keep
        self._every = every
        self._ends: dict[Partition, int] = {}
        self._ends_at = 0.0
        self._scraped: dict[str, dict[str, dict[Any, float]]] = {}
        self._scraped_at = 0.0
        self._scrape_again = 0.0
        self._group_turn = 0
        self._producer: Producer | None = None
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._running = asyncio.get_running_loop().create_task(self._run(), name="sampler")

    async def stop(self) -> None:
        """Safe when it was never started. The last samples are written."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait({self._running})
            self._running = None
        producer, self._producer = self._producer, None
        if producer is not None:
            with contextlib.suppress(UiError):
                await self._kafka.call(producer.flush, 2.0)
        for page in self._pages.values():
            await page.close()

    async def _run(self) -> None:
        if self._keep:
            await self._open_topic()
        while True:
            started = time.monotonic()
            try:
                self._take(await self._sample(), time.time())
            except UiError:
                self._ends.clear()  # the cluster is away; rates begin anew when it is back
            except Exception:
                log.exception("a sample of the cluster failed")
            took = time.monotonic() - started
            await asyncio.sleep(pause(took, self._every))

    async def _sample(self) -> list[Figure]:
        cluster = await self._kafka.cluster(fresh=True)
        figures = await self._messages(cluster)
        figures += await self._requests(cluster)
        figures += await self._lags()
        return figures

    def _take(self, figures: list[Figure], at: float) -> None:
        self.samples += 1
        for name, labels, value in figures:
            self.history.add(name, value, labels, at)
        if self._producer is not None and figures:
            # What is zero and has no history is left out: two thousand idle topics make no record grow.
            told = [figure for figure in figures if figure[2] or not figure[1] or self._was_busy(figure, at)]
            self._producer.produce(TOPIC, value=orjson.dumps([round(at, 3), told]), on_delivery=_quiet)
            self._producer.poll(0)

    def _was_busy(self, figure: Figure, at: float) -> bool:
        points = self.history.series(figure[0], figure[1], at - 4 * self._every)
        return any(point.value for point in points)

    # ------------------------------------------------------------------ what a sample is made of

    async def _messages(self, cluster: ClusterMetadata) -> list[Figure]:
        wanted = [
            (name, number)
            for name, topic in cluster.topics.items()
            for number, partition in topic.partitions.items()
            if partition.leader >= 0
        ]
        ends = await self._kafka.end_offsets(wanted)
        now = time.monotonic()
        before, seconds = self._ends, now - self._ends_at
        self._ends, self._ends_at = ends, now
        short = sum(
            len(partition.isrs) < len(partition.replicas)
            for topic in cluster.topics.values()
            for partition in topic.partitions.values()
        )
        figures: list[Figure] = [("under_replicated", {}, short), ("brokers", {}, len(cluster.brokers))]
        if not before:
            return figures
        rates = message_rates(before, ends, seconds)
        figures.append(("messages_per_second", {}, round(sum(rates.values()), DIGITS)))
        for topic, rate in rates.items():
            # An idle topic that never had a message while we looked needs no series.
            if rate or self.history.latest("messages_per_second", {"topic": topic}) is not None:
                figures.append(("messages_per_second", {"topic": topic}, round(rate, DIGITS)))
        return figures

    async def _requests(self, cluster: ClusterMetadata) -> list[Figure]:
        """Bytes and latencies of the brokers whose /metrics answer as Caudal's do."""
        started = time.monotonic()
        if started < self._scrape_again:
            return []
        urls = self._given or [f"http://{broker.host}:{METRICS_PORT}/metrics" for broker in cluster.brokers.values()]
        scraped = {}
        for url in urls:
            page = await self._scrape(url)
            if page is not None:
                scraped[url] = page
        now = time.monotonic()
        before, seconds = self._scraped, now - self._scraped_at
        self._scraped, self._scraped_at = scraped, now
        self._scrape_again = now + pause(now - started, 0.0)
        return request_figures(before, scraped, seconds)

    async def _scrape(self, url: str) -> dict[str, dict[Any, float]] | None:
        if url in self._silent:
            return None
        if url not in self._pages:
            self._pages[url] = Http(url, "metrics")
        try:
            text = await self._pages[url].request("GET", url, timeout=ANSWER_SECONDS)
        except UiError:
            # One that was given may come back; one that was guessed is somebody else's, or nobody's.
            if url not in self._given:
                self._silent.add(url)
            return None
        if not isinstance(text, str) or REQUESTS not in text:
            self._silent.add(url)
            return None
        page = parse_metrics(text, (REQUESTS, BYTES_IN, BYTES_OUT, LATENCY, INFO))
        for labels in page[INFO]:
            self.broker_version = dict(labels).get("version")
        return page

    async def _lags(self) -> list[Figure]:
        """Of some groups: the others have their turn in the next samples."""
        names = [str(group.group_id) for group in await self._kafka.groups()]
        if not names:
            return []
        start = self._group_turn % len(names)
        turn = (names[start:] + names[:start])[:GROUPS_PER_SAMPLE]
        self._group_turn = start + len(turn)
        lags = await asyncio.gather(*(self._lag(name) for name in turn))
        return [("group_lag", {"group": name}, lag) for name, lag in zip(turn, lags, strict=True) if lag is not None]

    async def _lag(self, group: str) -> float | None:
        from confluent_kafka import ConsumerGroupTopicPartitions

        try:
            futures = self._kafka.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
            (answer,) = (await self._kafka.ask_all(futures)).values()
        except UiError:
            return None
        committed = {
            (place.topic, place.partition): place.offset for place in answer.topic_partitions or () if place.offset >= 0
        }
        known = [max(0, self._ends[place] - offset) for place, offset in committed.items() if place in self._ends]
        return float(sum(known)) if known else None

    # ------------------------------------------------------------------ the topic

    async def _open_topic(self) -> None:
        try:
            cluster = await self._kafka.cluster()
            if TOPIC not in cluster.topics:
                await self._create(len(cluster.brokers))
            else:
                await self._kafka.call(self._read_back)
            self._producer = self._kafka.producer(**{"acks": "1", "linger.ms": 100, "message.timeout.ms": 10_000})
        except UiError as error:
            log.warning("the history is not kept in %s: %s", TOPIC, error.message)

    async def _create(self, brokers: int) -> None:
        from confluent_kafka.admin import NewTopic

        topic = NewTopic(TOPIC, 1, min(3, brokers), config=TOPIC_CONFIG)
        await self._kafka.ask_all(self._kafka.admin.create_topics([topic]))
        self._kafka.forget()

    def _read_back(self) -> None:
        """Every kept sample into the history. In a thread; the loop does not write yet."""
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        consumer = self._kafka.consumer(enable_partition_eof=False, fetch_wait_max_ms=50)
        deadline = time.monotonic() + READ_BACK_SECONDS
        try:
            place = TopicPartition(TOPIC, 0, OFFSET_BEGINNING)
            end = consumer.get_watermark_offsets(place, timeout=ANSWER_SECONDS)[1]
            consumer.assign([place])
            next_offset = 0
            while next_offset < end and time.monotonic() < deadline:
                for message in consumer.consume(1000, timeout=0.5):
                    if message.error() is None:
                        next_offset = message.offset() + 1
                        recall(self.history, message.value())
        finally:
            consumer.close()


def pause(took: float, every: float) -> float:
    """How long to rest after a sample that took so long."""
    return min(max(every - took, took / SHARE_OF_TIME), LONGEST_SECONDS)


def recall(history: History, record: bytes) -> None:
    """A kept sample back into the history. One that is not ours is passed over."""
    try:
        at, figures = orjson.loads(record)
        for name, labels, value in figures:
            history.add(str(name), float(value), labels, float(at))
    except (ValueError, TypeError, AttributeError):
        log.debug("a record of %s is not a sample", TOPIC)


def request_figures(
    before: Mapping[str, Mapping[str, Mapping[Any, float]]],
    after: Mapping[str, Mapping[str, Mapping[Any, float]]],
    seconds: float,
) -> list[Figure]:
    """What the brokers' pages say of the time between two scrapes, summed over the brokers that both have."""
    both = [url for url in after if url in before]
    if not both or seconds <= 0:
        return []
    figures: list[Figure] = []
    for name, metric, api in (
        ("bytes_in_per_second", BYTES_IN, "Produce"),
        ("bytes_out_per_second", BYTES_OUT, "Fetch"),
    ):
        rates = [counter_rate(_of(before[url], metric, api), _of(after[url], metric, api), seconds) for url in both]
        figures.append((name, {}, round(sum(rate or 0.0 for rate in rates), DIGITS)))
    for api in ("Produce", "Fetch"):
        old, new = (_summed([pages[url][LATENCY] for url in both], api) for pages in (before, after))
        for part in (0.5, 0.99):
            value = quantile(old, new, part)
            if value is not None:
                labels = {"api": api, "quantile": str(part)}
                figures.append(("request_latency_ms", labels, round(value * 1000, DIGITS)))
    return figures


def _of(page: Mapping[str, Mapping[Any, float]], metric: str, api: str) -> float | None:
    # A counter that is not there yet has counted nothing.
    return page[metric].get((("api", api),), 0.0)


def _summed(histograms: Sequence[Mapping[Any, float]], api: str) -> dict[float, float]:
    buckets: dict[float, float] = {}
    for histogram in histograms:
        for labels, count in histogram.items():
            known = dict(labels)
            if known.get("api") == api:
                bound = float(known["le"])
                buckets[bound] = buckets.get(bound, 0.0) + count
    return buckets


def _quiet(error: object, message: object) -> None:
    """A sample that could not be kept is not worth a word; the plots have it in memory."""
