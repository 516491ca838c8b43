"""Filter: drops the record. It is meant to stand behind a predicate, which says which ones."""

from __future__ import annotations

from typing import Any

from caudal.connect.converter import R, Transform
from caudal.connect.transforms.part import java_names


class Filter(Transform[Any]):
    aliases = java_names("Filter")

    def apply(self, record: R) -> R | None:
        return None
