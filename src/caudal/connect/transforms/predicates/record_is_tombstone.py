"""RecordIsTombstone: true for records whose value is null."""

from __future__ import annotations

from typing import Any

from caudal.connect.converter import Predicate
from caudal.connect.records import Record
from caudal.connect.transforms.part import java_names


class RecordIsTombstone(Predicate[Any]):
    aliases = java_names("predicates.RecordIsTombstone")

    def test(self, record: Record) -> bool:
        return record.value is None
