"""From a query to a Streams topology: `plan_query`. Pure: it asks the catalog, and touches neither broker nor Spark.

Read in this order: `flow.py` (a stream or table at some point of a plan, and where its columns lie), `plan.py` (the
order of the parts), then the parts: `reading.py` (sources), `join_conditions.py` and `joins.py`, `projection.py`
(WHERE, PARTITION BY, table functions, SELECT), `windows.py` and `aggregates.py`, `sinks.py`. `analysis.py` names the
columns of a SELECT, `validation.py` has the rules and their messages, `row_functions.py` what the plan calls for every
row. `explain.py`, `evolution.py` and `partitions.py` ask about a plan that is made.
"""

from __future__ import annotations
