"""Names and types as text that reads back as the same: in back-quotes where they must be."""

from __future__ import annotations

import re

from caudal.ksql.syntax.words import QUOTED_WHEN_WRITTEN
from caudal.ksql.types import Array, Map, SqlType, Struct

_PLAIN = re.compile(r"[A-Z_][A-Z0-9_@]*")


def written_name(name: str) -> str:
    """
    >>> written_name("ID"), written_name("id"), written_name("SELECT"), written_name("A`B")
    ('ID', '`id`', '`SELECT`', '`A``B`')
    """
    if _PLAIN.fullmatch(name) and name not in QUOTED_WHEN_WRITTEN:
        return name
    return "`" + name.replace("`", "``") + "`"


def written_string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def written_type(of: SqlType) -> str:
    """Like `str(type)`, with reserved words among the names of fields quoted."""
    if isinstance(of, Array):
        return f"ARRAY<{written_type(of.element)}>"
    if isinstance(of, Map):
        return f"MAP<{written_type(of.key)}, {written_type(of.value)}>"
    if isinstance(of, Struct):
        fields = (f"{written_name(field.name)} {written_type(field.type)}" for field in of.fields)
        return f"STRUCT<{', '.join(fields)}>"
    return str(of)
