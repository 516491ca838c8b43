"""Schema resolution of the Avro specification: can a reader's schema read what a writer's schema wrote?

The rules have the names of Avro's SchemaCompatibility. As there: a name matches without its namespace, or by an alias
of the reader; a logical type does not matter, because it does not change the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from caudal.registry.schemas.avro.types import (
    MISSING,
    PLAIN,
    Array,
    Enum,
    Fixed,
    Map,
    Named,
    Record,
    Type,
    Union,
    described,
)
from caudal.registry.schemas.schema import Incompatibility

# What a reader of the key reads besides its own type.
PROMOTIONS: Final = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}

# The other way round: who reads the key besides itself.
READ_BY: Final = {
    kind: [wide for wide, narrow in PROMOTIONS.items() if kind in narrow] for kind in (*PLAIN, "array", "map")
}

MOST: Final = 1_000  # problems of a pair of types: a type may be used in thousands of places


class _Problem(NamedTuple):
    """Seen from a pair of types, which may be compared in several places."""

    rule: str
    path: str  # from there
    fields: str  # the names on that way, with dots
    sentence: str
    info: str

    def under(self, path: str, field: str = "") -> _Problem:
        names = f"{field}.{self.fields}" if field and self.fields else field or self.fields
        return self._replace(path=path + self.path, fields=names)


_NONE: Final[tuple[_Problem, ...]] = ()


def incompatibilities(reader: Type, writer: Type) -> list[Incompatibility]:
    """Empty: every value of the writer can be read."""
    return list(dict.fromkeys(_incompatibility(problem) for problem in _problems(reader, writer)))


def _incompatibility(problem: _Problem) -> Incompatibility:
    path = problem.path or "/"
    where = f" (field '{problem.fields}')" if problem.fields else ""
    return Incompatibility(problem.rule, path, f"At path '{path}'{where} {problem.sentence}", problem.info)


def _problems(reader: Type, writer: Type) -> tuple[_Problem, ...]:
    refuted: set[tuple[int, int]] = set()
    while True:
        comparison = _Comparison(refuted)
        found = comparison.compare(reader, writer)
        # A pair inside itself counts as readable at first. That hides a problem only in a union, one of whose branches
        # was then taken for good: where the assumption proved wrong and all seems well, it is done again.
        if found or not comparison.assumed & comparison.refuted - refuted:
            return found
        refuted = comparison.refuted


class _Comparison:
    __slots__ = ("_branches", "_known", "_open", "assumed", "refuted")

    def __init__(self, refuted: set[tuple[int, int]]) -> None:
        self._known: dict[tuple[int, int], tuple[_Problem, ...]] = {}
        self._branches: dict[int, dict[str, list[Type]]] = {}
        self._open: set[tuple[int, int]] = set()
        self.refuted = set(refuted)
        self.assumed: set[tuple[int, int]] = set()

    def compare(self, reader: Type, writer: Type) -> tuple[_Problem, ...]:
        if reader is writer or (reader.kind == writer.kind and reader.kind in PLAIN):
            return _NONE
        key = (id(reader), id(writer))
        if (known := self._known.get(key)) is not None:
            return known
        if key in self._open:
            if key in self.refuted:
                return (_Problem("TYPE_MISMATCH", "", "", f"{_type(reader)} cannot be read from {_type(writer)}", ""),)
            self.assumed.add(key)
            return _NONE
        self._open.add(key)
        found = self._compare(reader, writer)[:MOST]
        self._open.discard(key)
        self._known[key] = found
        if found:
            self.refuted.add(key)
        return found

    def _compare(self, reader: Type, writer: Type) -> tuple[_Problem, ...]:
        if isinstance(writer, Union):
            return self._from_union(reader, writer.branches)
        if isinstance(reader, Union):
            if any(not self.compare(branch, writer) for branch in self._candidates(reader, writer)):
                return _NONE
            return (self._missing_branch(reader, writer),)
        if isinstance(reader, Record) and isinstance(writer, Record):
            return _names(reader, writer) + self._fields(reader, writer)
        if isinstance(reader, Array) and isinstance(writer, Array):
            return _all_under("/items", self.compare(reader.items, writer.items))
        if isinstance(reader, Map) and isinstance(writer, Map):
            return _all_under("/values", self.compare(reader.values, writer.values))
        if isinstance(reader, Enum) and isinstance(writer, Enum):
            return _names(reader, writer) + _symbols(reader, writer)
        if isinstance(reader, Fixed) and isinstance(writer, Fixed):
            return _names(reader, writer) + _size(reader, writer)
        if _alike(reader, writer):
            return _NONE
        sentence = f"the reader schema expects {_type(reader)}, the writer schema has {_type(writer)}"
        info = f"reader type: {reader.kind.upper()} not compatible with writer type: {writer.kind.upper()}"
        return (_Problem("TYPE_MISMATCH", "", "", sentence, info),)

    def _from_union(self, reader: Type, branches: tuple[Type, ...]) -> tuple[_Problem, ...]:
        found: list[_Problem] = []
        for index, branch in enumerate(branches):
            problems = self.compare(reader, branch)
            if problems and isinstance(reader, Union):
                found.append(self._missing_branch(reader, branch).under(f"/{index}"))
            else:
                found.extend(problems)
        return tuple(found)

    def _candidates(self, reader: Union, writer: Type) -> Iterator[Type]:
        """The branches that can match by kind and name, found without a look at each: a union may have thousands."""
        if (index := self._branches.get(id(reader))) is None:
            index = self._branches[id(reader)] = {}
            for branch in reader.branches:
                for key in _keys(branch):
                    index.setdefault(key, []).append(branch)
        keys = (
            (writer.name, "=" + writer.full_name) if isinstance(writer, Named) else (writer.kind, *READ_BY[writer.kind])
        )
        for key in keys:
            yield from index.get(key, ())

    def _missing_branch(self, reader: Union, writer: Type) -> _Problem:
        sentence = (
            f"the writer schema has {_type(writer)}, which no branch of the union {_type(reader)}"
            " in the reader schema can read"
        )
        for branch in self._candidates(reader, writer):
            if problems := self._known.get((id(branch), id(writer))):
                sentence += f": {problems[0].sentence[:300]}"
                break
        info = f"reader union lacking writer type: {writer.kind.upper()}"
        return _Problem("MISSING_UNION_BRANCH", "", "", sentence, info)

    def _fields(self, reader: Record, writer: Record) -> tuple[_Problem, ...]:
        written = {field.name: field for field in writer.fields}
        found: list[_Problem] = []
        for index, field in enumerate(reader.fields):
            place = f"/fields/{index}"
            sources = [written[name] for name in dict.fromkeys((field.name, *field.aliases)) if name in written]
            if len(sources) > 1:
                names = " and ".join(f"'{source.name}'" for source in sources)
                sentence = (
                    f"the field '{field.name}' of the reader schema means {names} of the writer schema by its aliases"
                )
                found.append(_Problem("NAME_MISMATCH", f"{place}/aliases", "", sentence, field.name))
            elif sources:
                if problems := self.compare(field.type, sources[0].type):
                    found.extend(_all_under(f"{place}/type", problems, field.name))
            elif field.default is MISSING:
                sentence = (
                    f"the field '{field.name}' has no default value in the reader schema"
                    " and is missing in the writer schema"
                )
                found.append(_Problem("READER_FIELD_MISSING_DEFAULT_VALUE", place, "", sentence, field.name))
        return tuple(found)


def _all_under(path: str, problems: tuple[_Problem, ...], field: str = "") -> tuple[_Problem, ...]:
    return tuple(problem.under(path, field) for problem in problems)


def _keys(branch: Type) -> tuple[str, ...]:
    return (branch.name, *("=" + alias for alias in branch.aliases)) if isinstance(branch, Named) else (branch.kind,)


def _alike(reader: Type, writer: Type) -> bool:
    """Whether a value of the one kind can be of the other at all."""
    return reader.kind == writer.kind or writer.kind in PROMOTIONS.get(reader.kind, ())


def _names(reader: Named, writer: Named) -> tuple[_Problem, ...]:
    if reader.name == writer.name or writer.full_name in reader.aliases:
        return _NONE
    sentence = (
        f"the {reader.kind} is called '{reader.full_name}' in the reader schema and '{writer.full_name}' in the"
        " writer schema, and no alias joins them"
    )
    return (_Problem("NAME_MISMATCH", "/name", "", sentence, f"expected: {writer.full_name}"),)


def _symbols(reader: Enum, writer: Enum) -> tuple[_Problem, ...]:
    missing = sorted(set(writer.symbols) - set(reader.symbols))
    if not missing or reader.default is not None:
        return _NONE
    sentence = (
        f"the enum '{reader.full_name}' has no default in the reader schema and lacks the symbols"
        f" {', '.join(missing)} of the writer schema"
    )
    return (_Problem("MISSING_ENUM_SYMBOLS", "/symbols", "", sentence, f"[{', '.join(missing)}]"),)


def _size(reader: Fixed, writer: Fixed) -> tuple[_Problem, ...]:
    if reader.size == writer.size:
        return _NONE
    sentence = (
        f"the fixed '{reader.full_name}' has {reader.size} bytes in the reader schema"
        f" and {writer.size} in the writer schema"
    )
    info = f"expected: {writer.size}, found: {reader.size}"
    return (_Problem("FIXED_SIZE_MISMATCH", "/size", "", sentence, info),)


def _type(avro_type: Type) -> str:
    text = described(avro_type)
    return f"'{text if len(text) <= 80 else text[:79] + '…'}'"
