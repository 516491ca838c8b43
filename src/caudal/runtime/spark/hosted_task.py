"""A task at work in a Python worker: the interpreter with its output, its state and its positions.

Order of life: `open` (fence, read the committed offsets, restore) → for each batch `feed`…, `punctuate`, `commit` →
`close`. Invariants:
- Rows below the committed position were processed before and are skipped; a row above the expected one must be
  explained.
- State is written after the commit to Kafka: it is never ahead of it.
- After a failed batch nothing of it remains: transaction aborted, stores rolled back, interpreter built anew. Not
  here: which rows come and what to do about errors (lane.py).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any

import orjson
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from caudal.plan.naming import changelog_topic
from caudal.runtime.errors import Interrupted, OnError, RecordError, StreamsError
from caudal.runtime.ordering import in_task_order
from caudal.runtime.record import Headers
from caudal.runtime.spark.caution import Caution
from caudal.runtime.spark.deadline import Punctuality
from caudal.runtime.spark.kafka_errors import ProduceError, RecordRefused, is_of_a_record, kafka_error
from caudal.runtime.spark.outputs import Output, PlainOutput
from caudal.runtime.spark.restore import Progress, StateRestore
from caudal.runtime.spark.rows import Chunk
from caudal.runtime.spark.settings import Cargo, Guarantee, task_name
from caudal.runtime.stores import TaskState, task_folder
from caudal.runtime.task import PRODUCTION_ERROR, Task

# Asks for the committed (offset, metadata) of the task's partitions, stable ones.
Committed = Callable[[list[tuple[str, int]]], Mapping[str, tuple[int, str]]]
# Whether the log has no visible record from the first offset up to the second.
IsEmptyBetween = Callable[[str, int, int, int], bool]
EndOf = Callable[[str, int], int]

_Row = tuple[int, str, int, bytes | None, bytes | None, Headers]
SIZE_SECONDS = 10.0
PAUSE_ROWS = 4096  # rows between two looks at the clock


class HostedTask:
    def __init__(
        self,
        cargo: Cargo,
        sub: int,
        partition: int,
        output: Output,
        global_stores: Mapping[str, Any],
        *,
        is_empty_between: IsEmptyBetween,
        end_of: EndOf,
        caution: Caution | None = None,
    ) -> None:
        self.cargo = cargo
        self.sub = cargo.sub(sub)
        self.partition = partition
        self.topics = cargo.topics_of(self.sub, partition)
        self.name = task_name(sub, partition)
        # Set before each batch: the keeper's group metadata; what the batch covers of each topic (first offset, end).
        self.group = b""
        self.ranges: Mapping[str, tuple[int, int]] = {}
        self.at_most_once = cargo.settings.guarantee is Guarantee.AT_MOST_ONCE
        # Rows of several topics must be put in order, so all must be there first; to give offsets away first as well.
        self.ordered = len(self.topics) > 1 or self.at_most_once
        self.figures = Figures()
        self._output = output
        self._global_stores = global_stores
        self._is_empty_between = is_empty_between
        self._end_of = end_of
        self._state: TaskState | None = None
        self._task: Task | None = None
        self._metadata: dict[str, int] = {}
        self._changelogs: dict[str, int] = {}
        self._positions: dict[str, int] = {}
        self._next: dict[str, int] = {}  # after what was processed
        self._covered: dict[str, int] = {}  # up to where batches have joined; markers may put it ahead of the position
        self._arrived: dict[str, int] = {}  # the same, within the batch
        self._gaps: list[tuple[str, int, int]] = []
        # Real-time mode: topics of which this Spark batch has brought rows. From the first one on Spark's reader
        # answers for what is missing.
        self._under_way: set[str] | None = None
        self._live = False
        self._began = 0.0
        self._fed = 0
        self._caution = caution
        deadline = cargo.settings.deadline
        self._punctuality = None if deadline is None else Punctuality(deadline)

    # -- opening -----------------------------------------------------------------------------------------------------

    def open(self, committed: Committed, progress: Progress) -> None:
        self._output.open()  # fence first: nobody else can commit for this task from here on
        found = committed([(topic, self.partition) for topic in self.topics])
        self._positions = {topic: found[topic][0] for topic in self.topics}
        for topic, offset in self._positions.items():
            if offset < 0:
                raise StreamsError(
                    f"Task {self.name} of '{self.cargo.application_id}' has no committed offset for topic '{topic}', "
                    f"partition {self.partition}: it was deleted under way; start the application again."
                )
        self._covered = dict(self._positions)
        self._metadata = _metadata_of(found[topic][1] for topic in self.topics)
        settings = self.cargo.settings
        folder = task_folder(settings.state_dir, self.cargo.application_id, self.sub.id, self.partition)
        self._state = TaskState(
            folder if self.sub.stores else None, self.sub.stores, self.partition, engine=settings.engine
        )
        restore = StateRestore(self.cargo, self._state, list(self.sub.stores), self.partition)
        self._changelogs = restore.run(self._positions, progress)
        self.figures.restored += restore.restored
        self._build()

    def _build(self) -> None:
        assert self._state is not None
        handlers = self.cargo.settings.handlers
        # Only where a failure would not stop the application anyway: this is the hot path.
        guarded = self._caution is not None or {handlers.production, handlers.processing} != {OnError.FAIL}
        if self._caution is not None:
            self._caution.begin()
        self._task = Task(
            self.cargo.topology,
            self.sub,
            self.partition,
            self._state.stores,
            self._emit if guarded else self._output.emit,
            global_stores=self._global_stores,
            handlers=handlers,
            partitions_of=self._partitions_of,
            metadata=self._metadata,
        )

    def _partitions_of(self, topic: str) -> int:
        known = self.cargo.partitions.get(topic)
        return self._output.partitions_of(topic) if known is None else known

    def _emit(
        self,
        topic: str,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
    ) -> None:
        """Writes a result; one that is refused goes to the handler of produce errors."""
        handlers, caution = self.cargo.settings.handlers, self._caution
        assert self._task is not None
        is_letter = topic == handlers.dead_letter_topic
        what = f"Writing to topic '{topic}'"
        try:
            if caution is not None:
                self._output.one_by_one = caution.one_by_one
                result = caution.result(self._task.record_at_hand, topic)
                if (known := caution.refused.get(result)) is not None:
                    if not is_letter or known.code() != KafkaError.INVALID_TIMESTAMP:
                        raise ProduceError(topic, known)
                    timestamp = int(time.time() * 1000)  # a letter need not be as old as its record
            self._output.emit(topic, partition, key, value, timestamp, headers)
        except ProduceError as error:
            choice = OnError.FAIL if is_letter else handlers.production
            self._task.handle_failure(choice, PRODUCTION_ERROR, what, error)
        except RecordRefused as error:
            assert caution is not None
            caution.refused[result] = error.error
            if handlers.production is not OnError.FAIL and self.cargo.settings.exactly_once:
                raise Interrupted(error) from error  # the transaction fell: once more, with this knowledge
            self._task.handle_failure(handlers.production, PRODUCTION_ERROR, what, ProduceError(topic, error.error))

    # -- a batch -----------------------------------------------------------------------------------------------------

    def begin_real_time(self) -> None:
        """A long batch of real-time mode begins; what its ranges are is not known before its end."""
        self._under_way = set()

    def begin(self) -> None:
        """Begins a transaction unless one is open. Costs nothing yet: the broker hears of it with the first record."""
        if not self._live:
            self._go_on()
            self._arrived = dict(self._covered)
            self._gaps = []

    def _go_on(self) -> None:
        self._output.begin()
        self._next = dict(self._positions)
        self._began = time.monotonic()
        self._live = True

    def feed(self, chunk: Chunk) -> None:
        """The rows of one topic, at once. For tasks that read one topic."""
        if self._caution is None:
            self._feed(chunk)
            self._commit_if_long()
            return
        for piece in self._caution.pieces(chunk):
            self._feed(piece)
            self._commit_with_caution(self._caution)

    def _feed(self, chunk: Chunk) -> None:
        assert self._task is not None
        self.begin()
        offsets = chunk.offsets()
        topic = chunk.topic
        skip = self._arrive(topic, offsets)
        if skip == len(offsets):
            return
        keys, values, timestamps, headers = chunk.keys(), chunk.values(), chunk.timestamps(), chunk.headers()
        if skip:
            offsets, keys, values, timestamps = offsets[skip:], keys[skip:], values[skip:], timestamps[skip:]
            headers = headers and headers[skip:]
        process = self._process()
        if headers is None:
            for offset, timestamp, key, value in zip(offsets, timestamps, keys, values, strict=True):
                process(topic, offset, timestamp, key, value)
        else:
            for offset, timestamp, key, value, head in zip(offsets, timestamps, keys, values, headers, strict=True):
                process(topic, offset, timestamp, key, value, head)
        self._next[topic] = offsets[-1] + 1
        self._fed += len(offsets)
        self.figures.saw(topic, len(offsets), timestamps[0], timestamps[-1])
        if self._punctuality is not None and not self._punctuality.deadline.is_hard:
            self._punctuality.timestamps += timestamps
        self._output.serve()

    def feed_in_order(self, chunks: list[Chunk]) -> None:
        """The rows of all topics, oldest head first."""
        assert self._task is not None
        self.begin()
        by_topic: dict[tuple[str, int], list[list[_Row]]] = {}
        for chunk in chunks:
            offsets = chunk.offsets()
            skip = self._arrive(chunk.topic, offsets)
            count = len(offsets) - skip
            if count:
                heads = chunk.headers() or [()] * len(offsets)
                topics = [chunk.topic] * len(offsets)
                columns = (chunk.timestamps(), topics, offsets, chunk.keys(), chunk.values(), heads)
                rows: list[_Row] = list(zip(*columns, strict=True))
                by_topic.setdefault((chunk.topic, self.partition), []).append(rows[skip:])
                self.figures.saw(chunk.topic, count, rows[skip][0], rows[-1][0])
                if self._punctuality is not None and not self._punctuality.deadline.is_hard:
                    self._punctuality.timestamps += [row[0] for row in rows[skip:]]
        if self.at_most_once:
            self._commit_first()
        task = self._task
        age: Callable[[Any], int] = itemgetter(0)
        if task.has_extractors:
            age = lambda row: task.timestamp_of(row[1], row[0], row[3], row[4])  # noqa: E731
        process, reached, since = self._process(), self._next, 0
        flat = {place: _flatten(parts) for place, parts in by_topic.items()}
        for _, (timestamp, topic, offset, key, value, headers) in in_task_order(flat, age):
            process(topic, offset, timestamp, key, value, headers)
            reached[topic] = offset + 1
            since += 1
            if since == PAUSE_ROWS or (self._caution is not None and since >= self._caution.step):
                self._fed += since
                since = 0
                self._output.serve()
                if self._caution is None:
                    self._commit_if_long()
                else:
                    self._commit_with_caution(self._caution)
                reached = self._next
        self._fed += since

    def _process(self) -> Callable[..., None]:
        """What takes a record: the interpreter, with a look at the clock before it where the deadline is hard."""
        assert self._task is not None
        task, punctuality = self._task, self._punctuality
        if punctuality is None or not punctuality.deadline.is_hard:
            return task.process
        deadline = punctuality.deadline

        def process(
            topic: str, offset: int, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers = ()
        ) -> None:
            late = punctuality.lateness(timestamp)
            if not late:
                punctuality.timestamps.append(timestamp)
                task.process(topic, offset, timestamp, key, value, headers)
            elif deadline.late_topic is not None:
                punctuality.diverted += 1
                reason = (("caudal.late.ms", str(late).encode()), ("caudal.late.topic", topic.encode()))
                self._output.emit(deadline.late_topic, None, key, value, timestamp, (*headers, *reason))
            else:
                raise StreamsError(
                    f"The record at offset {offset} of topic '{topic}', partition {self.partition}, missed the "
                    f"{deadline} by {late} ms; it was not processed."
                )

        return process

    def _judge(self) -> None:
        """After a commit."""
        if self._punctuality is not None:
            late, deadline = self._punctuality.committed(), self._punctuality.deadline
            if late and deadline.is_hard and deadline.late_topic is None:
                raise StreamsError(
                    f"Task {self.name} of '{self.cargo.application_id}' missed its {deadline} by {late} ms: results "
                    "were committed, but too late."
                )

    def _arrive(self, topic: str, offsets: list[int]) -> int:
        """Checks the rows against the position and moves it; says how many rows are to be skipped."""
        if topic not in self._arrived:
            raise StreamsError(f"Task {self.name} got rows of topic '{topic}', which it does not read.")
        expected = self._arrived[topic]
        first, last = offsets[0], offsets[-1]
        if last < expected:
            if last >= self._positions[topic]:
                raise self._out_of_order(topic, first, expected)
            return len(offsets)
        skip = 0
        if first < expected:
            if expected > self._positions[topic]:
                raise self._out_of_order(topic, first, expected)
            while offsets[skip] < expected:
                skip += 1
        elif first > expected and topic not in self.cargo.compacted and not self._joins(topic, expected):
            self._gaps.append((topic, expected, first))
        self._arrived[topic] = last + 1
        if self._under_way is not None:
            self._under_way.add(topic)
        return skip

    def _joins(self, topic: str, expected: int) -> bool:
        """Whether the batch begins where the last one ended.

        Within it Spark's reader fails on a loss itself, so holes are markers and aborted records; what must be proved
        is that batches join.
        """
        if self._under_way is not None:
            return topic in self._under_way
        covers = self.ranges.get(topic)
        return covers is not None and covers[0] <= expected

    def all_rows_came(self) -> None:
        """The batch is complete: the position moves to its end, past markers, and the next one must begin there."""
        seen = self._arrived if self._live else self._covered
        for topic, (_, end) in self.ranges.items():
            if topic in seen and self._joins(topic, seen[topic]):
                seen[topic] = max(seen[topic], end)
                if self._live and self._fed:
                    self._next[topic] = max(self._next[topic], seen[topic])

    def pass_markers(self) -> None:
        """Real-time mode, when nothing came for a while: the position moves past transaction markers."""
        if self.at_most_once:
            return
        for topic, position in self._positions.items():
            end = self._end_of(topic, self.partition)
            if end > position and self._is_empty_between(topic, self.partition, position, end):
                self.begin()
                self._arrived[topic] = self._next[topic] = end

    def _out_of_order(self, topic: str, offset: int, expected: int) -> StreamsError:
        return StreamsError(
            f"Spark delivered offset {offset} of topic '{topic}', partition {self.partition}, out of order: "
            f"{expected} was expected."
        )

    def punctuate(self, now: int) -> None:
        """Wall-clock punctuators that are due; what they do belongs to this batch's commit."""
        due = self.next_punctuation
        if due is not None and due <= now:
            assert self._task is not None
            self.begin()
            self._task.punctuate(now)

    @property
    def next_punctuation(self) -> int | None:
        return None if self._task is None else self._task.next_wall_clock_punctuation

    # -- commit ------------------------------------------------------------------------------------------------------

    @property
    def live(self) -> bool:
        return self._live

    def _commit_if_long(self) -> None:
        if (time.monotonic() - self._began) * 1000 > self.cargo.settings.commit_interval:
            self.commit()
            self._go_on()

    def _commit_with_caution(self, caution: Caution) -> None:
        if self._fed:
            self.commit()
            self._go_on()
            caution.committed()

    def end_caution(self) -> None:
        """The batch is committed."""
        self._caution = None
        self._output.one_by_one = False

    def _offsets(self, positions: Mapping[str, int]) -> list[TopicPartition]:
        """Positions that moved, and the task's own metadata on the first topic's."""
        assert self._task is not None
        metadata = orjson.dumps(self._task.metadata()).decode()
        first = self.topics[0]
        return [
            TopicPartition(topic, self.partition, offset, metadata if topic == first else "")
            for topic, offset in positions.items()
            if topic == first or offset != self._positions[topic]
        ]

    def _commit_first(self) -> None:
        """At most once: the offsets are given away before a row is processed."""
        if self._arrived != self._positions and isinstance(self._output, PlainOutput):
            self._check_gaps()
            self._output.commit_offsets(self._offsets(self._arrived))
            self._positions = dict(self._arrived)

    def _check_gaps(self) -> None:
        for topic, expected, got in self._gaps:
            if not self._is_empty_between(topic, self.partition, expected, got):
                raise StreamsError(
                    f"Spark skipped offsets {expected} to {got - 1} of topic '{topic}', partition {self.partition}, "
                    "and no compaction or transaction explains it; nothing was committed, start the application again."
                )
        self._gaps = []

    def commit(self) -> None:
        """Outputs, changelog and offsets to Kafka, then the state to disk. Does nothing where nothing happened."""
        if not self._live:
            return
        assert self._state is not None and self._task is not None
        if not (self._fed or self._next != self._positions or self._output.written or self._state.pending):
            self._output.abort()
            self._state.rollback()
            self._covered = dict(self._arrived)
            self._live = False
            return
        self._check_gaps()
        began = time.monotonic()
        ends = self._log_changes(list(self._state.changes()))
        offsets = self._offsets(self._next)
        try:
            if self.at_most_once and isinstance(self._output, PlainOutput):
                self._output.flush()
            else:
                self._output.commit(offsets, self.group)
        except KafkaException as error:
            self._explain(error)
            raise
        self._positions = dict(self._next)
        self._covered = {topic: max(self._covered[topic], offset) for topic, offset in self._positions.items()}
        self._live = False
        self._metadata = self._task.metadata()
        for store, end in ends().items():
            self._changelogs[store] = max(end, self._changelogs.get(store, 0))
        if self.sub.stores:
            for spec in self.sub.stores:
                if spec.changelog is not None and spec.changelog in self._positions:
                    self._changelogs[spec.name] = self._positions[spec.changelog]
            self._state.commit({"offsets": self._positions, "changelogs": self._changelogs, "written": time.time()})
        self.figures.dropped.update(self._task.dropped)
        self._task.dropped.clear()  # what a rolled-back batch drops is not counted
        self.figures.committed(self._fed, self._output.written, time.monotonic() - began)
        self._fed = 0
        self._judge()

    def _explain(self, error: KafkaException) -> None:
        """What fails to be committed after one row is this row's fault; results were tried before, so it is state."""
        found = kafka_error(error)
        if self._caution is None or not self._caution.one_by_one or found is None or not is_of_a_record(found):
            return
        assert self._task is not None
        self._output.serve()
        topic = self._output.failed[0] if self._output.failed is not None else "a changelog"
        context = self._task.record_at_hand
        raise RecordError("Writing the change of state", context, ProduceError(topic, found)) from error

    def _log_changes(self, changes: list[tuple[str, bytes, bytes | None, int]]) -> Callable[[], dict[str, int]]:
        """Writes the changelog. What it returns knows, after the commit, where each store's changelog ends."""
        last = {change[0]: index for index, change in enumerate(changes)}
        topics = {store: changelog_topic(self.cargo.application_id, store) for store in last}
        ends: dict[str, int] = {}
        transactional = self.cargo.settings.exactly_once

        def report(store: str) -> Callable[[Any, Any], None]:
            def delivered(error: Any, message: Any) -> None:
                if error is None:
                    ends[store] = message.offset() + 1

            return delivered

        log_change, partition = self._output.log_change, self.partition
        for index, (store, key, value, timestamp) in enumerate(changes):
            told = report(store) if transactional and last[store] == index else None
            log_change(topics[store], partition, key, value, timestamp, told)
        if transactional:
            return lambda: ends
        return lambda: {store: self._end_of(topic, partition) for store, topic in topics.items()}

    # -- failure and end ---------------------------------------------------------------------------------------------

    def abandon(self) -> None:
        """Back to the last commit, with the same producer."""
        assert self._state is not None
        if self._task is not None:
            task, self._task = self._task, None
            task.close()
        self._live = False
        self._fed = 0
        self.figures.forget()
        if self._punctuality is not None:
            self._punctuality.forget()
        if self._under_way is not None:
            self._under_way = set()  # that the rows come once more has to be proved
        self._output.abort()
        self._state.rollback()
        self._build()

    def close(self) -> None:
        """Lets go of everything; what was not committed is aborted."""
        try:
            if self._task is not None:
                self._task.close()
        finally:
            self._task = None
            self._live = False
            self.figures.forget()
            self._output.close()
            if self._state is not None:
                self._state.close()
                self._state = None

    def report(self) -> dict[str, Any]:
        """What the driver shows about this task."""
        figures = self.figures
        now = time.monotonic()
        if self._state is not None and self.sub.stores:
            if now - figures.sized_at > SIZE_SECONDS:
                figures.state_bytes, figures.sized_at = self._state.size_bytes(), now
            figures.state_rows = self._state.approximate_count()
        result = {
            "records": figures.records,
            "emitted": figures.emitted,
            "read": dict(figures.read),
            "written": dict(figures.written),
            "commits": figures.commits,
            "restored": figures.restored,
            "state_bytes": figures.state_bytes,
            "state_rows": figures.state_rows,
            "commit_seconds": figures.commit_seconds,
            "latency_ms": figures.latency_ms,
            "positions": dict(self._positions),
            "stream_time": self._task.stream_time if self._task is not None else -1,
            "next_punctuation": self.next_punctuation,
            "dropped": dict(figures.dropped),
            "in_time": self._punctuality.met if self._punctuality is not None else 0,
            "late": self._punctuality.missed if self._punctuality is not None else 0,
        }
        figures.latency_ms = []
        return result


class Figures:
    """What a task counts, over all its batches in this process."""

    def __init__(self) -> None:
        self.records = 0
        self.emitted = 0
        self.commits = 0
        self.restored = 0
        self.commit_seconds = 0.0
        self.read: Counter[str] = Counter()  # by topic; in order, a batch counts with its first commit
        self.written: Counter[str] = Counter()
        self.state_bytes = 0
        self.sized_at = -SIZE_SECONDS
        self.state_rows = 0
        self.dropped: Counter[str] = Counter()
        self.latency_ms: list[int] = []  # of the first and last record of each chunk, from record time to commit
        self._seen: list[int] = []
        self._arrived: Counter[str] = Counter()  # since the last commit

    def saw(self, topic: str, count: int, first: int, last: int) -> None:
        self._arrived[topic] += count
        if len(self._seen) < 64:
            self._seen += (first, last) if count > 1 else (first,)

    def forget(self) -> None:
        """The batch is not committed; its rows come again."""
        self._seen = []
        self._arrived.clear()

    def committed(self, records: int, written: Mapping[str, int], seconds: float) -> None:
        self.records += records
        self.emitted += sum(written.values())
        self.read.update(self._arrived)
        self._arrived.clear()
        self.written.update(written)
        self.commits += 1
        self.commit_seconds += seconds
        now = int(time.time() * 1000)
        self.latency_ms += [now - timestamp for timestamp in self._seen]
        self._seen = []


def _flatten(parts: list[list[_Row]]) -> Iterator[_Row]:
    for part in parts:
        yield from part


def _metadata_of(texts: Iterator[str]) -> dict[str, int]:
    """What the task committed with its offsets; another client's metadata (a reset, say) is no error."""
    for text in texts:
        try:
            found = orjson.loads(text or b"null")
        except orjson.JSONDecodeError:
            continue
        if isinstance(found, dict):
            return {str(name): value for name, value in found.items() if isinstance(value, int)}
    return {}
