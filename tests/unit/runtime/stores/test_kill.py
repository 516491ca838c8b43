"""kill -9 in the middle of writes: what was committed is there, whole; a zombie in another process writes nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.unit.runtime.stores.killed_writer import KEYS, SPECS

from caudal.runtime.stores import Fenced, TaskState
from caudal.runtime.stores.engines import ENGINES


def _writer(folder: Path, engine: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "tests.unit.runtime.stores.killed_writer", str(folder), engine]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_writer_leaves_its_last_commit_whole(engine: str, tmp_path: Path) -> None:
    chance = random.Random(4)
    last = 0
    for _ in range(4):
        child = _writer(tmp_path / "0_0", engine)
        assert child.stdout is not None
        first = int(child.stdout.readline())
        assert first == last + 1  # it went on where the killed one was
        time.sleep(chance.uniform(0.01, 0.2))
        child.send_signal(signal.SIGKILL)
        said = [first, *(int(line) for line in child.stdout.read().splitlines(keepends=True) if line.endswith("\n"))]
        child.wait()
        state = TaskState(tmp_path / "0_0", SPECS, engine=engine)
        assert state.void is None
        meta = state.meta()
        assert meta is not None
        last = meta["n"]
        assert said[-1] <= last <= said[-1] + 1  # it may have been killed between the commit and saying it
        assert [value for _, value in state.stores["kv"].all()] == [[last] * 40] * KEYS
        assert [value for _, value in state.stores["window"].fetch_all(last, last)] == [last] * KEYS
        assert list(state.stores["window"].fetch_all(last + 1, None)) == []
        state.close()


def test_a_zombie_in_another_process_is_fenced(tmp_path: Path) -> None:
    """LMDB: the new owner does not wait for the former; the former's next write fails."""
    child = _writer(tmp_path / "0_0", "lmdb")
    assert child.stdout is not None
    child.stdout.readline()
    owner = TaskState(tmp_path / "0_0", SPECS, engine="lmdb")
    try:
        assert child.wait(timeout=20) != 0
        meta = owner.meta()
        assert meta is not None
        assert {tuple(value) for _, value in owner.stores["kv"].all()} == {(meta["n"],) * 40}
        owner.commit({"n": -1})
        assert owner.meta() == {"n": -1}
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        owner.close()


def test_rocksdb_keeps_a_second_process_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caudal.runtime.stores.engines.rocksdb._LOCK_WAIT", 0.2)
    child = _writer(tmp_path / "0_0", "rocksdb")
    assert child.stdout is not None
    child.stdout.readline()
    try:
        with pytest.raises(Exception, match="locked by another process") as caught:
            TaskState(tmp_path / "0_0", SPECS, engine="rocksdb")
        assert not isinstance(caught.value, Fenced)
        assert child.stdout.readline()  # and the owner goes on undisturbed
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
