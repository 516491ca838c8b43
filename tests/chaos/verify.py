"""What must be true of the topics and files after the broker was killed, given the books of the clients.

Every function raises AssertionError with the first few counter-examples. Topics are read with a plain client, files
with the batch reader alone: not through the broker's own log.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition

from caudal.broker.log.store import iter_partition_folders
from caudal.broker.wire.batch import BatchHeader, crc_is_valid, iter_batches

from .workload import PARTITIONS, Outcome, PlainProducer, TableProducer, TransactionalProducer


class Read(NamedTuple):
    partition: int
    offset: int
    value: str


def read_topic(bootstrap: str, topic: str, *, committed: bool = False, timeout: float = 30.0) -> list[Read]:
    """Every record of a topic, partition by partition in order of offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "verification",
            "enable.auto.commit": False,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "enable.partition.eof": True,
            "metadata.recovery.strategy": "none",
            "log_level": 0,
        }
    )
    found: list[Read] = []
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        ended: set[int] = set()
        deadline = time.monotonic() + timeout
        while len(ended) < PARTITIONS:
            assert time.monotonic() < deadline, f"{topic} cannot be read to its end"
            for message in consumer.consume(1000, 0.1):
                error = message.error()
                if error is None:
                    value = (message.value() or b"").decode()
                    found.append(Read(message.partition(), message.offset(), value.rstrip(".")))
                else:
                    assert error.name() == "_PARTITION_EOF", str(error)
                    ended.add(message.partition())
    finally:
        consumer.close()
    return sorted(found)


def check_plain(books: PlainProducer, records: list[Read]) -> None:
    """Nothing acknowledged is lost or somewhere else, nothing is out of order, and what may not repeat does not."""
    mine = [record for record in records if record.value.startswith(f"{books.name}/")]
    numbers = {(record.partition, record.offset): int(record.value.rpartition("/")[2]) for record in mine}
    lost = [number for number, place in books.acknowledged.items() if numbers.get(place) != number]
    assert not lost, f"{books.name}: {len(lost)} acknowledged records are gone, among them {sorted(lost)[:10]}"
    counts = Counter(numbers.values())
    strangers = [number for number in counts if not 0 <= number < books.sent]
    assert not strangers, f"{books.name}: records that nobody sent: {strangers[:10]}"
    if books.idempotent or not books.rides:  # a producer that never retries cannot repeat itself either
        doubled = [number for number, count in counts.items() if count > 1]
        assert not doubled, f"{books.name}: {len(doubled)} records are there twice, among them {sorted(doubled)[:10]}"
    if books.idempotent:
        missing = [number for number in range(books.sent) if number not in counts]
        assert not missing, f"{books.name}: gaps at {missing[:10]}"
    seen: dict[int, int] = defaultdict(lambda: -1)
    for (partition, offset), number in sorted(numbers.items()):
        if number > seen[partition]:
            seen[partition] = number
            continue
        repeats = books.rides and not books.idempotent and counts[number] > 1
        assert repeats, f"{books.name}: {number} stands after {seen[partition]} at {partition}/{offset}"


def check_table(books: TableProducer, records: list[Read]) -> None:
    """Compaction may drop a record only if a later one has its key; offsets and order stay, nothing comes twice."""
    last: dict[int, int] = {}
    seen: dict[int, int] = defaultdict(lambda: -1)
    for record in records:
        number = int(record.value.rpartition("/")[2])
        assert number > seen[record.partition], f"{number} stands after {seen[record.partition]}"
        seen[record.partition] = number
        last[number % books.KEYS] = number
        place = books.acknowledged.get(number)
        assert place == (record.partition, record.offset), f"{number} moved from {place} to {record.offset}"
    expected = {number % books.KEYS: number for number in range(books.sent)}
    assert last == expected, f"last values lost: {[key for key in expected if last.get(key) != expected[key]]}"


def check_transactions(books: TransactionalProducer, records: list[Read]) -> None:
    """Committed ones are complete, once and in order; aborted ones invisible; of those in doubt all or nothing."""
    found: dict[int, list[int]] = defaultdict(list)
    last: dict[int, tuple[int, int]] = {}
    for record in records:
        name, number, index, _ = record.value.split("/")
        if name != books.name:
            continue
        found[int(number)].append(int(index))
        place = (int(number), int(index))
        assert place > last.get(record.partition, (-1, -1)), (
            f"{books.name}: {place} stands after {last[record.partition]} in partition {record.partition}"
        )
        last[record.partition] = place
    for transaction, (outcome, count) in books.transactions.items():
        indexes = sorted(found.pop(transaction, []))
        whole = indexes == list(range(count))
        if outcome is Outcome.COMMITTED:
            assert whole, f"{books.name}: committed transaction {transaction} has {indexes} of {count} records"
        elif outcome is Outcome.ABORTED:
            assert not indexes, f"{books.name}: aborted transaction {transaction} shows {indexes}"
        else:
            assert whole or not indexes, f"{books.name}: transaction {transaction} is torn: {indexes} of {count}"
    assert not found, f"{books.name}: transactions that nobody began: {sorted(found)[:10]}"


def check_processed(records: list[Read], committed: dict[int, int]) -> None:
    """Every source record below the group's offset was processed exactly once, and none above."""
    results: dict[int, list[int]] = defaultdict(list)
    for record in records:
        partition, offset = map(int, record.value.split("/"))
        assert partition == record.partition
        results[partition].append(offset)
    for partition, offsets in results.items():
        expected = list(range(committed[partition]))
        assert offsets == expected, (
            f"source partition {partition} was processed up to {committed[partition]}, "
            f"missing {sorted(set(expected) - set(offsets))[:5]}, "
            f"twice or out of order {[b for a, b in pairwise(offsets) if b <= a][:5]}, "
            f"too many {sorted(set(offsets) - set(expected))[:5]}"
        )


def batches_of(data: Path, topic: str) -> Iterator[BatchHeader]:
    for folder, (name, _) in iter_partition_folders(data):
        for file in sorted(folder.glob("*.log")) if name == topic else ():
            for _, header in iter_batches(file.read_bytes()):
                yield header


def check_files(data: Path, compacted: Collection[str] = ()) -> int:
    """Offsets without a gap and checksums that match, in every partition that is not compacted; batches seen."""
    batches = 0
    for folder, (topic, partition) in iter_partition_folders(data):
        if topic.startswith("__") or topic in compacted:
            continue
        expected = None
        for file in sorted(folder.glob("*.log")):
            content = file.read_bytes()
            position = 0
            for position, header in iter_batches(content):
                if expected is not None:
                    assert header.base_offset == expected, f"{topic}-{partition}: {header.base_offset}, not {expected}"
                assert crc_is_valid(content, position, header), f"{topic}-{partition}: bad batch at {expected}"
                expected = header.last_offset + 1
                position += header.size
                batches += 1
            assert position == len(content), f"{file} ends with {len(content) - position} bytes that are no batch"
    return batches
