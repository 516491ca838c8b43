"""GlobalKTable: a table of which every task sees all partitions. Streams join it by any expression; it has no
operators.
"""

from __future__ import annotations

from caudal.plan.graph import Graph
from caudal.serde import Serde


class GlobalKTable:
    """Made by `StreamsBuilder.global_table`; used as the other side of `KStream.join` and `left_join`."""

    def __init__(self, graph: Graph, store: str, key: Serde, value: Serde) -> None:
        self._graph = graph
        self._store = store
        self._key = key
        self._value = value

    @property
    def queryable_store_name(self) -> str:
        """The name of its store.

        >>> builder.global_table("cities", store="cities").queryable_store_name
        'cities'
        """
        return self._store
