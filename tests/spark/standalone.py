"""A Spark standalone cluster as its users start it: a master and workers, each a process of the pip-installed Spark.

The workers have hosts of their own (127.0.0.1, 127.0.0.2 …: all are this machine), run in folders of their own, and
know nothing of the program that will come: Caudal is on their path as if it were installed, and that is all.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import psutil

SOURCE = Path(__file__).parents[2] / "src"
START_SECONDS = 150.0


class StandaloneCluster:
    def __init__(self, folder: Path, workers: int = 2, cores: int = 1) -> None:
        """`cores` of each worker: how many tasks of Spark it takes at once."""
        self._folder = folder
        self._cores = cores
        self._count = workers
        self.workers: dict[int, psutil.Popen] = {}
        self._master: psutil.Popen | None = None
        self.url = ""

    def __enter__(self) -> StandaloneCluster:
        try:
            port = free_port()
            self.url = f"spark://127.0.0.1:{port}"
            master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port)]
            self._master = self._start("master", [*master, "--webui-port", "0"])
            for number in range(1, self._count + 1):
                self.start_worker(number)
            for number in range(1, self._count + 1):
                self._wait_for(f"worker{number}", "Successfully registered with master")
        except BaseException:
            self.close()
            raise
        return self

    def start_worker(self, number: int) -> None:
        worker = ["org.apache.spark.deploy.worker.Worker", "--host", f"127.0.0.{number}", "--webui-port", "0"]
        worker += ["--cores", str(self._cores), "--memory", "600m", "--work-dir", str(self.work(number)), self.url]
        self.workers[number] = self._start(f"worker{number}", worker)

    def work(self, number: int) -> Path:
        """Where a worker keeps the folders of its executors: work/application/executor."""
        return self._folder / f"work{number}"

    def kill_worker(self, number: int) -> None:
        """kill -9 of the worker, its executor's JVM and its Python processes."""
        kill_tree(self.workers.pop(number))

    def executor_processes(self, number: int) -> set[int]:
        """The processes below a worker: executors, and the Python workers of these."""
        return {child.pid for child in self.workers[number].children(recursive=True)}

    def _start(self, name: str, arguments: list[str]) -> psutil.Popen:
        import pyspark

        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        kept = ("PATH", "HOME", "LANG", "JAVA_HOME", "TMPDIR")
        environment = {key: os.environ[key] for key in kept if key in os.environ}
        environment |= {
            "PYTHONPATH": str(SOURCE),
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_DAEMON_MEMORY": "192m",
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), *arguments]
        with (folder / "log").open("ab") as log:
            return psutil.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)

    def _wait_for(self, name: str, text: str) -> None:
        log = self._folder / name / "log"
        deadline = time.monotonic() + START_SECONDS
        while text not in log.read_text():
            assert time.monotonic() < deadline, f"{name} did not start: {log.read_text()[-2000:]}"
            time.sleep(0.1)

    def close(self) -> None:
        for process in [*self.workers.values(), *([self._master] if self._master else [])]:
            kill_tree(process)
        self.workers, self._master = {}, None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def kill_tree(process: psutil.Process) -> None:
    """kill -9 of a process and all below it, the process first."""
    try:
        tree = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for member in tree:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(tree, 10)
