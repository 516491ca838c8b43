"""Is every value that the writer's schema allows allowed by the reader's? Rules named as in Confluent's registry.

The writer's side is always a list of schemas that hold together, so that what `allOf` and references bring counts as
one. Where the question cannot be decided by looking at keywords the answer is no. As in Confluent's registry: a
property that becomes required is fine when it has a default, and a branch added to `oneOf` is fine although it may
overlap another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from caudal.registry.schemas.json_schema.arrays import array_problems
from caudal.registry.schemas.json_schema.bounds import (
    ALL_TYPES,
    NUMBERS,
    Problem,
    number_problems,
    string_problems,
    type_problems,
    types,
    value_problems,
)
from caudal.registry.schemas.json_schema.node import Node, conjunction
from caudal.registry.schemas.json_schema.objects import object_problems
from caudal.registry.schemas.schema import Incompatibility

Key = tuple[tuple[tuple[int, tuple[str, ...]], ...], tuple[int, tuple[str, ...]]]

_MAX_STEPS: Final = 10_000
_SUMS: Final = ("anyOf", "oneOf")
_ONE_TYPE: Final = {name: {"type": name} for name in (*sorted(ALL_TYPES - {"fraction"}), "number")}
_OF_NUMBERS: Final = frozenset(("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf"))
_OF_STRINGS: Final = frozenset(("maxLength", "minLength", "pattern"))
_OF_ARRAYS: Final = frozenset(
    ("items", "prefixItems", "additionalItems", "maxItems", "minItems", "uniqueItems", "contains", "unevaluatedItems")
)
_OF_OBJECTS: Final = frozenset(
    ("properties", "patternProperties", "additionalProperties", "required", "propertyNames", "maxProperties")
) | frozenset(("minProperties", "dependencies", "dependentRequired", "dependentSchemas", "unevaluatedProperties"))
_CONDITION: Final = ("if", "then", "else")


def incompatibilities(reader: Node, writer: Node) -> list[Incompatibility]:
    refuted: set[Key] = set()
    while True:
        comparison = Comparison(refuted)
        try:
            found = comparison.compare(conjunction(writer), reader, "#")
        except _TooComplexError:
            said = "The reader schema and the writer schema are too complex to compare"
            return [Incompatibility("TOO_COMPLEX", "#", said)]
        # Problems are certain; only their absence may rest on an assumption about a schema inside itself.
        if found or not comparison.assumed & comparison.refuted - refuted:
            return [
                Incompatibility(rule, path, f"At path '{path}' {said}", path.rpartition("/")[2])
                for rule, path, said in dict.fromkeys(found)
            ]
        refuted = comparison.refuted


class _TooComplexError(Exception):
    pass


class Comparison:
    __slots__ = ("_known", "_open", "_steps", "assumed", "refuted")

    def __init__(self, refuted: set[Key]) -> None:
        self._known: dict[Key, tuple[Problem, ...]] = {}
        self._open: set[Key] = set()
        self._steps = 0
        self.refuted = set(refuted)
        self.assumed: set[Key] = set()

    def compare(self, writers: Sequence[Node], reader: Node, path: str) -> list[Problem]:
        """Why a value that all the writers allow may be none of the reader's."""
        if any(node.value is False for node in writers):
            return []
        parts = conjunction(reader)
        if not parts:
            return []
        more = sum(bool(part.place) for part in parts) > sum(bool(node.place) for node in writers)
        found: list[Problem] = []
        for part in parts:
            problems = self._part(writers, part, path + part.place)
            if problems and part.place and more:
                problems = (Problem("PRODUCT_TYPE_EXTENDED", path + part.place, problems[0].said),)
            found.extend(problems)
        return found

    def _part(self, writers: Sequence[Node], reader: Node, path: str) -> Sequence[Problem]:
        if any(_same(node, reader) for node in writers):
            return ()
        key: Key = (
            tuple((id(node.value), node.hidden) for node in writers),
            (id(reader.value), reader.hidden),
        )
        if (known := self._known.get(key)) is not None:
            return known
        if key in self._open:
            if key in self.refuted:
                return (Problem("TYPE_CHANGED", path, "the schemas inside themselves differ"),)
            self.assumed.add(key)
            return ()
        self._steps += max(1, len(writers))
        if self._steps > _MAX_STEPS:
            raise _TooComplexError
        self._open.add(key)
        found = self._branches(writers, reader, path)
        self._open.discard(key)
        self._known[key] = found
        if found:
            self.refuted.add(key)
        return found

    def _branches(self, writers: Sequence[Node], reader: Node, path: str) -> tuple[Problem, ...]:
        """Where the writer has alternatives, each of them must be readable, if they are not all so at once. Where the
        reader has some too, they seldom are, so that is not tried first."""
        alternatives = reader.get("anyOf") is not None or reader.get("oneOf") is not None
        split = next(((index, key) for index, node in enumerate(writers) for key in _SUMS if node.get(key)), None)
        if split is None or not alternatives:
            found = tuple(self._keywords(writers, reader, path))
            if not found:
                return ()
            if split is None:
                return () if alternatives and self._each_type_fits(writers, reader, path) else found
        assert split is not None
        index, keyword = split
        node = writers[index]
        rest = [*writers[:index], node.without(keyword), *writers[index + 1 :]]
        return self._from_sum(rest, keyword, node.children(keyword), reader, path)

    def _each_type_fits(self, writers: Sequence[Node], reader: Node, path: str) -> bool:
        """A list of types is an alternative too: string or null fits a branch for strings and one for null."""
        kinds = ALL_TYPES.intersection(*(types(node) for node in writers))
        names = {"number" if kind == "fraction" else kind for kind in kinds}
        names -= {"integer"} if "number" in names else set()
        if not 1 < len(names) < len(_ONE_TYPE) - 1:
            return False
        return all(not self.compare_part([*writers, reader.child(_ONE_TYPE[name])], reader, path) for name in names)

    def _from_sum(
        self, rest: list[Node], keyword: str, members: list[Node], reader: Node, path: str
    ) -> tuple[Problem, ...]:
        failures: list[list[Problem]] = []
        for member in members:
            problems = self.compare_part([*rest, *conjunction(member)], reader, path)
            if problems:
                failures.append(problems)
        sums = [(kind, reader.children(kind)) for kind in _SUMS if reader.get(kind)]
        if keyword == "anyOf" and len(members) > 1 and any(kind == "oneOf" for kind, _ in sums):
            if not list(self._keywords(rest, reader, path)):
                return ()
            said = "the writer schema allows any of its branches at once, the reader schema exactly one"
            return (Problem("COMBINED_TYPE_CHANGED", path, said),)
        if not failures:
            return ()
        if not sums:
            return tuple(dict.fromkeys(problem for problems in failures for problem in problems))
        kind, readers = sums[0]
        rule = "SUM_TYPE_NARROWED" if len(readers) < len(members) else "COMBINED_TYPE_SUBSCHEMAS_CHANGED"
        said = f"{len(failures)} of {len(members)} branches of the writer schema fit none of the reader schema"
        return (Problem(rule, f"{path}/{kind}", said),)

    def compare_part(self, writers: Sequence[Node], reader: Node, path: str) -> list[Problem]:
        if any(node.value is False for node in writers):
            return []
        return list(self._part(writers, reader, path))

    def _keywords(self, writers: Sequence[Node], reader: Node, path: str) -> Iterator[Problem]:
        if reader.value is False:
            yield Problem("TYPE_CHANGED", path, "the reader schema allows nothing, the writer schema something")
            return
        kinds = ALL_TYPES.intersection(*(types(node) for node in writers)) if writers else ALL_TYPES
        wrong = list(type_problems(kinds, reader, path))
        if wrong:
            yield from wrong
            kinds &= types(reader.without("enum", "const"))
            if not kinds:
                return
        yield from value_problems(writers, kinds, reader, path)
        said = reader.value.keys()  # only what the reader says can forbid anything
        if kinds & NUMBERS and not said.isdisjoint(_OF_NUMBERS):
            yield from number_problems(writers, kinds, reader, path)
        if "string" in kinds and not said.isdisjoint(_OF_STRINGS):
            yield from string_problems(writers, reader, path)
        if "array" in kinds and not said.isdisjoint(_OF_ARRAYS):
            yield from array_problems(self, writers, reader, path)
        if "object" in kinds and not said.isdisjoint(_OF_OBJECTS):
            yield from object_problems(self, writers, reader, path)
        if kinds:
            yield from self._sums(writers, reader, path)
            yield from self._not(writers, reader, path)
            yield from self._condition(writers, reader, path)

    def _sums(self, writers: Sequence[Node], reader: Node, path: str) -> Iterator[Problem]:
        for keyword in _SUMS:
            members = reader.children(keyword)
            if members and not any(not self.compare(writers, member, path) for member in members):
                said = f"what the writer schema allows fits none of the {len(members)} branches of the reader schema"
                yield Problem("TYPE_CHANGED", f"{path}/{keyword}", said)

    def _not(self, writers: Sequence[Node], reader: Node, path: str) -> Iterator[Problem]:
        forbidden = reader.one("not")
        if forbidden is None or forbidden.value is False:
            return
        before = [node for writer in writers if (node := writer.one("not")) is not None]
        if not any(not self.compare(conjunction(forbidden), node, path) for node in before):
            said = "the reader schema forbids with 'not' what the writer schema may allow"
            yield Problem("NOT_TYPE_EXTENDED", f"{path}/not", said)

    def _condition(self, writers: Sequence[Node], reader: Node, path: str) -> Iterator[Problem]:
        if reader.get("if") is None or (reader.get("then") is None and reader.get("else") is None):
            return
        wanted = [reader.get(keyword) for keyword in _CONDITION]
        if not any(reader.alike(node, wanted, [node.get(keyword) for keyword in _CONDITION]) for node in writers):
            said = "the reader schema has a condition ('if') that the writer schema has not"
            yield Problem("CONDITION_CHANGED", f"{path}/if", said)


def _same(writer: Node, reader: Node) -> bool:
    """A quick yes, where there is one."""
    if writer.value is reader.value:
        return set(writer.hidden) <= set(reader.hidden)
    return writer.hidden == reader.hidden and writer.alike(reader, writer.value, reader.value)
