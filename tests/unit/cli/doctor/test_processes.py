"""Servers that have outlived `caudal up`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from caudal.cli.doctor import processes as checks
from caudal.cli.doctor.check import Situation


def test_an_orphan_is_named_with_its_end(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "SETTLED_SECONDS", 0.0)
    # A server whose parent is gone: the one in between starts it, says its number, and leaves.
    server = [sys.executable, "-c", "import time; time.sleep(120)", "caudal", "broker", "--ready-fd", "3"]
    between = f"import subprocess; print(subprocess.Popen({server!r}, stdout=-3, stderr=-3).pid)"  # DEVNULL
    pid = int(subprocess.run([sys.executable, "-c", between], capture_output=True, check=True).stdout)
    monkeypatch.setattr(checks, "INITS", checks.INITS | {_parent(pid)})
    try:
        found = [answer for answer in checks.check_leftover_processes(situation) if f"pid {pid}" in answer.text]
    finally:
        os.kill(pid, signal.SIGKILL)
    assert found == [("note", f"caudal broker (pid {pid}) has outlived whoever started it", f"kill {pid}")]


def _parent(pid: int) -> str:
    """Whoever took the orphan over; which one that is depends on how the tests were started."""
    import psutil

    return str(psutil.Process(psutil.Process(pid).ppid()).name())


def test_a_server_with_a_parent_is_left_alone(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "SETTLED_SECONDS", 0.0)
    command = [sys.executable, "-c", "input()", "caudal", "broker", "--ready-fd", "3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as server:
        assert not [answer for answer in checks.check_leftover_processes(situation) if str(server.pid) in answer.text]
        server.kill()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["java", "-cp", "x", "org.apache.spark.deploy.SparkSubmit", "pyspark-shell"], "Spark's JVM"),
        (["python", "-m", "pyspark.daemon", "pyspark.worker"], "a Python worker of Spark"),
        (["python", "-m", "caudal.cli.main", "registry", "--ready-fd", "7"], "caudal registry"),
        (["caudal", "broker", "--port", "9092"], None),
        (["vim", "caudal.py"], None),
    ],
)
def test_only_what_cannot_be_meant_to_run_alone_counts(words: list[str], name: str | None) -> None:
    assert checks._name(words) == name
