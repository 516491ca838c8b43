"""What the demonstrations stand on: a small Spark that starts quickly, one for all of the process, and their topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

    from caudal.runtime.spark.host import SparkHost

# A demonstration lives for minutes: the second compiler would cost more seconds and memory than it wins.
SPARK = {
    "spark.driver.memory": "288m",
    "spark.testing.reservedMemory": str(64 << 20),  # of the heap, for Spark itself; it asks for 300 MB else
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k -XX:ReservedCodeCacheSize=64m",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
}
THREADS = 1


def demo_host(threads: int = THREADS) -> SparkHost:
    from caudal.runtime.spark.host import SparkHost

    return SparkHost(threads=threads, spark_config=dict(SPARK))


def spark_session() -> Any:
    """The session that the host has opened."""
    from caudal.runtime.spark.session import open_session

    session, _ = open_session(None, THREADS, dict(SPARK))
    return session


def create_topics(admin: AdminClient, wanted: Mapping[str, tuple[int, dict[str, str]]]) -> None:
    """Makes those that are not there: name → partitions and configuration."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import NewTopic

    new = [NewTopic(name, count, -1, config=config) for name, (count, config) in wanted.items()]
    for future in admin.create_topics(new, operation_timeout=15, request_timeout=30).values():
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
