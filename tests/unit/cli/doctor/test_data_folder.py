"""A data folder that is none, full, read-only, somebody else's, in use, or was left in disorder."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from caudal.cli.doctor import data_folder as checks
from caudal.cli.doctor.check import Situation


@pytest.fixture
def folder(situation: Situation) -> Path:
    """A broker's folder as `caudal up` makes it."""
    broker = situation.data / "broker"
    broker.mkdir(parents=True)
    (broker / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=abc\n")
    (broker / ".lock").touch()
    return broker


def test_a_file_in_place_of_the_folder(situation: Situation) -> None:
    situation.data.write_text("")
    (found,) = checks.check_folder(situation)
    assert found == ("trouble", f"{situation.data} is not a folder", "choose another with --data")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EROFS, "is on a file system that is read-only"),
        (errno.ENOSPC, "the disk is full"),
        (errno.EACCES, "cannot be written: Permission denied (it belongs to"),
    ],
)
def test_a_folder_that_cannot_be_written(
    situation: Situation, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    def refuse(**_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refuse)
    (found,) = checks.check_folder(situation)
    assert found.status == "trouble"
    assert words in found.text and "--data" in found.fix


def test_a_folder_of_the_kernel_cannot_be_written() -> None:
    (found,) = checks.check_folder(Situation("localhost:1", False, Path("/sys/caudal")))
    assert found.status == "trouble" and found.text.startswith("/sys cannot be written")


def test_files_that_root_left_there(situation: Situation, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("meta.properties"))
    (found,) = checks.check_folder(situation)
    assert found.status == "trouble" and "meta.properties belongs to" in found.text
    assert found.fix == f"sudo chown -R 12345 {situation.data}"


def test_little_room(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [found.status for found in checks.check_disk(situation)] == ["ok"]
    monkeypatch.setattr(checks, "LOW_BYTES", 1 << 62)
    (found,) = checks.check_disk(situation)
    assert found.status == "trouble" and found.text.startswith("only ")
    assert "retention.bytes" in found.fix


def test_a_disk_with_no_room_for_another_file(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs(situation.data.parent)
    full = SimpleNamespace(
        f_bavail=real.f_bavail,
        f_frsize=real.f_frsize,
        f_blocks=real.f_blocks,
        f_bfree=real.f_bfree,
        f_files=9,
        f_favail=3,
    )
    monkeypatch.setattr("caudal.cli.doctor.data_folder.os.statvfs", lambda _: full)
    (found,) = checks.check_disk(situation)
    assert "only 3 files more can be made" in found.text


def test_a_network_file_system(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.disk_partitions", lambda all: [SimpleNamespace(mountpoint="/", fstype="nfs4")])
    assert any("is on a network (nfs4)" in found.text for found in checks.check_disk(situation))


def test_a_folder_in_use_is_said_with_the_process(situation: Situation, folder: Path) -> None:
    code = (
        "import fcntl, sys\nfile = open(sys.argv[1])\nfcntl.flock(file, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\nsys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder / ".lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        (found,) = checks.check_lock(situation)
        assert found.text.startswith(f"{folder} is in use by a running broker (pid {holder.pid})")
        holder.kill()


def test_a_folder_that_was_not_closed_in_good_order(situation: Situation, folder: Path) -> None:
    (found,) = checks.check_lock(situation)
    assert found.status == "note" and "was not closed in good order" in found.text
    (folder / ".kafka_cleanshutdown").touch()
    assert list(checks.check_lock(situation)) == []


def test_looking_at_a_lock_does_not_take_it(folder: Path) -> None:
    assert not checks.is_locked(folder / ".lock")
    with (folder / ".lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert checks.is_locked(folder / ".lock")


def test_a_folder_of_no_cluster(situation: Situation, folder: Path) -> None:
    (folder / "meta.properties").write_text("version=1\n")
    (found,) = checks.check_cluster(situation)
    assert found.status == "trouble" and "has no cluster.id" in found.text


def test_leftovers_of_processes_that_are_gone(
    situation: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setenv("CAUDAL_JARS", str(tmp_path / "jars"))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead, alive = tmp_path / f"caudal-checkpoint-{ended.pid}-x", tmp_path / f"caudal-checkpoint-{os.getpid()}-x"
    dead.mkdir()
    alive.mkdir()
    found = [answer for answer in checks.check_leftovers(situation) if str(tmp_path) in answer.fix]
    assert len(found) == 1
    assert str(dead) in found[0].fix and str(alive) not in found[0].fix
