"""The two servers under measurement: Caudal, and Apache Kafka 4.3.0 as one KRaft node. Start, stop, pause, memory,
CPU.

Both run as a process of their own with the same properties (`SHARED_PROPERTIES`), on the same disk, with their
default flush policy (the operating system decides). Apache Kafka runs with the heap and garbage-collector flags of
its own start script; its request log, its garbage-collector log and remote JMX are left out, which can only make it
faster.

A paused server (SIGSTOP) takes no CPU while the other is measured. Left out: several nodes, TLS, Windows.
"""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from caudal import jars
from caudal.bench import probe

KAFKA_VERSION = "4.3.0"

# What both are told. Everything not named here is at its default, which is the same for both by Caudal's own contract.
SHARED_PROPERTIES: Mapping[str, str] = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    # A deleted topic's files go at once, so that one case's dirty pages are not written back during the next one.
    "log.segment.delete.delay.ms": "100",
    # The compaction case waits for the cleaner; 15 s of doing nothing would only make the run longer.
    "log.cleaner.backoff.ms": "500",
}

KAFKA_JVM_FLAGS: Sequence[str] = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)

START_TIMEOUT = 120.0
STOP_TIMEOUT = 60.0
POLL_INTERVAL = 0.004


class ServerError(Exception):
    """A server did not start or stop; the text says which, with the end of its output."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Server(ABC):
    """One server process and its folder. `key` is what results are filed under, `title` what people read."""

    key: str
    title: str

    def __init__(self, folder: Path, extra: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.output = folder / "output.log"
        self.port = free_port()
        self.properties = {**SHARED_PROPERTIES, **(extra or {})}
        self.process: psutil.Popen | None = None
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @abstractmethod
    def command(self) -> list[str]:
        """The command line of the server."""

    def prepare(self) -> None:
        """What must be done once before the first start; its time is not counted."""
        self.data.mkdir(exist_ok=True)

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    def start(self, topics: Sequence[str] = ()) -> float:
        """Starts the process; returns the seconds until it answered ApiVersions and led every partition of `topics`."""
        self.prepare()
        wanted = list(topics)
        with self.output.open("ab") as output:
            begin = time.perf_counter()
            self.process = psutil.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self.environment(),
                cwd=self.folder,
                # Its own group: Ctrl-C reaches the bench only, which then stops the servers in order.
                start_new_session=True,
            )
        while not probe.is_answering(self.port, wanted):
            if self.process.poll() is not None:
                raise ServerError(f"{self.title} ended while starting.\n{self.output_tail()}")
            if time.perf_counter() - begin > START_TIMEOUT:
                self.stop()
                raise ServerError(f"{self.title} did not answer within {START_TIMEOUT:.0f} s.\n{self.output_tail()}")
            time.sleep(POLL_INTERVAL)
        return time.perf_counter() - begin

    def stop(self) -> None:
        """A clean stop; killed if it takes too long."""
        process, self.process = self.process, None
        if process is None or process.poll() is not None:
            return
        descendants = children(process)
        signal_all([process, *descendants], signal.SIGCONT)
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT)
        except (psutil.TimeoutExpired, subprocess.TimeoutExpired):
            process.kill()
            process.wait(STOP_TIMEOUT)
        signal_all(descendants, signal.SIGKILL)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def pause(self) -> None:
        signal_all(self.tree(), signal.SIGSTOP)

    def resume(self) -> None:
        signal_all(self.tree(), signal.SIGCONT)

    def tree(self) -> list[psutil.Process]:
        if self.process is None:
            return []
        return [self.process, *children(self.process)]

    def memory_mb(self) -> float:
        """Resident memory of the process and all its descendants, in MB (10⁶ bytes)."""
        total = 0
        for process in self.tree():
            try:
                total += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        return total / 1e6

    def cpu_seconds(self) -> float:
        """User and system time of the process and its descendants, those that have ended and been waited for
        included.
        """
        total = 0.0
        for process in self.tree():
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system + times.children_user + times.children_system
        return total

    def partition_folder(self, topic: str, partition: int = 0) -> Path:
        return self.data / f"{topic}-{partition}"

    def output_tail(self, lines: int = 15) -> str:
        try:
            return "\n".join(self.output.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""


class CaudalServer(Server):
    """Caudal as a person starts it: `caudal broker`."""

    key = "caudal"
    title = "Caudal"

    def command(self) -> list[str]:
        command = [
            sys.executable,
            "-m",
            "caudal.cli.main",
            "broker",
            "--port",
            str(self.port),
            "--data",
            str(self.data),
        ]
        command += ["--metrics-port", "0"]
        for name, value in self.properties.items():
            command += ["-c", f"{name}={value}"]
        return command


class ApacheKafkaServer(Server):
    """Apache Kafka, broker and controller in one process (KRaft)."""

    key = "kafka"
    title = f"Apache Kafka {KAFKA_VERSION}"

    def __init__(self, folder: Path, archives: Sequence[Path], extra: Mapping[str, str] | None = None) -> None:
        super().__init__(folder, extra)
        self.classpath = os.pathsep.join(str(jar) for jar in archives)
        self.controller_port = free_port()
        self.properties_file = folder / "server.properties"

    def prepare(self) -> None:
        if self.properties_file.exists():
            return
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{self.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self.data),
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            # A paused broker must not be fenced by its own controller when it goes on.
            "broker.session.timeout.ms": "3600000",
            **self.properties,
        }
        self.properties_file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # Java's option parser takes an id that begins with a dash for an option.
        cluster_id = "A" + cluster_id[1:]
        formatted = subprocess.run(
            [
                *(jars.java(), "-Xmx256M", "-cp", self.classpath, "kafka.tools.StorageTool"),
                *("format", "--standalone", "-t", cluster_id, "-c", str(self.properties_file)),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if formatted.returncode != 0:
            raise ServerError(f"{self.title}: formatting its folder failed.\n{formatted.stdout}{formatted.stderr}")

    def command(self) -> list[str]:
        return [jars.java(), *KAFKA_JVM_FLAGS, "-cp", self.classpath, "kafka.Kafka", str(self.properties_file)]


def children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return list(process.children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def signal_all(processes: Sequence[psutil.Process], number: int) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue
