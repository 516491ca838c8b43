"""The Spark of the demonstrations: small, quick to start, and one for all applications of the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caudal.runtime.spark.host import SparkHost

# A demonstration lives for minutes: the second compiler would cost more seconds and memory than it wins.
SPARK = {
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k -XX:MaxMetaspaceSize=256m",
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
