"""Too little memory, too few files, a clock that is wrong, no browser."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from caudal.cli.doctor import machine as checks
from caudal.cli.doctor.check import Situation

from .conftest import Program

MIB = 1024**2


@pytest.mark.parametrize(
    ("free", "status", "words"),
    [
        (100 * MIB, "trouble", "100.0 MiB of 1.5 GiB free: the servers need about"),
        (800 * MIB, "note", "with Spark the platform needs about 1.5 GiB"),
        (1536 * MIB, "ok", "1.5 GiB of 1.5 GiB free"),
    ],
)
def test_memory(
    situation: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, status: str, words: str
) -> None:
    """A container's limit, as the kernel tells it."""
    limit = 1536 * MIB
    (tmp_path / "memory.max").write_text(str(limit))
    (tmp_path / "memory.current").write_text(str(limit - free))
    monkeypatch.setattr(checks, "CGROUP_LIMIT", tmp_path / "memory.max")
    (found,) = checks.check_memory(situation)
    assert found.status == status
    assert words in found.text


@pytest.fixture
def few_files() -> Iterator[int]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_few_open_files(situation: Situation, few_files: int) -> None:
    (found,) = checks.check_open_files(situation)
    assert found.status == "note"
    assert "limit 512: every partition" in found.text
    assert found.fix.startswith("ulimit -n ")


def test_shared_memory_of_a_container(situation: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checks, "SHARED_MEMORY", tmp_path)
    assert [found.status for found in checks.check_shared_memory(situation)] == ["ok"]
    monkeypatch.setattr(checks, "SHARED_BYTES", 1 << 62)
    (found,) = checks.check_shared_memory(situation)
    assert "--shm-size" in found.fix


def test_a_clock_that_was_set_back(situation: Situation) -> None:
    situation.data.mkdir()
    file = situation.data / "meta.properties"
    file.touch()
    os.utime(file, (time.time() + 7200, time.time() + 7200))
    (found,) = checks.check_clock(situation)
    assert (found.status, found.fix) == ("trouble", "set the clock: sudo timedatectl set-ntp true")
    assert "s in the future: the clock was set back" in found.text


def test_a_clock_that_was_never_set(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caudal.cli.doctor.machine.time.time", lambda: 86_400.0)
    (found,) = checks.check_clock(situation)
    assert found.status == "trouble" and "1970" in found.text


def test_a_clock_that_nobody_sets(situation: Situation, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(program("timedatectl", "echo no").parent))
    (found,) = checks.check_clock(situation)
    assert (found.status, found.text) == ("note", "the clock is not synchronised with others")


def test_no_chromium(situation: Situation, program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (found,) = checks.check_chromium(situation)
    assert found.status == "note" and "only the tests" in found.text
    program("chromium", "exit 0")
    assert [each.status for each in checks.check_chromium(situation)] == ["ok"]
