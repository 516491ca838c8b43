"""Kafka as pages ask it: the admin client's requests as coroutines that raise UiError, and consumers and producers.

Metadata of the cluster is kept for a moment, because several parts of a page ask for it at once. What only one page
needs (resetting offsets, browsing messages) is in that page's own service, built on `call` and `ask`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from caudal.ui.services.errors import UiError, kafka_error
from caudal.ui.words import t

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, ClusterMetadata, ConfigEntry, ConfigResource, OffsetSpec

ANSWER_SECONDS = 5.0
METADATA_SECONDS = 1.0  # how long an answer about the cluster stays good
THREADS = 32  # at most; live tails of several visitors each hold one

T = TypeVar("T")
P = ParamSpec("P")


class Kafka:
    def __init__(self, config: Mapping[str, Any], bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.config: dict[str, Any] = {
            "client.id": "caudal-ui",
            "log_level": 0,
            "bootstrap.servers": bootstrap,
            **config,
        }
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="kafka")
        self._admin: AdminClient | None = None
        self._metadata: tuple[float, ClusterMetadata] | None = None
        self._asking: tuple[float, asyncio.Future[ClusterMetadata]] | None = None

    @property
    def admin(self) -> AdminClient:
        """One for the whole process, and as many connections as there are brokers."""
        if self._admin is None:
            from confluent_kafka.admin import AdminClient

            # Idle connections are kept: opening one per page visit would cost more than keeping it.
            self._admin = AdminClient({**self.config, "socket.timeout.ms": int(ANSWER_SECONDS * 1000)})
        return self._admin

    def consumer(self, **properties: Any) -> Consumer:
        """A consumer of no group's offsets, unless `group_id` names one. Blocking: use it in `call`; close it."""
        from confluent_kafka import Consumer

        given = {name.replace("_", "."): value for name, value in properties.items()}
        defaults = {"group.id": "caudal-ui", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        return Consumer({**self.config, **defaults, **given})

    def producer(self, **properties: Any) -> Producer:
        from confluent_kafka import Producer

        return Producer({**self.config, **{name.replace("_", "."): value for name, value in properties.items()}})

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """A blocking function in a thread, with Kafka's errors as UiError."""
        from confluent_kafka import KafkaException

        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, lambda: function(*args, **kwargs))
        except KafkaException as error:
            raise self.explain(error) from None

    async def ask(self, future: Future[T]) -> T:
        """The result of one admin request."""
        from confluent_kafka import KafkaException

        try:
            async with asyncio.timeout(ANSWER_SECONDS * 2):
                return await asyncio.wrap_future(future)
        except KafkaException as error:
            raise self.explain(error) from None
        except TimeoutError:
            raise self.silent() from None

    async def ask_all(self, futures: Mapping[Any, Future[T]]) -> dict[Any, T]:
        """The results of a request that answers for several things; the first failure is raised."""
        answers = await asyncio.gather(*(self.ask(future) for future in futures.values()), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return dict(zip(futures, answers, strict=True))

    def explain(self, error: Exception) -> UiError:
        from confluent_kafka import KafkaError

        cause = error.args[0] if error.args and isinstance(error.args[0], KafkaError) else None
        return kafka_error(cause, self.bootstrap) if cause is not None else UiError(str(error))

    def silent(self) -> UiError:
        return UiError(t("The broker at {bootstrap} does not answer.", bootstrap=self.bootstrap))

    # ------------------------------------------------------------------ the cluster and its topics

    async def cluster(self, fresh: bool = False) -> ClusterMetadata:
        """Brokers, controller and every topic with its partitions; at most a second old unless asked fresh."""
        now = time.monotonic()
        if not fresh and self._metadata is not None and now - self._metadata[0] < METADATA_SECONDS:
            return self._metadata[1]
        # Parts of a page that ask at the same time share one request.
        if self._asking is None or fresh or now - self._asking[0] > METADATA_SECONDS:
            self._asking = now, asyncio.ensure_future(self._ask_cluster(now))
        return await asyncio.shield(self._asking[1])

    async def _ask_cluster(self, began: float) -> ClusterMetadata:
        try:
            answer: ClusterMetadata = await self.call(lambda: self.admin.list_topics(timeout=ANSWER_SECONDS))
            if self._metadata is None or self._metadata[0] < began:  # a slow answer is older than a quick one
                self._metadata = (began, answer)
            return answer
        finally:
            if self._asking is not None and self._asking[0] == began:
                self._asking = None

    async def topics(self, fresh: bool = False) -> list[str]:
        """The names, in order."""
        return sorted((await self.cluster(fresh)).topics)

    def forget(self) -> None:
        """What is known of the cluster has just been changed."""
        self._metadata = None

    async def configs(self, resource: ConfigResource) -> dict[str, ConfigEntry]:
        """Every configuration of a topic or a broker by its name."""
        (entries,) = (await self.ask_all(self.admin.describe_configs([resource]))).values()
        return dict(entries)

    async def topic_configs(self, topic: str) -> dict[str, ConfigEntry]:
        from confluent_kafka.admin import ConfigResource, ResourceType

        return await self.configs(ConfigResource(ResourceType.TOPIC, topic))

    async def broker_configs(self, broker_id: int) -> dict[str, ConfigEntry]:
        from confluent_kafka.admin import ConfigResource, ResourceType

        return await self.configs(ConfigResource(ResourceType.BROKER, str(broker_id)))

    async def offsets(self, wanted: Mapping[TopicPartition, OffsetSpec]) -> dict[tuple[str, int], int]:
        """The offsets at these positions in one ListOffsets request; partitions that cannot say are left out."""
        if not wanted:
            return {}
        futures = self.admin.list_offsets(dict(wanted), request_timeout=ANSWER_SECONDS)
        answers = await asyncio.gather(*(self.ask(future) for future in futures.values()), return_exceptions=True)
        return {
            (partition.topic, partition.partition): int(answer.offset)
            for partition, answer in zip(futures, answers, strict=True)
            if not isinstance(answer, BaseException)
        }

    async def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        from confluent_kafka import TopicPartition
        from confluent_kafka.admin import OffsetSpec

        return await self.offsets({TopicPartition(*partition): OffsetSpec.latest() for partition in partitions})

    async def first_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        from confluent_kafka import TopicPartition
        from confluent_kafka.admin import OffsetSpec

        return await self.offsets({TopicPartition(*partition): OffsetSpec.earliest() for partition in partitions})

    # ------------------------------------------------------------------ groups

    async def groups(self) -> list[Any]:
        """Every consumer group as the brokers list it (ConsumerGroupListing)."""
        answer = await self.ask(self.admin.list_consumer_groups(request_timeout=ANSWER_SECONDS))
        return sorted(answer.valid, key=lambda group: str(group.group_id))

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._admin = None
