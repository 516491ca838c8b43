"""Two versions of a schema compared for the eye: lines side by side with the words that differ, and field by field.

Pure. Whether one version can read the other's records is worked out by `caudal.cli.schema_comparison`, as for
`caudal schema diff`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from caudal.registry.schemas.schema import Field, ParsedSchema

CONTEXT = 4  # lines kept around a change
SIMILAR = 0.4  # from this likeness on, two lines are one line that changed
_WORD = re.compile(r"\w+|\s+|[^\w\s]")

Kind = Literal["same", "added", "removed", "changed", "skipped"]
Piece = tuple[str, bool]  # text, and whether it differs


@dataclass(frozen=True, slots=True)
class Side:
    number: int
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join(piece for piece, _ in self.pieces)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the two columns; `skipped` stands for so many lines that are the same."""

    kind: Kind
    old: Side | None = None
    new: Side | None = None
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class FieldChange:
    """`before` and `after` are types; None where the field does not exist."""

    path: str
    kind: Kind
    before: str | None
    after: str | None
    notes: tuple[Literal["doc", "tags", "type"], ...] = ()


def side_by_side(old: str, new: str, context: int | None = CONTEXT) -> list[Row]:
    """Both texts by lines. Runs of equal lines longer than twice the context are skipped; None keeps all."""
    before, after = old.splitlines(), new.splitlines()
    rows: list[Row] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            rows += [
                Row("same", _plain(old_from + step, line), _plain(new_from + step, line))
                for step, line in enumerate(before[old_from:old_to])
            ]
        else:
            rows += _changed(before, after, range(old_from, old_to), range(new_from, new_to))
    return rows if context is None else list(_shortened(rows, context))


def _plain(index: int, line: str, differs: bool = False) -> Side:
    return Side(index + 1, ((line, differs),))


def _changed(before: Sequence[str], after: Sequence[str], olds: range, news: range) -> Iterator[Row]:
    """Lines that stand for each other beside each other, in order; the rest was removed or added."""
    new = news.start
    for old in olds:
        partner = next((at for at in range(new, news.stop) if _alike(before[old], after[at])), None)
        if partner is None:
            yield Row("removed", old=_plain(old, before[old]))
            continue
        for at in range(new, partner):
            yield Row("added", new=_plain(at, after[at]))
        left, right = _pieces(before[old], after[partner])
        yield Row("changed", Side(old + 1, left), Side(partner + 1, right))
        new = partner + 1
    for at in range(new, news.stop):
        yield Row("added", new=_plain(at, after[at]))


def _alike(old: str, new: str) -> bool:
    matcher = difflib.SequenceMatcher(None, _WORD.findall(old.strip()), _WORD.findall(new.strip()), autojunk=False)
    return matcher.ratio() >= SIMILAR


def _pieces(old: str, new: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Both lines cut where they begin and cease to differ, by words."""
    left, right = _WORD.findall(old), _WORD.findall(new)
    olds: list[Piece] = []
    news: list[Piece] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if a < b:
            olds.append(("".join(left[a:b]), tag != "equal"))
        if c < d:
            news.append(("".join(right[c:d]), tag != "equal"))
    return tuple(olds), tuple(news)


def _shortened(rows: Sequence[Row], context: int) -> Iterator[Row]:
    near: set[int] = set()
    for index, row in enumerate(rows):
        if row.kind != "same":
            near.update(range(index - context, index + context + 1))
    skipped = 0
    for index, row in enumerate(rows):
        if index in near:
            if skipped:
                yield Row("skipped", skipped=skipped)
                skipped = 0
            yield row
        else:
            skipped += 1
    if skipped:
        yield Row("skipped", skipped=skipped)


def field_changes(old: ParsedSchema, new: ParsedSchema) -> list[FieldChange]:
    """Fields that came, went or changed their type, their words or their tags; in the order of the new schema, with
    what went at its end."""
    before: dict[str, Field] = {field.path: field for field in old.fields()}
    after: dict[str, Field] = {field.path: field for field in new.fields()}
    changes = []
    for path, field in after.items():
        was = before.get(path)
        if was is None:
            changes.append(FieldChange(path, "added", None, field.type))
            continue
        notes: list[Literal["doc", "tags", "type"]] = []
        if was.type != field.type:
            notes.append("type")
        if was.doc != field.doc:
            notes.append("doc")
        if was.tags != field.tags:
            notes.append("tags")
        if notes:
            changes.append(FieldChange(path, "changed", was.type, field.type, tuple(notes)))
    changes += [FieldChange(path, "removed", was.type, None) for path, was in before.items() if path not in after]
    return changes
