"""The Spark session that hosts applications: made here with what they need, or taken as it is where there is one
already.

What matters: the Kafka connector's jars, the workers' Python being this one, retries of failed tasks (local[N,4]), a
checkpoint manager that renames files instead of asking the file system three times, and nothing listening beyond this
machine.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import psutil

from caudal import jars
from caudal.runtime.errors import StreamsError

RETRIES = 4
CHECKPOINT_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_CHECKPOINT = "caudal-checkpoint-"
_lock = threading.Lock()


def is_local(master: str) -> bool:
    return master.startswith("local")


def local_master(slots: int) -> str:
    return f"local[{max(slots, 1)},{RETRIES}]"


def check_installation() -> None:
    """Says in one sentence what is missing, before Spark says it in forty lines."""
    if importlib.util.find_spec("pyspark") is None:
        raise StreamsError("PySpark is not installed: pip install 'caudal[spark]'.")
    try:
        java = jars.java()
    except jars.JarError as error:
        raise StreamsError(f"Spark needs Java: {error}") from None
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StreamsError(f"Spark needs Java, and {java} does not run: {error}.") from None
    version = _java_version(told)
    if version is not None and version < 17:
        raise StreamsError(
            f"Spark needs Java 17 or newer, and {java} is Java {version}: install one and set JAVA_HOME."
        )


def _java_version(told: str) -> int | None:
    """'openjdk version "17.0.15" …' → 17; None where the text is unknown."""
    _, quote, rest = told.partition('"')
    numbers = rest.partition('"')[0].split(".")
    try:
        return int(numbers[1] if numbers[0] == "1" else numbers[0].split("-")[0]) if quote else None
    except (ValueError, IndexError):
        return None


def connector_jars() -> list[Path]:
    try:
        return jars.fetch("spark")
    except jars.JarError as error:
        raise StreamsError(f"Spark's Kafka connector is missing: {error}") from None


def python_path() -> str:
    """Where the workers find Caudal and what lies beside the program: this process's own places."""
    source = str(Path(__file__).resolve().parents[3])
    places = [source, *(os.path.abspath(place) for place in sys.path if os.path.isdir(place or "."))]
    unwanted = (sys.prefix, sys.base_prefix)
    kept = [place for place in dict.fromkeys(places) if place == source or not place.startswith(unwanted)]
    return os.pathsep.join(kept)


def open_session(master: str | None, slots: int, config: dict[str, str] | None = None) -> tuple[Any, bool]:
    """A session, and whether it was made here (and is ours to stop)."""
    with _lock:
        check_installation()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession() or SparkSession._instantiatedSession
        if active is not None and active.sparkContext._jsc is not None:
            _check_connector(active)
            return active, False
        chosen = master or local_master(slots)
        builder = SparkSession.builder.master(chosen).appName("caudal")
        for name, value in {**_config(chosen), **(config or {})}.items():
            builder = builder.config(name, value)
        try:
            session = builder.getOrCreate()
        except Exception as error:
            text = " ".join(str(error).split())
            raise StreamsError(f"Spark did not start on {chosen}: {text[:300]}") from error
        session.sparkContext.setLogLevel("OFF" if not os.environ.get("CAUDAL_DEBUG") else "WARN")
        return session, True


def _config(master: str) -> dict[str, str]:
    config = {
        "spark.jars": ",".join(str(path) for path in connector_jars()),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.python.worker.reuse": "true",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINT_MANAGER,
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.streaming.numRecentProgressUpdates": "20",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "caudal-warehouse"),
        "spark.executorEnv.PYTHONPATH": python_path(),
        "spark.task.maxFailures": str(RETRIES),
    }
    if is_local(master):
        config["spark.driver.bindAddress"] = config["spark.driver.host"] = "127.0.0.1"
    return config


def is_alive(session: Any) -> bool:
    """Whether its JVM still answers."""
    try:
        session.sparkContext._jvm.System.currentTimeMillis()
    except Exception:  # py4j's own, or the socket's
        return False
    return True


def _check_connector(session: Any) -> None:
    """A session that somebody else made may lack the connector; it can be added while it runs."""
    try:
        session.sparkContext._jvm.java.lang.Class.forName(
            "org.apache.spark.sql.kafka010.KafkaSourceProvider",
            True,
            session.sparkContext._jvm.java.lang.Thread.currentThread().getContextClassLoader(),
        )
    except Exception:
        for path in connector_jars():
            session.sql(f"ADD JAR '{path}'")


def checkpoint_folder() -> Path:
    """A new folder for Spark's checkpoint, in memory where the system has it: the checkpoint is disposable."""
    memory = Path("/dev/shm")
    parent = memory if memory.is_dir() and os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    for former in parent.glob(f"{_CHECKPOINT}*-*"):
        pid = former.name.removeprefix(_CHECKPOINT).partition("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):  # its owner was killed
            shutil.rmtree(former, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_CHECKPOINT}{os.getpid()}-", dir=parent))
