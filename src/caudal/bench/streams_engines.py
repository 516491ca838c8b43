"""The engines of `caudal bench streams`: Caudal, hand-written PySpark, Kafka Streams (Java), Quix Streams. Each is a
program of its own that is started, told what to run, paused and ended from here.

Caudal, PySpark and Kafka Streams stay alive between cases, so that their JVMs are warm; Quix Streams is started per
job, as many times as the others have threads, which is how it is scaled. A paused engine (SIGSTOP, with all its
children) takes no CPU. Quix Streams lives in an environment of its own, made on first use.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
import venv
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import psutil

from caudal import jars
from caudal.bench.servers import children, signal_all
from caudal.bench.streams_job import Job

QUIX_VERSION = "3.28.1"
STREAMS_VERSION = "4.3.0"
ANSWER_SECONDS = 240.0
STOP_SECONDS = 30.0
JAVA_SOURCE = Path(__file__).with_name("java") / "KafkaStreamsPeer.java"
QUIX_PROGRAM = Path(__file__).with_name("streams_quix.py")


class EngineError(Exception):
    """An engine did not do what it was told; one sentence, with the end of its output."""


class Program:
    """A process that answers JSON lines (see streams_job.py)."""

    def __init__(self, title: str, command: list[str], log: Path, environment: dict[str, str] | None = None) -> None:
        self.title = title
        self.log = log
        with log.open("ab") as output:
            self.process = psutil.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )

    def send(self, command: dict[str, Any]) -> None:
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
        except (OSError, ValueError):
            raise EngineError(f"{self.title} has ended. {self.tail()}") from None

    def answer(self, timeout: float = ANSWER_SECONDS) -> dict[str, Any]:
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise EngineError(f"{self.title} did not answer within {timeout:.0f} s. {self.tail()}")
                line = self.process.stdout.readline()
                if not line:
                    raise EngineError(f"{self.title} ended by itself. {self.tail()}")
                if line.startswith("{"):
                    message: dict[str, Any] = json.loads(line)
                    if "error" in message:
                        raise EngineError(f"{self.title}: {message['error']}")
                    return message

    def ask(self, command: dict[str, Any]) -> dict[str, Any]:
        self.send(command)
        return self.answer()

    def tree(self) -> list[psutil.Process]:
        return [self.process, *children(self.process)]

    def close(self) -> None:
        """The end of its input ends it; what remains after that is killed."""
        processes = self.tree()
        signal_all(processes, signal.SIGCONT)
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        with contextlib.suppress(psutil.TimeoutExpired, subprocess.TimeoutExpired):
            self.process.wait(STOP_SECONDS)
        signal_all(processes, signal.SIGKILL)
        with contextlib.suppress(psutil.TimeoutExpired, subprocess.TimeoutExpired):
            self.process.wait(STOP_SECONDS)
        self.process.stdout.close()

    def tail(self, lines: int = 12) -> str:
        with contextlib.suppress(OSError):
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        return ""


class Engine(ABC):
    key: ClassVar[str]
    title: ClassVar[str]
    form: ClassVar[str] = "long"  # how its counts and sums are written
    emit: ClassVar[str] = "updates"
    mode: ClassVar[str] = "micro-batch"
    shares: ClassVar[str] = ""  # the engine whose program this one uses

    def __init__(self, folder: Path, programs: list[Program] | None = None) -> None:
        self.folder = folder
        self.programs: list[Program] = programs if programs is not None else []
        self.start_seconds: float | None = None  # of the process, with its Spark session or JVM
        folder.mkdir(parents=True, exist_ok=True)

    @abstractmethod
    def command(self) -> list[str]:
        """The command line of its program."""

    def launch(self) -> Program:
        begin = time.perf_counter()
        program = Program(self.title, self.command(), self.folder / "output.log")
        self.programs.append(program)
        program.answer()
        self.start_seconds = time.perf_counter() - begin
        return program

    def begin(self, job: Job) -> dict[str, Any]:
        """Starts the application; it may still be on its way to its first record afterwards."""
        self.prepare()
        return self.programs[0].ask(job.as_command())

    def prepare(self) -> None:
        """Starts the process where it does not run yet, with its JVM and Spark session: no case counts that."""
        if not self.programs:
            self.launch()

    def counts_itself(self, job: Job) -> bool:
        """Whether the output does not tell how far it is: fewer records come out than go in."""
        return job.emit == "defaults" and job.topology in ("count", "regroup", "sum")

    def processed(self) -> int:
        return int(self.programs[0].ask({"do": "processed"})["processed"])

    def check_alive(self) -> None:
        """Raises where the program has ended or says that its application has failed."""
        for program in self.programs:
            if program.process.poll() is not None:
                raise EngineError(f"{self.title} ended by itself. {program.tail()}")

    def end(self) -> None:
        self.programs[0].ask({"do": "end"})

    def pause(self) -> None:
        for program in self.programs:
            signal_all(program.tree(), signal.SIGSTOP)

    def resume(self) -> None:
        for program in self.programs:
            signal_all(program.tree(), signal.SIGCONT)

    def cpu_seconds(self) -> float:
        total = 0.0
        for program in self.programs:
            for process in program.tree():
                with contextlib.suppress(psutil.NoSuchProcess):
                    times = process.cpu_times()
                    total += times.user + times.system
        return total

    def close(self) -> None:
        while self.programs:
            self.programs.pop().close()


class Caudal(Engine):
    key = "caudal"
    title = "Caudal"

    def command(self) -> list[str]:
        return [sys.executable, "-m", "caudal.bench.streams_caudal"]

    def counts_itself(self, job: Job) -> bool:
        return False  # it emits every update

    def check_alive(self) -> None:
        super().check_alive()
        self.programs[0].ask({"do": "processed"})


class CaudalRealTime(Caudal):
    key = "caudal-real-time"
    title = "Caudal, real time"
    mode = "real-time"
    shares = "caudal"


class PySpark(Engine):
    key = "pyspark"
    title = "PySpark"

    def command(self) -> list[str]:
        return [sys.executable, "-m", "caudal.bench.streams_pyspark"]

    def check_alive(self) -> None:
        super().check_alive()
        self.programs[0].ask({"do": "processed"})


class NativePySpark(PySpark):
    """Spark's own count: one row per key and batch, as text."""

    key = "pyspark-native"
    title = "PySpark, native count"
    form = "text"
    emit = "defaults"
    shares = "pyspark"


class KafkaStreams(Engine):
    key = "kafka-streams"
    title = f"Kafka Streams {STREAMS_VERSION}"

    def command(self) -> list[str]:
        source = JAVA_SOURCE.read_bytes()
        classes = self.folder / "classes" / hashlib.sha256(source).hexdigest()[:12]
        class_path = jars.class_path("kafka-streams")
        if not classes.is_dir():
            compiled = subprocess.run(
                [jars.java("javac"), "-cp", class_path, "-d", str(classes), str(JAVA_SOURCE)],
                capture_output=True,
                text=True,
                check=False,
            )
            if compiled.returncode != 0:
                raise EngineError(f"javac refused {JAVA_SOURCE.name}: {compiled.stderr[-500:]}")
        return [
            jars.java(),
            "-Dlog4j2.level=ERROR",
            "-cp",
            os.pathsep.join([str(classes), class_path]),
            "KafkaStreamsPeer",
        ]


class KafkaStreamsDefaults(KafkaStreams):
    """With its cache: an update may be swallowed by the next one of its key."""

    key = "kafka-streams-defaults"
    title = f"Kafka Streams {STREAMS_VERSION}, defaults"
    emit = "defaults"
    shares = "kafka-streams"


class KafkaStreamsTuned(KafkaStreams):
    """For latency: no cache, and its producers send at once."""

    key = "kafka-streams-tuned"
    title = f"Kafka Streams {STREAMS_VERSION}, tuned"
    emit = "at once"
    shares = "kafka-streams"


class Quix(Engine):
    key = "quix"
    title = f"Quix Streams {QUIX_VERSION}"
    form = "json"

    def command(self) -> list[str]:
        return [str(quix_python()), str(QUIX_PROGRAM)]

    def prepare(self) -> None:
        quix_python()

    def begin(self, job: Job) -> dict[str, Any]:
        for number in range(job.threads):
            own = {**job.as_command(), "state": f"{job.state}/{number}"}
            self.launch().ask(own)
        return {}

    def counts_itself(self, job: Job) -> bool:
        return False

    def end(self) -> None:
        """Each program answers when it has committed and ended."""
        for program in self.programs:
            program.send({"do": "end"})
        for program in self.programs:
            program.answer()
        self.close()


ENGINES: dict[str, type[Engine]] = {
    engine.key: engine
    for engine in (
        Caudal,
        CaudalRealTime,
        PySpark,
        NativePySpark,
        KafkaStreams,
        KafkaStreamsDefaults,
        KafkaStreamsTuned,
        Quix,
    )
}


def quix_python() -> Path:
    """The Python of the environment that Quix Streams is installed in: CAUDAL_BENCH_QUIX, or one made in the cache."""
    if chosen := os.environ.get("CAUDAL_BENCH_QUIX"):
        return Path(chosen)
    folder = jars.folder().parent / "peers" / f"quixstreams-{QUIX_VERSION}"
    python = folder / "bin" / "python"
    if not (folder / "installed").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        installed = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", f"quixstreams=={QUIX_VERSION}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if installed.returncode != 0:
            raise EngineError(f"Quix Streams could not be installed: {installed.stderr.strip()[-300:]}")
        (folder / "installed").touch()
    return python


def missing(engine: str) -> str | None:
    """Why an engine cannot run here, in a few words; None where it can."""
    if engine.startswith(("caudal", "pyspark")) and importlib.util.find_spec("pyspark") is None:
        return "PySpark is not installed"
    try:
        if engine != "quix":
            jars.java()
        if engine.startswith("kafka-streams"):
            jars.java("javac")
    except jars.JarError as error:
        return str(error)
    return None
