"""A log against a list: whatever is done to it, in whatever order, it holds what a simple model says it holds."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.broker.log.writing import end_transaction, open_log, produce, read_all

from caudal.broker.log import cleaner_process
from caudal.broker.log.config import LogConfig
from caudal.broker.log.log import Log
from caudal.broker.log.segment import INDEX, TIME_INDEX, TXN_INDEX
from caudal.broker.wire.batch import Record, build_batch, read_header

KEYS = st.sampled_from([b"a", b"b", b"key-%d" % 3, b"a-much-longer-key-that-is-digested", b""])
VALUES = st.one_of(st.none(), st.binary(max_size=60))


class LogAgainstModel(RuleBasedStateMachine):
    @initialize(
        segment_bytes=st.sampled_from([300, 1000, 100_000]),
        index_interval=st.sampled_from([1, 150, 4096]),
    )
    def open(self, segment_bytes: int, index_interval: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="caudal-log-"))
        self.config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=index_interval,
            cleanup_policy=frozenset({"compact"}),
            delete_retention_ms=0,
        )
        self.log = open_log(self.folder, self.config)
        self.model: dict[int, Record] = {}  # what must be there
        self.optional: set[int] = set()  # superseded: may be there until a compaction, must not come back after it
        self.gone: set[int] = set()
        self.sequence: dict[int, int] = {}
        self.open_transactions: dict[int, list[int]] = {}
        self.aborted: list[tuple[int, int]] = []
        self.clean_to = 0
        self.clock = 1000

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.log.abandon()
            shutil.rmtree(self.folder)

    # -- what can happen

    @rule(items=st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4), codec=st.integers(0, 4))
    def append(self, items: list[tuple[bytes, bytes | None]], codec: int) -> None:
        base = self.log.log_end_offset
        self.clock += 3
        made = [Record(base + i, self.clock + i, key, value) for i, (key, value) in enumerate(items)]
        batch = build_batch(made, codec=codec, leader_epoch=0)
        self.log.append(batch, read_header(batch))
        self.model.update((record.offset, record) for record in made)

    @rule(producer=st.integers(1, 3), transactional=st.booleans(), key=KEYS)
    def produce(self, producer: int, transactional: bool, key: bytes) -> None:
        transactional = transactional or producer in self.open_transactions
        sequence = self.sequence.get(producer, 0)
        header = produce(self.log, producer, sequence, (key, b"p"), transactional=transactional)
        self.sequence[producer] = sequence + 1
        self.model[header.base_offset] = Record(header.base_offset, 1000, key, b"p")
        if transactional:
            self.open_transactions.setdefault(producer, []).append(header.base_offset)

    @precondition(lambda self: self.open_transactions)
    @rule(data=st.data(), commit=st.booleans())
    def end(self, data: st.DataObject, commit: bool) -> None:
        producer = data.draw(st.sampled_from(sorted(self.open_transactions)))
        written = self.open_transactions.pop(producer)
        end_transaction(self.log, producer, commit=commit)
        if not commit:
            self.aborted.append((producer, written[0]))
            self.optional |= set(written)  # a consumer filters them; compaction removes them
            for offset in written:
                self.model.pop(offset, None)

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule()
    def flush(self) -> None:
        self.log.flush()

    @rule()
    def settle(self) -> None:
        self.log.settle()

    @rule(fraction=st.floats(0, 1))
    def delete_records(self, fraction: float) -> None:
        self.log.increment_log_start(int(self.log.log_start_offset * (1 - fraction) + self.stable_end() * fraction))
        self.log.delete_old_segments(0, self.stable_end())

    @rule(damage=st.sampled_from([None, INDEX, TIME_INDEX, TXN_INDEX]))
    def restart(self, damage: str | None) -> None:
        start, log = self.log.log_start_offset, self.log
        log.close()
        if damage in (INDEX, TIME_INDEX):
            Path(log.segments[0].path(damage)).unlink(missing_ok=True)
        self.log = open_log(self.folder, self.config, clean=True, log_start_offset=start)

    @rule(torn=st.binary(max_size=80))
    def crash(self, torn: bytes) -> None:
        old = self.log
        with open(old.active.path(), "ab") as file:
            file.write(torn)
        old.abandon()
        self.log = open_log(
            self.folder, self.config, recovery_point=old.recovery_point, log_start_offset=old.log_start_offset
        )

    @rule()
    def compact(self) -> None:
        log = self.log
        log.flush()
        limit = min(self.stable_end(), log.active.base_offset)
        segments = [segment for segment in log.segments if segment.base_offset <= limit]
        upper = segments[-1].base_offset
        segments = [segment for segment in segments if segment.base_offset < upper]
        if not segments:
            return
        answer = cleaner_process.Job(self.cleaning_request(log, segments, upper)).run()
        for item in answer["replacements"]:
            log.replace_segments(item["base"], item["sources"], now_ms=0)
        self.clean_to = answer["end_offset"]
        newest: dict[bytes | None, int] = {}
        for offset in sorted(self.model):
            if offset < self.clean_to:
                newest[self.model[offset].key] = offset
        for offset in sorted(self.model):
            record = self.model[offset]
            if offset < self.clean_to and newest[record.key] != offset:
                self.gone.add(offset)
                del self.model[offset]
            elif offset < self.clean_to and record.value is None:
                self.optional.add(offset)  # its horizon is over: it may go with the next round
        self.gone |= {offset for offset in self.optional if offset < self.clean_to and offset not in self.model}

    def cleaning_request(self, log: Log, segments: list[Any], upper: int) -> dict[str, Any]:
        first_dirty = max(min(self.clean_to, upper), log.log_start_offset)
        return {
            "folder": log.folder,
            "segments": [[segment.base_offset, segment.size] for segment in segments],
            "first_dirty": min(first_dirty, upper),
            "upper": upper,
            "now_ms": 10**6,
            "delete_retention_ms": 0,
            "segment_bytes": self.config.segment_bytes,
            "segment_index_bytes": self.config.segment_index_bytes,
            "index_interval_bytes": self.config.index_interval_bytes,
            "dedupe_bytes": 1 << 20,
            "io_bytes_per_second": 1e18,
            "aborted": [entry for segment in log.segments for entry in segment.aborted() if entry.first_offset < upper],
            "producers": [[p.producer_id, p.last_data_offset, p.epoch] for p in log.producers.entries()],
        }

    def stable_end(self) -> int:
        unstable = self.log.producers.first_unstable_offset()
        return self.log.log_end_offset if unstable is None else unstable

    # -- what must always hold

    @invariant()
    def it_holds_what_the_model_says(self) -> None:
        if not hasattr(self, "log"):
            return
        found = {record.offset: record for record in read_all(self.log, max_bytes=500)}
        start = self.log.log_start_offset
        for offset, record in self.model.items():
            if offset >= start and offset not in self.optional:
                assert found[offset] == record
        assert not set(found) & self.gone
        assert all(offset in self.model or offset in self.optional for offset in found)
        assert self.log.size == sum(os.path.getsize(segment.path()) for segment in self.log.segments)

    @invariant()
    def it_knows_its_producers(self) -> None:
        if not hasattr(self, "log"):
            return
        known = {row.producer_id: row.last_sequence + 1 for row in self.log.producers.describe()}
        assert known.items() <= self.sequence.items() or not known
        opened = [offsets[0] for offsets in self.open_transactions.values()]
        assert self.log.producers.first_unstable_offset() == min(opened, default=None)


LogAgainstModel.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestLogAgainstModel = LogAgainstModel.TestCase
