"""A situation without a broker, and programs that only pretend."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from caudal.cli.doctor.check import Situation

Program = Callable[..., Path]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def situation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Situation:
    """Nothing is running, and nobody said that there was."""
    # A Spark that other tests have started in this process has set them.
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    return Situation(f"127.0.0.1:{free_port()}", False, tmp_path / "data")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """`program("java", "echo hello")` is a script of that name; its folder is its own."""

    def write(name: str, body: str, folder: str = "bin") -> Path:
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return write
