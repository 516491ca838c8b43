"""Pull queries that differ in their key alone: `SELECT … WHERE ID = 'a'` is analysed once, and then asked with any key.

Only what is certain to differ in nothing else: the key stands at the end of the statement, and nothing before it is
quoted or a comment. All other pull queries are analysed one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from caudal.ksql.catalog import Catalog
from caudal.ksql.engine.relational import Relation, Row, select
from caudal.ksql.schema import Schema
from caudal.ksql.sources import Source
from caudal.ksql.syntax.statements import Query
from caudal.ksql.syntax.tree import Comparison, Literal, Name
from caudal.ksql.types import Base

# A number of nine digits is an INTEGER, whatever they are.
_SHAPE = re.compile(r"([^'\"`]*\bWHERE\s+[a-z_]\w*\s*=\s*)(?:'([^']*)'|([0-9]{1,9}))\s*;?\s*", re.IGNORECASE)
_COMMENT = re.compile(r"--|/\*")
_LONGEST = 2000
_KEYS = {str: (Base.STRING,), int: (Base.INTEGER, Base.BIGINT)}


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """What is known of a shape: `rows` makes the answer of the table's rows that have the key."""

    catalog: Catalog
    kind: type
    source: Source
    schema: Schema
    rows: Callable[[Iterable[Row]], Iterator[Row]]


def split_key(text: str) -> tuple[str, Any] | None:
    """The statement up to its key, and the key.

    >>> split_key("SELECT * FROM t WHERE id = 'a';")
    ('SELECT * FROM t WHERE id = ', 'a')
    >>> split_key("SELECT * FROM t WHERE id = 'a' AND n > 1;")
    """
    if len(text) > _LONGEST:
        return None
    found = _SHAPE.fullmatch(text)
    if found is None or _COMMENT.search(found[1]):
        return None
    return found[1], found[2] if found[2] is not None else int(found[3])


def key_lookup(
    query: Query, key: Any, catalog: Catalog, relation: Callable[[Source, str], Relation]
) -> KeyLookup | None:
    """Of a query whose text could be split; None where it is not just the look-up of a key."""
    where = query.where
    if query.union is not None or query.joins or query.relation.query is not None or query.window is not None:
        return None
    source = catalog.sources.get(query.relation.name)
    if source is None or not source.is_table or len(source.schema.key) != 1:
        return None
    column = source.schema.key[0]
    if not (
        isinstance(where, Comparison)
        and where.operator == "="
        and isinstance(where.left, Name)
        and where.left.name == column.name
        and isinstance(where.right, Literal)
        and where.right.value == key
        and column.type.base in _KEYS[type(key)]
    ):
        return None
    selected = select(query, relation(source, query.relation.alias), where=False)
    return KeyLookup(catalog, type(key), source, selected.schema, selected.rows)
