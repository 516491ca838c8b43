"""Evolution of arrays: how many items, which come first (a tuple), and what the others may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from caudal.registry.schemas.json_schema.bounds import Problem, limit_problems, number
from caudal.registry.schemas.json_schema.comparer import Comparer, together
from caudal.registry.schemas.json_schema.node import Node

_LIMITS: Final = (("maxItems", "MAX_ITEMS", True), ("minItems", "MIN_ITEMS", False))


class Items:
    """What one schema says about items; the keywords have changed their meaning over the drafts."""

    __slots__ = ("keyword", "others", "rest", "tuple")

    def __init__(self, node: Node) -> None:
        if isinstance(node.get("prefixItems"), list):
            self.tuple, self.others, self.keyword = node.children("prefixItems"), "items", "prefixItems"
        elif isinstance(node.get("items"), list):
            self.tuple, self.others, self.keyword = node.children("items"), "additionalItems", "items"
        else:
            self.tuple, self.others, self.keyword = [], "items", "items"
        rest = node.one(self.others)
        self.rest = None if rest is None or rest.allows_all() else rest

    def of(self, index: int) -> list[Node]:
        if index < len(self.tuple):
            return [self.tuple[index]]
        return [] if self.rest is None else [self.rest]


def array_problems(comparer: Comparer, writers: Sequence[Node], reader: Node, path: str) -> Iterator[Problem]:
    written = [Items(node) for node in writers]
    wanted = Items(reader)
    longest = min((int(most) for node in writers if (most := number(node, "maxItems")) is not None), default=None)
    length = max([len(wanted.tuple), *(len(items.tuple) for items in written)])
    for index in range(length if longest is None else min(length, longest)):
        yield from _item(comparer, written, wanted, index, f"{path}/{wanted.keyword}/{index}")
    if longest is None or longest > length:
        yield from _rest(comparer, written, wanted, path)
    yield from limit_problems(writers, reader, path, _LIMITS)
    if reader.get("uniqueItems") is True and not any(node.get("uniqueItems") is True for node in writers):
        said = "the reader schema wants each item once, the writer schema does not"
        yield Problem("UNIQUE_ITEMS_ADDED", f"{path}/uniqueItems", said)
    yield from _contains(comparer, writers, reader, path)
    yield from _unevaluated(comparer, writers, reader, path)


def _item(comparer: Comparer, written: list[Items], wanted: Items, index: int, path: str) -> Iterator[Problem]:
    nodes = [node for items in written for node in items.of(index)]
    if any(node.value is False for node in nodes):
        return
    in_writer = any(index < len(items.tuple) for items in written)
    in_reader = index < len(wanted.tuple)
    for reader in wanted.of(index):
        problems = comparer.compare(together(nodes), reader, path)
        if not problems:
            continue
        if in_writer and in_reader:
            yield from problems
        elif in_reader:
            if nodes:
                rule = "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
                said = "what the writer schema says of further items does not fit"
            else:
                rule = "ITEM_ADDED_TO_OPEN_CONTENT_MODEL"
                said = "the open content model of the writer schema allows anything there"
            yield Problem(rule, path, f"item {index} is new in the reader schema, and {said}")
        elif reader.value is False:
            said = f"item {index} of the writer schema is missing in the reader schema, which allows no further items"
            yield Problem("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", path, said)
        else:
            said = (
                f"item {index} of the writer schema is missing in the reader schema, and what that says of further"
                f" items does not cover it: {problems[0].said}"
            )
            yield Problem("ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", path, said)


def _rest(comparer: Comparer, written: list[Items], wanted: Items, path: str) -> Iterator[Problem]:
    if wanted.rest is None:
        return
    nodes = [items.rest for items in written if items.rest is not None]
    place = f"{path}/{wanted.others}"
    problems = comparer.compare(together(nodes), wanted.rest, place)
    if not problems:
        return
    if wanted.rest.value is False:
        said = "the reader schema allows no further items, the writer schema does"
        yield Problem("ADDITIONAL_ITEMS_REMOVED", place, said)
    elif nodes:
        yield from problems
    elif wanted.tuple:
        said = "the reader schema limits further items, the writer schema does not"
        yield Problem("ADDITIONAL_ITEMS_NARROWED", place, said)
    else:
        said = "the reader schema limits the items, the writer schema does not"
        yield Problem("SCHEMA_ADDED", place, said)


def _contains(comparer: Comparer, writers: Sequence[Node], reader: Node, path: str) -> Iterator[Problem]:
    wanted = reader.one("contains")
    if wanted is None:
        return
    least, most = number(reader, "minContains"), number(reader, "maxContains")
    for writer in writers:
        before = writer.one("contains")
        if before is None or not reader.alike(writer, wanted.value, before.value):
            continue
        written_least, written_most = number(writer, "minContains"), number(writer, "maxContains")
        if (1 if least is None else least) > (1 if written_least is None else written_least):
            rule = "MIN_CONTAINS_ADDED" if written_least is None else "MIN_CONTAINS_INCREASED"
            yield Problem(
                rule, f"{path}/minContains", "the reader schema wants more of such items than the writer schema"
            )
        if most is not None and (written_most is None or written_most > most):
            rule = "MAX_CONTAINS_ADDED" if written_most is None else "MAX_CONTAINS_DECREASED"
            yield Problem(
                rule, f"{path}/maxContains", "the reader schema wants fewer such items than the writer schema"
            )
        return
    if (least is not None and least == 0) and most is None:
        return
    said = "the reader schema wants an array to contain what the writer schema does not promise"
    yield Problem("CONTAINS_CHANGED", f"{path}/contains", said)


def _unevaluated(comparer: Comparer, writers: Sequence[Node], reader: Node, path: str) -> Iterator[Problem]:
    wanted = reader.one("unevaluatedItems")
    if wanted is None or wanted.allows_all():
        return
    place = f"{path}/unevaluatedItems"
    before = [node for writer in writers if (node := writer.one("unevaluatedItems")) is not None]
    problems = comparer.compare(together(before), wanted, place)
    longest = max(len(Items(writer).tuple) for writer in writers) if writers else 0
    if problems or longest > len(Items(reader).tuple):
        rule = "REMOVED" if wanted.value is False else "NARROWED"
        said = problems[0].said if problems else "the reader schema knows fewer items than the writer schema"
        yield Problem(f"UNEVALUATED_ITEMS_{rule}", place, said)
