"""Spark's classes as the JVM wants them in memory, so that a session starts in half the time.

A JVM can map an archive of classes instead of reading, checking and linking them one by one (class data sharing). The
archive is made once, from what a small application loads, and belongs to one Java, one Spark and one set of jars; the
JVM checks that itself and does without where something differs. `python -m caudal.runtime.spark.class_archive` makes it
(half a minute, 150 MB); whoever does not, loses seconds at each start and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from caudal import jars

SILENT = "-Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off"
JVM_SECONDS = 120.0


def path() -> Path:
    """Where the archive for this Java, this Spark and these jars is, or would be."""
    import pyspark

    java = Path(jars.java()).resolve()
    told = f"{java} {java.stat().st_mtime_ns} {pyspark.__file__} {pyspark.__version__} {jars.class_path('spark')}"
    return jars.folder().parent / "class-archives" / f"spark-{hashlib.sha256(told.encode()).hexdigest()[:16]}.jsa"


def java_options() -> str:
    """Options of a JVM that is about to start; none where there is no archive."""
    try:
        archive = path()
        return f"-XX:SharedArchiveFile={archive} {SILENT}" if archive.is_file() else ""
    except (OSError, jars.JarError):
        return ""


def make() -> Path:
    """Runs a small application and lets its JVM write the archive as it ends."""
    from caudal.runtime.spark.session import open_session

    archive = path()
    archive.parent.mkdir(parents=True, exist_ok=True)
    written = archive.with_suffix(f".{os.getpid()}")
    options = {"spark.driver.extraJavaOptions": f"-XX:ArchiveClassesAtExit={written} {SILENT}"}
    session, _ = open_session(None, 2, options)
    gateway = session.sparkContext._gateway
    try:
        _run_something()
    finally:
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(JVM_SECONDS)
    if not written.is_file():
        raise RuntimeError("this Java does not write class archives")
    for former in archive.parent.glob("spark-*.jsa"):
        former.unlink()
    written.replace(archive)
    return archive


def _run_something() -> None:
    """A count over a repartition topic, exactly once: what most applications load."""
    from confluent_kafka import Producer

    from caudal.serde import Long, String
    from caudal.streams import StreamsBuilder
    from caudal.streams.application import Application
    from caudal.testing import embedded_broker

    builder = StreamsBuilder("class-archive")
    lines = builder.stream("lines", key=String(), value=String())
    lines.select_key(lambda key, line: line).group_by_key().count().to("counts", value=Long())
    folder = tempfile.mkdtemp(prefix="caudal-archive-")
    try:
        with embedded_broker() as broker:
            for topic in ("lines", "counts"):
                broker.create_topic(topic, 2)
            application: Any = Application(builder, bootstrap=broker.bootstrap, threads=2, state_dir=folder).start()
            producer = Producer({"bootstrap.servers": broker.bootstrap})
            for number in range(4):
                producer.produce("lines", f"line {number % 2}", str(number))
                producer.flush(10)
                time.sleep(0.5)
            deadline = time.monotonic() + 60
            while application.metrics()["records"] < 8 and time.monotonic() < deadline:
                time.sleep(0.1)
            application.stop()
            application.raise_failure()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if not path().is_file():
        print("Preparing Spark for a quick start", file=sys.stderr)
        make()
