"""The order in which a task takes the records of its partitions: oldest head first, offset order within a partition.

Only the heads are compared, as Kafka Streams does: a record behind a younger one of its own partition waits. Where
heads are equally old the choice depends on the queue's inner order; this follows the binary heap that Kafka Streams
uses, with the partitions entered in the order of topic name and partition number. What it leaves out is waiting for
partitions that have nothing yet (max.task.idle.ms): the host decides what has been fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

Row = TypeVar("Row")
TopicPartition = tuple[str, int]

# timestamp of the head, topic and partition, head, the rest
_Queue = tuple[int, TopicPartition, Any, Iterator[Any]]


def in_task_order(
    rows: Mapping[TopicPartition, Iterable[Row]], timestamp: Callable[[Row], int]
) -> Iterator[tuple[TopicPartition, Row]]:
    """The rows of all partitions in processing order; each partition's rows must come in offset order.

    >>> rows = {("b", 0): [1, 4], ("a", 0): [3, 2]}
    >>> [row for _, row in in_task_order(rows, timestamp=lambda row: row)]
    [1, 3, 2, 4]
    """
    heap: list[_Queue] = []
    for partition in sorted(rows):
        rest = iter(rows[partition])
        for head in rest:
            _offer(heap, (timestamp(head), partition, head, rest))
            break
    while len(heap) > 1:
        _, partition, row, rest = _poll(heap)
        yield partition, row
        for head in rest:
            _offer(heap, (timestamp(head), partition, head, rest))
            break
    for _, partition, row, rest in heap:  # one partition is left: nothing to compare any more
        yield partition, row
        for row in rest:
            yield partition, row


def _offer(heap: list[_Queue], queue: _Queue) -> None:
    """Up from the end while strictly older than the parent."""
    position = len(heap)
    heap.append(queue)
    while position > 0:
        parent = (position - 1) >> 1
        if queue[0] >= heap[parent][0]:
            break
        heap[position] = heap[parent]
        position = parent
    heap[position] = queue


def _poll(heap: list[_Queue]) -> _Queue:
    """Takes the root; the last one moves there and goes down while a child is strictly older."""
    last = heap.pop()
    if not heap:
        return last
    root, size, position = heap[0], len(heap), 0
    while (child := 2 * position + 1) < size:
        if child + 1 < size and heap[child][0] > heap[child + 1][0]:
            child += 1
        if last[0] <= heap[child][0]:
            break
        heap[position] = heap[child]
        position = child
    heap[position] = last
    return root
