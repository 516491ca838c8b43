"""The disk is full, or the data folder goes away under the running broker: writes are refused, the process lives on.

A full disk is a real one where the tests may mount a small tmpfs (CI runs as root), and played by failing writes
everywhere else. What was acknowledged must be readable while the disk is full, and after a restart.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey
from caudal.broker.wire.batch import iter_batches, records
from caudal.testing import embedded_broker
from tests.chaos.process import BrokerProcess, running_broker

from .raw import PATIENCE_SECONDS, Raw, batch_of, serves

STORAGE_ERROR = ErrorCode.kafka_storage_error


def values_in(client: Raw, topic: str) -> list[bytes]:
    """Every value of partition 0."""
    found: list[bytes] = []
    offset = 0
    while True:
        answer = client.fetch(topic, offset)
        assert answer.error_code == ErrorCode.none
        if not answer.records:
            return found
        for position, header in iter_batches(answer.records):
            for record in records(answer.records, position, header):
                if record.offset >= offset and not header.is_control:
                    found += [(record.value or b"").rstrip(b".")]
            offset = header.last_offset + 1


def commit_offset(client: Raw, topic: str, offset: int) -> int:
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    values = {
        "group_id": "group",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "retention_time": -1,
        "topics": [{"name": topic, "partitions": [partition]}],
    }
    answer = client.request(ApiKey.OFFSET_COMMIT, 2, values)
    return int(answer.topics[0].partitions[0].error_code)


class TestFullDisk:
    @pytest.fixture
    def disk(self, tmp_path: Path) -> Iterator[Path]:
        """Six megabytes."""
        place = tmp_path / "disk"
        place.mkdir()
        mounted = shutil.which("mount") and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], capture_output=True, check=False
        )
        if not mounted or mounted.returncode:
            pytest.skip("no file system can be mounted here; the failing writes below stand for it")
        try:
            yield place
        finally:
            subprocess.run(["umount", "-l", str(place)], check=False)

    @pytest.fixture
    def small(self, disk: Path, tmp_path: Path) -> Iterator[BrokerProcess]:
        broker = BrokerProcess(disk / "data", {"log.segment.bytes": str(1 << 20)})
        broker.output = tmp_path / "output"
        broker.start()
        yield broker
        broker.close()

    def test_writes_are_refused_and_everything_acknowledged_stays(self, disk: Path, small: BrokerProcess) -> None:
        with Raw(small.port) as client:
            client.create_topic("t")
            assert commit_offset(client, "t", 1) == ErrorCode.none
            acknowledged = self.fill(client, disk / "ballast")
            assert values_in(client, "t") == acknowledged
            # whatever else wants to write says so, and nothing dies of it
            for number in range(3):
                assert client.create_topic(f"more-{number}") in (STORAGE_ERROR, ErrorCode.none)
            commit_offset(client, "t", 2)
            assert small.is_alive
            assert serves(small.port)
            # room again: it goes on without a restart, at the next offset
            (disk / "ballast").unlink()
            answer = self.produce_when_possible(client, b"after")
            assert answer.base_offset == len(acknowledged)
            acknowledged.append(b"after")
            assert values_in(client, "t") == acknowledged
            assert commit_offset(client, "t", 3) == ErrorCode.none
        assert "Traceback" not in small.said(), small.said()[-3000:]
        small.kill()
        small.start()
        with Raw(small.port) as client:
            assert values_in(client, "t") == acknowledged

    def test_killed_and_started_while_full(self, disk: Path, small: BrokerProcess) -> None:
        """Recovery itself wants to write; it must either start and serve, or say in a sentence why it cannot."""
        with Raw(small.port) as client:
            client.create_topic("t")
            acknowledged = self.fill(client, disk / "ballast")
        small.kill()
        small.spawn()
        try:
            small.wait_until_it_listens()
        except AssertionError:
            assert "full" in small.said().splitlines()[-1], small.said()[-2000:]
            assert "Traceback" not in small.said()
            (disk / "ballast").unlink()
            small.start()
        with Raw(small.port) as client:
            assert values_in(client, "t") == acknowledged

    def test_stopped_while_full(self, disk: Path, small: BrokerProcess) -> None:
        with Raw(small.port) as client:
            client.create_topic("t")
            acknowledged = self.fill(client, disk / "ballast")
        small.stop()
        assert "Traceback" not in small.said(), small.said()[-3000:]
        (disk / "ballast").unlink()
        small.start()
        with Raw(small.port) as client:
            assert values_in(client, "t") == acknowledged

    def fill(self, client: Raw, ballast: Path) -> list[bytes]:
        """Writes until the broker refuses; what it has acknowledged by then."""
        with ballast.open("wb") as file:
            file.write(b"\0" * (3 << 20))
        acknowledged: list[bytes] = []
        for number in range(10_000):
            value = b"%d" % number
            answer = client.produce("t", batch_of(value + b"." * 20_000))
            if answer.error_code != ErrorCode.none:
                assert answer.error_code == STORAGE_ERROR
                break
            acknowledged.append(value)
        else:
            raise AssertionError("the disk was never full")
        with ballast.open("ab", buffering=0) as file:  # and the crumbs that are left
            try:
                while True:
                    file.write(b"\0" * 4096)
            except OSError:
                pass
        assert client.produce("t", batch_of(b"." * 20_000)).error_code == STORAGE_ERROR
        assert acknowledged
        return acknowledged

    def produce_when_possible(self, client: Raw, value: bytes) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = client.produce("t", batch_of(value))
            if answer.error_code == ErrorCode.none or time.monotonic() > deadline:
                assert answer.error_code == ErrorCode.none
                return answer
            time.sleep(0.1)


def test_short_and_failing_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """ENOSPC in the middle of a batch: none of it may be found, by a reader or by recovery."""
    real = os.pwrite
    room = [0]

    def pwrite(fd: int, data: Any, offset: int) -> int:
        if ".log" not in os.readlink(f"/proc/self/fd/{fd}") or room[0] < 0:
            return real(fd, data, offset)
        if room[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = real(fd, memoryview(data)[: room[0]], offset)
        room[0] -= written
        return written

    with embedded_broker() as broker, Raw(broker.port) as client:
        client.create_topic("t")
        room[0] = -1
        monkeypatch.setattr(os, "pwrite", pwrite)
        acknowledged = []
        for number in range(30):
            value = b"%d" % number
            room[0] = (number * 37) % 120 if number % 3 else -1
            if client.produce("t", batch_of(value)).error_code == ErrorCode.none:
                acknowledged.append(value)
        room[0] = -1
        assert 10 <= len(acknowledged) < 30
        assert values_in(client, "t") == acknowledged
        broker.kill()
        broker.start()
        with Raw(broker.port) as again:
            assert values_in(again, "t") == acknowledged
            assert again.produce("t", batch_of(b"end")).base_offset == len(acknowledged)


def test_a_sync_that_fails_is_no_acknowledgement(monkeypatch: pytest.MonkeyPatch) -> None:
    """EIO from fsync: nobody knows what is on the disk, so the partition goes offline and the producer hears it."""
    broken = [False]
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if broken[0] and os.readlink(f"/proc/self/fd/{descriptor}").endswith(".log"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with embedded_broker() as broker, Raw(broker.port) as client:
        client.create_topic("t", {"flush.messages": "1"})
        client.create_topic("other")
        assert client.produce("t", batch_of(b"a")).error_code == ErrorCode.none
        broken[0] = True
        assert client.produce("t", batch_of(b"b")).error_code == STORAGE_ERROR
        assert client.produce("t", batch_of(b"c")).error_code == STORAGE_ERROR
        assert client.produce("other", batch_of(b"d")).error_code == ErrorCode.none
        broken[0] = False


def test_a_deleted_partition_folder_takes_only_that_partition_down(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with embedded_broker(data=tmp_path / "data") as broker, Raw(broker.port) as client:
        client.create_topic("gone")
        client.create_topic("stays")
        client.produce("gone", batch_of(b"a"))
        shutil.rmtree(tmp_path / "data" / "gone-0")
        broker.run(broker.broker.logs._look_after_files())  # what it does by itself every few seconds
        assert client.produce("gone", batch_of(b"b")).error_code == STORAGE_ERROR
        assert client.produce("stays", batch_of(b"c")).error_code == ErrorCode.none
        assert values_in(client, "stays") == [b"c"]
    offline = [record for record in caplog.records if "gone-0" in record.getMessage()]
    assert len(offline) == 1, offline


def test_the_whole_data_folder_deleted_under_the_broker(tmp_path: Path) -> None:
    with running_broker(tmp_path / "data") as broker, Raw(broker.port) as client:
        client.create_topic("t")
        assert commit_offset(client, "t", 1) == ErrorCode.none
        client.produce("t", batch_of(b"a"))
        shutil.rmtree(tmp_path / "data")
        wait_until_refused(client, "t")
        assert client.create_topic("new") == STORAGE_ERROR
        commit_offset(client, "t", 2)
        assert serves(broker.port)
        assert broker.stop() == 0, "a stop must not fail because there is nothing left to write to"
        assert "Traceback" not in broker.said(), broker.said()[-3000:]


def wait_until_refused(client: Raw, topic: str) -> None:
    """Writes to a deleted file succeed; the broker notices by looking, every few seconds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while client.produce(topic, batch_of(b"lost")).error_code != STORAGE_ERROR:
        assert time.monotonic() < deadline, "the broker goes on acknowledging records that nobody will ever read"
        time.sleep(0.1)
