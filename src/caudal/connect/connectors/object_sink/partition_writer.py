"""One partition's records on their way into files: where the cuts are, and from which offset to go on.

Records between two cuts form a stretch; it has one file per folder, named `TOPIC+PARTITION+OFFSET` by the offset of
its first record. At a cut all files of the stretch are put into the store; when all are there, the offset behind it may
be committed. Cuts follow from the records alone (count, timestamps, schemas), so that a rerun cuts the same. Where they
do not (the clock, a changed configuration), a rerun follows the names it finds in the store: it cuts where an existing
file of the folder begins. So it replaces each of them, and leaves none that holds a record twice. Files that appear
later are another task's: they are not touched, see `storage.py`.

Left out: finding what is behind the last file when the records that it was made of are gone from the topic while their
offsets were never committed. The file stays then, and the records behind it begin a new one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from caudal.connect.columns import ColumnRun
from caudal.connect.connectors.object_sink.formats import Format
from caudal.connect.connectors.object_sink.open_file import OpenFile, Report
from caudal.connect.connectors.object_sink.partitioners import (
    FolderOf,
    TimestampOf,
    by_partition,
    partition_folder,
    safe,
)
from caudal.connect.connectors.object_sink.projection import Compatibility, begins_new_file
from caudal.connect.connectors.object_sink.storage import Storage
from caudal.connect.errors import DataError
from caudal.connect.records import SinkRecord, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What all writers of a task share."""

    storage: Storage
    format: Format
    topics_dir: str
    folder_of: FolderOf
    flush_size: int
    rotate_ms: int  # by the records' timestamps; -1: not
    schedule_ms: int  # by the clock; -1: not
    timestamp_of: TimestampOf
    offset_digits: int
    compatibility: Compatibility
    ignore_null: bool
    now: Callable[[], float] = time.time

    @property
    def takes_columns(self) -> bool:
        """Whether no value has to be looked at to know its file."""
        return self.format.takes_columns and self.folder_of is by_partition and self.rotate_ms < 0


class PartitionWriter:
    def __init__(self, partition: TopicPartition, rules: Rules, report: Report) -> None:
        self._rules = rules
        self._report = report
        self._prefix = f"{safe(partition.topic)}+{partition.partition}+"
        self._name = re.compile(re.escape(self._prefix) + "([0-9]+)" + re.escape(rules.format.extension))
        self._by_partition = rules.folder_of is by_partition and rules.rotate_ms < 0
        self._queue: list[SinkRecord] = []  # taken; those from `_at` on are not in a file yet
        self._at = 0
        self._runs: list[ColumnRun] = []  # taken as columns; never while there is a queue
        self._next = -1  # the offset behind the last record that was taken
        self._files: dict[str, OpenFile] = {}  # of the current stretch, by folder
        self._sealed: list[OpenFile] = []  # of the stretch that was cut, not in the store yet
        self._known: dict[str, set[int]] = {}  # folders looked at: the offsets of files there that a rerun may meet
        self._versions: dict[str, Any] = {}  # of those files, by path: what a rerun replaces
        self._count = 0
        self._begin_ms: int | None = None  # the timestamp of the stretch's first record
        self._due: float | None = None  # when the clock cuts it
        self._done = -1  # the offset behind the last record that is in the store; -1: nothing new
        self._cut_at = -1  # the offset behind the stretch in `_sealed`

    def take(self, records: list[SinkRecord]) -> None:
        """In the order of offsets. Those that were taken before (a `put` that is repeated) are left out."""
        if offset_of(records[0]) < self._next:
            records = [record for record in records if offset_of(record) >= self._next]
            if not records:
                return
        self._queue = self._queue[self._at :] + records if self._queue else records
        self._at = 0
        self._next = offset_of(records[-1]) + 1

    def take_columns(self, run: ColumnRun) -> None:
        """As `take`."""
        if run.offset < self._next:
            run = run.after(run.before(self._next))
        if run:
            self._runs.append(run)
            self._next = run.end

    def write(self) -> None:
        """What was taken goes into files. Raises RetriableError, and goes on where it was when called again."""
        if self._sealed:
            self._put()
        queue = self._queue
        while self._at < len(queue):
            if not (self._by_partition and self._add_run()):
                self._add(queue[self._at])
                self._at += 1
            if self._count >= self._rules.flush_size:
                self._cut(offset_of(queue[self._at]) if self._at < len(queue) else None)
        self._queue, self._at = [], 0
        while self._runs:
            run = self._runs[0]
            done = self._add_columns(run)
            if not done:
                if (record := run.first()) is not None:
                    self._add(record)
                done = 1
            if done < len(run):
                self._runs[0] = run.after(done)
            else:
                del self._runs[0]
            if self._count >= self._rules.flush_size:
                self._cut(self._runs[0].offset if self._runs else None)
        if self._due is not None and self._rules.now() >= self._due:
            self._cut(None)

    @property
    def committable(self) -> int | None:
        """Everything below this is in the store, or need not be; None when nothing is known."""
        if not (self._files or self._sealed or self._queue or self._runs):
            return self._next if self._next >= 0 else None
        return self._done if self._done >= 0 else None

    def close(self) -> None:
        """What is not in the store is forgotten: it will be read again."""
        for file in [*self._files.values(), *self._sealed]:
            file.close()

    def _add_run(self) -> bool:
        """The quick way for most records: as many as go into the same file without further ado. Whether any did."""
        queue, start = self._queue, self._at
        first = queue[start]
        folder, topic, schema = by_partition(first), first.topic, first.value_schema
        file = self._files.get(folder)
        if file is None or (schema is not file.schema and schema != file.schema):
            return False
        if schema is None and not self._rules.format.takes_any:
            return False
        if known := self._known[folder]:
            offset = offset_of(first)
            known = self._known[folder] = {each for each in known if each >= offset}
            if known and offset_of(queue[-1]) >= min(known):
                return False
        end = min(len(queue), start + self._rules.flush_size - self._count)
        at = start
        for record in islice(queue, start, end):
            if record.value_schema is not schema or record.value is None or record.topic != topic:
                break
            at += 1
        if at == start:
            return False
        file.add(queue[start:at])
        self._count += at - start
        self._at = at
        return True

    def _add_columns(self, run: ColumnRun) -> int:
        """As many as go into the file that is open. None do where a file has to be begun, or may have to be."""
        folder = partition_folder(*run.place)
        file = self._files.get(folder)
        if file is None or file.is_mixed or (run.schema is not file.schema and run.schema != file.schema):
            return 0
        count = min(len(run), self._rules.flush_size - self._count)
        if known := self._known[folder]:
            known = self._known[folder] = {each for each in known if each >= run.offset}
            count = min(count, run.before(min(known))) if known else count
            if not count:
                return 0
        file.add_columns(run.columns.slice(0, count))
        self._count += count
        return count

    def _add(self, record: SinkRecord) -> None:
        rules = self._rules
        if record.value is None:
            if not rules.ignore_null:
                self._report(record, DataError("The value is null; behavior.on.null.values=ignore leaves it out."))
            return
        try:
            folder = rules.folder_of(record)
            at_ms = rules.timestamp_of(record) if rules.rotate_ms >= 0 else None
        except DataError as error:
            self._report(record, error)
            return
        offset = offset_of(record)
        known = self._known_in(folder, offset)
        file = self._files.get(folder)
        if file is not None and self._begins_new(file, record, at_ms, known):
            self._cut(offset)
            file = None
        elif file is None and self._is_late(at_ms):
            self._cut(offset)
        if file is None:
            known.discard(offset)
            path = f"{rules.topics_dir}{folder}/{self._prefix}{offset:0{rules.offset_digits}}{rules.format.extension}"
            file = OpenFile(path, record.value_schema, record.value, rules.format, self._report)
            self._files[folder] = file
        if self._count == 0:
            self._begin_ms = at_ms
            if rules.schedule_ms > 0:
                step = rules.schedule_ms / 1000
                self._due = (rules.now() // step + 1) * step
        self._count += 1
        if record.value_schema is not file.schema and record.value_schema != file.schema:
            file.is_mixed = True
        file.add([record])

    def _begins_new(self, file: OpenFile, record: SinkRecord, at_ms: int | None, known: set[int]) -> bool:
        if self._is_late(at_ms) or (known and offset_of(record) in known):
            return True
        schema = record.value_schema
        if schema is None and file.schema is None:
            return not self._rules.format.is_same_file(file.first, record.value)
        if schema is file.schema or schema == file.schema:
            return False
        return begins_new_file(self._rules.compatibility, file.schema, schema)

    def _is_late(self, at_ms: int | None) -> bool:
        return at_ms is not None and self._begin_ms is not None and at_ms - self._begin_ms >= self._rules.rotate_ms

    def _known_in(self, folder: str, offset: int) -> set[int]:
        """The files that are in this folder already and begin at this offset or later."""
        known = self._known.get(folder)
        if known is None:
            path = f"{self._rules.topics_dir}{folder}"
            self._rules.storage.sweep(path, self._prefix)
            known = self._known[folder] = set()
            for name, version in self._rules.storage.names(path).items():
                if (found := self._name.fullmatch(name)) is not None and int(found[1]) >= offset:
                    known.add(int(found[1]))
                    self._versions[f"{path}/{name}"] = version
        return known

    def _cut(self, following: int | None) -> None:
        """The stretch ends before this offset, or behind everything that was taken."""
        files = list(self._files.values())
        for file in files:
            file.seal()
        self._cut_at = following if following is not None else self._next
        self._sealed = files
        self._files = {}
        self._count = 0
        self._begin_ms = self._due = None
        self._put()

    def _put(self) -> None:
        while self._sealed:
            file = self._sealed[0]
            if not file.is_empty:
                self._rules.storage.put(file.path, file.stream, self._versions.get(file.path))  # type: ignore[arg-type]
            file.close()
            del self._sealed[0]
        self._done = self._cut_at


def offset_of(record: SinkRecord) -> int:
    """Where it lies in its topic, whatever transforms have made of it."""
    return record.offset if record.original is None else record.original[2]
