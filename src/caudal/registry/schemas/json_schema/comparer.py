"""What the comparisons of objects and arrays ask of the whole comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from caudal.registry.schemas.json_schema.bounds import Problem
from caudal.registry.schemas.json_schema.node import Node, conjunction


class Comparer(Protocol):
    def compare(self, writers: Sequence[Node], reader: Node, path: str) -> list[Problem]:
        """Why a value that all the writers allow may be none of the reader's."""


def together(nodes: Sequence[Node]) -> list[Node]:
    return [part for node in nodes for part in conjunction(node)]
