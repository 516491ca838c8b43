"""The Spark session that hosts applications: made here with what they need, or taken as it is where there is one
already.

What matters: the Kafka connector's jars, the workers' Python being this one, retries of failed tasks (local[N,4]), a
checkpoint manager that renames files instead of asking the file system three times, and nothing listening beyond this
machine.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import io
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import psutil

from caudal import jars
from caudal.runtime.errors import StreamsError

RETRIES = 4
CHECKPOINT_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_CHECKPOINT = "caudal-checkpoint-"
_SOURCE = str(Path(__file__).resolve().parents[3])
SETTLED_SECONDS = 2.0
EXECUTOR_SECONDS = 60.0
_lock = threading.Lock()
log = logging.getLogger("caudal.streams")


def is_local(master: str) -> bool:
    return master.startswith("local")


def local_master(slots: int) -> str:
    return f"local[{max(slots, 1)},{RETRIES}]"


def parallelism(context: Any) -> int:
    """How many tasks can compute at the same time. Here Spark may have many more threads, for real-time mode: each
    would start a Python worker.
    """
    threads = int(context.defaultParallelism)
    return min(threads, os.cpu_count() or 1) if is_local(context.master) else threads


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
    """Where workers of this machine find Caudal and what lies beside the program: this process's own places."""
    return os.pathsep.join([_SOURCE, *_own_places()])


def _own_places() -> list[str]:
    """The folders on the path that belong to the program, not to the installation."""
    places = dict.fromkeys(os.path.abspath(place) for place in sys.path if os.path.isdir(place or "."))
    return [place for place in places if place != _SOURCE and not place.startswith((sys.prefix, sys.base_prefix))]


def send_modules(session: Any, py_files: Sequence[str]) -> None:
    """Sends `py_files` to the workers, and on a cluster the modules that the program has imported from its own places:
    other machines do not have them.
    """
    for path in py_files:
        if not os.path.isfile(path):
            raise StreamsError(f"There is no file {path} to send to Spark's workers.")
        session.sparkContext.addPyFile(str(path))
    if not is_local(session.sparkContext.master) and (files := _program_files()):
        session.sparkContext.addPyFile(str(_zipped(files)))


def _program_files() -> dict[str, bytes]:
    """The source of every top-level module that came from the program's places: a module's file, a package's files."""
    places = {os.path.realpath(place) for place in _own_places()}
    files: dict[str, bytes] = {}
    for name, module in list(sys.modules.items()):
        found = getattr(module, "__file__", None)
        if "." in name or name == "__main__" or not found or not found.endswith(".py"):
            continue
        path = Path(found).resolve()
        package = path.name == "__init__.py"
        if str(path.parent.parent if package else path.parent) not in places:
            continue
        for file in path.parent.rglob("*.py") if package else [path]:
            files[str(file.relative_to(path.parent.parent if package else path.parent))] = file.read_bytes()
    return files


def _zipped(files: Mapping[str, bytes]) -> Path:
    """One archive for the workers, named by what is in it: Spark keeps a file of the same name as it is."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name])
    digest = hashlib.sha256(content.getvalue()).hexdigest()[:16]
    path = Path(tempfile.mkdtemp(prefix="caudal-program-")) / f"program_{digest}.zip"
    path.write_bytes(content.getvalue())
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    return path


def wait_for_executors(session: Any) -> None:
    """On a cluster executors come one by one; tasks are dealt out to as many cores as there are."""
    context = session.sparkContext
    if is_local(context.master):
        return
    began, since, count = time.monotonic(), time.monotonic(), 0
    while time.monotonic() - since < SETTLED_SECONDS or count == 0:
        found = context._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver is in it
        if found != count:
            since, count = time.monotonic(), found
        if time.monotonic() - began > EXECUTOR_SECONDS:
            if count == 0:
                log.warning(
                    "No worker of %s has given an executor for %.0f s: it needs free cores and %s of memory "
                    "(--spark-conf spark.executor.memory=…).",
                    context.master,
                    EXECUTOR_SECONDS,
                    context.getConf().get("spark.executor.memory", "1g"),
                )
            return
        time.sleep(0.1)


def link_address(session: Any) -> tuple[str, str, int]:
    """What workers are told of the driver's link, the address to listen on, and the port (0: any)."""
    conf = session.sparkContext.getConf()
    if is_local(session.sparkContext.master):
        return "127.0.0.1", "127.0.0.1", 0
    host = conf.get("spark.driver.host")
    return host, conf.get("spark.driver.bindAddress", host), int(conf.get("spark.caudal.link.port", "0"))


def session_class() -> Any:
    """PySpark's SparkSession, also when another thread is importing PySpark at this moment."""
    # The package before its part: whoever asks for the part first, while another thread imports the package, which
    # imports the part, waits in a circle. Python breaks that by showing both a module that is not complete.
    import pyspark  # noqa: F401
    from pyspark.sql import SparkSession

    return SparkSession


def open_session(master: str | None, slots: int, config: dict[str, str] | None = None) -> tuple[Any, bool]:
    """A session, and whether it was made here (and is ours to stop)."""
    with _lock:
        check_installation()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        SparkSession = session_class()
        active = SparkSession.getActiveSession() or SparkSession._instantiatedSession
        if active is not None and active.sparkContext._jsc is not None:
            _check_connector(active)
            return active, False
        chosen = master or local_master(slots)
        settings = {**_config(chosen), **(config or {})}
        builder = SparkSession.builder.master(chosen).appName("caudal")
        for name, value in settings.items():
            builder = builder.config(name, value)
        voice = _Voice()
        try:
            if not os.environ.get("CAUDAL_DEBUG"):
                _launch(chosen, settings, voice)
            session = builder.getOrCreate()
        except Exception as error:
            text = " ".join(f"{error} {voice.last_words()}".split())
            raise StreamsError(f"Spark did not start on {chosen}: {text[:500]}") from error
        voice.passes = True
        session.sparkContext.setLogLevel("OFF" if not os.environ.get("CAUDAL_DEBUG") else "WARN")
        return session, True


class _Voice:
    """What the JVM says on stderr. While it starts that is of modules, host names and log profiles, which is kept for
    the case that it does not; afterwards it is passed on: what functions print in the workers comes this way."""

    def __init__(self) -> None:
        self.passes = False
        self._kept: deque[bytes] = deque(maxlen=40)

    def follow(self, pipe: IO[bytes]) -> None:
        threading.Thread(target=self._read, args=(pipe,), name="caudal-jvm", daemon=True).start()

    def _read(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            if self.passes:
                sys.stderr.write(line.decode(errors="replace"))
                sys.stderr.flush()
            else:
                self._kept.append(line)

    def last_words(self) -> str:
        return b"".join(self._kept).decode(errors="replace")[-300:]


def _launch(master: str, settings: Mapping[str, str], voice: _Voice) -> None:
    """Starts the JVM as PySpark would, with its stderr in our hands."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is None:
        conf = SparkConf(loadDefaults=False).setMaster(master).setAll(list(settings.items()))
        gateway = launch_gateway(conf, {"stderr": subprocess.PIPE})  # type: ignore[no-untyped-call]
        voice.follow(gateway.proc.stderr)
        SparkContext._ensure_initialized(gateway=gateway, conf=conf)


def real_time(session: Any) -> Any:
    """The same Spark with the settings of real-time mode: rows leave the JVM one by one, and at once."""
    result = session.newSession()
    for name, value in {
        "spark.sql.streaming.realTimeMode.allowlistCheck": "false",  # mapInArrow is not on Spark's list
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        "spark.sql.execution.pandas.udf.buffer.size": "16",
    }.items():
        result.conf.set(name, value)
    return result


def death(session: Any, error: Exception) -> str | None:
    """How Spark's JVM ended, where that is behind an error; None where it lives."""
    from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError  # type: ignore[import-untyped]

    process = getattr(session.sparkContext._gateway, "proc", None)
    if process is None:
        return "it does not answer" if isinstance(error, Py4JNetworkError | ConnectionError) else None
    # An answer that broke off in the middle is a Py4JError and no network error; a Java exception is a live JVM's.
    broken = isinstance(error, Py4JError | ConnectionError) and not isinstance(error, Py4JJavaError)
    try:
        code = process.wait(1.0 if broken else 0.0)
    except subprocess.TimeoutExpired:
        return None
    return f"process {process.pid}, {f'signal {-code}' if code < 0 else f'exit code {code}'}"


def obituary(death: str) -> str:
    """What an application says whose JVM is gone."""
    return (
        f"Spark's JVM died ({death}; out of memory, or killed?). What was not committed is processed again after the "
        "next start: start the application again."
    )


def about(session: Any) -> dict[str, Any]:
    """Where Spark runs, and its own page (spark.ui.enabled=true serves one)."""
    context = session.sparkContext
    return {
        "version": context.version,
        "master": context.master,
        "application": context.applicationId,
        "ui": context.uiWebUrl,
    }


def stop(session: Any) -> None:
    """Stops a session that was opened here, also where its JVM was killed a moment ago."""
    try:
        session.stop()
    except Exception as error:
        log.debug("Spark's session cannot be stopped: %s", error)


def forget_dead_session() -> None:
    """So that this process may start another JVM."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with _lock:
        SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = None


def _config(master: str) -> dict[str, str]:
    config = {
        "spark.jars": ",".join(str(path) for path in connector_jars()),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.python.worker.reuse": "true",
        "spark.sql.adaptive.enabled": "false",
        # Else the union of slots, one partition each, becomes one partition: one slot after the other.
        "spark.sql.unionOutputPartitioning": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        # A limit, any limit below this one, makes Spark measure the headers of every row: half of its CPU.
        "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
        "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINT_MANAGER,
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.streaming.numRecentProgressUpdates": "20",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "caudal-warehouse"),
        "spark.task.maxFailures": str(RETRIES),
        "spark.kafka.consumer.cache.capacity": "1000",  # partitions read per batch without a new consumer for each
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "10",  # real-time mode: how long a row waits for others
    }
    if is_local(master):
        config["spark.driver.bindAddress"] = config["spark.driver.host"] = "127.0.0.1"
    else:
        # Kafka's source asks for a host by partition; a task that waits for it would hold up the batch for seconds.
        config["spark.locality.wait"] = "0s"
    return config


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
