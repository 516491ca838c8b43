"""Files that a crash, a bad disk or a curious person left damaged: the broker starts on them and serves what is good.

Only what cannot be put together again (the metadata in its middle, the identity of the folder) stops the start, with
one sentence that says what to do.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from caudal.broker.errors import ErrorCode
from caudal.broker.log.checkpoints import CLEAN_SHUTDOWN
from caudal.testing import embedded_broker
from tests.chaos.process import free_port, running_broker

from .raw import Raw, batch_of, serves
from .test_disk import values_in
from .transactions import RawTransactions

ROUNDS = 60
SIZE = 60_000  # with segments of a megabyte: four of them


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with several segments, a committed and an aborted transaction in each; stopped cleanly."""
    data = tmp_path_factory.mktemp("kept") / "data"
    with embedded_broker({"log.segment.bytes": str(1 << 20)}, data=data) as broker, Raw(broker.port) as client:
        client.create_topic("t")
        transactions = RawTransactions(client, "writer")
        for number in range(ROUNDS):
            assert client.produce("t", batch_of(b"%d" % number + b"." * SIZE)).error_code == ErrorCode.none
            if number % 10 == 0:
                transactions.run("t", b"committed %d" % number, commit=True)
                transactions.run("t", b"aborted %d" % number, commit=False)
    assert len(list((data / "t-0").glob("*.log"))) > 2
    return data


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "data"))


def expected() -> list[bytes]:
    values = []
    for number in range(ROUNDS):
        values.append(b"%d" % number)
        if number % 10 == 0:
            values += [b"committed %d" % number, b"aborted %d" % number]
    return values


def visible(client: Raw) -> list[bytes]:
    """What a read_committed consumer makes of the fetch answers: aborted transactions are filtered by the client."""
    values: list[bytes] = []
    offset = 0
    while True:
        answer = client.fetch("t", offset, committed=True)
        assert answer.error_code == ErrorCode.none
        if not answer.records:
            return values
        found, offset = RawTransactions.visible(answer)
        values += found


def garbage(path: Path) -> None:
    path.write_bytes(random.Random(path.name).randbytes(max(path.stat().st_size, 100)))


def zeros(path: Path) -> None:
    path.write_bytes(bytes(max(path.stat().st_size, 100)))


def halved(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 + 1])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def removed(path: Path) -> None:
    path.unlink()


def foreign(path: Path) -> None:
    """Entries that look right and point to the wrong places."""
    data = bytearray(path.read_bytes())
    for position in range(0, len(data) - 4, 8):
        data[position + 3] ^= 0x15
    path.write_bytes(bytes(data))


DAMAGES: list[Callable[[Path], None]] = [garbage, zeros, halved, emptied, removed, foreign]
REBUILDABLE = [
    "t-0/*.index",
    "t-0/*.timeindex",
    "t-0/*.txnindex",
    "t-0/*.snapshot",
    "t-0/leader-epoch-checkpoint",
    "t-0/partition.metadata",
    "*-checkpoint",
]


CASES = [
    pytest.param(pattern, damage, id=f"{pattern} {damage.__name__}")
    for pattern in REBUILDABLE
    for damage in DAMAGES
    # Most segments have no transaction index: one that is empty or gone looks like theirs, to Kafka too.
    if not (pattern.endswith(".txnindex") and damage in (emptied, removed))
]


@pytest.mark.parametrize("clean", [True, False], ids=["after a clean stop", "after a crash"])
@pytest.mark.parametrize(("pattern", "damage"), CASES)
def test_what_can_be_rebuilt_is(folder: Path, pattern: str, damage: Callable[[Path], None], clean: bool) -> None:
    paths = sorted(folder.glob(pattern))
    if not paths:
        pytest.fail(f"nothing to damage: {pattern}")
    for path in paths:
        damage(path)
    if not clean:
        (folder / CLEAN_SHUTDOWN).unlink()
    with embedded_broker({"log.segment.bytes": str(1 << 20)}, data=folder) as broker, Raw(broker.port) as client:
        end = client.fetch("t").high_watermark
        assert values_in(client, "t") == expected()
        assert visible(client) == [value for value in expected() if not value.startswith(b"aborted")]
        for offset in range(0, end, 7):  # by offset too, not only from the start
            assert client.fetch("t", offset).error_code == ErrorCode.none
        assert client.produce("t", batch_of(b"next")).base_offset == end


TAILS = {
    "zeros": b"\0" * 5000,
    "three": b"\0\0\0",
    "random": random.Random(3).randbytes(300),
    "half a batch": b"",
}


@pytest.mark.parametrize("tail", TAILS)
def test_a_torn_tail_is_cut_off(folder: Path, tail: str) -> None:
    (folder / CLEAN_SHUTDOWN).unlink()
    last = sorted((folder / "t-0").glob("*.log"))[-1]
    with last.open("ab") as file:
        file.write(TAILS[tail] or bytes(batch_of(b"x" * 500))[:200])
    with embedded_broker(data=folder) as broker, Raw(broker.port) as client:
        assert values_in(client, "t") == expected()
        end = client.fetch("t").high_watermark
        assert client.produce("t", batch_of(b"next")).base_offset == end
        assert values_in(client, "t") == [*expected(), b"next"]


def test_a_flipped_bit_in_what_was_not_synced_ends_the_log_there(folder: Path) -> None:
    (folder / CLEAN_SHUTDOWN).unlink()
    (folder / "recovery-point-offset-checkpoint").unlink()
    last = sorted((folder / "t-0").glob("*.log"))[-1]
    data = bytearray(last.read_bytes())
    data[len(data) // 2] ^= 1
    last.write_bytes(bytes(data))
    with embedded_broker(data=folder) as broker, Raw(broker.port) as client:
        found = values_in(client, "t")
        assert found == expected()[: len(found)], "only the end may be missing"
        assert ROUNDS // 2 < len(found) < len(expected())
        end = client.fetch("t").high_watermark
        assert client.produce("t", batch_of(b"next")).base_offset == end


def test_things_that_do_not_belong_there(folder: Path) -> None:
    (folder / "lost+found").mkdir()
    (folder / "notes").mkdir()
    (folder / "notes-backup").mkdir()
    (folder / "stranger-0").mkdir()
    (folder / ".DS_Store").write_bytes(b"\0" * 100)
    (folder / "t-0" / "README").write_text("hello")
    (folder / "t-0" / "00000000000000000000.log.bak").write_text("hello")
    with embedded_broker(data=folder) as broker, Raw(broker.port) as client:
        assert values_in(client, "t") == expected()


def test_the_last_line_of_the_metadata_is_torn(folder: Path) -> None:
    with (folder / "metadata.jsonl").open("ab") as file:
        file.write(b'{"crc32c":"00000000","records":[{"type":"to')
    with embedded_broker(data=folder) as broker, Raw(broker.port) as client:
        assert values_in(client, "t") == expected()
        assert client.create_topic("new") == ErrorCode.none
    with embedded_broker(data=folder) as broker, Raw(broker.port) as client:
        assert client.create_topic("new") == ErrorCode.topic_already_exists


class TestRefusesToStart:
    """The sentence on the terminal, and an exit code that a supervisor sees."""

    def start(self, folder: Path, *arguments: str) -> str:
        command = [sys.executable, "-m", "caudal.cli.main", "broker", "--no-metrics", "--data", str(folder)]
        done = subprocess.run(
            [*command, "--port", str(free_port()), *arguments], capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode not in (0, None)
        said = done.stdout + done.stderr
        assert "Traceback" not in said, said
        assert "unexpected" not in said, said
        return said.strip().splitlines()[-1]

    def test_metadata_damaged_in_the_middle(self, folder: Path) -> None:
        path = folder / "metadata.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        lines[0] = lines[0].replace(b'"partitions":1', b'"partitions":2')
        path.write_bytes(b"".join([*lines, *lines[1:]]))
        sentence = self.start(folder)
        assert "metadata.jsonl" in sentence
        assert "line 1" in sentence

    def test_unreadable_identity(self, folder: Path) -> None:
        (folder / "meta.properties").write_bytes(b"\0\xff\xfe garbage")
        assert "meta.properties" in self.start(folder)

    def test_folder_of_another_broker(self, folder: Path) -> None:
        sentence = self.start(folder, "--node-id", "7")
        assert "7" in sentence and str(folder) in sentence

    def test_folder_in_use(self, folder: Path) -> None:
        with running_broker(folder) as first:
            sentence = self.start(folder)
            assert str(first.pid) in sentence, "it must say who holds the folder"
            assert str(folder) in sentence
            assert serves(first.port)
            with Raw(first.port) as client:
                assert values_in(client, "t") == expected()
