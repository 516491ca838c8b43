"""Whether the sources of a query lie as its joins need them: equal keys in partitions of equal numbers.

The plan says which topics have to agree; how many partitions they have only the broker knows, so whoever starts a query
asks here with the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from caudal.ksql.catalog import Catalog
from caudal.ksql.errors import KsqlError
from caudal.ksql.planner.planned import PlannedQuery
from caudal.ksql.types import quoted


def check_partitions(planned: PlannedQuery, catalog: Catalog, partitions: Mapping[str, int]) -> None:
    """Raises where two sources that are joined have different numbers of partitions (`partitions`: by topic; topics
    that are not in it are the query's own and made to fit)."""
    names = {catalog.sources[name].topic: name for name in planned.sources if name in catalog.sources}
    for group in planned.topology.copartitioned:
        known = sorted((topic for topic in group if topic in partitions), key=lambda topic: names.get(topic, topic))
        for topic in known[1:]:
            first = known[0]
            if partitions[topic] != partitions[first]:
                one, two = (quoted(names.get(each, each)) for each in (first, topic))
                raise KsqlError(
                    f"Can't join {one} with {two} since the number of partitions don't match. "
                    f"{one} partitions = {partitions[first]}; {two} partitions = {partitions[topic]}. "
                    "Please repartition either one so that the number of partitions match."
                )
